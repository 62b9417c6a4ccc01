"""What a planner study found: the paper's Tables 1 and 3 and its Figure 2 with both figures, sensitivity, and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from palmette.bench.featbench.faults import CATALOGUE
from palmette.bench.featbench.faults.rates import PASS, published
from palmette.bench.featbench.metrics import (
    ORDER,
    Figure,
    Summary,
    alone,
    by_actor,
    reasons,
    summary,
    wilson,
    within,
)
from palmette.bench.featbench.records import Condition, Record
from palmette.bench.featbench.report import plots
from palmette.bench.featbench.report.blocks import Block, Heading, Plot, Table, Text, write

STEPS = (8, 9, 10, 12, 15, 20, 25, 30, 40)
"""Limits of steps under which success is shown."""
NOTHING = "–"


class Material(NamedTuple):
    """What a report is made from."""

    records: Sequence[Record]
    names: dict[str, tuple[str, ...]]
    """By task: all names that it has."""
    command: str
    about: str
    """When and where it was measured."""
    base: Condition = Condition()

    def of(self, planner: str = "", task: str = "", condition: Condition | None = None) -> list[Record]:
        wanted = condition or self.base
        return [
            record
            for record in self.records
            if record.condition == wanted and planner in ("", record.planner) and task in ("", record.task)
        ]

    @property
    def planners(self) -> list[str]:
        return list(dict.fromkeys(record.planner for record in self.records))

    @property
    def tasks(self) -> list[str]:
        return [name for name in self.names if any(record.task == name for record in self.records)]


def write_report(material: Material, folder: Path, name: str = "planners") -> tuple[Path, Path]:
    """`name`.md with its plots, and `name`.html, in a folder."""
    return write(blocks_of(material), folder, name, "FeatBench: the planner study")


def blocks_of(material: Material) -> list[Block]:
    found: list[Block] = [
        Heading("The planner study", 1),
        Text(f"Made by `{material.command}`. {material.about}"),
    ]
    if material.of():
        found += [*_planners(material), *_conditions(material), *_tasks(material), *_actors(material)]
    found += [*_sensitivity(material), *_without_faults(material), *_catalogue(material)]
    return found


def _planners(material: Material) -> list[Block]:
    """The paper's Table 1, and what it does not have."""
    summaries = {planner: summary(material.of(planner)) for planner in material.planners}
    summaries = {planner: each for planner, each in summaries.items() if each.runs}
    rows = [_planner_row(planner, each) for planner, each in summaries.items()]
    header = (
        "planner", "published pass@3", "measured", "95 %", "usual pass@3", "silent wrong", "steps", "attempts",
        "failed attempts", "mutants killed", "s a run", "s of work", "calls", "tokens", "money",
    )  # fmt: skip
    bars = {planner: (each.success.mean, each.interval) for planner, each in summaries.items()}
    shares = {planner: share for planner, (share, _) in PASS.items() if planner in bars}
    return [
        Heading("Success by planner"),
        Text(
            f"{len(material.tasks)} tasks, {_runs(material)} runs of each with each planner, under the same faults: "
            f"{material.base.label}. pass@3 is the paper's: the share of successful runs out of three (in brackets the "
            "deviation of single runs, which for shares follows from the mean). It is not the usual pass@k, the chance "
            "that one of k runs succeeds, which stands beside it. A run is successful when it delivered a pull request "
            "and the delivered script gives the expected rows on hidden tables."
        ),
        Table(header, rows),
        Plot("success", "Successful runs by planner, published and measured", plots.success_bars(bars, shares)),
        Heading("How runs ended that were not successful", 3),
        Table(
            ("planner", "runs", "how"),
            [(planner, str(one.runs), one.reason) for planner in summaries for one in reasons(material.of(planner))],
        ),
    ]


def _conditions(material: Material) -> list[Block]:
    """What is the same for all planners, and what the published figures say by themselves."""
    rates = [line.rate for task in material.tasks if (line := published(material.names[task]))]
    by_hand = alone(rates, material.base.attempts, len(ORDER))
    arithmetic = (
        f"By arithmetic: were all faults loud, a fixed order would succeed in {by_hand:.3f} of the runs of these tasks "
        f"at the published rates (each of {len(ORDER)} actors has {material.base.attempts} attempts, each of which "
        "fails with the task's rate). The paper measured 0.600 on its ten tasks."
    )
    return [
        Heading("What is equal, and what differs", 3),
        Text(
            "The actors, their criteria, attempts, limits and mistakes are the same for every planner, and a person is "
            "never there. Mistakes follow from the seeds of study, task, run, actor and draw alone, so every planner "
            "meets the same. A mistake stays until the actor is told of a violation that it is to blame for: one of "
            "its own attempts, or evidence with which a planner comes back. The sequential order ends with the first "
            "actor that gives up. The random walk follows the edges, starts anew only where no edge leads on, delivers "
            "as soon as everything is fresh, and gives no instructions; so it may try an actor again as often as its "
            "limit of steps allows, but sends nothing back. The published deviations are those of single runs "
            "(the root of p(1 - p)), and the published steps are ninths: nine runs a task."
        ),
        *([Text(arithmetic)] if rates else []),
    ]


