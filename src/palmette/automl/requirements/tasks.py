"""Which kind of problem a request is, from its words and from the target's column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from palmette.automl.requirements.columns import Columns
from palmette.automl.requirements.model import ColumnHint, Metric, Modality, Task
from palmette.automl.requirements.text import Text
from palmette.automl.requirements.vocabulary import Mention, mentions, vocabulary

FEW = 10
"""Distinct whole numbers up to which a column may hold classes as well as amounts."""
_FILES: Mapping[Modality, re.Pattern[str]] = {
    "image": re.compile(r"\.(?:jpe?g|png|bmp|gif|tiff?|webp)\b", re.I),
    "audio": re.compile(r"\.(?:wav|mp3|flac|ogg|m4a)\b", re.I),
}

_EXPLICIT: tuple[tuple[Task, str], ...] = (
    ("node classification", r"\bnode classif\w+|\bclassify(?:ing)? (?:the )?nodes\b"),
    (
        "clustering",
        r"\b(?:make|form|build|create|find|give|get|want|need|show|have)\b[^.;]{0,25}"
        r"\b\d+ (?:\w+ )?(?:groups?|clusters?|segments?)\b|"
        r"(?:^|[.!?]\s+)\d+ (?:\w+ )?(?:groups|clusters|segments|personas|archetypes)\b|\bpersonas\b|"
        r"\bcluster(?:s|ed|ing)?\b|\bunsupervised\b|\bsegment(?:s|ed|ation|"
        r"ing)? (?:of |our |"
        r"the |my |all |these |into |users|customers|shoppers)|\bcustomer segment|"
        r"\b(?:group|divide|partition|sort|put|organi[sz]e|split)(?:s|"
        r"ing)? (?:(?!train)[\w']+ ){1,6}?in(?:to)? (?:(?!train|parts|"
        r"sets)[\w-]+ ){0,5}(?:groups?|"
        r"segments?|clusters?|topics?|types?|bins|buckets|families)|"
        r"\b(?:find|discover|identify) (?:\w+ ){0,3}(?:groups?|segments?|structure|"
        r"topics)\b|"
        r"\b(?:make|form|build|create) (?:me |us )?groups? of\b|"
        r"\b(?:similar|natural|homogen\w+) (?:groups?|customers|users|items)|"
        r"(?:^|[.!?]\s+)(?:please |(?:can|could) you )?group \w+ (?:that|which|who|by|with)\b|"
        r"(?:^|[.!?]\s+)(?:please |(?:can|could) you )?group (?:these|the|my|our|all|similar) "
        r"(?!rows|records|folds|columns|data\b)\w+|"
        r"\b(?:what|which) (?:kinds|types|sorts|groups|segments) of \w+ (?:are there|do (?:we|i) have|exist)|"
        r"\b(?:which|what) \w+ (?:are (?:alike|similar)|resemble|look alike|belong together|go together)\b|"
        r"\bfind \w+ (?:with|of) similar\b",
    ),
    (
        "classification",
        r"\bclassif(?:y|ies|ied|ying|ication|ier|iers)\b|\bcategori[sz](?:e|es|ing|"
        r"ation)\b|"
        r"\bbinary (?:label|target|outcome|problem|task)\b|\bmulti-?class\b",
    ),
    (
        "forecasting",
        r"\btime[- ]?series\b(?! classif)|\bforecast(?:s|ing|ed|er)?\b(?! (?:whether|if|"
        r"which|"
        r"who)\b)|\bsteps? ahead\b|\b(?:hours?|days?|weeks?|months?|years?) ahead\b|"
        r"\bfuture (?:values|sequence|demand|sales|prices)\b",
    ),
    ("regression", r"\bregress(?:ion|or|ing)?\b"),
)
_COMING = (
    r"\b(?:next|coming|following|upcoming)(?:'s)? (?:\w+ )?"
    r"(?:hour|day|week|month|quarter|year|season|summer|winter)s?\b|\btomorrow"
)
"""Words for a time that no row is of yet."""
_COMES = re.compile(rf"{_COMING}|\b(?:next|coming|following) \d+ (?:hour|day|week|month|quarter|year)s?\b", re.I)
_SERIAL = re.compile(rf"time[- ]?series|\bahead\b|next \d+|past \d+|horizon|future|{_COMING}", re.I)
_CLASSES = re.compile(
    r"\b(?:whether|yes/no|yes or no|spam|fraud\w*|probabilit(?:y|ies)|likelihood|"
    r"how likely|risk of|chance (?:of|that)|which (?:class|category|kind|type|species)|"
    r"sentiments?|churn\w*|diagnos\w+|detect\w*|spot|flag|recogni[sz]\w*|identif\w+|"
    r"anomal\w+|as \w+ or \w+|who (?:will|survived|is|are|has|have)|"
    r"tells? [\w ]{2,40}? from|"
    r"distinguish\w*|discriminat\w+|entailment|(?:\d+|several|into) (?:classes|"
    r"categories)|(?:predict|forecast|tell|determine|know|guess) (?:if|which)|label as|"
    r"type of|kind of)\b",
    re.I,
)
_AMOUNTS = re.compile(
    r"\b(?:how (?:much|many|long|far|old|big|high|tall|heavy|expensive)|prices?|costs?|"
    r"amounts?|revenues?|sales|durations?|number of|counts? of|temperature|demand|"
    r"consumption|"
    r"salar(?:y|ies)|values? of|estimat\w+|quantity|age of|weight of|yields?|expenses?|"
    r"charges|lifetime|delay in|mileage|load|numeric(?:al)? (?:value|target)|"
    r"as (?:an? )?(?:real |continuous )?(?:number|amount|quantity)|continuous)\b",
    re.I,
)
_IMPLIED: dict[str, Task] = {
    "kmeans": "clustering",
    "kmedoids": "clustering",
    "gmm": "clustering",
    "agglomerative": "clustering",
    "spectral": "clustering",
    "dbscan": "clustering",
    "hdbscan": "clustering",
    "arima": "forecasting",
    "ets": "forecasting",
    "prophet": "forecasting",
    "dlinear": "forecasting",
    "gcn": "node classification",
    "gat": "node classification",
    "graphsage": "node classification",
}


class Said(NamedTuple):
    """What the words say of the task."""

    task: Task | None
    strength: Literal["explicit", "implied", "weak", "none"]
    start: int = 0
    end: int = 0
    serial: bool = False
    """Of a forecast: whether the words speak of a series rather than of the future at large."""
    coming: bool = False
    """Whether the words speak of a time to come, which may mean one that no row is of yet."""


def said_task(text: Text, metrics: Sequence[Mention], algorithms: Sequence[Mention]) -> Said:
    """The task that the words name or imply; names of algorithms (logistic regression) and metrics aside."""
    return _said_task(text, metrics, algorithms)._replace(coming=_COMES.search(text.plain) is not None)


def _said_task(text: Text, metrics: Sequence[Mention], algorithms: Sequence[Mention]) -> Said:
    plain = text.plain
    for mention in (*metrics, *algorithms):
        plain = plain[: mention.start] + " " * (mention.end - mention.start) + plain[mention.end :]
    for task, pattern in _EXPLICIT:
        if (match := re.search(pattern, plain, re.I)) is not None and not _refused(plain, match.start()):
            return Said(task, "explicit", match.start(), match.end(), _SERIAL.search(plain) is not None)
    for mention in metrics:
        tasks = vocabulary().metrics[mention.name].tasks  # type: ignore[index]  # names of metrics
        if (
            tasks == ("clustering",)
            or tasks == ("forecasting",)
            or (mention.name != "accuracy" and "clustering" not in tasks)
        ):
            task = tasks[0]
            if _refused(plain, mention.start) or re.match(r"[^.,;]{0,8}irrelevant", plain[mention.end :]):
                continue
            return Said(task, "implied", mention.start, mention.end)
    for mention in algorithms:
        if mention.name in _IMPLIED:
            return Said(_IMPLIED[mention.name], "implied", mention.start, mention.end)
    weak: tuple[tuple[Task, re.Pattern[str]], ...] = (("classification", _CLASSES), ("regression", _AMOUNTS))
    for task, words in weak:
        if (match := words.search(plain)) is not None:
            return Said(task, "weak", match.start(), match.end())
    if any(mention.name == "accuracy" for mention in metrics):
        return Said("classification", "weak", metrics[0].start, metrics[0].end)
    return Said(None, "none")


class Fit(NamedTuple):
    """Which tasks a target's column is for; of two, the first is the better guess."""

    tasks: tuple[Task, ...]
    why: str


