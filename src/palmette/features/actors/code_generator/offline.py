"""The offline rules of the code generator: the view says everything, so the script is derived, not searched for."""

from __future__ import annotations

from typing import NamedTuple

from palmette.engine.actor import PastAttempt
from palmette.features.artefacts import Config, Template, Utilities
from palmette.features.checks import OWNERS
from palmette.features.pyspark import write_script
from palmette.features.spec.view import View


class Draft(NamedTuple):
    """A script before it is formatted, and what is different from the last attempt's."""

    text: str
    reason: str = ""
    fix: str = ""


def draft(
    view: View, template: Template, config: Config, utilities: Utilities, attempts: tuple[PastAttempt, ...]
) -> Draft | None:
    """The script; after a failure of its own without the repository's utilities; then None: no other is possible."""
    if not attempts:
        return Draft(write_script(view, template, config, utilities))
    if len(attempts) > 1 or not utilities.chosen or not _own_fault(attempts[0]):
        return None
    failures = "; ".join(violation.message for violation in attempts[-1].violations)
    names = ", ".join(utility.name for utility in utilities.chosen)
    return Draft(
        write_script(view, template, config, Utilities()),
        reason=f"The script that uses {names} failed: {failures}",
        fix="Use Spark's own functions instead.",
    )


def _own_fault(attempt: PastAttempt) -> bool:
    return any(OWNERS.get(violation.code) == "code_generator" for violation in attempt.violations)
