"""The command of the planner study."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from palmette.cli.screen import duration, json_option, near, print_json, print_table
from palmette.llm.opening import BUILT_IN
from palmette_bench.featbench import experiment
from palmette_bench.featbench.experiment import BASE, StudyOptions, smallest
from palmette_bench.featbench.metrics import Summary, summary
from palmette_bench.featbench.records import Condition, RunRecord
from palmette_bench.featbench.report import StudyRecords, write_report
from palmette_bench.featbench.study import PLANNERS

WANTED = 0.95
"""pass@3 of the planner-guided runs at the published rates."""


@click.command()
@click.option("--tasks", default="paper", show_default=True, metavar="NAME,...", help="Names, or paper, open, all.")
@click.option(
    "--planner", "planners", multiple=True, metavar="NAME", help="Repeatable, e.g. offline-with-memory.  [default: 3]"
)
@click.option("--runs", default=3, show_default=True, type=click.IntRange(min=1), help="Of each task, by each planner.")
@click.option(
    "--faults",
    default="published",
    show_default=True,
    metavar="RATE",
    help="Probability of a fault at each draw; `published` reproduces the published failure rate of each task.",
)
@click.option("--sensitivity", is_flag=True, help="Vary rates, latent share and attempts, too.")
@click.option("--quick", is_flag=True, help="The two tasks with the fewest operations.")
@click.option("--stand-ins", is_flag=True, help="Without the real actors: the dynamics alone, in minutes.")
@click.option("--vague", is_flag=True, help="With --stand-ins: every actor upstream of a failure may be at fault.")
@click.option("--words", is_flag=True, help="Specifications in words.")
@click.option("--model", default=BUILT_IN, metavar="PROVIDER:NAME", help="Answers the agents' tasks.")
@click.option("--planner-model", default="", metavar="PROVIDER:NAME", help="Adds the planner `model` on this model.")
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("palmette-bench/features"),
    show_default=True,
    help="Records, memory and report; a run that has a record is not repeated.",
)
@json_option
def main(out: Path, as_json: bool, **given: Any) -> None:
    """Compare planners on FeatBench: the same actors and seeded faults, planned in different ways.

    Exit status 0 when no delivered view is wrong on hidden tables and the planner-guided runs succeed often enough.
    """
    options = _options(**given)
    records = experiment.experiment(options, out, _progress())
    base = BASE if options.rate != 0 else Condition(factor=0.0)
    about = f"{len(records)} runs in {duration(sum(record.seconds for record in records))} of run time."
    if options.stand_ins:
        about += " With stand-ins for the actors: no script was written, and no check was run."
    command = f"python -m palmette_bench {shlex.join(sys.argv[1:])}"
    study = StudyRecords(records, command, about, base)
    page = write_report(study, out, "stand-ins" if options.stand_ins else "planners")
    summaries = {planner: summary(study.of(planner)) for planner in study.planners}
    missed = list(_missed(study, summaries))
    if as_json:
        figures = {planner: _figures(each) for planner, each in summaries.items()}
        print_json({"runs": len(records), "report": str(page), "missed": missed, "planners": figures})
    else:
        _screen(summaries, page, missed)
    sys.exit(1 if missed else 0)


def _options(
    tasks: str, planners: tuple[str, ...], faults: str, quick: bool, planner_model: str, **rest: Any
) -> StudyOptions:
    names = tuple(name.strip() for name in tasks.split(",") if name.strip())
    if quick:
        names = tuple(task.name for task in smallest(names))
    try:
        rate = None if faults == "published" else float(faults)
    except ValueError:
        rate = -1.0
    if rate is not None and not 0 <= rate < 1:
        raise click.BadParameter(f"{faults!r} is not a probability: give `published`, 0, or a number below 1")
    planners = planners or (*PLANNERS, *(["model"] if planner_model else []))
    return StudyOptions(tasks=names, planners=planners, rate=rate, planner_model=planner_model, **rest)


def _progress() -> Callable[[RunRecord, int], None]:
    """Prints a line for each run."""
    count = 0

    def done(record: RunRecord, total: int) -> None:
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


def _figures(each: Summary) -> dict[str, Any]:
    return {
        "runs": each.runs,
        "pass@3 as published": each.success.mean,
        "usual pass@3": each.usual_pass,
        "silent wrong": each.silent_wrong,
        "steps": each.steps.mean,
        "failed attempts": each.failure_rate.mean,
        "interval": each.interval,
        "mutants killed": each.killed,
    }


def _missed(study: StudyRecords, summaries: Mapping[str, Summary]) -> list[str]:
    """Requirements that are not met."""
    found = []
    for planner, each in summaries.items():
        if each.silent_wrong:
            found.append(f"{planner}: {each.silent_wrong:.1%} of the delivered views are wrong on hidden tables")
        if late := [record for record in study.of(planner) if record.unmeasured]:
            found.append(f"{planner}: {len(late)} delivered views were not compared: {late[0].unmeasured}")
    wanted = WANTED if study.base.factor else 1.0
    guided = summaries.get("offline")
    if guided and guided.runs and guided.success.mean < wanted:
        found.append(f"offline: {guided.success.mean:.1%} of the runs succeed, {wanted:.0%} are required")
    return found


def _screen(summaries: Mapping[str, Summary], page: Path, missed: Sequence[str]) -> None:
    click.secho("\nSuccess by planner", bold=True)
    rows = [(planner, *list(_figures(each).values())[:6]) for planner, each in summaries.items()]
    shown = [tuple(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows]
    print_table(("planner", "runs", "pass@3", "usual pass@3", "silent wrong", "steps", "failed attempts"), shown)
    for line in missed:
        click.echo(f"! {line}")
    click.echo(f"\nreport       {near(page)}")
