"""Parses limits on scores, times and sizes from flags and sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from palmette.automl.task_spec.amounts import parse_amount
from palmette.automl.task_spec.spec import Comparison, Constraint, Quantity
from palmette.automl.task_spec.vocabulary import metric_named, nearest_metric, vocabulary

_LIMITS: Mapping[str, tuple[Quantity, str, str]] = {
    "latency": ("latency", "seconds", "20ms"),
    "batch_time": ("batch_time", "seconds", "2s"),
    "training_time": ("training_time", "seconds", "60s"),
    "size": ("size", "bytes", "5MB"),
    "parameters": ("parameters", "", "1e6"),
}
"""Quantity, unit and example of each limit."""
COMPARED = re.compile(r"\s*(?P<name>.+?)\s*(?P<sign>[<>]=?|≤|≥)\s*(?P<number>[^<>=≤≥]+?)\s*")
_UPPER, _LOWER = ("<=", "<"), (">=", ">")


def comparison_of(words: str, better: str = "") -> Comparison | None:
    """Returns the comparison expressed by words; `better` is the better direction of a metric."""
    for sign, patterns in vocabulary().comparisons.items():
        if re.fullmatch("|".join(patterns), " ".join(words.split()), re.I):
            own = {"better": (">=", "<="), "beyond": (">", "<")}.get(sign, (sign, sign))
            return cast("Comparison", own[better == "lower"])
    return None


def score_limit(metric: str, comparison: Comparison | None, number: str, words: str) -> Constraint | None:
    """Returns a limit on a score, or None if unit or direction do not fit the metric."""
    known, amount = vocabulary().metrics[metric], parse_amount(number)
    direction = _LOWER if known.better == "higher" else _UPPER
    comparison = comparison or cast("Comparison", direction[0])
    if amount is None or comparison not in direction:
        return None
    in_percent = amount.unit == "percent" or (known.share and 10 <= amount.value <= 100)
    if in_percent and known.better == "lower" and not known.ratio:
        return None
    value = float(f"{amount.value / 100:.12g}") if in_percent else amount.value
    if value > 1 and (known.ratio or (known.better == "higher" and metric != "calinski_harabasz")):
        return None
    return Constraint(quantity="score", metric=metric, comparison=comparison, value=value, words=words)


def parse_constraint(text: str) -> Constraint:
    """Parses a limit such as `latency<=20ms` or `accuracy >= 0.9`.

    >>> str(parse_constraint("size <= 5MB")), str(parse_constraint("ROC AUC > 80 %"))
    ('size <= 5e+06', 'roc_auc > 0.8')

    Raises:
        ValueError: the text is not a limit.
    """
    found = COMPARED.fullmatch(text)
    examples = ", ".join(f"{name}<={one[2]}" for name, one in _LIMITS.items())
    if found is None:
        raise ValueError(f"{text!r} is not a limit; write for example accuracy>=0.9, {examples}")
    name = found["name"].casefold().replace(" ", "_").replace("-", "_")
    sign: Comparison | None = comparison_of(found["sign"])
    if name in _LIMITS:
        quantity, unit, example = _LIMITS[name]
        amount = parse_amount(found["number"])
        if amount is None or amount.unit != unit or sign not in ("<", "<=") or amount.value <= 0:
            raise ValueError(f"{text!r} is not a limit on {quantity}; write for example {name}<={example}")
        return Constraint(quantity=quantity, comparison=sign, value=amount.value, words=text)
    metric = metric_named(found["name"])
    if not metric:
        raise ValueError(f"{found['name']!r} in {text!r} is not a metric. {nearest_metric(name)} Limits: {examples}")
    made = score_limit(metric, sign, found["number"], text)
    if made is None:
        better = vocabulary().metrics[metric].better
        raise ValueError(f"{text!r} is not a limit on {metric}, which is better when {better}")
    return made
