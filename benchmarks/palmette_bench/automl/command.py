"""`python -m palmette_bench automl`: runs the studies of the AutoML bench and prints their tables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from palmette.errors import UserError
from palmette.sandbox.temporary import temporary_folder
from palmette_bench.automl.records import Cell, Record, append, open_cells, read_records
from palmette_bench.automl.runs import measured
from palmette_bench.automl.studies import FIVE, STUDIES, cells
from palmette_bench.automl.tables import table

QUICK_BUDGET = 10.0
VARYING_BUDGET = ("budgets", "anytime")


@click.command()
@click.argument("studies", nargs=-1, type=click.Choice(tuple(STUDIES)))
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True, help="Folder of the sets.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/automl-bench"), help="Folder of records.")
@click.option("--seeds", type=click.IntRange(1), default=3, help="Number of seeds.  [default: 3]")
@click.option("--sets", default="", metavar="NAMES", help="Only these sets, separated by commas.")
@click.option("--budget", type=float, help="Seconds per run, unless the study varies them.  [default: 60]")
@click.option("--model", default="offline", metavar="PROVIDER:NAME", help="Language model for the agents.")
@click.option("--money", type=float, help="US dollars after which no further run starts.")
@click.option("--peer", "peers", multiple=True, metavar="NAME=COMMAND", help="A system, called like `external`.")
@click.option("--quick", is_flag=True, help="Five sets, one seed, 10 s a run.")
@click.option("--tables", "only_tables", is_flag=True, help="Run nothing; print the tables of the records.")
def main(  # noqa: PLR0913 - one parameter per option
    studies: tuple[str, ...],
    data: Path,
    out: Path,
    seeds: int,
    sets: str,
    budget: float | None,
    model: str,
    money: float | None,
    peers: tuple[str, ...],
    quick: bool,
    only_tables: bool,
) -> None:
    """Run STUDIES of the AutoML bench (default: agent), and print their tables.

    Interrupt it at any time: the same command continues with the missing runs.
    """
    chosen, file = studies or ("agent",), out.resolve() / "records.jsonl"
    commands = dict(_peer(one) for one in peers)
    wanted = tuple(sets.split(",")) if sets else FIVE if quick else ()
    seconds = budget or (QUICK_BUDGET if quick else 0.0)
    runs = [
        _adapted(cell, seconds, model)
        for study in chosen
        for cell in cells(study, range(1 if quick else seeds), tuple(commands))
        if not wanted or cell.set in wanted
    ]
    spent = sum(one.money for one in read_records(file))
    for record in _measured([] if only_tables else open_cells(runs, read_records(file)), data.resolve(), commands):
        append(file, record)
        spent += record.money
        if money is not None and spent >= money:
            click.echo(f"Stopped after ${spent:.2f}.", err=True)
            break
    for study in chosen:
        click.echo(f"## {study}\n\n{table(study, [one for one in read_records(file) if one.cell in runs])}")


def _peer(text: str) -> tuple[str, str]:
    name, equals, command = text.partition("=")
    if not equals:
        raise UserError(f"--peer {text!r} is not NAME=COMMAND.", code="bad-peer")
    return name, command


def _adapted(cell: Cell, seconds: float, model: str) -> Cell:
    changes: dict[str, object] = {"model": model} if cell.system == "palmette" else {}
    if seconds and cell.study not in VARYING_BUDGET:
        changes["budget"] = seconds
    return cell.model_copy(update=changes)


def _measured(runs: Sequence[Cell], data: Path, commands: Mapping[str, str]) -> Iterator[Record]:
    """Runs the cells one after the other; reports progress and the expected end."""
    begun = time.monotonic()
    for number, cell in enumerate(runs, start=1):
        with temporary_folder() as work:
            record = measured(cell, data, work, commands)
        left = (time.monotonic() - begun) / number * (len(runs) - number)
        score = "no score" if record.score is None else f"{record.score:.4f}"
        how = f"{cell.set} {STUDIES[cell.study].row(cell)} {cell.setting} {cell.wording}, seed {cell.seed}"
        click.echo(
            f"[{number}/{len(runs)}] {cell.study}: {how}: {record.outcome}, {score}, {record.seconds:.0f} s, "
            f"{left / 60:.0f} min left {record.reason[:100]}",
            err=True,
        )
        yield record
