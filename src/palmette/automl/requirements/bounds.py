"""What every bound has: a sign, a number, the words that it was read from, and how far other words are from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from palmette.automl.requirements.model import Comparison, Constraint, Metric, Quantity
from palmette.automl.requirements.quantities import Amount, Compared
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.vocabulary import Mention, vocabulary

_GOAL = re.compile(
    r"\b(?:aim|target|goal|reach|achiev|hit|need|want|must|should|has to|have to|ensur|"
    r"guarantee|require|expect|get|would be|constraint|ideally|pass)\w*\b",
    re.I,
)
_CLAUSE = re.compile(r"[,;:]|\b(?:and|but)\b")
NEAR = 300
"""Characters around a number in which is looked for what it bounds."""


class Found(NamedTuple):
    """A constraint, and where its number stands."""

    constraint: Constraint
    amount: Amount
    note: str = ""
    """What was supposed to read it so."""


def bound(
    text: Text, amount: Amount, quantity: Quantity, metric: Metric | None = None, value: float | None = None
) -> Found:
    """The number as a bound of a quantity, in the direction that is said, or else in that which is better."""
    higher = metric is not None and vocabulary().metrics[metric].better == "higher"
    sign, note = _comparison(amount.comparison, higher)
    if metric is not None and not higher and sign in (">=", ">") and not amount.upper and not between(text, amount):
        sign, note = ("<=" if sign == ">=" else "<"), f"Smaller is better for {metric}."
    return Found(
        Constraint(
            quantity=quantity,
            metric=metric,
            comparison=sign,
            value=amount.value if value is None else value,
            words=text.quote(*clause(text, amount)),
        ),
        amount,
        note,
    )


def between(text: Text, amount: Amount) -> bool:
    """Whether it is the first number of a `between`."""
    return (
        amount.compared is not None
        and amount.compared.end > amount.end
        and "and" in text.plain[amount.end : amount.compared.end]
    )


def _comparison(said: Compared | None, higher: bool) -> tuple[Comparison, str]:
    match said:
        case None | "worse":
            return (">=" if higher else "<="), ""
        case "better":
            return (">" if higher else "<"), ""
        case _:
            return said, ""


def clause(text: Text, amount: Amount) -> tuple[int, int]:
    """The part of the sentence that a constraint was read from: from the clause before it to its end."""
    sentence = text.sentence(amount.start)
    start = max(sentence.start, amount.span.start - NEAR)
    start = max((m.end() for m in _CLAUSE.finditer(text.plain, start, amount.span.start)), default=start)
    after = re.match(
        r"[\s/]*(?:per|for|on|of)?[\s/]*[\w-]*(?:\s(?:set|split|time))?", text.plain[amount.span.end : sentence.end]
    )
    end = amount.span.end + (after.end() if after else 0)
    while start < end and text.plain[start] in " \n":
        start += 1
    return start, end


def goal(text: Text, amount: Amount) -> bool:
    """Whether the words before a number make it one to be reached."""
    return _GOAL.search(text.plain, text.sentence(amount.start).start, amount.start) is not None


def around(text: Text, amount: Amount) -> Span:
    """The part of the sentence that can say what a number is."""
    sentence = text.sentence(amount.start)
    return Span(max(sentence.start, amount.start - NEAR), min(sentence.end, amount.end + NEAR))


def distance(text: Text, span: Span, amount: Amount, others: Sequence[Amount]) -> float:
    """How far words are from a number: characters, and more for every comma, `and` or other number in between."""
    low, high = (span.end, amount.start) if span.end <= amount.start else (amount.end, span.start)
    if span.start < amount.end and amount.start < span.end:
        return 0
    between = text.plain[low:high]
    cost = float(len(between))
    cost += 40 * len(re.findall(r"[,;]", between)) + 25 * len(re.findall(r"\b(?:and|but)\b", between))
    cost += 60 * sum(low <= other.start < high for other in others if other is not amount)
    return cost


def metric_of(text: Text, amount: Amount, metrics: Sequence[Mention], sentence: Span) -> Metric | None:
    """The metric that a number is of: the nearest in its sentence."""
    near = [
        (distance(text, Span(one.start, one.end), amount, ()), one.name) for one in metrics if sentence.holds(one.start)
    ]
    return min(near)[1] if near else None  # type: ignore[return-value]  # names of metrics