def _planner_row(planner: str, each: Summary) -> tuple[str, ...]:
    known = PASS.get(planner)
    return (
        plots.named(planner),
        f"{known[0]:.3f} ({known[1]:.3f})" if known else NOTHING,
        f"{each.success.mean:.3f} ({each.success.deviation:.3f})",
        f"{each.interval.low:.2f}–{each.interval.high:.2f}",
        f"{each.usual_pass:.3f}",
        f"{each.silent_wrong:.3f}",
        _figure(each.steps),
        _figure(each.attempts),
        _percent(each.failure_rate),
        f"{each.killed:.1%}" if each.killed is not None else NOTHING,
        f"{each.seconds.mean:.1f}",
        f"{each.work.mean:.0f}",
        str(each.calls),
        str(each.tokens),
        f"{each.money:.2f}",
    )


def _tasks(material: Material) -> list[Block]:
    """The paper's Table 3, and success by task."""
    guided = material.planners[0]
    rows, bars = [], []
    for task in material.tasks:
        mine, line = summary(material.of(guided, task)), published(material.names[task])
        others = [summary(material.of(planner, task)).success.mean for planner in material.planners]
        rows.append(
            (
                task,
                f"{line.steps:.2f} ({line.steps_deviation:.2f})" if line else NOTHING,
                _figure(mine.steps),
                f"{line.rate:.2%} ({line.rate_deviation:.2%})" if line else NOTHING,
                _percent(mine.failure_rate),
                f"{material.of(guided, task)[0].rate:.3f}" if mine.runs else NOTHING,
                *(f"{share:.2f}" for share in others),
            )
        )
        if line and mine.runs:
            bars.append((task, line.rate, line.rate_deviation, mine.failure_rate.mean))
    header = (
        "task", "steps published", "measured", "failed attempts published", "measured", "faults a draw",
        *(f"success {planner}" for planner in material.planners),
    )  # fmt: skip
    found: list[Block] = [
        Heading("By task"),
        Text(
            f"Of the runs with the planner `{guided}`. The published figures are of a language model; here the "
            "probability of a fault at a draw is chosen so that the share of failed attempts is the published one. "
            "Steps are decisions of the planner; ours include the one that delivers and the one that ends the run, "
            "which the published topology does not have as actors."
        ),
        Table(header, rows),
    ]
    if bars:
        found.append(Plot("rates", "Failed attempts by task, published and measured", plots.rates(bars)))
    return found


def _actors(material: Material) -> list[Block]:
    """The paper's Figure 2."""
    guided = material.planners[0]
    tallies = by_actor(material.of(guided))
    rows = [
        (name, str(one.invocations), str(one.successes), str(one.failures), f"{one.failure_rate:.1%}")
        for name, one in tallies.items()
    ]
    return [
        Heading("By actor"),
        Text(
            f"Attempts of the published actors in the runs with the planner `{guided}`. In the paper, actors whose "
            "criterion is loose succeed most, and the end-stage actors fail most; here the same probability of a fault "
            "holds for all."
        ),
        Table(("actor", "invocations", "successes", "failures", "failed"), rows),
        Plot("actors", "Successes and failures by actor", plots.actors(tallies)),
    ]


class _Sweep(NamedTuple):
    name: str
    label: str
    about: str
    value: Callable[[Condition], float]
    belongs: Callable[[Condition, Condition], bool]
    """Whether a condition differs from the base in nothing but this."""


SWEEPS = (
    _Sweep(
        "rate", "times the published rate", "Half and double the rate of faults.",
        lambda one: one.factor,
        lambda one, base: one.model_copy(update={"factor": base.factor}) == base and one.factor > 0,
    ),
    _Sweep(
        "latent", "share of latent faults", "More or fewer of the faults pass their own actor's criterion.",
        lambda one: one.latent, lambda one, base: one.model_copy(update={"latent": base.latent}) == base,
    ),
    _Sweep(
        "attempts", "attempts of an actor (K)", "How often an actor may try before the planner is asked.",
        lambda one: float(one.attempts), lambda one, base: one.model_copy(update={"attempts": base.attempts}) == base,
    ),
)  # fmt: skip


