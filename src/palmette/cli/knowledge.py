"""Commands for knowledge from outside a run: `search`, `checkpoints`, `memory` and `tune`."""

from pathlib import Path
from typing import Any, get_args

import click

from palmette.cli.screen import json_option, print_json, print_table, say
from palmette.documents import MOST_WRITTEN, read_text, write_text
from palmette.errors import UserError, counted
from palmette.knowledge import memory as remembered
from palmette.knowledge.source import OFF, Record, RecordKind, sources
from palmette.knowledge.source import search as search_sources

HEAD = ("place", "title", "licence", "size", "downloads")  # of a table of records
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", type=click.Choice(get_args(RecordKind)), default="dataset", show_default=True)
@click.option("--source", "named", multiple=True, metavar="NAME", help="Ask this source, on or not; repeat for more.")
@click.option("--most", type=click.IntRange(1, 100), default=5, show_default=True, help="Entries of each source.")
@json_option
def search(words: tuple[str, ...], kind: RecordKind, named: tuple[str, ...], most: int, as_json: bool) -> None:
    """Search the sources of knowledge.

    Online sources are asked if PALMETTE_KNOWLEDGE is `all` or names them, or with --source. Keys: HF_TOKEN,
    KAGGLE_API_TOKEN (or KAGGLE_USERNAME and KAGGLE_KEY), OPENALEX_API_KEY, and for the source `web` one of SEARXNG_URL,
    BRAVE_API_KEY and TAVILY_API_KEY. PALMETTE_DOCUMENTS names a folder of your own documents.
    """
    results = search_sources(" ".join(words), kind, most, named)
    if as_json:
        print_json([one.model_dump(mode="json") for one in results])
        return
    rows = [_row(record) for result in results for record in result.records]
    if rows:
        print_table(HEAD, rows)
    for result in results:
        say(result.note)
    if not (rows or named or any(one.online for one in sources(kind))):
        say(OFF)


def _row(one: Record) -> tuple[str, str, str, str, str]:
    size = [f"{one.rows:,} rows"] if one.rows else []
    size += [f"{one.parameters / 1e6:.0f}M parameters"] if one.parameters else []
    size += [f"{one.megabytes:g} MB"] if one.megabytes else []
    return one.place, one.title[:60], one.licence, ", ".join(size), str(one.downloads or "")


@click.command()
@click.argument("kind", type=click.Choice(("text", "image", "audio", "series")))
@click.option("--rows", type=click.IntRange(min=1), default=10_000, show_default=True, help="Rows to encode.")
@click.option("--budget", type=click.FloatRange(min=1), default=120.0, show_default=True, help="Seconds of the run.")
@click.option("--fetch", "id", metavar="OWNER/NAME", help="Fetch this network into $PALMETTE_MODELS.")
@json_option
def checkpoints(kind: str, rows: int, budget: float, id: str | None, as_json: bool) -> None:
    """Find networks of the Hugging Face hub for columns of a kind, or fetch one.

    Only safetensors of known architectures are used. A fetched network is a candidate of later runs, offline too.
    """
    from palmette.automl.checkpoints import checkpoints as find
    from palmette.automl.checkpoints import fetch_checkpoint

    if id:
        folder = str(fetch_checkpoint(id))
        print_json({"folder": folder}) if as_json else click.echo(f"In {folder}")
        return
    found = find(kind, rows, budget)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
        return
    table = [(*_row(one.record)[1:], f"{one.seconds:g} s", "; ".join(one.concerns)) for one in found]
    print_table(("network", *HEAD[2:], "encoding", "concerns"), table)


@click.group()
def memory() -> None:
    """Show, forget, export or import what finished runs left.

    The file is memory.sqlite in the folder of runs, or $PALMETTE_MEMORY; `off` turns it off. It holds figures of
    tables, candidates with scores, and failures; names of columns and quoted texts only with PALMETTE_MEMORY_TEXTS=1.
    """


def _opened() -> remembered.Memory:
    known = remembered.open_memory()
    if known is None:
        raise UserError("The memory is off.", f"Unset {remembered.VARIABLE}.", code="memory-off")
    return known


