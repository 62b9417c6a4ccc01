"""Numbers of a request that the delivered model must keep to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, NamedTuple, cast

from palmette.automl.requirements.model import Comparison, Constraint, Metric, Quantity, Task
from palmette.automl.requirements.quantities import Amount, Compared, amounts
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.vocabulary import ERROR, UNMEASURED, Mention, vocabulary

_CUES: tuple[tuple[Quantity, str], ...] = (
    (
        "training time",
        r"train(?:s|ed|ing)?(?! ?(?:set|data|split|part|file|rows)\b)|fit(?:s|ted|"
        r"ting)? (?!in)|fitting|learn(?:s|ing)?(?= (?:time|in|within|must|should))|"
        r"clustering|tun(?:e|ing)|search(?:ing)?|build(?:ing)? time|optimi[sz]ation|"
        r"time budget|budget|you have|i have|we have|finish(?:ed)?|gpu time|compute time|done|ready",
    ),
    (
        "prediction time",
        r"predict(?:s|ions?|ing)?|inferences?|infer|latency|respon(?:d|ds|se)|answer\w*|"
        r"answer(?:s|ed)|scor(?:es|ing)(?! of)|score(?= (?:\d|all|the|each|every))|serv(?:e|es|ing)|"
        r"per (?:row|sample|instance|item|record|request|query|example|call|image|prediction|"
        r"customer|message)|(?:each|every|single|one|1) (?:row|sample|instance|item|record|"
        r"request|query|example|call|image|prediction)|"
        r"(?:the |whole |entire |complete |full )?test (?:set|data|split|file)|batch|runtime|"
        r"classif(?:y|ies|ying)(?= (?:each|every|an?|1) )",
    ),
    ("model size", r"model(?: file)?(?: size)?|size|footprint|disk(?: space)?|file|fits? (?:in|into|on)|weighs?"),
)
_SET = re.compile(
    r"\b(?:test (?:set|data|split|file)|(?:all|whole|entire|complete|"
    r"full)\b[^.;,]{0,20}\b(?:set|data|file|rows|batch|predictions)|batch|"
    r"all (?:the )?(?:rows|predictions)|\d+ (?:rows|records|predictions))",
    re.I,
)
_EACH = re.compile(r"\b(?:every|each|an?|per)\s+\w+", re.I)
_NOT_MODEL = re.compile(
    r"\s*(?:of\s+)?(?:the\s+)?(?:\w+\s+)?(?:data|dataset|data set|csv|ram|memory|vram|traffic|disk space)\b",
    re.I,
)
_RECENT = re.compile(
    r"\b(?:every|last|past|previous|next|following|coming|of|ahead|after|older than|each)\s*(?:the\s+)?$",
    re.I,
)
_GOAL = re.compile(
    r"\b(?:aim|target|goal|reach|achiev|hit|need|want|must|should|has to|have to|ensur|"
    r"guarantee|require|expect|get|would be|constraint|ideally|pass)\w*\b",
    re.I,
)
_FACT = re.compile(
    r"\b(?:current(?:ly)?|existing|today|so far|now|previous(?:ly)?|old|last year|already|"
    r"at the moment|baseline|incumbent|human|literature|paper|published)\b",
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
_SLOW = 60.0
"""Seconds from which a duration is a bound of a prediction only where a word of bounding or of speed says so."""
_QUICK = re.compile(
    r"\b(?:latency|respon\w+|answer\w*|within|takes?|taking|inferences?|runtime|serv\w+|fast|quick\w*|speed|limit|"
    r"budget|per prediction|prediction time|batch|done|finish\w*|ready|(?:the |whole |entire |full )?test (?:set|"
    r"data|file))\b",
    re.I,
)
_VAGUE = re.compile(r"done|ready|finish(?:ed)?|clustering|(?:you|i|we) have|fitting|search(?:ing)?", re.I)
_VAGUE_AWAY = 60
"""How much farther a word counts that speaks of training only where nothing else does."""
_AND = re.compile(r"\W*(?:and|as well as|or|/|&|\+)\W*(?:(?:an?|the|both|also)\W+)*", re.I)
_COMMA = re.compile(r"\s*,\s*(?:(?:an?|the)\s+)?", re.I)
_CLAUSE = re.compile(r"[,;:]|\band\b")
NEAR = 300
"""Characters around a number in which is looked for what it bounds."""


class Found(NamedTuple):
    """A constraint, and where its number stands."""

    constraint: Constraint
    amount: Amount
    note: str = ""
    """What was supposed to read it so."""


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
            one = _score(text, amount, metrics, default, task)
        elif amount.unit == "parameters":
            one = _with_sign(text, amount, "parameters") if amount.comparison or _goal(text, amount) else None
        elif amount.unit == "size":
            one = None if _NOT_MODEL.match(text.plain, amount.end) else _of_model(text, amount)
        elif (metric := _in_its_unit(text, amount, metrics, numbers)) is not None:
            one = _with_sign(text, amount, "score", metric, amount.number)
        else:
            one = _time(text, amount, numbers)
        if (
            one is not None
            and not (one.constraint.metric is None and one.constraint.comparison in (">", ">="))
            and one.constraint not in [other.constraint for other in found]
        ):
            found.append(one)
            found += _shared(text, one, metrics, numbers)
    return found


def bounds(text: Text) -> list[Span]:
    """The words next to a time or a size that say what it is of, as in `size 20 MB`: they name no column."""
    found = []
    for amount in amounts(text, []):
        cues = [words for quantity, words in _CUES if (quantity == "model size") == (amount.unit == "size")]
        if amount.unit in ("time", "size"):
            start = max(text.sentence(amount.start).start, amount.start - 30)
            near = re.search(rf"\b(?:{'|'.join(cues)})\b[^,;.]*$", text.plain[start : amount.start], re.I)
            found += [Span(start + near.start(), amount.end)] if near else []
    return found


def _shared(text: Text, one: Found, metrics: Sequence[Mention], numbers: Sequence[Amount]) -> list[Found]:
    """The same bound for other metrics of a list with one number, as in `precision and recall above 0.8`."""
    own = one.constraint.metric
    if one.constraint.quantity != "score" or own is None:
        return []
    sentence, near, words = text.sentence(one.amount.start), _around(text, one.amount), vocabulary().metrics
    found: list[Found] = []
    listed = [m for m in metrics if m.name in words and near.holds(m.start)]
    others = [number for number in numbers if number is not one.amount and near.holds(number.start)]
    taken = {own, *(_metric_of(text, number, listed, sentence) for number in others if len(listed) > 1)}
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


def _in_its_unit(text: Text, amount: Amount, metrics: Sequence[Mention], others: Sequence[Amount]) -> Metric | None:
    """The metric that a time is of, as in `a mean absolute error of 20 minutes`: one that has the target's unit."""
    sentence = text.sentence(amount.start)
    metric = _metric_of(text, amount, metrics, sentence)
    if metric not in ("mae", "rmse", "medae"):
        return None
    nearest = min((one for one in metrics if one.name == metric), key=lambda one: abs(one.start - amount.start))
    closer = abs(nearest.start - amount.start)
    if not amount.comparison and any(abs(nearest.start - one.start) < closer for one in others):
        return None
    away = min(
        distance(text, Span(m.start, m.end), amount, ())
        for m in metrics
        if m.name == metric and abs(m.start - amount.start) <= NEAR
    )
    cue = _nearest(text, amount, others)
    return metric if cue is None or away < cue[0] else None


