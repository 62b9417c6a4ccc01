"""What people read beside the project: the report, the model card, and answers to rows that came without a target."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from palmette.automl.data.load import reload
from palmette.automl.material import Material
from palmette.automl.modalities import modality_of
from palmette.automl.modalities.tabular import Blueprint
from palmette.automl.modalities.tabular.modality import Tabular
from palmette.automl.project import Project
from palmette.automl.report import CurvePoint, Evidence, Findings, Importance, Latency, Stage, write_report
from palmette.automl.submission import answered
from palmette.engine import Measurement
from palmette.sandbox import ExecutionResult, Sandbox

if TYPE_CHECKING:
    from palmette.automl.actors.deployer.actor import DeployerInput
    from palmette.automl.endpoint import Measured


def write_descriptions(project: Path, input: DeployerInput, measured: Measured) -> None:
    """Writes `report.html` and `MODEL_CARD.md` into the project's folder."""
    blueprint = input.blueprint if isinstance(input.blueprint, Blueprint) else None
    write_report(
        project,
        Findings(
            requirements=input.requirements,
            dataset=input.dataset,
            profile=input.profile,
            assessment=input.assessment,
            blueprint=blueprint,
            comparison=input.comparison,
            knowledge=input.knowledge,
            plans=input.plans,
            choice=input.choice,
            evidence=_evidence(input, measured),
        ),
    )


def _evidence(input: DeployerInput, measured: Measured) -> Evidence:
    """What was measured of the model, on the hold-out and over HTTP."""
    import pandas as pd

    assessment = input.assessment
    timeline = tuple(Stage(f"training: {run.track}", run.seconds) for run in input.assembly.tracks)
    latency = Latency(measured.p50, measured.p95) if measured.p50 else None
    blueprint = input.blueprint
    if assessment.answers is None or not isinstance(blueprint, Blueprint):
        return Evidence(timeline=timeline, latency=latency)
    holdout = Material.of(input.dataset, input.profile).holdout
    said = pd.read_csv(io.StringIO(assessment.answers.text), dtype=str, keep_default_na=False)
    return Evidence(
        truth=Tabular(blueprint).truth(holdout),
        predictions=modality_of(blueprint).predictions(said, len(holdout)),
        importances=tuple(Importance(one.column, one.drop, one.deviation) for one in assessment.worths),
        curve=tuple(CurvePoint(one.rows, one.score) for one in assessment.curve),
        timeline=timeline,
        latency=latency,
    )


def answer_rows(project: Path, input: DeployerInput, sandbox: Sandbox, workspace: Path) -> Measurement | None:
    """Writes the answers to rows that came without the target; None where there are no such rows."""
    loaded = reload(input.dataset)
    if loaded.predict is None:
        return None
    made = Project(project, sandbox).predict(loaded.predict, input.blueprint, workspace / "unanswered")
    if isinstance(made, ExecutionResult):
        last = (made.stderr.strip().splitlines() or [made.note])[-1]
        detail = f"the {len(loaded.predict)} rows without a target cannot be answered: {last}"
        return Measurement(name="answers to new rows", status="warning", detail=detail, evidence=made.stderr[-2000:])
    positive = input.blueprint.positive if isinstance(input.blueprint, Blueprint) else None
    name, frame = answered(loaded, made, input.profile.aim.target, positive)
    frame.to_csv(project / name, index=False)
    detail = f"{len(frame)} rows in {name}"
    return Measurement(name="answers to new rows", status="passed", detail=detail)