@memory.command(name="list")
@json_option
def list_(as_json: bool) -> None:
    """List the runs, newest first."""
    known = _opened().all()
    if as_json:
        print_json([one.model_dump(mode="json") for one in known])
        return
    rows = [
        (one.run, one.environment, one.problem, f"{one.figures.get('rows', 0):,.0f}", _best(one), str(len(one.mended)))
        for one in known
    ]
    print_table(("run", "environment", "problem", "rows", "best", "mended"), rows)
    if not rows:
        click.echo("The memory is empty: no run has finished.")


def _best(one: remembered.RunMemory) -> str:
    return f"{one.candidates[0].candidate.learner} {one.candidates[0].score:.4g}" if one.candidates else ""


@memory.command()
@click.argument("run")
def show(run: str) -> None:
    """Print all that is kept of a run, as JSON."""
    print_json(_opened().get(run).model_dump(mode="json"))


@memory.command()
@click.argument("run")
def forget(run: str) -> None:
    """Delete a run from the memory."""
    _opened().forget(run)


@memory.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def export(file: Path) -> None:
    """Write all runs to a file of JSON lines."""
    write_text(file, "".join(f"{one.model_dump_json()}\n" for one in _opened().all()))
    click.echo(f"Wrote {file}.")


@memory.command(name="import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def import_(file: Path) -> None:
    """Add the runs of an exported file."""
    text = read_text(file, MOST_WRITTEN)
    click.echo(f"Added {counted(remembered.imported(_opened(), text, str(file)), 'run')}.")


@click.group()
def tune() -> None:
    """Make data, train adapters (LoRA) and evaluate a model that reads requests. Training needs palmette[tune]."""


@tune.command()
@click.argument("out", type=_FOLDER)
@click.option("--pairs", "count", type=click.IntRange(10, 100_000), default=2400, show_default=True)
@click.option("--runs", multiple=True, metavar="RUN", help="Add the models' answers in this run; repeat for more.")
@click.option("--model", default="offline", metavar="PROVIDER:NAME", help="Language model that evolves the requests.")
@click.option("--tokens", type=click.IntRange(min=1), help="Token limit for the language model.")
@click.option("--money", type=click.FloatRange(min=0), help="Cost limit for the language model, in US dollars.")
def data(out: Path, count: int, runs: tuple[str, ...], model: str, tokens: int | None, money: float | None) -> None:
    """Write requests with their tasks as chat JSONL, with splits and a data card.

    A model's calls are kept as a run in OUT/calls; the same command goes on from there.
    """
    from palmette.automl.tuning import instructions, trajectories
    from palmette.automl.tuning.evolution import evolve
    from palmette.engine import RunBudget, find_run
    from palmette.engine.runs import RunSession
    from palmette.llm.opening import ModelChoice, open_models
    from palmette.llm.text import token_limit

    pairs, origin, calls = instructions.pairs(count), instructions.BY_GRAMMAR, out / "calls"
    if evolver := open_models(ModelChoice(model=model), calls).of("request_evolver"):
        with RunSession(calls, resumes=True).calls(RunBudget(tokens=token_limit(tokens, money), money=money)) as pay:
            pairs, origin = evolve(pairs, evolver, pay)
    made = instructions.write(pairs, out, origin)
    click.echo(f"Wrote {', '.join(f'{number} {split}' for split, number in made.items())} pairs to {out}. {origin}")
    if runs:
        accepted, preferred = trajectories.write([find_run(one) for one in runs], out)
        click.echo(f"Wrote {accepted} accepted answers and {preferred} preferences.")


@tune.command()
@click.argument("model", type=_FOLDER)
@click.argument("data", type=_FOLDER)
@click.argument("out", type=_FOLDER)
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
    readers: dict[str, Any] = {"rules": instructions.by_rules}
    if model and Path(model).is_dir():
        readers[model] = instructions.by_model(local_model(Path(model)))
    elif model:
        provider, settings = open_provider(model, Path()), Settings()
        readers[model] = instructions.by_model(lambda prompt: provider.reply(prompt, settings))
    print_json({name: instructions.evaluate(read, tested).model_dump() for name, read in readers.items()})
