"""Why a project failed, and whose fault that is: the two classes of iML's error analyser (its section 3.4)."""

from __future__ import annotations

from pathlib import Path

from palmette.automl.artefacts import PREPARATION
from palmette.automl.faults import broken_side, frames
from palmette.automl.selection import Found, Trial
from palmette.engine import Violation
from palmette.sandbox import ExecutionResult, told_from

PREPARED_BY = (PREPARATION, "target.py", "contract.py")


def failed_in(found: Found) -> list[Trial]:
    """The candidates that ended in an error."""
    return [trial for trial in found.trials if trial.status == "failed"]


def analysed(folder: Path, track: str, done: ExecutionResult, found: Found) -> Violation:
    """The failure of a track on a sample.

    contract-unfulfilled: what preprocessing gives is not what was agreed. contract-misused: a model takes what was
    agreed for something else, or gives something else.
    """
    noted = failed_in(found) or [trial for trial in found.trials if trial.note]
    notes = "\n".join(f"{trial.name}: {trial.note}" for trial in noted)
    trace = told_from(folder, f"{done.stderr}\n{notes}".strip())
    told = [*(violation.message for violation in found.violations), *trace.splitlines()]
    last = next((line for line in reversed(trace.splitlines()) if line.strip()), "") or done.note or done.ended
    side = broken_side(trace)
    if side:
        unfulfilled = side != "predictions"
    else:
        own = [name for name in frames(trace) if not name.startswith("/")]
        unfulfilled = bool(own) and own[-1] in PREPARED_BY
    return Violation(
        code="contract-unfulfilled" if unfulfilled else "contract-misused",
        message=f"{track} fails on a sample: {last.strip()[:300] or told[0]}",
        evidence=trace[-4000:],
        subject=PREPARATION if unfulfilled else f"models/{track}.py",
    )
