"""`python -m palmette_bench automl`: runs the studies of the AutoML bench and prints their tables."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from palmette.errors import UserError
from palmette.knowledge.memory import RunMemory
from palmette.sandbox.temporary import temporary_folder
from palmette_bench.automl.records import Cell, Record, open_cells
from palmette_bench.automl.runs import measured
from palmette_bench.automl.studies import REMEMBERING, STUDIES, cells
from palmette_bench.automl.tables import table
from palmette_bench.record_files import append, read_records

QUICK_SHARE = 1 / 6
"""Of the seconds of a run."""


@click.command()
@click.argument("studies", nargs=-1, type=click.Choice(tuple(STUDIES)))
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True, help="Folder of the sets.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/automl-bench"), help="Folder of records.")
@click.option("--seeds", type=click.IntRange(1), default=3, help="Number of seeds.  [default: 3]")
@click.option("--sets", default="", metavar="NAMES", help="Only these sets, separated by commas.")
@click.option("--budget", type=float, default=60.0, show_default=True, help="Seconds of a run at its full time.")
@click.option("--model", default="offline", metavar="PROVIDER:NAME", help="Language model for the agents.")
@click.option("--money", type=float, help="US dollars that all runs together may cost.")
@click.option("--peer", "peers", multiple=True, metavar="NAME=COMMAND", help="A system, called like `external`.")
@click.option("--quick", is_flag=True, help="A few sets, one seed, a sixth of the time (10 s): 15 to 25 minutes.")
@click.option("--tables", "only_tables", is_flag=True, help="Run nothing; print the tables of the records.")
def main(  # noqa: PLR0913 - one parameter per option
    studies: tuple[str, ...],
    data: Path,
    out: Path,
    seeds: int,
    sets: str,
    budget: float,
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
    wanted = sets.split(",") if sets else []
    if unknown := {*wanted} - {name for study in chosen for name in STUDIES[study].sets}:
        raise click.BadParameter(f"{', '.join(chosen)}: no set {', '.join(sorted(unknown))}.", param_hint="--sets")
    share = budget / 60 * (QUICK_SHARE if quick else 1)
    runs = [
        cell.model_copy(update={"budget": cell.budget * share, "model": model if cell.system == "palmette" else ""})
        for study in chosen
        for cell in cells(study, range(1 if quick else seeds), tuple(commands))
        if cell.set in (wanted or (STUDIES[study].quick if quick else STUDIES[study].sets))
    ]
    left = [] if only_tables else open_cells(runs, read_records(file, Record))
    for record in _measured(left, data.resolve(), commands, file, money):
        append(file, record)
    for study in chosen:
        click.echo(f"## {study}\n\n{table(study, [one for one in read_records(file, Record) if one.cell in runs])}")


def _peer(text: str) -> tuple[str, str]:
    name, equals, command = text.partition("=")
    if not equals:
        raise UserError(f"--peer {text!r} is not NAME=COMMAND.", code="bad-peer")
    return name, command


def _remembered(cell: Cell, records: Iterable[Record]) -> list[RunMemory]:
    """What a cell's memory holds: the runs on other sets without memory."""
    others = (one for one in records if (one.cell.study, one.cell.seed) == (cell.study, cell.seed))
    plain = (one for one in others if one.cell.knowledge == "library" and one.cell.set != cell.set)
    return [one.remembered for one in plain if one.remembered and cell.knowledge in REMEMBERING]


def _measured(
    runs: Sequence[Cell], data: Path, commands: Mapping[str, str], file: Path, money: float | None
) -> Iterator[Record]:
    """Runs the cells one after the other; reports progress and the expected end."""
    begun = time.monotonic()
    for number, cell in enumerate(runs, start=1):
        known = read_records(file, Record)
        rest = None if money is None else money - sum(one.money for one in known)
        if rest is not None and rest <= 0:
            click.echo(f"Stopped: ${money:.2f} are spent.", err=True)
            return
        with temporary_folder() as work:
            record = measured(cell, data, work, commands, _remembered(cell, known), rest)
        left = (time.monotonic() - begun) / number * (len(runs) - number)
        score = "no score" if record.score is None else f"{record.score:.4f}"
        how = f"{cell.set} {STUDIES[cell.study].row(cell)} {cell.setting} {cell.wording}, seed {cell.seed}"
        click.echo(
            f"[{number}/{len(runs)}] {cell.study}: {how}: {record.outcome}, {score}, {record.seconds:.0f} s, "
            f"{left / 60:.0f} min left {record.reason[:100]}",
            err=True,
        )
        yield record
