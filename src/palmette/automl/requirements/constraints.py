"""Numbers of a request that the delivered model must keep to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from palmette.automl.requirements.bounds import Found, bound, clause, goal
from palmette.automl.requirements.model import Metric, Task
from palmette.automl.requirements.quantities import Amount
from palmette.automl.requirements.resources import in_its_unit, size, time
from palmette.automl.requirements.scores import score, shared
from palmette.automl.requirements.text import Text
from palmette.automl.requirements.vocabulary import Mention


def constraints(
    text: Text,
    numbers: Sequence[Amount],
    metrics: Sequence[Mention],
    default: Metric | None,
    task: Task | None = None,
) -> list[Found]:
    """The constraints among the numbers, in the order of the text.

    Args:
        numbers: Without those that mean something else, such as shares of a split.
        metrics: The metrics that the request names; `ERROR` is the one that suits the task.
        default: The metric of a score that stands without one.
        task: The task, where it is known.
    """
    found: list[Found] = []
    for amount in numbers:
        if amount.unit in ("", "percent"):
            one = score(text, amount, metrics, default, task)
        elif amount.unit == "parameters":
            one = bound(text, amount, "parameters") if amount.comparison or goal(text, amount) else None
        elif amount.unit == "size":
            one = size(text, amount)
        elif (metric := in_its_unit(text, amount, metrics, numbers)) is not None:
            one = bound(text, amount, "score", metric, amount.number)
        else:
            one = time(text, amount, numbers)
        if (
            one is not None
            and not (one.constraint.metric is None and one.constraint.comparison in (">", ">="))
            and one.constraint not in [other.constraint for other in found]
        ):
            found.append(one)
            found += shared(text, one, metrics, numbers)
    return found


def unplaced(text: Text, numbers: Sequence[Amount], found: Sequence[Found]) -> tuple[str, ...]:
    """Numbers with a bound or a unit that became no constraint, with the words around them."""
    used = {one.amount.start for one in found}
    left = [one for one in numbers if one.start not in used and (one.comparison or one.unit)]
    quotes = [(one, text.quote(*clause(text, one))) for one in left]
    return tuple(words for one, words in quotes if one.comparison or not re.search(r"\ban? \w+$|\bper \w+$", words))
