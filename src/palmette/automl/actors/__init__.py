"""The actors of the AutoML environment, one folder each; this module holds what several of them share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from palmette.engine import TERMINATE, Attempt, Measurement, Verdict, Violation


class Accountable:
    """Answers for the violations whose code starts with one of `codes`."""

    codes: ClassVar[tuple[str, ...]] = ()

    def implicated(self, violation: Violation, output: Any) -> str | None:
        return f"Do it again: {violation.message}" if violation.code.startswith(self.codes) else None


def verdict(name: str, wrong: Iterable[Violation], detail: str, *more: Measurement) -> Verdict:
    """Returns the verdict on one check, with further measurements."""
    found = tuple(wrong)
    return Verdict.of(found, (Measurement(name=name, status="failed" if found else "passed", detail=detail), *more))


def failed(wrong: Iterable[Violation]) -> Attempt[Any]:
    """Returns an attempt that hands over to the planner, with the violations."""
    found = tuple(wrong)
    return Attempt(None, found[0].message, TERMINATE, found)
