"""Answers to rows that came without a target."""

from __future__ import annotations

from pathlib import Path

from palmette.automl.actors.deployer.input import DeployerInput
from palmette.automl.data.load import reload
from palmette.automl.modalities import modality_of
from palmette.automl.project import Project
from palmette.automl.submission import answered, formulas
from palmette.engine import Measurement
from palmette.sandbox import ExecutionResult, Sandbox


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
    name, frame = answered(loaded, made, input.profile.aim.target, modality_of(input.blueprint).positive)
    frame.to_csv(project / name, index=False)
    detail = f"{len(frame)} rows in {name}"
    if count := formulas(frame):
        detail += f"; {count} cells begin as formulas do, so open it as text in a spreadsheet"
    return Measurement(name="answers to new rows", status="passed", detail=detail)