def fitting(hint: ColumnHint) -> Fit:
    """The tasks for which a column can be the target."""
    match hint.kind:
        case "numeric" if hint.distinct == 2:
            return Fit(("classification",), "it has two values")
        case "numeric" if (
            hint.distinct is not None
            and hint.distinct <= FEW
            and all(re.fullmatch(r"-?\d+(\.0)?", value) for value in hint.examples)
        ):
            return Fit(
                ("classification", "regression"),
                f"it has {hint.distinct} whole numbers, which may be classes or amounts",
            )
        case "numeric":
            return Fit(
                ("regression",), "it holds numbers" + (f", {hint.distinct} different ones" if hint.distinct else "")
            )
        case "datetime":
            return Fit(("regression",), "it holds times")
        case _:
            return Fit(
                ("classification",), f"it is {hint.kind}" + (f" with {hint.distinct} values" if hint.distinct else "")
            )


def said_modality(
    text: Text, task: Task | None, columns: Columns, files: Sequence[str]
) -> tuple[Modality, Mention | None]:
    """The modality, and the word that told it. What the file holds decides, where it is known."""
    phrases = {str(name): words for name, words in vocabulary().modalities.items()}
    found = {one.name: one for one in reversed(mentions(text.plain, phrases))}
    if task == "forecasting":
        return "time series", found.get("time series")
    if task == "node classification":
        return "graph", found.get("graph")
    if columns:
        return _of_columns(columns), None
    names = " ".join(files)
    for modality, pattern in _FILES.items():
        if pattern.search(names):
            return modality, None
    order: tuple[Modality, ...] = ("image", "audio", "graph", "text")
    counts = {name: len(mentions(text.plain, {name: phrases[name]})) for name in order if name in found}
    told = max(order, key=lambda name: (counts.get(name, 0), -order.index(name)))
    if counts.get(told) and not re.search(
        r"\b(?:tabular|numeric(?:al)? (?:features|information|data)|spread ?sheet)\b", text.plain, re.I
    ):
        return told, found[told]
    return "tabular", None


def _of_columns(columns: Columns) -> Modality:
    examples = {name: " ".join(hint.examples) for name, hint in columns.items()}
    for modality, pattern in _FILES.items():
        if any(pattern.search(values) for values in examples.values()):
            return modality
    texts = [name for name, hint in columns.items() if hint.kind == "text" and _long(hint)]
    others = [
        hint
        for name, hint in columns.items()
        if name not in texts and hint.kind not in ("identifier", "constant", "datetime")
    ]
    return "text" if texts and len(others) <= 1 + len(texts) else "tabular"


def _long(hint: ColumnHint) -> bool:
    """Whether values are sentences rather than names."""
    return any(len(value.split()) >= 5 for value in hint.examples) if hint.examples else True


def _refused(plain: str, place: int) -> bool:
    return (
        re.search(
            r"\b(?:not|no|isn't|instead of|rather than|never)\s+(?:an?\s+|do\s+|want\s+|"
            r"use\s+)?$",
            plain[max(0, place - 25) : place],
            re.I,
        )
        is not None
    )


def fitting_metric(metric: Metric, task: Task) -> bool:
    """Whether a metric is one of a task; a forecast of classes has those of classification."""
    return task in vocabulary().metrics[metric].tasks
