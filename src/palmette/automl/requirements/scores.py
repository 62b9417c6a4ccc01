"""Which numbers of a request a score is to reach, and which only tell of scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import cast

from palmette.automl.requirements.bounds import NEAR, Found, around, between, bound, goal, metric_of
from palmette.automl.requirements.model import Metric, Task
from palmette.automl.requirements.quantities import Amount
from palmette.automl.requirements.text import Text
from palmette.automl.requirements.vocabulary import ERROR, UNMEASURED, Mention, vocabulary

_FACT = re.compile(
    r"\b(?:current(?:ly)?|existing|today|so far|now|previous(?:ly)?|old|last year|(?<!would )already|"
    r"at the moment|baseline|incumbent|human|literature|paper|published|"
    r"(?:others|we|they) (?:get|have|reach))\b",
    re.I,
)
_BEAT = re.compile(
    r"\b(?:beat|outperform|improve (?:up)?on|better|exceed|surpass|higher|do more|top)"
    r" ?(?:it|that|this|them|than)?\b",
    re.I,
)
_BEAT_IT = re.compile(r"\b(?:beat|outperform|improve (?:up)?on|exceed|surpass|top)\s+(?:it|that|this|them)\b", re.I)
_ABOUT_SCORE = re.compile(r"\b(?:it|this|that|score|performance|value|result|quality|number)\b", re.I)
_UNSURE = re.compile(
    r"\b(?:confidence|significance|quantile|percentile|missing|threshold|random state|seed|"
    r"of (?:the )?(?:rows|data|cases|samples|customers|values))\b",
    re.I,
)
_PERCENT = 20
"""Below this, a number above 1 without a unit is no share in percent of right answers, as the 6 of `6 of 10`."""
_BARE = 5
"""Words of a sentence that is nothing but a bound, as in `Optimise the recall. At least 0.8.`"""
_AND = re.compile(r"\W*(?:and|as well as|or|/|&|\+)\W*(?:(?:an?|the|both|also)\W+)*", re.I)
_COMMA = re.compile(r"\s*,\s*(?:(?:an?|the)\s+)?", re.I)


def score(
    text: Text, amount: Amount, metrics: Sequence[Mention], default: Metric | None, task: Task | None
) -> Found | None:
    """A number that a score is to reach, of a metric that is named near it or of the default one."""
    sentence = text.sentence(amount.start)
    metrics = [one for one in metrics if abs(one.start - amount.start) <= NEAR]
    if _UNSURE.search(text.plain, amount.start, min(sentence.end, amount.end + 30)):
        return None
    if amount.compared and re.search(r"\bfrom\s+$", text.plain[sentence.start : amount.span.start]):
        return None
    metric, weak = metric_of(text, amount, metrics, sentence), False
    if metric == UNMEASURED:
        return None
    if metric == ERROR:
        return _of_error(text, amount, task)
    if metric is None:
        bare = len(text.plain[sentence.start : sentence.end].split()) <= _BARE
        bounded = default is None or vocabulary().metrics[default].bounded
        small = amount.unit == "percent" or 0 < amount.value <= 1 or (bare and not bounded)
        about = bare or _ABOUT_SCORE.search(text.plain, sentence.start, sentence.end)
        if default is None or not small or not about or not (amount.comparison or goal(text, amount)):
            return None
        metric, weak = default, True
    value = scaled(amount, metric)
    if value is None or (_is_worse(metric, amount) and not amount.upper):
        return None
    before = _FACT.search(text.plain, sentence.start, amount.start)
    after = _FACT.search(text.plain, amount.end, sentence.end) and not goal(text, amount)
    ranged = amount.upper or between(text, amount)
    fact = (before or after or _BEAT_IT.search(text.plain, amount.end)) and (ranged or not amount.comparison)
    if fact:
        if ranged or not _BEAT.search(text.plain, sentence.start):
            return None
        amount = replace(amount, comparison="better")
    elif not amount.comparison and not weak and not _stated(text, amount, metrics):
        return None
    return bound(text, amount, "score", metric, value)


def _is_worse(metric: Metric, amount: Amount) -> bool:
    """Whether a score that is to be high is bounded from above: that is of something else, and nobody's wish."""
    return vocabulary().metrics[metric].better == "higher" and amount.comparison in ("<", "<=")


def _of_error(text: Text, amount: Amount, task: Task | None) -> Found | None:
    """The bound of an error: of amounts as a mean absolute or percentage error, of classes as what is right."""
    if not (amount.comparison or goal(text, amount)) or amount.upper or between(text, amount):
        return None
    if task == "regression":
        metric: Metric = "mape" if amount.unit == "percent" else "mae"
        found = bound(text, amount, "score", metric, scaled(amount, metric))
        return found._replace(note=f"The error is taken for the {metric}.")
    wrong = scaled(amount, "accuracy") if task == "classification" else None
    if wrong is None or not 0 < wrong < 1:
        return None
    found = bound(text, amount, "score", "accuracy", round(1 - wrong, 12))
    right = found.constraint.model_copy(update={"comparison": ">" if amount.comparison in ("<", ">") else ">="})
    return found._replace(constraint=right, note="What is not wrong is right: the accuracy is one less the error.")


def _stated(text: Text, amount: Amount, metrics: Sequence[Mention]) -> bool:
    """Whether metric and number stand so close that nothing else can be meant (`accuracy of 0.9`, `95% accuracy`)."""
    for one in metrics:
        gap = text.plain[one.end : amount.start] if one.end <= amount.start else text.plain[amount.end : one.start]
        if one.end <= amount.start and re.fullmatch(
            r"(?:\s*[:=]?\s*|\W*(?:of|is|at|to|around|about|approximately|score|value|roughly|"
            r"should be|must be|has to be)\W*){0,3}",
            gap,
        ):
            return True
        if amount.end <= one.start and re.fullmatch(r"\s*(?:of\s+|in\s+|the\s+|test\s+|overall\s+)*", gap):
            return True
    return goal(text, amount)


def scaled(amount: Amount, metric: Metric) -> float | None:
    """The number as the metric gives it; None where it cannot be one of its values."""
    words = vocabulary().metrics[metric]
    value = amount.value
    if words.bounded and not amount.unit and 1 < value < _PERCENT:
        return None
    if amount.unit == "percent" or (words.bounded and 1 < value <= 100):
        value = round(value / 100, 12)
    return None if words.bounded and value > 1 else value


def shared(text: Text, one: Found, metrics: Sequence[Mention], numbers: Sequence[Amount]) -> list[Found]:
    """The same bound for other metrics of a list with one number, as in `precision and recall above 0.8`."""
    own = one.constraint.metric
    if one.constraint.quantity != "score" or own is None:
        return []
    sentence, near, words = text.sentence(one.amount.start), around(text, one.amount), vocabulary().metrics
    found: list[Found] = []
    listed = [m for m in metrics if m.name in words and near.holds(m.start)]
    others = [number for number in numbers if number is not one.amount and near.holds(number.start)]
    taken = {own, *(metric_of(text, number, listed, sentence) for number in others if len(listed) > 1)}
    for first, second in reversed(list(pairwise(listed))):
        of_list = {own, *(other.constraint.metric for other in found)}
        name = first.name if second.name in of_list else second.name if first.name == own else own
        joint = _COMMA if found and second.name in of_list else _AND
        if name in taken or not joint.fullmatch(text.plain[first.end : second.start]):
            continue
        metric = cast(Metric, name)
        if (words[metric].better, words[metric].bounded) == (words[own].better, words[own].bounded):
            found.append(one._replace(constraint=one.constraint.model_copy(update={"metric": metric})))
    return found
