"""Computations in plain words: a small grammar of common phrasings, offline and deterministic.

`read_words` either understands a phrasing completely or asks one precise question; it never guesses.
docs/reference/words.md describes the grammar with examples. Parsing has three stages: take out the window, then the
entities (`by the user`, `the offer's`), then the condition. The remaining text must match one of `PHRASE_PATTERNS`.
"""

import re
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from pydantic import ValidationError

from palmette.errors import Mistake
from palmette.features.spec.fsc import Feature, SourceSpec
from palmette.features.spec.fsc_steps import Member, Step
from palmette.features.spec.phrase_patterns import PHRASE_PATTERNS, N, PhraseParts, WordsReading, number
from palmette.features.spec.phrases import read_statement
from palmette.features.spec.values import Window
from palmette.features.spec.words_names import AskError, WordsContext, column_of, with_marks

__all__ = ["WordsContext", "WordsReading", "read_words"]

_UNIT = r"(?:second|minute|hour|day|week|month|quarter|year)"
_DAYS = {"d": 1, "day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
_SECONDS = {"h": 3600, "hour": 3600, "m": 60, "minute": 60, "s": 1, "second": 1}
_CUTOFF = r"(?:(?:the\s+)?cut-?off|as[ _-]of)\b"
_WITHIN = r"\b(?:in|over|within|during|for|from)\s+the\s+"
_LAST = r"(?:last|past|previous|trailing)\s+"
_AMOUNT = rf"{N}\s+{_UNIT}s?"
_LENGTH = rf"(?P<length>(?:\d+[dhms])+|{_AMOUNT}(?:(?:\s+and)?\s+{_AMOUNT})*)\b"
_BEFORE = rf"\s+(?:before|preceding|prior to|up to|until)\s+{_CUTOFF}"
_WINDOWS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"(?:\b(?:in|over|within|during|for|from|of)\s+)?\b(?:the\s+)?{_LAST}{_LENGTH}",
        rf"{_WITHIN}{_LAST}(?P<length>{_UNIT})\b",
        rf"\b(?P<length>{N}-{_UNIT})\b",
        rf"{_WITHIN}{_LENGTH}{_BEFORE}",
    )
)
_OF, _THE = "(?:of|by|for|per|from|to)", "(?:the|each|every|this|an?|same)"
_LINK = (
    "(?:of|by|for|per|from|to|in|on|at|over|within|during|made|with|without|where|whose|that|which|having|when|weighted"
    "|ever|divided|minus|plus)"
)
"""What may follow an entity without an article. Other words after it (`of shop 7`) begin a condition."""
_ALL_TIME = re.compile(
    r"\b(?:(?:over|in|of|for|across)\s+(?:all|the whole|the entire)\s+(?:time|history)"
    r"|over all|all[- ]time|ever|so far|to date)\b",
    re.I,
)
_CONDITION = re.compile(
    r"\s(?:(?:where|for which|in which|with|whose|that|which|having|when)\s+(?P<condition>.+)"
    r"|(?P<lacking>without\s.+))$",
    re.I,
)
_NO_WINDOW = re.compile(
    rf"\b(?:in|over|within|during|for)\s+the\s+(?:next|following|coming)\b|\b(?:next|following)\s+{N}\s+{_UNIT}s?\b"
    rf"|\b(?:this|current|calendar)\s+{_UNIT}\b|\b{_UNIT}[- ]to[- ]date\b|\b(?:today|yesterday)\b"
    rf"|\bbetween\s+{N}\s+and\s+{N}\s+{_UNIT}s?\s+ago\b|\b{_UNIT}s?\s+(?:ago|before\s+(?!{_CUTOFF})the)\b"
    rf"|\bbefore\s+the\s+last\b",
    re.I,
)
"""Times that no window holds: after the cut-off, periods of the calendar, windows that end earlier."""


