"""Writes the script by rules: it is derived from the complete view."""

from __future__ import annotations

from typing import NamedTuple

from palmette.engine.actor import PastAttempt
from palmette.features.artefacts import Config, Template, Utilities
from palmette.features.checks import OWNERS
from palmette.features.pyspark import write_script
from palmette.features.spec.view import View


class ScriptDraft(NamedTuple):
    """An unformatted script, and its differences from the last attempt."""

    text: str
    reason: str = ""
    fix: str = ""


def draft(
    view: View, template: Template, config: Config, utilities: Utilities, failed: PastAttempt | None = None
) -> ScriptDraft:
    """Writes the script; after a failure of the script itself, without the repository's utilities."""
    if failed is None or not utilities.chosen or not is_own_fault(failed):
        return ScriptDraft(write_script(view, template, config, utilities))
    failures = "; ".join(violation.message for violation in failed.violations)
    names = ", ".join(utility.name for utility in utilities.chosen)
    return ScriptDraft(
        write_script(view, template, config, Utilities()),
        reason=f"The script that uses {names} failed: {failures}",
        fix="Use Spark's own functions instead.",
    )


def is_own_fault(failed: PastAttempt) -> bool:
    """Whether the failure may be the script's own; this includes failures without an owner."""
    owners = {OWNERS.get(violation.code, "code_generator") for violation in failed.violations}
    return not owners or "code_generator" in owners
