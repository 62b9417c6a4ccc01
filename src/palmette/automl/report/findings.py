"""Collects the artefacts and measurements that the report shows."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup
from pydantic import BaseModel

from palmette.automl.artefacts import Assembly, Assessment, Choice, Comparison, Occlusion, Plan, Plans, Store
from palmette.automl.candidates import Blueprint
from palmette.automl.kinds import file_kinds
from palmette.automl.problems.explanations import telling_rows
from palmette.automl.problems.problem import ReportData, problem_of
from palmette.automl.profile import Profile
from palmette.automl.samples import Samples
from palmette.automl.search.results import comparable, read_results
from palmette.automl.search.selection import ensemble_outputs
from palmette.automl.splitting.data_splits import DataSplits
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import RunResult, RunState

SHOWN: Mapping[str, type[BaseModel]] = {
    "task": TaskSpec, "samples": Samples, "profile": Profile, "blueprint": Blueprint, "assembly": Assembly,
    "comparison": Comparison, "assessment": Assessment, "plans": Plans, "choice": Choice,
}  # fmt: skip
"""Artefacts in the report, by name."""
EACH = 8  # number of right, and of wrong, examples


class FileExample(NamedTuple):
    drawing: Markup
    name: str
    truth: str
    predicted: str
    right: bool
    marked: bool = False  # whether the picture is marked by occlusion


@dataclass(frozen=True)
class ReportFindings:
    task: TaskSpec
    samples: Samples
    profile: Profile
    blueprint: Blueprint
    assembly: Assembly
    comparison: Comparison
    assessment: Assessment
    plans: Plans | None = None
    choice: Choice | None = None  # None, like `plans`, if the topology has no such actor
    data: ReportData = field(default_factory=ReportData)
    files: tuple[FileExample, ...] = ()  # held-out rows with files
    state: RunState = field(default_factory=RunState)  # times and costs
    made: str = ""  # date and run, as text

    @property
    def plan(self) -> Plan | None:
        """The plan of the delivered model, which may be one of an earlier round; None without plans."""
        rounds = self.plans.rounds if self.plans and self.comparison.store else ()
        earlier = next((one.plan for one in rounds if one.store == self.comparison.store), None)
        return earlier or (self.choice.proposal.plan if self.choice else None)

    @property
    def delivered(self) -> str:
        """The distinct learners of the delivered model, separated by commas."""
        return ", ".join(dict.fromkeys(one.candidate.learner for one in self.comparison.selection.members))


def findings_of(run: RunResult) -> ReportFindings:
    """The findings of a run that has assessed its model."""
    known: dict[str, Any] = {
        name: run.artefact(name, kind) for name, kind in SHOWN.items() if name in run.state.artefacts
    }
    blueprint, splits = known["blueprint"], DataSplits.of(known["samples"], known["profile"].split)
    data = _report_data(run.folder, known, splits)
    begun = datetime.fromtimestamp(run.state.started, UTC)
    files = file_examples(blueprint, splits, data, known["assessment"].occlusions)
    made = f"{begun:%-d %B %Y}, run {run.folder.name}"
    return ReportFindings(**known, data=data, files=files, state=run.state, made=made)


def _report_data(run: Path, known: Mapping[str, Any], splits: DataSplits) -> ReportData:
    """Report data from the package's answers on the hold-out, or without one from out-of-fold outputs."""
    assessment, comparison = known["assessment"], known["comparison"]
    problem, selection, made = problem_of(known["blueprint"]), comparison.selection, None
    folder = Store(run / "fitted").folder(comparison.store or known["assembly"].store)
    results, part = comparable(read_results(folder, problem, len(splits.train)).results, splits)
    if assessment.answers is not None:
        table = pd.read_csv(io.StringIO(assessment.answers.text), dtype=str, keep_default_na=False)
        made = problem.predictions(table, len(splits.judged.holdout))
    elif not len(splits.holdout):
        splits, scorer = part, problem.scorer(part)
        made = scorer.predictions(ensemble_outputs(selection, results, scorer), selection.class_weights)
    return problem.report_data(splits.judged, made, {one.name: one.outputs for one in results}, selection.best_single)


def file_examples(
    blueprint: Blueprint, splits: DataSplits, data: ReportData, occlusions: Sequence[Occlusion] = ()
) -> tuple[FileExample, ...]:
    """Right and wrong examples of the first file column; parts that matter are marked where occlusion was measured."""
    if not blueprint.file_columns or data.truth is None or data.predictions is None:
        return ()
    column = blueprint.file_columns[0]
    kind, cells = file_kinds()[column.kind], splits.judged.holdout[column.name].to_list()
    if len(data.truth) != len(cells):
        return ()
    usable = [place for place, cell in enumerate(cells) if cell and Path(cell).is_file()]
    wrong, right = telling_rows(data.truth, data.predictions, usable, EACH)
    changes = {one.row: one.changes for one in occlusions}
    return tuple(
        FileExample(
            drawing=Markup(kind.marked(content, changes[place]) if place in changes else kind.shown(content)),
            name=Path(cells[place]).name,
            truth=str(data.truth[place]),
            predicted=str(data.predictions.values[place]),
            right=place in right,
            marked=place in changes,
        )
        for place in (*wrong, *right)
        for content in [Path(cells[place]).read_bytes()]
    )