_MEMBER = re.compile(
    rf"(?:(?P<rest>.+) and )?(?P<column>[\w ]+?) (?:is|are|was|were) (?P<no>not )?in (?P<other>[\w ]+?)"
    rf"(?P<when> before it| by {_CUTOFF})?",
    re.I,
)
"""Whether another source has a row with the same value, at the event or at the cut-off."""


def read_words(feature: Feature, context: WordsContext) -> WordsReading | Mistake:
    """The computation that a feature's words state, or a question to ask first."""
    words = (feature.words or "").strip().rstrip(".")
    if found := _NO_WINDOW.search(with_marks(words)):
        return Mistake(
            "unknown-words",
            f"In {words!r}, {found[0]!r} is not a window: a window has a length, and ends at the cut-off.",
            'Make the time a column of a source, e.g. `compute: {age_days: "datediff(as_of, at)"}`, and ask for rows '
            "`where age_days is between 30 and 60`; what lies after the cut-off is a column of the spine (`keep`).",
        )
    features = {*(one.name for one in context.scope.spec.features), *context.scope.grain} - {feature.name}
    with suppress(ValidationError):  # one of its numbers is out of range
        if (computation := read_statement(words, context.sources.names, features)) is not None:
            return WordsReading(computation)
    try:
        text, window = _window(with_marks(words))
        reading = _arithmetic(PhraseParts(feature, " ".join(text.split()), context)) if window is None else None
        if reading is not None:
            return reading
        text, by = _whose(f" {text} ", context)
        text, stated = _stated(text)
        stated, member = _member(stated, context)
        rest = PhraseParts(feature, " ".join(text.split()), context, window or Window.ALL, by, stated)
        for pattern, read in PHRASE_PATTERNS:
            found = pattern.fullmatch(rest.text)
            reading = read(rest, found) if found else None
            if reading is not None:
                return _with_member(reading, member, context) if member else reading
    except AskError as ask:
        return ask.question(words)
    return Mistake(
        "unknown-words",
        f"The words {words!r} are not understood. What should be computed?",
        "Write it like 'number of redemptions of the offer by the user in the last 30 days' (docs/reference/words.md), "
        "or write an `aggregate`, `expression`, `lookup` or `derive`.",
    )


def _window(words: str) -> tuple[str, Window | None]:
    """The words without their window, and the window (None if there is none)."""
    match = next(filter(None, (pattern.search(words) for pattern in _WINDOWS)), None)
    always = _ALL_TIME.search(words)
    if match and always:
        raise AskError(match[0].strip(), "of the two windows", (), (match[0].strip(), always[0]))
    if always:
        return f"{words[: always.start()]} {words[always.end() :]}", Window.ALL
    if match is None:
        return words, None
    found = re.findall(rf"({N})?[\s-]*(?<![a-z])({_UNIT}|[dhms])", match["length"].lower())
    parts = [(unit, number(amount or "1")) for amount, unit in found]
    days = sum(amount * _DAYS.get(unit, 0) for unit, amount in parts)
    length = Window(days, sum(amount * _SECONDS.get(unit, 0) for unit, amount in parts))
    if any(unit in ("month", "quarter", "year") for unit, _ in parts):
        raise AskError(match[0].strip(), "window", (f"in the last {days} days", f"in the last {days // 7} weeks"))
    if length == Window(0):
        raise AskError(match[0].strip(), "window")
    return f"{words[: match.start()]} {words[match.end() :]}", length


