"""`palmette tune`: data, training and evaluation of a model for reading requests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from palmette.cli.screen import clean, print_json

if TYPE_CHECKING:
    from palmette.automl.task_spec.spec import TaskSpec

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
def tune() -> None:
    """Make data, train adapters (LoRA) and evaluate a model that reads requests. Training needs palmette[tune]."""


@tune.command()
@click.argument("out", type=FOLDER)
@click.option("--pairs", "count", type=click.IntRange(10, 100_000), default=2400, show_default=True)
@click.option("--runs", multiple=True, metavar="RUN", help="Add the models' answers in this run; repeat for more.")
def data(out: Path, count: int, runs: tuple[str, ...]) -> None:
    """Write requests with their tasks as chat JSONL, with splits and a data card."""
    from palmette.automl.tuning import instructions, trajectories
    from palmette.engine import find_run

    made = instructions.write(instructions.pairs(count), out)
    click.echo(clean(f"Wrote {', '.join(f'{number} {split}' for split, number in made.items())} pairs to {out}."))
    if runs:
        accepted, preferred = trajectories.write([find_run(one) for one in runs], out)
        click.echo(f"Wrote {accepted} accepted answers and {preferred} preferences.")


@tune.command()
@click.argument("model", type=FOLDER)
@click.argument("data", type=FOLDER)
@click.argument("out", type=FOLDER)
@click.option("--steps", type=click.IntRange(min=1), default=300, show_default=True)
def train(model: Path, data: Path, out: Path, steps: int) -> None:
    """Train adapters on DATA and write the merged model to OUT."""
    from palmette.automl.tuning.training import train as train_model

    print_json(train_model(model, data, out, steps))


@tune.command(name="eval")
@click.option("--model", metavar="FOLDER|PROVIDER:NAME", help="A model in a folder, or as elsewhere; beside the rules.")
@click.option("--most", type=click.IntRange(min=1), default=240, show_default=True, help="Test pairs.")
def eval_(model: str | None, most: int) -> None:
    """Compare rules and model on unseen sentences: exact match, and F1 by field."""
    from palmette.automl.tuning import instructions
    from palmette.automl.tuning.training import local_model
    from palmette.llm.messages import Settings
    from palmette.llm.opening import open_provider

    tested = instructions.pairs(splits=["test"])[:most]
    readers: dict[str, Callable[[instructions.Pair], TaskSpec]] = {"rules": instructions.by_rules}
    if model and Path(model).is_dir():
        readers[model] = instructions.by_model(local_model(Path(model)))
    elif model:
        provider, settings = open_provider(model, Path()), Settings()
        readers[model] = instructions.by_model(lambda prompt: provider.reply(prompt, settings))
    print_json({name: instructions.evaluate(read, tested).model_dump() for name, read in readers.items()})