def _of_model(text: Text, amount: Amount) -> Found | None:
    """A size, where something is said of it that makes it a bound."""
    near = text.plain[text.sentence(amount.start).start : text.sentence(amount.start).end]
    return _with_sign(text, amount, "model size") if amount.comparison or re.search(_CUES[2][1], near, re.I) else None


def _time(text: Text, amount: Amount, others: Sequence[Amount]) -> Found | None:
    before = text.plain[max(0, amount.start - 40) : amount.start]
    long = amount.value >= 86400
    if _RECENT.search(before) or re.match(
        r"\s+(?:ahead|ago|old|earlier|later|before|in advance|intervals?|data|history|window)",
        text.plain[amount.end :],
    ):
        return None
    nearest = _nearest(text, amount, others)
    cue = nearest[1] if nearest else None
    sentence = text.sentence(amount.start)
    if cue is None and not long and amount.comparison:
        quick = _EACH.search(text.plain, sentence.start, sentence.end) is not None and amount.value < 60
        cue = "prediction time" if quick or amount.value < 1 else "training time"
    if cue == "prediction time" and not amount.comparison and amount.value >= _SLOW and not _QUICK.search(text.plain):
        return None
    if cue is None or (long and cue != "training time") or (long and not amount.comparison):
        return None
    return _with_sign(text, amount, cue)


def _nearest(text: Text, amount: Amount, others: Sequence[Amount]) -> tuple[float, Quantity] | None:
    """Whether a time is one of training or of prediction: the nearest word decides."""
    sentence = _around(text, amount)
    best: tuple[float, Quantity] | None = None
    for quantity, words in _CUES[:2]:
        for match in re.finditer(rf"\b(?:{words})\b", text.plain[sentence.start : sentence.end], re.I):
            span = Span(sentence.start + match.start(), sentence.start + match.end())
            away = distance(text, span, amount, others) + (_VAGUE_AWAY if _VAGUE.fullmatch(match[0]) else 0)
            if best is None or away < best[0]:
                best = (away, quantity)
    return best


def _around(text: Text, amount: Amount) -> Span:
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


