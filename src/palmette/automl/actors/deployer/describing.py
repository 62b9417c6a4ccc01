"""What people read beside the project: the report, the model card, and answers to rows that came without a target."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from palmette.automl.data.load import reload
from palmette.automl.material import Material
from palmette.automl.modalities import modality_of
from palmette.automl.modalities.tabular import Blueprint
from palmette.automl.project import Project
from palmette.automl.report import CurvePoint, Evidence, Findings, Importance, Latency, Stage, write_report
from palmette.automl.submission import answered
from palmette.engine import Measurement
from palmette.sandbox import ExecutionResult, Sandbox

if TYPE_CHECKING:
    from palmette.automl.actors.deployer.actor import DeployerInput
    from palmette.automl.endpoint import Measured


def write_descriptions(project: Path, input: DeployerInput, measured: Measured, fitted: Path) -> None:
    """Writes `report.html` and `MODEL_CARD.md` into the project's folder; `fitted` is where it was trained."""
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
            evidence=_evidence(input, measured, fitted),
        ),
    )


def _evidence(input: DeployerInput, measured: Measured, fitted: Path) -> Evidence:
    """What was measured of the model, on the hold-out and over HTTP."""
    import pandas as pd

    assessment, modality = input.assessment, modality_of(input.blueprint)
    material = Material.of(input.dataset, input.profile)
    made = None
    if assessment.answers is not None:
        said = pd.read_csv(io.StringIO(assessment.answers.text), dtype=str, keep_default_na=False)
        made = modality.predictions(said, len(material.holdout))
    folders = (fitted / run.folder for run in input.assembly.tracks)
    found = (one for folder in folders for one in modality.candidates(folder, material).candidates)
    return replace(
        modality.evidence(material, made, found, input.comparison.selection.best_single),
        importances=tuple(Importance(one.column, one.drop, one.deviation) for one in assessment.worths),
        curve=tuple(CurvePoint(one.rows, one.score) for one in assessment.curve),
        timeline=tuple(Stage(f"training: {run.track}", run.seconds) for run in input.assembly.tracks),
        latency=Latency(measured.p50, measured.p95) if measured.p50 else None,
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
