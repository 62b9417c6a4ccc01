"""How often a model may write own code before the run goes on without it: own code is never a reason to fail."""

from __future__ import annotations

from palmette.automl.artefacts import Repair
from palmette.automl.blame import AT_WORK, SIDES
from palmette.engine import Context, Violation

ANSWERS = 2
"""Answers of a model that may be refused."""
REPAIRS = 9
"""Times that the modules of a run may be repaired; with the first run of the sample that makes ten attempts."""


def retries_exhausted(context: Context) -> Violation | None:
    """The failure after which a module is left out; None while a model may try again.

    A module that failed in the delivered package is left out at once: each further try would cost a whole training.
    """
    at_work = [one for one in context.evidence if one.code in AT_WORK]
    refused = [one for past in context.attempts[-1:] for one in past.violations]
    return next(iter(at_work or refused), None) if at_work or len(context.attempts) >= ANSWERS else None


def left_out(path: str, failure: Violation) -> Repair:
    """The repair by which a module is left out."""
    side = failure.code if failure.code in SIDES else "other"
    return Repair.model_validate({"path": path, "failure": side, "reason": failure.message, "by": "rules"})
