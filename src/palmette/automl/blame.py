"""Which module of own code a failure comes from. Its writer answers for the failure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from palmette.automl.candidates import OwnCode
from palmette.engine import Violation
from palmette.sandbox import told_from

AT_WORK = frozenset(
    {
        "fit-failed", "prediction-failed", "predictions-differ", "endpoint-unhealthy", "bad-request-accepted",
        "openapi-missing", "tests-failed",
    }
)  # fmt: skip
"""Codes of a package that does not do what it promises; their subject is a module of own code, or open."""
SIDES = ("contract-unfulfilled", "contract-misused")
FRAME = re.compile(r'File "([^"\n]+\.py)", line \d+|^([\w./-]+\.py):\d+: ', re.MULTILINE)


def modules_in(trace: str, modules: Iterable[OwnCode]) -> list[str]:
    """The paths of own code that a traceback goes through, the innermost last; as Python writes it, or pytest."""
    paths = {one.path for one in modules}
    names = [Path(first or second).name for first, second in FRAME.findall(trace)]
    return [name for name in names if name in paths]


def located(wrong: Iterable[Violation], folder: Path, modules: Sequence[OwnCode]) -> tuple[Violation, ...]:
    """Failures of a package in a folder, each with the module of own code that it comes from as its subject.

    That is the innermost module of the traceback, or the only one there is. Of several the subject stays open, so the
    writers are asked one after the other; without own code it stays as it is.
    """
    return tuple(_located(one, told_from(folder, one.evidence), modules) for one in wrong)


def answers_for(violation: Violation, paths: Collection[str], codes: Collection[str]) -> bool:
    """Whether the writer of the modules at these paths answers for a violation of these codes, or of one at work."""
    if violation.subject:
        return violation.subject in paths and violation.code in {*codes, *AT_WORK}
    return bool(paths) and violation.code in AT_WORK


def _located(violation: Violation, trace: str, modules: Sequence[OwnCode]) -> Violation:
    named = modules_in(trace, modules)
    subject = violation.subject if not modules else modules[0].path if len(modules) == 1 else ""
    return violation.model_copy(update={"subject": named[-1] if named else subject, "evidence": trace})
