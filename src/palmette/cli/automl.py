"""`palmette automl`: from a sentence and data to a verified model behind an endpoint."""

from __future__ import annotations

import re
from pathlib import Path

import click
from pydantic import JsonValue

from palmette.cli.progress import watching
from palmette.cli.screen import json_option
from palmette.cli.summary import present
from palmette.errors import UserError

UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
TRACKS = ("traditional", "neural", "pretrained", "autogluon")
STAGES = ("plan", "deploy")


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    """Seconds, or a number with a unit: 90, 120s, 5min, 1h."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|sec|m|min|h)?\s*", str(value))
        seconds = float(found[1]) * UNITS[found[2] or "s"] if found else 0.0
        if seconds < 1:
            self.fail(f"{value!r} is no time of a second or more; write for example 90, 120s, 5min or 1h")
        return seconds


class Names(click.ParamType):  # type: ignore[type-arg]  # as above
    """Names with commas between them; of those that are known, where any are told."""

    name = "names"

    def __init__(self, *known: str) -> None:
        self.known = known

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))
        for name in names:
            if self.known and name not in self.known:
                self.fail(f"{name!r} is none of {', '.join(self.known)}")
        return names


@click.command()
@click.argument("request", default="")
@click.option(
    "--data", "data", multiple=True, metavar="PLACE", help="File, folder, or set such as sklearn:iris; again for more."
)
@click.option("--table", default="", metavar="NAME", help="Which sheet, table or file of an archive is meant.")
@click.option("--budget", type=Duration(), default="120s", show_default=True, help="Time for training and scoring.")
@click.option(
    "--track", "tracks", type=Names(*TRACKS), default="traditional", show_default=True, help="Kinds of models."
)
@click.option(
    "--holdout", type=click.FloatRange(0, 0.9), default=0.2, show_default=True, help="Share of rows kept to measure on."
)
@click.option("--plans", type=click.IntRange(1, 8), default=3, show_default=True, help="Plans that are weighed.")
@click.option("--topology", default="automl", show_default=True, metavar="NAME", help="Built-in topology, or a file.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the project; left out: in the run's folder.")
@click.option("--approve", type=Names(*STAGES), default="", help="Ask before: plan, deploy.")
@click.option(
    "--human", type=click.Choice(["console", "none"]), default="console", show_default=True, help="Whom to ask."
)
@click.option("--model", default="offline", show_default=True, metavar="PROVIDER:NAME", help="Who answers for agents.")
@click.option("--planner", type=click.Choice(["offline", "model", "sequential", "random"]), help="Who chooses the way.")
@click.option("--tokens", type=click.IntRange(min=1), help="Most tokens that the model may take.")
@click.option("--money", type=click.FloatRange(min=0), help="Most US dollars that the model may cost.")
@click.option("--seed", default=0, show_default=True)
@json_option
def automl(request: str, data: tuple[str, ...], as_json: bool, **options: JsonValue) -> None:
    """Build a model: REQUEST says in plain words what to predict; it may be left out where the data say it.

    Ends with readable code, a fitted model, a report, and an endpoint that was started and called.
    """
    from palmette.automl.arguments import arguments_of
    from palmette.engine import new_run_folder, run_environment

    if not request.strip() and not data:
        raise UserError(
            "There is neither a request nor data.",
            'For example: palmette automl "Predict the species of a flower" --data sklearn:iris',
            code="nothing-asked",
        )
    arguments = arguments_of(request, data, **options)  # type: ignore[arg-type]  # as click has checked them
    name = Path(data[0].replace(":", "-")).stem if data else "automl"
    present(run_environment("automl", arguments, new_run_folder(name), watching(as_json)), as_json)
