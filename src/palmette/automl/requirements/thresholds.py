"""A number that makes two classes of a column of numbers, as in `whether the price is above 500,000`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from palmette.automl.data.artefacts import Threshold
from palmette.automl.requirements.bounds import around, between
from palmette.automl.requirements.columns import Columns, named_in, rank
from palmette.automl.requirements.model import ColumnHint
from palmette.automl.requirements.quantities import Amount, amounts
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.vocabulary import Mention

_ASKS = re.compile(
    r"\b(?:whether|(?:predict|tell|know|say|determine|guess|forecast|find out|decide|and|^) if|will|would|does|do|did|"
    r"is|are|was|were|has|have|flag\w*|detect\w*|classif\w*|binary|label\w*|who|which|whose|spot|separate|"
    r"distinguish|identify|recogni[sz]e)\b",
    re.I,
)
"""Words of a question for yes or no, or for classes, before a condition; `_VERSUS` after it."""
_DIRECTLY = re.compile(
    r"(?:\b(?:predict|target|goal|class(?:es)?|outcome|label|y)\b[\s:=]*(?:is |the )*|\(\s*|^\s*)"
    r"(?:[\w-]+\s+){0,3}$",
    re.I,
)
"""What may stand right before a condition that is what is to be predicted."""
_VERSUS = re.compile(
    r"\b(?:vs\.?|versus|against) (?:the )?(?:rest|others?)|\bor not\b|\byes or no\b|\byes/no\b|"
    r"\b(?:counts? as|qualif\w+ as|means|(?:is|are) (?:called|considered|regarded|deemed|taken (?:as|for)))\b",
    re.I,
)
_FILTERS = re.compile(r"\b(?:only|restrict\w*|limit\w*|where|exclud\w+|ignor\w+|drop|without|remove|keep)\b", re.I)
"""Words by which a condition chooses rows rather than classes."""
_CUT = re.compile(
    r"\b(?:cut(?:[ -]?(?:off|point))?|threshold|border(?:line)?|boundary|split)\s*(?:is|at|of|=|:)*\s*$", re.I
)
_CLAUSE = re.compile(r"[;]|,(?!\s*(?:meaning|i\.e|that is|cut|threshold|namely|split))|\bbut\b")
_NEAR = 30
"""Characters before a number in which words for a border between classes may stand."""
_AFTER = 4
"""Words after a number among which its unit may be the name of a column."""
_LIKELY = 0.55
"""How well words must fit a column that is not named in full."""


class _Condition(NamedTuple):
    """What a number says of a column; of none where only the target can be meant."""

    amount: Amount
    column: str
    span: Span
    sure: bool
    """Whether it is said to be the border between classes, whatever else seems to be named as the target."""


def threshold(
    text: Text, columns: Columns, target: str, said: bool, others: Sequence[Mention], taken: Sequence[Span]
) -> tuple[Threshold, Span] | None:
    """The two classes that a request wants made of a column of numbers, and where it says so.

    Args:
        target: The column that is to be predicted, as far as other words tell.
        said: Whether the request names it; then no other column can be meant.
        others: Mentions of metrics and errors, whose numbers are bounds.
        taken: Places that mean something else.
    """
    numeric = {name: hint for name, hint in columns.items() if hint.kind == "numeric" and hint.distinct != 2}
    for one in _conditions(text, numeric, others, taken):
        column = one.column or (target if target in numeric else "")
        if column and (column == target or not said or one.sure):
            made = Threshold(
                column=column,
                comparison=one.amount.comparison if one.amount.comparison in (">", "<", "<=") else ">=",
                value=one.amount.number,
                words=text.quote(one.span.start, one.span.end),
            )
            return made, one.span
    return None


def as_classes(columns: Columns, made: Threshold | None) -> Columns:
    """The columns as they are when the threshold has made classes of one."""
    if made is None or made.column not in columns:
        return columns
    return {**columns, made.column: ColumnHint(kind="categorical", distinct=2, examples=made.classes)}


def _conditions(
    text: Text, numeric: Mapping[str, ColumnHint], others: Sequence[Mention], taken: Sequence[Span]
) -> Iterator[_Condition]:
    for amount in amounts(text, taken):
        cut = _CUT.search(text.plain, max(0, amount.start - _NEAR), amount.start)
        bounded = amount.comparison in (">", ">=", "<", "<=") and not amount.upper and not between(text, amount)
        if not (bounded or cut) or amount.unit == "percent":
            continue
        clause = _around(text, amount)
        before = text.plain[clause.start : amount.span.start]
        is_other = any(clause.holds(one.start) for one in others)
        if is_other or _FILTERS.search(text.plain[clause.start : clause.end]):
            continue
        at, column = _column(text, amount, clause, numeric)
        asked = _ASKS.search(before) or _VERSUS.search(text.plain[amount.end : clause.end]) or cut
        direct = at is not None and _DIRECTLY.search(text.plain[clause.start : at.start]) is not None
        if (asked and (column or amount.unit == "")) or direct:
            start = cut.start() if cut else amount.span.start
            places = [Span(start, amount.span.end), *([at] if at else [])]
            span = Span(min(one.start for one in places), max(one.end for one in places))
            yield _Condition(amount, column, span, cut is not None)


def _column(text: Text, amount: Amount, clause: Span, numeric: Columns) -> tuple[Span | None, str]:
    """The column that a condition is about, and where it is named: before the number, after it, or in other words."""
    before = named_in(text.plain[clause.start : amount.span.start], numeric)
    if before:
        start, end, name = before[-1]
        return Span(clause.start + start, clause.start + end), name
    begin = amount.start + len(re.match(r"-?[\d.]*\d", text.plain[amount.start :])[0])  # type: ignore[index]  # it begins so
    rest = text.plain[begin : clause.end]
    unit = " ".join(rest.split()[:_AFTER])
    if after := named_in(rest[: len(unit) + 2], numeric):
        start, end, name = after[0]
        return Span(begin + start, begin + end), name
    said = " ".join(text.plain[clause.start : amount.span.start].split()[-5:])
    for words in (said, f"{said} {unit}"):
        best = rank(words, numeric)[:2]
        if best and best[0].score >= _LIKELY and (len(best) == 1 or best[0].score - best[1].score > 0.05):
            return None, best[0].column
    return None, ""


def _around(text: Text, amount: Amount) -> Span:
    """The clause of a number."""
    near = around(text, amount)
    ends = [match.start() for match in _CLAUSE.finditer(text.plain, near.start, near.end)]
    start = max((end + 1 for end in ends if end < amount.span.start), default=near.start)
    return Span(start, min((end for end in ends if end >= amount.span.end), default=near.end))
