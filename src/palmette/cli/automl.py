"""`palmette automl`: from a request and data to a verified model behind an endpoint."""

import re
from collections.abc import Callable
from typing import Any

import click

from palmette.cli.progress import watching
from palmette.cli.screen import human_option, json_option, print_json, print_table
from palmette.cli.summary import present
from palmette.errors import UserError

TRACKS = ("traditional", "neural", "pretrained")
PREFERENCES = ("speed", "small", "explainable", "simple")
STAGES = ("plan", "deploy")


class Names(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    """Names separated by commas, restricted to the known ones if any are given."""

    name = "names"

    def __init__(self, *known: str) -> None:
        self.known = known

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))
        for name in names:
            if self.known and name not in self.known:
                self.fail(f"{name!r} is not one of {', '.join(self.known)}")
        return names


def _several(flag: str, name: str, metavar: str, text: str) -> Callable[[Any], Any]:
    return click.option(flag, name, multiple=True, metavar=metavar, help=text)


def _one(flag: str, metavar: str, text: str) -> Callable[[Any], Any]:
    return click.option(flag, metavar=metavar, help=text)


OPTIONS = (
    _several("--data", "data", "PLACE", "File, folder, or set such as sklearn:iris; repeat for more."),
    _one("--table", "NAME", "Sheet, table or file to read; 'orders + customers' joins related ones."),
    _several("--array", "arrays", "KIND=COLUMNS", "Columns of numbers that are files, e.g. 'image=pixel_*'."),
    click.option("--task", type=click.Path(dir_okay=False), help="A task file; see `palmette schema task`."),
    _one("--target", "COLUMN", "The column to predict."),
    _one("--problem", "NAME", "E.g. regression, clustering, forecasting; inferred from the target if omitted."),
    _one("--metric", "NAME", "Metric that ranks the models, e.g. roc_auc, macro F1, rmse."),
    _one("--positive", "VALUE", "Target value that is positive for F1, precision and recall."),
    _one("--threshold", "COLUMN>NUMBER", "Turn a numeric column into two classes, e.g. 'price>5000'."),
    _several("--exclude", "exclude", "COLUMNS", "Columns that no model may use."),
    _several("--include", "include", "COLUMNS", "The only columns that a model may use."),
    _several("--known-after", "known_after", "COLUMNS", "Columns that are known only after the outcome."),
    _one("--group-by", "COLUMN", "Rows with equal values stay on one side of every split."),
    _one("--time", "COLUMN", "Test on the latest rows by this column of times."),
    _one("--split", "HOW", "random, stratified, group, time or a column; 20%; 2024-03 or P3M; folds:5."),
    click.option("--holdout", type=click.FloatRange(0, 0.9), help="Share of rows to hold out.  [default: 0.2]"),
    _several("--constraint", "constraints", "LIMIT", "accuracy>=0.9, latency<=20ms, size<=5MB, training_time<=60s."),
    _several("--learner", "learners", "NAMES", "NAME requires, not:NAME or -NAME forbids, first:NAME prefers."),
    click.option("--track", "tracks", type=Names(*TRACKS), help="Kinds of learners to try.  [default: all installed]"),
    click.option("--ensemble/--single", "ensemble", default=None, help="Several models together, or one."),
    _one("--clusters", "N or A-B", "Number of clusters."),
    _one("--horizon", "STEPS", "Forecasting: steps ahead, or a time such as '24 hours'."),
    _one("--frequency", "OFFSET", "Forecasting: time between rows, e.g. h, 15min, MS; inferred if omitted."),
    _one("--series", "COLUMN", "Forecasting: column that identifies the series of each row."),
    _several("--known-ahead", "known_ahead", "COLUMNS", "Forecasting: columns whose future values are known."),
    _one("--holidays", "COUNTRY", "Forecasting: use the public holidays of a country, e.g. DE or DE-BY."),
    click.option("--quantiles", type=Names(), help="Forecasting: quantiles to predict.  [default: 0.1,0.9]"),
    _one("--labels", "COLUMN", "Clustering: column of labels to compare the clusters with."),
    click.option("--prefer", type=Names(*PREFERENCES), help=f"Preferred beside the score: {', '.join(PREFERENCES)}."),
    _one("--budget", "TIME", "Time for training and scoring: 90, 120s, 5min, 1h.  [default: 120s]"),
    click.option("--plans", type=click.IntRange(1, 8), help="Number of plans to draft.  [default: 3]"),
    click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Random seed.  [default: 0]"),
    click.option("--out", type=click.Path(), help="Folder for the package.  [default: in the run's folder]"),
    click.option("--dry-run", is_flag=True, help="Print the task and the plans, and train nothing."),
    _one("--topology", "NAME", "Built-in topology, or a file.  [default: automl]"),
    click.option("--approve", type=Names(*STAGES), default="", help="Ask before: plan, deploy."),
    human_option("console"),
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="[ROLE=]PROVIDER:NAME",
        help="Language model for the agents, or for one role; repeat for more.  [default: none]",
    ),
    click.option("--planner", metavar="NAME", help="Planner: offline, model, sequential, random, or module:Class."),
    click.option("--tokens", type=click.IntRange(min=1), help="Token limit for the language model."),
    click.option("--money", type=click.FloatRange(min=0), help="Cost limit for the language model, in US dollars."),
)


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("request", default="")
@_with_options
@json_option
def automl(request: str, data: tuple[str, ...], as_json: bool, models: tuple[str, ...], **options: Any) -> None:
    """Build a model. Flags, a task file and a sentence in plain English say what to predict.

    REQUEST is the sentence, e.g. "Predict churn without customer_id; ROC AUC at least 0.8, answers within 20 ms". Flags
    win over the task file, the file over the sentence. How the request was read is shown before anything is trained.

    Ends with a readable package, a fitted model, a report, and an endpoint that was started and measured.
    """
    from palmette.automl.arguments import arguments_of, title_of
    from palmette.engine import new_run_folder, run_environment

    if not request.strip() and not data and not options["task"]:
        remedy = "For example: palmette automl --data customers.csv --target churn"
        raise UserError("There is neither a request nor data.", remedy, code="nothing-asked")
    if options["dry_run"] and options["topology"]:
        raise click.UsageError("--dry-run has a topology of its own; leave out --topology")
    arguments = arguments_of(request, data, **_models(models), **options)
    folder = new_run_folder(title_of(data) or "automl")
    result = run_environment("automl", arguments, folder, watching(as_json, folder))
    if not options["dry_run"] or result.status != "finished":
        present(result, as_json)
    _print_plans({name: result.value(name) for name in ("task", "proposals", "choice")}, as_json)


def _models(named: tuple[str, ...]) -> dict[str, Any]:
    """The model of all roles, and those of single roles.

    >>> _models(("openai:a", "planner=offline"))
    {'model': 'openai:a', 'models': {'planner': 'offline'}}
    """
    found = [re.fullmatch(r"(?:(\w+)=)?(.*)", one, re.DOTALL) for one in named]
    by_role = {one[1] or "": one[2] for one in found if one}
    return {"model": by_role.pop("", None), "models": by_role}


def _print_plans(made: dict[str, Any], as_json: bool) -> None:
    """The end of a dry run: the plans with their candidates and the chosen one marked."""
    if as_json:
        print_json(made)
        return
    chosen = made["choice"]["proposal"]["plan"]["name"]
    rows = []
    for one in made["proposals"]["proposals"]:
        name, trained = one["plan"]["name"], ", ".join(each["candidate"]["name"] for each in one["estimates"])
        rows.append(("→" if name == chosen else "", name, trained, one["plan"]["idea"]))
    print_table(("", "plan", "candidates", "idea"), rows)
    click.echo(f"\n{made['choice']['reason']}")
    click.echo("Nothing was trained. Leave out --dry-run to train the plan marked →.")
