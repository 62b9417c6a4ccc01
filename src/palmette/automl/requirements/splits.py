"""How a request wants the rows divided."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from palmette.automl.requirements.dates import edge
from palmette.automl.requirements.model import SplitWish
from palmette.automl.requirements.text import Span, Text

Part = Literal["train", "valid", "test"]
By = Literal["time", "group", "stratified", "random"]
_PARTS: dict[Part, str] = {
    "train": r"train(?:ing)?",
    "valid": r"valid(?:ation)?|val\b|dev(?:elopment)?\b",
    "test": r"test(?:ing)?|evaluation|hold-?out",
}
_UNDIVIDED = re.compile(
    r"\bwithout (?:any )?(?:prior )?(?:split\w*|division)|"
    r"\bnot (?:yet )?(?:been )?split\b|\bunsplit\b|\bhas(?:n't| not) been (?:split|"
    r"divided)",
    re.I,
)
_SHARE = r"(?P<share>\d+(?:\.\d+)?)\s?percent"
_SPEAKS = re.compile(
    r"\b(?:split|divide|partition)\w* (?:the|it|them|my|our|into|by|this|all|up|your|\d|train|in |rows|data)|"
    r"\bhold(?:ing)? ?out\b|\bset aside\b|\breserve\b|\btest(?:ing|ed)? on\b|\bhold-?out\b|"
    r"\b(?:for|as) (?:the |a )?(?:test|train|valid|hold)\w*|\b\d+(?:/|-|:)\d+",
    re.I,
)
_RATIO = re.compile(r"(?<![\w.])(\d{1,2})\s?[/:-]\s?(\d{1,2})(?:\s?[/:-]\s?(\d{1,2}))?(?![\w.])")
_FOLDS = re.compile(r"\b(\d+)[\s-]*folds?\b|\b(?:k\s*=\s*(\d+) folds?|(\d+)\s?x (?=cross|cv\b))", re.I)
_CROSS = re.compile(r"\bcross[\s-]*validat\w+|\bcv\b", re.I)


_LATE = r"(?:last|latest|newest|most recent|final)"
_BY_TIME = re.compile(
    r"\b(?:split|divide)\w*[^.;]{0,30}\b(?:by|over|along|in) time\b|\bchronologic\w+|\btemporal split|"
    r"\b(?:in|by) (?:time|date) order|\bordered by (?:time|date)|\btime-?\s?(?:based|aware|series) split|"
    r"\btest[^.;]{0,20}\b(?:latest|most recent|newest|future|newer|later)\b|\bback-?test|\bwalk[- ]?forward|"
    rf"\bout[- ]of[- ]time\b|\b{_LATE} [\d.]+ percent\b|"
    rf"\b{_LATE} (?:rows|data|records|dates|part|days|months)\b[^.;]{{0,30}}\b(?:for|as) (?:the )?"
    r"(?:test|hold|eval|valid)|"
    r"\b(?:older|oldest|earlier|earliest|past)\b[^.;]{0,30}\btrain|"
    r"\btrain\w*[^.;]{0,20}\b(?:older|oldest|earlier|earliest|past(?! \d))\b",
    re.I,
)


_EARLIER = re.compile(
    r"\b(?:train|learn|fit)\w*\s+(?:on|from|with|in|using)\s+(?:the |data |years? |of |from )*(?:19|20)\d\d\b"
    r"(?:\s*(?:-|to|until|through|and)\s*(?:19|20)\d\d\b)?",
    re.I,
)
"""Years to learn from, which end where those to test on begin."""


class Divided(NamedTuple):
    """A wish for a split, its words, and the numbers that are shares and folds."""

    split: SplitWish | None
    words: str
    taken: list[Span]


def split(text: Text) -> Divided:
    """How rows are to be divided."""
    parts: tuple[Part, ...] = ()
    fractions: dict[Part, float] = {}
    used: list[Span] = []
    said: list[Span] = []
    for span in text.sentences:
        sentence = text.plain[span.start : span.end]
        if not _SPEAKS.search(sentence):
            continue
        for part, share, place in (*_ratio(sentence), *_shares(sentence)):
            fractions[part] = share
            used.append(Span(span.start + place.start, span.start + place.end))
        named = tuple(part for part, pattern in _PARTS.items() if re.search(rf"\b(?:{pattern})\b", sentence, re.I))
        if re.search(r"\b(?:split|divide|partition)", sentence, re.I) and len(named) >= 2:
            parts = named
        said += [span] if parts or fractions else []
    folds = _FOLDS.search(text.plain)
    cross = folds or _CROSS.search(text.plain)
    undivided = _UNDIVIDED.search(text.plain)
    used += [Span(folds.start(), folds.end())] if folds else []
    said += [Span(match.start(), match.end()) for match in (cross, undivided) if match]
    later = edge(text.plain)
    used += [Span(later.start, later.end)] if later else []
    used += [Span(*match.span()) for match in _EARLIER.finditer(text.plain)] if later else []
    said += [Span(later.start, later.end)] if later else []
    by = "time" if later else _by(text.plain, bool(parts or fractions or cross))
    if not said and by is None:
        return Divided(None, "", used)
    made = SplitWish(
        parts=() if fractions else parts,
        fractions=fractions,
        folds=int(next(filter(None, folds.groups()))) if folds else 0 if cross else None,
        by=by,
        test_from=later.begins if later else "",
        undivided=undivided is not None,
    )
    return Divided(made, text.quote(said[0].start, said[0].end) if said else "", used)


def _ratio(said: str) -> Iterable[tuple[Part, float, Span]]:
    """Shares as in `70/20/10`."""
    match = _RATIO.search(said)
    shares = [int(number) for number in match.groups() if number] if match else []
    if match is None or sum(shares) != 100:
        return
    order: tuple[Part, ...] = ("train", "test") if len(shares) == 2 else ("train", "valid", "test")
    for part, share in zip(order, shares, strict=True):
        yield part, share / 100, Span(match.start(), match.end())


def _shares(said: str) -> Iterable[tuple[Part, float, Span]]:
    """Shares with the part they are for: `20 percent for testing`, `a test set of 20 percent`."""
    for part, pattern in _PARTS.items():
        for form in (
            rf"{_SHARE}\s+(?:of [\w ]{{2,30}}?)?(?:as|for|in|to)?\s*(?:the |a )?(?:{pattern})\b",
            rf"\b(?:{pattern})\s*(?:set |part |split |it |the model )?(?:on|of|with|is|=|"
            rf":)?\s*(?:the )?(?:{_LATE} |a random )?{_SHARE}",
        ):
            if (match := re.search(form, said, re.I)) is not None:
                yield part, float(match["share"]) / 100, Span(match.start("share"), match.end("share"))
                break
    if (
        match := re.search(
            rf"\b(?:hold(?:ing)? ?out|set aside|reserve|keep)\s+(?:the )?(?:{_LATE} |a random )?"
            rf"{_SHARE}",
            said,
            re.I,
        )
    ) is not None:
        yield "test", float(match["share"]) / 100, Span(match.start("share"), match.end("share"))


def _by(plain: str, split_said: bool) -> By | None:
    if _BY_TIME.search(plain):
        return "time"
    if re.search(r"\bstratif\w+", plain, re.I):
        return "stratified"
    return (
        "random" if split_said and re.search(r"\brandom(?:ly)?\b(?! ?(?:forest|search|state))", plain, re.I) else None
    )