def _score(
    text: Text, amount: Amount, metrics: Sequence[Mention], default: Metric | None, task: Task | None
) -> Found | None:
    sentence = text.sentence(amount.start)
    metrics = [one for one in metrics if abs(one.start - amount.start) <= NEAR]
    if _UNSURE.search(text.plain, amount.start, min(sentence.end, amount.end + 30)):
        return None
    if amount.compared and re.search(r"\bfrom\s+$", text.plain[sentence.start : amount.span.start]):
        return None
    metric, weak = _metric_of(text, amount, metrics, sentence), False
    if metric == UNMEASURED:
        return None
    if metric == ERROR:
        return _of_error(text, amount, task)
    if metric is None:
        small = amount.unit == "percent" or 0 < amount.value <= 1
        about = _ABOUT_SCORE.search(text.plain, sentence.start, sentence.end)
        if default is None or not small or not about or not (amount.comparison or _goal(text, amount)):
            return None
        metric, weak = default, True
    value = scaled(amount, metric)
    if value is None:
        return None
    before = _FACT.search(text.plain, sentence.start, amount.start)
    after = _FACT.search(text.plain, amount.end, sentence.end) and not _goal(text, amount)
    fact = (before or after or _BEAT_IT.search(text.plain, amount.end)) and not amount.comparison
    if fact:
        if not _BEAT.search(text.plain, sentence.start):
            return None
        amount = replace(amount, comparison="better")
    elif not amount.comparison and not weak and not _stated(text, amount, metrics):
        return None
    return _with_sign(text, amount, "score", metric, value)


def _of_error(text: Text, amount: Amount, task: Task | None) -> Found | None:
    """The bound of an error: of amounts as a mean absolute or percentage error, of classes as what is right."""
    if not (amount.comparison or _goal(text, amount)):
        return None
    if task == "regression":
        metric: Metric = "mape" if amount.unit == "percent" else "mae"
        found = _with_sign(text, amount, "score", metric, scaled(amount, metric))
        return found._replace(note=f"The error is taken for the {metric}.")
    wrong = scaled(amount, "accuracy") if task == "classification" else None
    if wrong is None or not 0 < wrong < 1:
        return None
    found = _with_sign(text, amount, "score", "accuracy", round(1 - wrong, 12))
    right = found.constraint.model_copy(update={"comparison": ">" if amount.comparison in ("<", ">") else ">="})
    return found._replace(constraint=right, note="What is not wrong is right: the accuracy is one less the error.")


def _metric_of(text: Text, amount: Amount, metrics: Sequence[Mention], sentence: Span) -> Metric | None:
    """The metric that a number is of: the nearest in its sentence."""
    near = [
        (distance(text, Span(one.start, one.end), amount, ()), one.name) for one in metrics if sentence.holds(one.start)
    ]
    return min(near)[1] if near else None  # type: ignore[return-value]  # names of metrics


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
    return _goal(text, amount)


def _goal(text: Text, amount: Amount) -> bool:
    return _GOAL.search(text.plain, text.sentence(amount.start).start, amount.start) is not None


def scaled(amount: Amount, metric: Metric) -> float | None:
    """The number as the metric gives it; None where it cannot be one of its values."""
    words = vocabulary().metrics[metric]
    value = amount.value
    if amount.unit == "percent" or (words.bounded and 1 < value <= 100):
        value = round(value / 100, 12)
    return None if words.bounded and value > 1 else value


def _with_sign(
    text: Text, amount: Amount, quantity: Quantity, metric: Metric | None = None, value: float | None = None
) -> Found:
    higher = metric is not None and vocabulary().metrics[metric].better == "higher"
    sign, note = _comparison(amount.comparison, higher)
    if metric is not None and not higher and sign in (">=", ">") and not amount.upper and not _between(text, amount):
        sign, note = ("<=" if sign == ">=" else "<"), f"Smaller is better for {metric}."
    per = _per(text, amount) if quantity == "prediction time" else None
    return Found(
        Constraint(
            quantity=quantity,
            metric=metric,
            comparison=sign,
            value=amount.value if value is None else value,
            per=per,
            words=text.quote(*_words(text, amount)),
        ),
        amount,
        note,
    )


def _between(text: Text, amount: Amount) -> bool:
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


def _per(text: Text, amount: Amount) -> Literal["row", "set"]:
    """For one row, unless the words next to it speak of all."""
    sentence = text.sentence(amount.start)
    near = text.plain[max(sentence.start, amount.start - 60) : min(sentence.end, amount.end + 40)]
    return (
        "set"
        if _SET.search(near)
        and not re.search(r"\bper (?:row|sample|prediction|instance|record)|each|every", near, re.I)
        else "row"
    )


def _words(text: Text, amount: Amount) -> tuple[int, int]:
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


def unplaced(text: Text, numbers: Sequence[Amount], found: Sequence[Found]) -> tuple[str, ...]:
    """Numbers with a bound or a unit that became no constraint, with the words around them."""
    used = {one.amount.start for one in found}
    left = [one for one in numbers if one.start not in used and (one.comparison or one.unit)]
    quotes = [(one, text.quote(*_words(text, one))) for one in left]
    return tuple(words for one, words in quotes if one.comparison or not re.search(r"\ban? \w+$|\bper \w+$", words))
