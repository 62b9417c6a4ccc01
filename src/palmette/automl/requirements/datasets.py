"""The data that a request names: files, data sets of public collections, and their names."""

from __future__ import annotations

import re

from palmette.automl.requirements.model import Hub, HubReference
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.vocabulary import vocabulary

_FILE = re.compile(
    r"(?<![\w/.-])(?:[A-Za-z]:)?[\w~./\\-]*[\w-]\.(?:csv|tsv|txt|jsonl?|ndjson|"
    r"parquet|pq|"
    r"xlsx?|sqlite3?|db|duckdb|feather|arff|zip|tar|h5|npz?)(?:\.(?:gz|bz2|xz|"
    r"zip))?(?!\w)",
    re.I,
)
_HUBS: tuple[tuple[Hub, str], ...] = (
    ("uci", r"\buci\b|\bucimlrepo\b"),
    ("openml", r"\bopen ?ml\b"),
    ("planetoid", r"\bplanetoid\b"),
    ("huggingface", r"\bhugging ?face\b|\bhf hub\b"),
    ("kaggle", r"\bkaggle\b"),
    ("sklearn", r"\b(?:from|of|in|with) (?:scikit-?learn|sklearn)\b|\bsklearn\.datasets\b"),
    (
        "library",
        r"\bfrom (?:a|any|some|the) (?:relevant|suitable|appropriate|public|common|"
        r"standard)?\s?(?:library|package|python package)\b",
    ),
)
_CLAIMED = re.compile(
    r"\b(?:load|import|fetch|download|find|get|use|take|available|from|of|on|in|"
    r"dataset|"
    r"data set)\b",
    re.I,
)
_NUMBER = re.compile(r"\b(?:id|no|number|dataset|task)\b\s*(?:=|:|#)?\s*(\d+)|#(\d+)", re.I)


def files(text: Text) -> tuple[str, ...]:
    """Files that the request names, as written."""
    return tuple(dict.fromkeys(match[0].rstrip(".") for match in _FILE.finditer(text.written)))


def hubs(text: Text) -> tuple[HubReference, ...]:
    """Data sets of public collections."""
    found: dict[Hub, HubReference] = {}
    for hub, pattern in _HUBS:
        for match in re.finditer(pattern, text.plain, re.I):
            sentence = text.sentence(match.start())
            if not _CLAIMED.search(text.plain[sentence.start : sentence.end]) or hub in found:
                continue
            name = _hub_name(text, sentence)
            if name:
                found[hub] = HubReference(hub=hub, id=name, words=text.quote(sentence.start, sentence.end))
    if len(found) > 1:
        found.pop("library", None)
    if "planetoid" in found:
        found = {"planetoid": found["planetoid"]}
    return tuple(found.values())


def _hub_name(text: Text, sentence: Span) -> str:
    said = text.plain[sentence.start : sentence.end]
    if (number := _NUMBER.search(said)) is not None:
        return number[1] or number[2]
    loaded = re.search(r"\b(?:load|fetch)_(\w+)", said) or re.search(
        r"\b([A-Z][\w-]+)\s+(?:from|of|in|on|via)\s+(?:the\s+)?(?:UCI|Open|Planet|Hugging|"
        r"Kaggle|sk|scikit)",
        said,
    )
    if loaded is not None:
        return loaded[1]
    quoted = [
        m[1]
        for m in re.finditer(r"['\"]([^'\"]{2,60})['\"]", said)
        if m[1].casefold() != "planetoid" and "." not in m[1]
    ]
    named = dataset_name(text, sentence)
    return named or (quoted[0] if quoted else "")


def dataset_name(text: Text, within: Span | None = None) -> str:
    """The name of the data set, as written, e.g. `Crab Age`."""
    start, end = (within.start, within.end) if within else (0, len(text.plain))
    plain = text.plain[start:end]
    for pattern in (
        r"\b[Dd]ata ?set\s+(?:named|called)\s+['\"]?([^'\"(.,;]{2,80})['\"]?",
        r"\(the\s+([A-Z][\w&' -]*?)(?:\s+[Dd]ata ?[Ss]et)?\)",
        r"\b(?:[Tt]he|[Aa])\s+([A-Z][\w&'-]*(?:\s+[A-Z0-9][\w&'-]*)*)\s+[Dd]ata ?set\b",
        r"\b(?:[Tt]he|[Aa]|[Ll]oad|[Uu]se|[Ii]mport)\s+([a-z0-9][\w-]*|"
        r"[A-Z][\w-]*)\s+[Dd]ata(?: ?set)?\b",
    ):
        for match in re.finditer(pattern, plain):
            name = match[1].strip()
            if name.casefold() not in vocabulary().not_names:
                return name
    return ""
