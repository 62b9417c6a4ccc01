"""What whoever writes a blueprint may decide, and what of that cannot be."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Literal

from palmette.automl.artefacts import Derived
from palmette.automl.modalities import Blueprint, Outline
from palmette.documents import Model
from palmette.engine import Violation
from palmette.errors import did_you_mean

MOST_DERIVED = 12
LONGEST = 300
"""Characters of a reason."""
PLAIN = ("native", "number")
"""Forms of writing in which a number is also a name."""


class Taken(Model):
    """What a column is to the models."""

    column: str
    """As it is listed."""
    kind: Literal["numeric", "categorical", "boolean", "datetime", "text", "drop"]
    """The kind that it is listed with, or another one that it may be taken for; or drop."""
    reason: str
    """What about it matters to whoever prepares it; one sentence."""


class Decisions(Model):
    """A blueprint, but for what is fixed."""

    columns: tuple[Taken, ...] = ()
    derived: tuple[Derived, ...] = ()
    algorithms: tuple[str, ...] = ()
    validation: str = ""


def objections(decisions: Decisions, due: Blueprint) -> Iterator[Violation]:
    """What of the decisions cannot be, against the blueprint that follows by rules."""
    known = {one.name: one for one in due.columns}
    said = [one.column for one in decisions.columns]
    for one in decisions.columns:
        plan = known.get(one.column)
        if plan is None:
            message = f"{one.column!r} is not to be used, or no column.{did_you_mean(one.column, known)}"
            yield Violation(code="blueprint-column", message=message, subject=one.column)
        elif not may_be(due, one.column, one.kind):
            message = f"The column {one.column!r} is {plan.kind}, and cannot be taken for {one.kind}."
            yield Violation(code="blueprint-kind", message=message, subject=one.column)
        if said.count(one.column) > 1:
            message = f"The column {one.column!r} is decided on more than once."
            yield Violation(code="blueprint-repeats", message=message, subject=one.column)
    if {one.column for one in decisions.columns if one.kind == "drop"} >= known.keys():
        yield Violation(code="blueprint-empty", message="No column is left.")
    for name in decisions.algorithms:
        if name not in due.algorithms:
            message = f"{name!r} is none of the algorithms of the plan: {', '.join(due.algorithms)}."
            yield Violation(code="blueprint-algorithm", message=message, subject=name)
    if len(decisions.derived) > MOST_DERIVED:
        message = f"There are {len(decisions.derived)} derived features; {MOST_DERIVED} at most are made."
        yield Violation(code="blueprint-derived", message=message)
    reasons = [one.reason for one in decisions.columns] + [one.reason for one in decisions.derived]
    for text in reasons:
        if not text.strip() or len(text) > LONGEST:
            message = f"A reason has {len(text)} characters; one sentence of at most {LONGEST} is meant."
            yield Violation(code="blueprint-wordy", message=message, evidence=text[:LONGEST])


def may_be(due: Blueprint, column: str, kind: str) -> bool:
    """Whether a column may be taken for a kind: another one where every value of it can be read as such."""
    (plan,) = [one for one in due.columns if one.name == column]
    if kind in ("drop", plan.kind):
        return True
    reading = plan.reading
    is_plain = reading.form in PLAIN and (reading.decimal, reading.thousands, reading.affix) == (".", "", "")
    allowed = {("numeric", "categorical"): is_plain, ("text", "categorical"): True, ("categorical", "text"): True}
    return allowed.get((plan.kind, kind), False)


def decided(outline: Outline, decisions: Decisions) -> Outline:
    """The outline as it is after the decisions."""
    gone = {one.column: one.reason for one in decisions.columns if one.kind == "drop"}
    kept = {one.column: one for one in decisions.columns if one.kind != "drop"}
    return dataclasses.replace(
        outline,
        left_out={**gone, **outline.left_out},
        reasons={**outline.reasons, **{name: one.reason for name, one in kept.items()}},
        kinds={name: one.kind for name, one in kept.items() if one.kind != _kind(outline, name)},
        algorithms=decisions.algorithms or outline.algorithms,
        derived=decisions.derived,
        validation=" ".join(decisions.validation.split())[:LONGEST],
    )


def _kind(outline: Outline, name: str) -> str:
    column = outline.dataset.column(name)
    return column.kind if column else ""
