"""How often a model may try to write a file of a project, and what is said when the rules write it in its place.

A run is to end in something that works. So a file that was refused twice is the rules' to write, and so is one that
was trained and then failed at work: it has run on rows before, and each further try would cost a whole training.
"""

from __future__ import annotations

from palmette.automl.artefacts import Repair
from palmette.automl.faults import AT_WORK
from palmette.engine import Context, Violation

CHANCES = 2
"""Answers of a model that may be refused."""
SIDES = ("contract-unfulfilled", "contract-misused")


def used_up(context: Context) -> Violation | None:
    """The failure after which the rules write what a model was asked for; None while it may try."""
    at_work = [one for one in context.evidence if one.code in AT_WORK]
    refused = [one for past in context.attempts[-1:] for one in past.violations]
    return next(iter(at_work or refused), None) if at_work or len(context.attempts) >= CHANCES else None


def by_rules(path: str, failure: Violation) -> Repair:
    """The repair by which a file that failed is as the rules write it."""
    side = failure.code if failure.code in SIDES else "other"
    return Repair.model_validate({"path": path, "failure": side, "reason": failure.message, "by": "rules"})