def _sensitivity(material: Material) -> list[Block]:
    found: list[Block] = []
    for sweep in SWEEPS:
        conditions = {one.condition for one in material.records if sweep.belongs(one.condition, material.base)}
        if len(conditions) > 1:
            found += _sweep(material, sweep, sorted(conditions, key=sweep.value))
    if material.of():
        found += _limits(material)
    return [Heading("Sensitivity"), *found] if found else []


def _sweep(material: Material, sweep: _Sweep, conditions: Sequence[Condition]) -> list[Block]:
    lines, rows = [], []
    for planner in material.planners:
        points = [(sweep.value(one), material.of(planner, condition=one)) for one in conditions]
        points = [(x, records) for x, records in points if records]
        shares = [sum(one.success for one in records) / len(records) for _, records in points]
        bounds = [wilson(sum(one.success for one in records), len(records)) for _, records in points]
        lines.append(plots.Line(planner, [x for x, _ in points], shares, bounds))
        rows += [
            (
                plots.named(planner),
                f"{x:g}",
                str(len(records)),
                f"{share:.3f}",
                f"{one.low:.2f}–{one.high:.2f}",
                _percent(summary(records).failure_rate),
            )
            for (x, records), share, one in zip(points, shares, bounds, strict=True)
        ]
    return [
        Heading(sweep.label[0].upper() + sweep.label[1:], 3),
        Text(sweep.about),
        Table(("planner", sweep.label, "runs", "successful", "95 %", "failed attempts"), rows),
        Plot(sweep.name, f"Share of successful runs by {sweep.label}", plots.curves(lines, sweep.label)),
    ]


def _limits(material: Material) -> list[Block]:
    """Success under smaller limits of steps, from the same runs."""
    lines = [
        plots.Line(planner, STEPS, [within(material.of(planner), limit) for limit in STEPS])
        for planner in material.planners
    ]
    return [
        Heading("Limit of steps", 3),
        Text("The same runs, had they been ended after fewer decisions: what a run does first depends on no limit."),
        Plot("steps", "Successful runs by limit of steps", plots.curves(lines, "most decisions of the planner")),
    ]


def _without_faults(material: Material) -> list[Block]:
    clean = [record for record in material.records if record.condition.factor == 0]
    if not clean:
        return []
    rows = []
    for task in dict.fromkeys(record.task for record in clean):
        mine = [record for record in clean if record.task == task]
        one = mine[0]
        killed = f"{one.killed} of {one.mutants}" if one.mutants else NOTHING
        good = sum(record.success for record in mine)
        wrong, steps = sum(record.silent_wrong for record in mine), _figure(summary(mine).steps)
        rows.append((task, f"{good} of {len(mine)}", str(wrong), steps, killed, f"{one.work:.0f}"))
    header = ("task", "successful", "silent wrong", "steps", "mutants killed", "s of work")
    return [Heading("Without faults"), Table(header, rows)]


def _catalogue(material: Material) -> list[Block]:
    drawn = [fault for record in material.records for fault in record.faults if fault.kind]
    rows = [
        (
            kind.actor,
            kind.name,
            "latent" if kind.latent else "loud",
            (kind.mutate.__doc__ or "").strip().splitlines()[0],
            str(sum(fault.kind == kind.name and fault.actor == kind.actor for fault in drawn)),
        )
        for actor in ORDER
        for kind in CATALOGUE
        if kind.actor == actor
    ]
    return [
        Heading("Kinds of faults"),
        Text(
            "A loud fault is refused by its own actor's criterion; a latent one passes it and shows downstream. Nobody "
            "in a run is told which is which: verdicts come from the real checks on the changed artefact. All faults "
            "of scripts are loud, because the criterion of the code generator is all that is known about the view."
        ),
        Table(("actor", "fault", "", "what is wrong", "drawn"), rows),
    ]


def _runs(material: Material) -> int:
    return len({record.run for record in material.of()})


def _figure(figure: Figure) -> str:
    return NOTHING if math.isnan(figure.mean) else f"{figure.mean:.2f} ({figure.deviation:.2f})"


def _percent(figure: Figure) -> str:
    return NOTHING if math.isnan(figure.mean) else f"{figure.mean:.2%} ({figure.deviation:.2%})"
