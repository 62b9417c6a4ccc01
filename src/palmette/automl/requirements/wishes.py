"""What a request says beside task, target and numbers: files, hubs, splits, lengths, devices, things to deliver."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from palmette.automl.requirements.model import (
    DeliverableWish,
    PreferenceWish,
    Sequence,
)
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.vocabulary import Mention, mentions, vocabulary

_COMPONENTS = {
    "input_length": r"\binput\w*?_?(?:seq\w*)?_?len(?:gth)?\s*[=:]\s*(\d+)",
    "input_dim": r"\binput\w*?_?dim(?:ension)?s?\s*[=:]\s*(\d+)",
    "horizon": r"\b(?:pred\w*?|output|target)_?(?:seq\w*)?_?len(?:gth)?\s*[=:]\s*(\d+)|"
    r"\bhorizon\s*(?:of|=|:|is)?\s*(\d+)",
    "output_dim": r"\b(?:pred\w*?|output|target)_?dim(?:ension)?s?\s*[=:]\s*(\d+)",
}
_UNIT = r"(?P<unit>step|point|value|observation|hour|day|week|month|quarter|year|minute)s?"
_AHEAD = (
    rf"\bnext (\d+) {_UNIT}",
    rf"\b(\d+)[ -]{_UNIT}[ -](?:ahead|in advance|into the future)",
    rf"\b(?:coming|following|upcoming) (\d+) {_UNIT}",
    rf"\bfor (\d+) {_UNIT} (?:ahead|into)",
    rf"\bhorizon (?:of|is|=)? ?(\d+) {_UNIT}",
    rf"\bforecast (?:of |for )?(\d+) {_UNIT}",
)
_BACK = (
    rf"\b(?:past|last|previous|preceding) (\d+) {_UNIT}",
    rf"\b(?:look-?back|history|context|window)(?: window| length)? (?:of|is|"
    rf"=)? ?(\d+)(?: {_UNIT})?",
)
_HINT = re.compile(
    r"\b(?:missing|imbalanced?|unbalanced|outliers?|noisy|duplicat\w+|coded as|"
    r"means that|"
    r"correlated|seasonal\w*|leak\w*|several times|more than once|skewed|rare|"
    r"important to know|note that|please note|known to|units? (?:is|are)|measured in|"
    r"recorded|labelled by|not reliable|unreliable|per (?:customer|patient|"
    r"user) there)\b",
    re.I,
)
PREPARE = re.compile(
    r"\b(?:pre-?process\w*|normali[sz]\w+|standardi[sz]\w+|scal(?:e|"
    r"ing) (?:the )?(?:features|data|columns)|one-?hot\w*|imput\w+|"
    r"fill (?:in )?missing|"
    r"remove (?:outliers|duplicates)|drop (?:rows|duplicates)|"
    r"encod(?:e|ing)|pca|reduce (?:the )?dimension\w*|tokeni[sz]\w+|lemmati[sz]\w+|"
    r"resiz\w+|over-?sampl\w+|under-?sampl\w+|smote|log-?transform\w*)\b",
    re.I,
)
_IS_MADE = re.compile(r"trained model|param|code|script", re.I)
"""What a request may speak of without wanting it handed over."""
_HAND_OVER = re.compile(
    r"\b(?:provide|deliver|give|return|hand|export|send|save|output|produce|supply|"
    r"include|want|need|show)\w*\b",
    re.I,
)


def sequence(text: Text, forecasting: bool) -> tuple[Sequence | None, list[Span]]:
    """The lengths of a forecast, and where their numbers stand."""
    found: dict[str, int] = {}
    used, unit = [], ""
    for field, pattern in _COMPONENTS.items():
        if (match := re.search(pattern, text.plain, re.I)) is not None:
            found[field] = int(next(filter(None, match.groups())))
            used.append(Span(match.start(), match.end()))
    for field, patterns in (("horizon", _AHEAD), ("input_length", _BACK)):
        for pattern in patterns if forecasting and field not in found else ():
            if (match := re.search(pattern, text.plain, re.I)) is not None:
                found[field] = int(match[1])
                used.append(Span(match.start(), match.end()))
                unit = unit or (
                    ""
                    if (match["unit"] or "step") in ("step", "point", "value", "observation")
                    else match["unit"].casefold()
                )
                break
    return (Sequence(**found, unit=unit) if found else None), used


def preferences(text: Text, masked: Iterable[Span]) -> tuple[PreferenceWish, ...]:
    """What matters more than usual."""
    plain = _masked(text.plain, masked)
    found: dict[str, PreferenceWish] = {}
    for sentence in text.sentences:
        said = plain[sentence.start : sentence.end]
        for one in mentions(said, vocabulary().preferences):
            if not _negated(said, one.start):
                quote = text.quote(sentence.start + one.start, sentence.start + one.end)
                found.setdefault(one.name, PreferenceWish(name=one.name, words=quote))  # type: ignore[arg-type]  # a preference
    return tuple(found.values())


def deliverables(text: Text) -> tuple[DeliverableWish, ...]:
    """What is to be handed over."""
    plain, found = text.plain, dict[str, DeliverableWish]()
    for one in mentions(plain, vocabulary().deliverables):
        sentence = text.sentence(one.start)
        if (
            _is_verb(plain, sentence, one)
            or _negated(plain, one.start)
            or (_IS_MADE.search(plain[one.start : one.end]) and not _HAND_OVER.search(plain, sentence.start, one.start))
        ):
            continue
        found.setdefault(one.name, DeliverableWish(name=one.name, words=text.quote(one.start, one.end)))  # type: ignore[arg-type]  # a deliverable
    if "submission" in found:
        found.pop("predictions", None)
    return tuple(found.values())


def _is_verb(plain: str, sentence: Span, one: Mention) -> bool:
    """Whether a sentence begins with it and goes on: `Report the accuracy`."""
    begins = not plain[sentence.start : one.start].strip(" -*")
    return begins and one.name == "report" and re.match(r"\s+[a-z]", plain[one.end :]) is not None


def listed(text: Text, table: Mapping[str, tuple[str, ...]]) -> list[Mention]:
    """Mentions of a closed list, each name once."""
    first: dict[str, Mention] = {}
    for one in mentions(text.plain, table):
        if not _negated(text.plain, one.start):
            first.setdefault(one.name, one)
    return list(first.values())


def sentences_with(text: Text, what: str) -> tuple[str, ...]:
    """Sentences that say something about preparation, augmentation or the data, as written."""
    pattern = {"preprocessing": PREPARE, "hints": _HINT, "augmentation": re.compile(r"\baugment\w*", re.I)}[what]
    return tuple(text.quote(s.start, s.end) for s in text.sentences if pattern.search(text.plain, s.start, s.end))


def _masked(plain: str, masked: Iterable[Span]) -> str:
    for span in masked:
        plain = plain[: span.start] + " " * (span.end - span.start) + plain[span.end :]
    return plain


def _negated(plain: str, place: int) -> bool:
    return (
        re.search(
            r"(?:\b(?:no|not|without|never)|n't)\s+(?:need\s+|want\s+|an?\s+|any\s+|the\s+|"
            r"be\s+|"
            r"to be\s+|necessarily\s+){0,3}$|\b(?:avoid|nothing|"
            r"anything) [^.,;]{0,25}\b(?:needs?|"
            r"requires?|on)\s+(?:an?\s+|the\s+)?$",
            plain[max(0, place - 40) : place],
            re.I,
        )
        is not None
    )