def _whose(text: str, context: WordsContext) -> tuple[str, tuple[str, ...] | None]:
    """The words without the entities they name, and the keys of those entities (None: all)."""
    named: list[str] = []
    for entity in context.scope.spec.entities:
        name = re.escape(entity.name).replace("_", "[ _]")
        keys = "|".join(re.escape(key) for key in entity.keys)
        patterns = (
            rf"\b(?:{_OF}\s+)?{_THE}\s+(?:{name})['’]s(?=\s)",
            rf"\b(?:{name})['’]s(?=\s)",
            rf"\s(?:{_OF}|made by|with)\s+(?:{_THE}\s+)+(?:{name}|{keys})(?=\s)",
            rf"\s(?:{_OF}|made by)\s+(?:{name}|{keys})(?=\s+(?:$|{_LINK}\b))",
            rf"\s(?:in|on|at)\s+{_THE}\s+(?:{name}|{keys})(?=\s)",
        )
        for index, pattern in enumerate(patterns):
            replaced = re.sub(pattern, _kept_preposition if index == 0 else " ", text, flags=re.I)
            if replaced != text:
                text = replaced
                named += [key for key in entity.keys if key not in named]
    grain = list(context.scope.grain)
    by = tuple(key for key in grain if key in named)
    return text, by if by and len(by) < len(grain) else None


def _kept_preposition(match: re.Match[str]) -> str:
    """Keeps the `of` when the possessive is removed from `number of the user's visits`."""
    found = re.match(r"(?:of|for|from|to)\b", match[0], re.I)
    return found[0] if found else ""


def _stated(text: str) -> tuple[str, str | None]:
    found = _CONDITION.search(text)
    if found is None:
        return text, None
    return text[: found.start()], " ".join((found["lacking"] or found["condition"]).split())


def _member(stated: str | None, context: WordsContext) -> tuple[str | None, re.Match[str] | None]:
    """The condition without what it states last about another source, and that part."""
    found = _MEMBER.fullmatch(stated or "")
    if found is None or context.source_or_none(found["other"]) is None:
        return stated, None
    if not found["when"]:
        phrase = f"in {found['other']}"
        raise AskError(phrase, "time", [f"{phrase} before it", f"{phrase} by the cut-off"])
    return found["rest"], found


def _with_member(reading: WordsReading, found: re.Match[str], context: WordsContext) -> WordsReading:
    """The reading over a source with a `member` step."""
    ((form, computation),) = reading.computation.items()
    source, other = context.sources.get(getattr(computation, "source", "")), context.source(found["other"]).view.table
    if source is None:
        raise AskError(found[0], "rows")
    at: Literal["event", "cutoff"] = "event" if found["when"].strip().lower() == "before it" else "cutoff"
    flag = f"in_{other.name}_at_{at}"
    name = column_of(found["column"], source).name
    step = Step(member=Member(column=flag, table=other.name, on=(name,), at=at))
    made = SourceSpec(name=f"{source.view.name}_{flag}", table=source.view.table.name, steps=(*source.view.steps, step))
    test = f"NOT {flag}" if found["no"] else flag
    where = f"({computation.where}) AND {test}" if computation.where else test
    changed = computation.model_copy(update={"source": made.name, "where": where})
    return replace(reading, computation={form: changed}, sources=(made,))


def _arithmetic(rest: PhraseParts) -> WordsReading | None:
    """An arithmetic operation on two features."""
    forms = (
        (r"(?:the )?ratio (?:of|between) (?P<a>.+?) (?:to|and) (?P<b>.+)", "/"),
        (r"(?:the )?difference (?:between|of) (?P<a>.+?) and (?P<b>.+)", "-"),
        (r"(?P<a>.+?) divided by (?P<b>.+)", "/"),
        (r"(?P<a>.+?) minus (?P<b>.+)", "-"),
        (r"(?P<a>.+?) plus (?P<b>.+)", "+"),
        (r"(?P<a>\w+) / (?P<b>\w+)", "/"),
        (r"(?P<a>\w+) - (?P<b>\w+)", "-"),
    )
    for pattern, operator in forms:
        found = re.fullmatch(pattern, rest.text, re.I)
        if found:
            left, right = (rest.context.feature(found[side], rest.feature.name) for side in "ab")
            return WordsReading({"derive": f"{left} {operator} {right}"})
    return None
