"""`palmette bench`: what is claimed, measured again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from palmette.cli.screen import duration, json_option, near, print_json, print_table
from palmette.errors import UserError

if TYPE_CHECKING:
    from palmette.bench.featbench.experiment import Options
    from palmette.bench.featbench.records import Record

WANTED = 0.95
"""pass@3 of the planner-guided runs at the published rates."""
PLANNERS = ("offline", "sequential", "random")


@click.group()
def bench() -> None:
    """Benchmarks that run here."""


@bench.command()
@click.option(
    "--tasks", default="paper", show_default=True, metavar="NAME,...", help="Names, or paper, open, recorded, all."
)
@click.option("--planner", "planners", multiple=True, metavar="NAME", help="May be repeated; all three when left out.")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(min=1), help="Of each task, by each planner.")
@click.option(
    "--faults",
    default="published",
    show_default=True,
    metavar="RATE",
    help="Probability that an actor makes a mistake; `published`: so that its task's published failure rate comes out.",
)
@click.option("--sensitivity", is_flag=True, help="Vary rates, latent share and attempts, too.")
@click.option("--quick", is_flag=True, help="The two tasks with the fewest operations, and nothing varied.")
@click.option("--stand-ins", is_flag=True, help="Without the real actors: the dynamics alone, in minutes.")
@click.option("--words", is_flag=True, help="Specifications in words.")
@click.option(
    "--model",
    default="",
    metavar="PROVIDER:NAME",
    help="Who answers the agents' tasks; `recorded`: the answers that come with the benchmark.",
)
@click.option("--planner-model", default="", metavar="PROVIDER:NAME", help="Adds the planner `model` on this model.")
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("palmette-bench/features"),
    show_default=True,
    help="Records, memory and report; what is there is not run again.",
)
@json_option
def features(out: Path, as_json: bool, **given: Any) -> None:
    """The planner study on FeatBench: the same actors and mistakes, planned in different ways.

    Exit status 0 when no delivered view is wrong on hidden tables and the planner-guided runs succeed as often as they
    must; 1 when not.
    """
    from palmette.bench.featbench.experiment import BASE, all_names, experiment
    from palmette.bench.featbench.records import Condition
    from palmette.bench.featbench.report import write_report
    from palmette.bench.featbench.report.report import Material

    options = _options(**given)
    records = experiment(options, out, _progress())
    base = BASE if options.rate != 0 else Condition(factor=0.0)
    about = f"{len(records)} runs in {duration(sum(record.seconds for record in records))} of run time."
    if options.stand_ins:
        about += " With stand-ins for the actors: no script was written, and no check was run."
    material = Material(records, all_names(records), _command(), about, base)
    pages = write_report(material, out, "stand-ins" if options.stand_ins else "planners")
    missed = _missed(material)
    found = {"runs": len(records), "report": str(pages[1]), "missed": missed}
    if as_json:
        print_json({**found, "planners": _figures(material)})
    else:
        _screen(material, pages, missed)
    raise SystemExit(1 if missed else 0)


def _options(
    tasks: str, planners: tuple[str, ...], faults: str, quick: bool, planner_model: str, **rest: Any
) -> Options:
    from palmette.bench.featbench.experiment import Options, smallest

    names = tuple(name.strip() for name in tasks.split(",") if name.strip())
    if quick:
        names = tuple(task.name for task in smallest(names))
    try:
        rate = None if faults == "published" else float(faults)
    except ValueError:
        rate = -1.0
    if rate is not None and not 0 <= rate < 1:
        raise UserError(
            f"--faults {faults!r} is no probability.", "Give `published`, 0, or a number below 1.", code="bad-rate"
        )
    planners = planners or (*PLANNERS, *(["model"] if planner_model else []))
    return Options(tasks=names, planners=planners, rate=rate, planner_model=planner_model, **rest)


def _progress() -> Callable[[Record, int], None]:
    """Prints a line a run."""
    count = 0

    def done(record: Record, total: int) -> None:
        nonlocal count
        count += 1
        mark = "✓" if record.success else "!" if record.silent_wrong else "?" if record.unmeasured else "✗"
        click.echo(
            f"{count:>5}/{total}  {mark} {record.task}  {record.planner}  run {record.run + 1}  "
            f"({record.condition.label})  {record.steps} steps, "
            f"{record.failures} of {record.attempts} attempts failed, {duration(record.seconds)}",
            err=True,
        )

    return done


def _figures(material: Any) -> dict[str, Any]:
    from palmette.bench.featbench.metrics import summary

    found = {}
    for planner in material.planners:
        each = summary(material.of(planner))
        found[planner] = {
            "pass@3 as published": each.success.mean,
            "interval": each.interval,
            "usual pass@3": each.usual_pass,
            "silent wrong": each.silent_wrong,
            "steps": each.steps.mean,
            "failed attempts": each.failure_rate.mean,
            "mutants killed": each.killed,
            "runs": each.runs,
        }
    return found


def _missed(material: Any) -> list[str]:
    """What was demanded and did not come out."""
    from palmette.bench.featbench.metrics import summary

    found = []
    for planner in material.planners:
        each = summary(material.of(planner))
        if each.silent_wrong:
            found.append(f"{planner}: {each.silent_wrong:.1%} of the delivered views are wrong on hidden tables")
        if late := [record for record in material.of(planner) if record.unmeasured]:
            found.append(f"{planner}: {len(late)} delivered views were not compared: {late[0].unmeasured}")
    guided = summary(material.of("offline"))
    wanted = WANTED if material.base.factor else 1.0
    if guided.runs and guided.success.mean < wanted:
        found.append(f"offline: {guided.success.mean:.1%} of the runs succeed, {wanted:.0%} are wanted")
    return found


def _screen(material: Any, pages: Sequence[Path], missed: Sequence[str]) -> None:
    figures = _figures(material)
    header = ("planner", "runs", "pass@3", "usual pass@3", "silent wrong", "steps", "failed attempts")
    rows = [
        (
            planner,
            each["runs"],
            f"{each['pass@3 as published']:.3f}",
            f"{each['usual pass@3']:.3f}",
            f"{each['silent wrong']:.3f}",
            f"{each['steps']:.1f}",
            f"{each['failed attempts']:.1%}",
        )
        for planner, each in figures.items()
    ]
    click.secho("\nSuccess by planner", bold=True)
    print_table(header, rows)
    for line in missed:
        click.echo(f"! {line}")
    click.echo(f"\nreport       {near(pages[1])}\nthe same     {near(pages[0])}")


def _command() -> str:
    """As it was typed."""
    import shlex
    import sys

    return shlex.join(["palmette", *sys.argv[1:]])
