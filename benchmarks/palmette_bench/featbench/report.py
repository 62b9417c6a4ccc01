"""The report of a study: the paper's Tables 1 and 3 and its Figure 2, sensitivity, and why runs failed."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from palmette.automl.report.figures import wilson
from palmette.delivery.markdown import table
from palmette_bench.featbench import plots
from palmette_bench.featbench.faults import CATALOGUE
from palmette_bench.featbench.faults.rates import PASS, PUBLISHED
from palmette_bench.featbench.metrics import ORDER, Mean, Summary, by_actor, reasons, summary, within
from palmette_bench.featbench.records import Condition, RunRecord

STEPS = (8, 9, 10, 12, 15, 20, 25, 30, 40)
"""Limits of steps under which success is shown."""
NOTHING = "–"


class StudyRecords(NamedTuple):
    """What a report is made from."""

    records: Sequence[RunRecord]
    command: str
    about: str
    """When and where it was measured."""
    base: Condition = Condition()

    def of(self, planner: str = "", task: str = "", condition: Condition | None = None) -> list[RunRecord]:
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
        return list(dict.fromkeys(record.task for record in self.records))


@dataclass
class Page:
    """A Markdown page with its plots in the folder `name` beside it."""

    folder: Path
    name: str
    blocks: list[str] = field(default_factory=list)

    def heading(self, text: str, level: int = 2) -> None:
        self.blocks.append(f"{'#' * level} {text}")

    def text(self, text: str) -> None:
        self.blocks.append(text)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.blocks.append(table(header, rows))

    def plot(self, name: str, about: str, png: bytes) -> None:
        (self.folder / self.name).mkdir(exist_ok=True)
        (self.folder / self.name / f"{name}.png").write_bytes(png)
        self.blocks.append(f"![{about}]({self.name}/{name}.png)")


def write_report(study: StudyRecords, folder: Path, name: str = "planners") -> Path:
    """Writes `name`.md, with its plots, to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    page = Page(folder, name)
    page.heading("The planner study", 1)
    page.text(f"Made by `{study.command}`. {study.about}")
    if study.of():
        _planners(study, page)
        _tasks(study, page)
        _actors(study, page)
    _sensitivity(study, page)
    _without_faults(study, page)
    _catalogue(study, page)
    file = folder / f"{name}.md"
    file.write_text("\n\n".join(page.blocks) + "\n", encoding="utf-8")
    return file


def _planners(study: StudyRecords, page: Page) -> None:
    """The paper's Table 1, and more."""
    summaries = {planner: summary(study.of(planner)) for planner in study.planners}
    summaries = {planner: each for planner, each in summaries.items() if each.runs}
    bars = {planner: (each.success.mean, each.interval) for planner, each in summaries.items()}
    runs = len({record.run for record in study.of()})
    page.heading("Success by planner")
    page.text(
        f"{len(study.tasks)} tasks, {runs} runs of each with each planner, under the same seeded faults: "
        f"{study.base.label}. pass@3 is the paper's: the share of successful runs out of three (in brackets the "
        "deviation of single runs). The usual pass@k is the chance that one of k runs succeeds. A run succeeds when it "
        "delivers a pull request and the delivered script gives the expected rows on hidden tables."
    )
    page.table(
        ("planner", "published pass@3", "measured", "95 %", "usual pass@3", "silent wrong", "steps", "attempts",
         "failed attempts", "mutants killed", "s a run", "s of work", "calls", "tokens", "money"),
        [_planner_row(planner, each) for planner, each in summaries.items()],
    )  # fmt: skip
    shares = {planner: share for planner, (share, _) in PASS.items() if planner in bars}
    page.plot("success", "Successful runs by planner, published and measured", plots.success_bars(bars, shares))
    page.heading("How unsuccessful runs ended", 3)
    page.table(
        ("planner", "runs", "how"),
        [(planner, str(runs), how) for planner in summaries for how, runs in reasons(study.of(planner))],
    )


