"""The artefacts of a run that the report shows, and where they are collected from."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import BaseModel

from palmette.automl.artefacts import Assembly, Assessment, Choice, Comparison, Plans
from palmette.automl.candidates import Blueprint
from palmette.automl.problems.registry import problem_of
from palmette.automl.profile import Profile
from palmette.automl.report.verdict import VerdictText, verdict_text
from palmette.automl.report_data import ReportData
from palmette.automl.samples import DataSplits, Samples
from palmette.automl.search.results import outputs_of, read_results
from palmette.automl.search.selection import ensemble_outputs
from palmette.automl.store import Store
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import RunResult, RunState

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Findings:
    """Everything that a report shows."""

    task: TaskSpec
    samples: Samples
    profile: Profile
    blueprint: Blueprint
    assembly: Assembly
    comparison: Comparison
    assessment: Assessment
    plans: Plans | None = None
    choice: Choice | None = None
    """None, as the plans, where the topology has no such actor."""
    data: ReportData = field(default_factory=ReportData)
    state: RunState = field(default_factory=RunState)
    """For times and costs."""
    made: str = ""
    """When and in which run, as it is shown."""

    @property
    def verdict(self) -> VerdictText:
        return verdict_text(self.assessment, self.comparison.measured)

    @property
    def delivered(self) -> str:
        """The learners of the delivered model, each once, with commas between them."""
        return ", ".join(dict.fromkeys(one.candidate.learner for one in self.comparison.selection.members))


def findings_of(run: RunResult) -> Findings:
    """Those of a run that has assessed its model."""
    samples, profile = run.artefact("samples", Samples), run.artefact("profile", Profile)
    blueprint, comparison = run.artefact("blueprint", Blueprint), run.artefact("comparison", Comparison)
    begun = datetime.fromtimestamp(run.state.started, UTC)
    return Findings(
        task=run.artefact("task", TaskSpec),
        samples=samples,
        profile=profile,
        blueprint=blueprint,
        assembly=run.artefact("assembly", Assembly),
        comparison=comparison,
        assessment=run.artefact("assessment", Assessment),
        plans=_known(run, "plans", Plans),
        choice=_known(run, "choice", Choice),
        data=_report_data(run, blueprint, comparison, DataSplits.of(samples, profile)),
        state=run.state,
        made=f"{begun:%-d %B %Y}, run {run.folder.name}",
    )


def _known(run: RunResult, name: str, model: type[M]) -> M | None:
    return run.artefact(name, model) if name in run.state.artefacts else None


def _report_data(run: RunResult, blueprint: Blueprint, comparison: Comparison, splits: DataSplits) -> ReportData:
    """Of the answers of the delivered package on the hold-out, else of outputs of the training rows."""
    import pandas as pd

    assessment, assembly = run.artefact("assessment", Assessment), run.artefact("assembly", Assembly)
    problem, selection, made = problem_of(blueprint), comparison.selection, None
    load = read_results(Store(run.folder / "fitted").folder(assembly.store), problem, len(splits.train))
    if assessment.answers is not None:
        table = pd.read_csv(io.StringIO(assessment.answers.text), dtype=str, keep_default_na=False)
        made = problem.predictions(table, len(splits.judged.holdout))
    elif not len(splits.holdout):
        scorer = problem.scorer(splits)
        made = scorer.predictions(ensemble_outputs(selection, load.results, scorer), selection.class_weights)
    return problem.report_data(splits.judged, made, outputs_of(load), selection.best_single)
