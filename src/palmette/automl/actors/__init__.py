"""The actors of the AutoML environment, each in a folder; what several of them share is here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from palmette.engine import TERMINATE, Attempt, Measurement, Verdict, Violation


def verdict(name: str, wrong: Iterable[Violation], detail: str, *more: Measurement) -> Verdict:
    """The verdict on one thing that was checked, `more` measured beside it."""
    found = tuple(wrong)
    return Verdict.of(found, (Measurement(name=name, status="failed" if found else "passed", detail=detail), *more))


def failed(wrong: Iterable[Violation]) -> Attempt[Any]:
    """An attempt that hands over to the planner, because of these violations."""
    found = tuple(wrong)
    return Attempt(None, found[0].message, TERMINATE, found)