def _planner_row(planner: str, each: Summary) -> tuple[str, ...]:
    known = PASS.get(planner)
    return (
        plots.named(planner),
        f"{known[0]:.3f} ({known[1]:.3f})" if known else NOTHING,
        f"{each.success.mean:.3f} ({each.success.deviation:.3f})",
        _range(each.interval),
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


def _tasks(study: StudyRecords, page: Page) -> None:
    """The paper's Table 3, and success by task."""
    guided = study.planners[0]
    rows, bars = [], []
    for task in study.tasks:
        mine, line = summary(study.of(guided, task)), PUBLISHED.get(task)
        others = [summary(study.of(planner, task)).success.mean for planner in study.planners]
        rows.append(
            (
                task,
                f"{line.steps:.2f} ({line.steps_deviation:.2f})" if line else NOTHING,
                _figure(mine.steps),
                f"{line.rate:.2%} ({line.rate_deviation:.2%})" if line else NOTHING,
                _percent(mine.failure_rate),
                f"{study.of(guided, task)[0].rate:.3f}" if mine.runs else NOTHING,
                *(f"{share:.2f}" for share in others),
            )
        )
        if line and mine.runs:
            bars.append((task, line.rate, line.rate_deviation, mine.failure_rate.mean))
    page.heading("By task")
    page.text(
        f"Runs with the planner `{guided}`. The published figures are of a language model; here the probability of a "
        "fault is calibrated to the published share of failed attempts. Steps are decisions of the planner, those that "
        "deliver and end the run included."
    )
    page.table(
        ("task", "steps published", "measured", "failed attempts published", "measured", "faults a draw",
         *(f"success {planner}" for planner in study.planners)),
        rows,
    )  # fmt: skip
    if bars:
        page.plot("rates", "Failed attempts by task, published and measured", plots.rates(bars))


def _actors(study: StudyRecords, page: Page) -> None:
    """The paper's Figure 2."""
    tallies = by_actor(study.of(study.planners[0]))
    page.heading("By actor")
    page.text(f"Attempts of the published actors in the runs with the planner `{study.planners[0]}`.")
    page.table(
        ("actor", "invocations", "successes", "failures", "failed"),
        [
            (name, str(one.invocations), str(one.successes), str(one.failures), f"{one.failure_rate:.1%}")
            for name, one in tallies.items()
        ],
    )
    page.plot("actors", "Successes and failures by actor", plots.actors(tallies))


class _Sweep(NamedTuple):
    name: str
    """The field of `Condition` that varies."""
    label: str
    about: str


SWEEPS = (
    _Sweep("factor", "times the published rate", "Half and double the rate of faults."),
    _Sweep("latent", "share of latent faults", "More or fewer of the faults pass their own actor's criterion."),
    _Sweep("attempts", "attempts of an actor (K)", "How often an actor may try before the planner is asked."),
)


def _sensitivity(study: StudyRecords, page: Page) -> None:
    base, begun = study.base, len(page.blocks)
    for sweep in SWEEPS:
        usual = {sweep.name: getattr(base, sweep.name)}
        conditions = {one.condition for one in study.records if one.condition.model_copy(update=usual) == base}
        kept = sorted((one for one in conditions if one.factor > 0), key=lambda one: float(getattr(one, sweep.name)))
        if len(kept) > 1:
            _sweep(study, sweep, {float(getattr(one, sweep.name)): one for one in kept}, page)
    if study.of():
        page.heading("Limit of steps", 3)
        page.text("The same runs, had they ended after fewer decisions: the beginning of a run depends on no limit.")
        lines = [
            plots.Curve(planner, STEPS, [within(study.of(planner), limit) for limit in STEPS])
            for planner in study.planners
        ]
        page.plot("steps", "Successful runs by limit of steps", plots.curves(lines, "most decisions of the planner"))
    if len(page.blocks) > begun:
        page.blocks.insert(begun, "## Sensitivity")


def _sweep(study: StudyRecords, sweep: _Sweep, conditions: Mapping[float, Condition], page: Page) -> None:
    lines, rows = [], []
    for planner in study.planners:
        points = {x: records for x, one in conditions.items() if (records := study.of(planner, condition=one))}
        successes = {x: sum(one.success for one in records) for x, records in points.items()}
        shares = [successes[x] / len(records) for x, records in points.items()]
        bounds = [wilson(successes[x], len(records)) for x, records in points.items()]
        lines.append(plots.Curve(planner, list(points), shares, bounds))
        rows += [
            (plots.named(planner), f"{x:g}", str(len(records)), f"{share:.3f}", _range(one),
             _percent(summary(records).failure_rate))
            for (x, records), share, one in zip(points.items(), shares, bounds, strict=True)
        ]  # fmt: skip
    page.heading(sweep.label[0].upper() + sweep.label[1:], 3)
    page.text(sweep.about)
    page.table(("planner", sweep.label, "runs", "successful", "95 %", "failed attempts"), rows)
    page.plot(sweep.name, f"Share of successful runs by {sweep.label}", plots.curves(lines, sweep.label))


def _without_faults(study: StudyRecords, page: Page) -> None:
    clean = [record for record in study.records if record.condition.factor == 0]
    rows = []
    for task in dict.fromkeys(record.task for record in clean):
        mine = [record for record in clean if record.task == task]
        one = mine[0]
        killed = f"{one.killed} of {one.mutants}" if one.mutants else NOTHING
        good, wrong = sum(record.success for record in mine), sum(record.silent_wrong for record in mine)
        rows.append(
            (task, f"{good} of {len(mine)}", str(wrong), _figure(summary(mine).steps), killed, f"{one.work:.0f}")
        )
    if rows:
        page.heading("Without faults")
        page.table(("task", "successful", "silent wrong", "steps", "mutants killed", "s of work"), rows)


def _catalogue(study: StudyRecords, page: Page) -> None:
    drawn = [(fault.actor, fault.kind) for record in study.records for fault in record.faults]
    page.heading("Kinds of faults")
    page.text(
        "A loud fault is refused by its own actor's criterion; a latent one passes it and shows downstream. No part of "
        "a run knows which is which: verdicts come from the real checks on the changed artefact. All faults of scripts "
        "are loud."
    )
    page.table(
        ("actor", "fault", "", "what is wrong", "drawn"),
        [
            (kind.actor, kind.name, "latent" if kind.latent else "loud",
             (kind.mutate.__doc__ or "").strip().splitlines()[0], str(drawn.count((kind.actor, kind.name))))
            for actor in ORDER for kind in CATALOGUE if kind.actor == actor
        ],
    )  # fmt: skip


def _range(interval: tuple[float, float]) -> str:
    return "–".join(f"{end:.2f}" for end in interval)


def _figure(figure: Mean) -> str:
    return _with_deviation(figure, lambda value: f"{value:.2f}")


def _percent(figure: Mean) -> str:
    return _with_deviation(figure, lambda value: f"{value:.2%}")


def _with_deviation(figure: Mean, shown: Callable[[float], str]) -> str:
    return NOTHING if math.isnan(figure.mean) else f"{shown(figure.mean)} ({shown(figure.deviation)})"
