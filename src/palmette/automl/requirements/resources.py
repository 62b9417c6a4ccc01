"""Which times and sizes of a request training, a prediction or the model may take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from palmette.automl.requirements.bounds import NEAR, Found, around, bound, distance, metric_of
from palmette.automl.requirements.model import Metric, Quantity
from palmette.automl.requirements.quantities import Amount, amounts
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.vocabulary import Mention

_CUES: tuple[tuple[Quantity, str], ...] = (
    (
        "training time",
        r"(?:re-?)?train(?:s|ed|ing)?(?! ?(?:set|data|split|part|file|rows)\b)|fit(?:s|ted|"
        r"ting)? (?!in)|fitting|learn(?:s|ing)?(?= (?:time|in|within|must|should))|to learn|"
        r"clustering|tun(?:e|ing)|search(?:ing)?|build(?:ing)? time|optimi[sz]ation|"
        r"time budget|budget|you have|i have|we have|finish(?:ed)?|stop(?:s|ped)?|gpu time|compute time|done|ready",
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
    r"\b(?:every|last|(?<!go )past|previous|next|following|coming|of|ahead|(?<!stop )after|older than|each)"
    r"\s*(?:the\s+)?$",
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


def time(text: Text, amount: Amount, others: Sequence[Amount]) -> Found | None:
    """A time, where something says that training or a prediction is to take no longer."""
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
    found = bound(text, amount, cue)
    per = _per(text, amount) if cue == "prediction time" else None
    return found._replace(constraint=found.constraint.model_copy(update={"per": per}))


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


def _nearest(text: Text, amount: Amount, others: Sequence[Amount]) -> tuple[float, Quantity] | None:
    """Whether a time is one of training or of prediction: the nearest word decides."""
    sentence = around(text, amount)
    best: tuple[float, Quantity] | None = None
    for quantity, words in _CUES[:2]:
        for match in re.finditer(rf"\b(?:{words})\b", text.plain[sentence.start : sentence.end], re.I):
            span = Span(sentence.start + match.start(), sentence.start + match.end())
            away = distance(text, span, amount, others) + (_VAGUE_AWAY if _VAGUE.fullmatch(match[0]) else 0)
            if best is None or away < best[0]:
                best = (away, quantity)
    return best


def size(text: Text, amount: Amount) -> Found | None:
    """A size of the model, where something is said of it that makes it a bound."""
    if _NOT_MODEL.match(text.plain, amount.end):
        return None
    near = text.plain[text.sentence(amount.start).start : text.sentence(amount.start).end]
    return bound(text, amount, "model size") if amount.comparison or re.search(_CUES[2][1], near, re.I) else None


def in_its_unit(text: Text, amount: Amount, metrics: Sequence[Mention], others: Sequence[Amount]) -> Metric | None:
    """The metric that a time is of, as in `a mean absolute error of 20 minutes`: one that has the target's unit."""
    sentence = text.sentence(amount.start)
    metric = metric_of(text, amount, metrics, sentence)
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


def named_amounts(text: Text) -> list[Span]:
    """The words next to a time or a size that say what it is of, as in `size 20 MB`: they name no column."""
    found = []
    for amount in amounts(text, []):
        cues = [words for quantity, words in _CUES if (quantity == "model size") == (amount.unit == "size")]
        if amount.unit in ("time", "size"):
            start = max(text.sentence(amount.start).start, amount.start - 30)
            near = re.search(rf"\b(?:{'|'.join(cues)})\b[^,;.]*$", text.plain[start : amount.start], re.I)
            found += [Span(start + near.start(), amount.end)] if near else []
    return found
