"""Numbers in a request, with their units and with what they are compared by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from palmette.automl.requirements.model import Comparison
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.vocabulary import vocabulary

Unit = Literal["", "percent", "time", "size", "parameters"]
Compared = Comparison | Literal["worse", "better"]
"""A comparison; `better` and `worse` are turned into one by the direction of the metric."""

_LONGER = r"(?:more|longer|higher|larger|bigger|greater|slower|heavier)"
_LESS = r"(?:less(?: [a-z]+)?|lower|fewer|smaller|shorter|weaker|younger|cheaper|colder|cooler|thinner)"
_RATHER = r"(?:more (?!or\b)[a-z]+|(?!other|rather|better|later|sooner|worse)[a-z]{3,}er)\s+than"
"""Any other comparative, such as `stronger than`."""
_NOT = r"(?:\b(?:no|not|nothing|never|without|cannot|avoid)\b|\b[a-z]+n't\b)"
_EQUAL = r"(?:\s+(?:or|and)\s+equal(?:s)?(?:\s+to)?)"
_BEFORE: tuple[tuple[Compared, str], ...] = (
    (">=", rf"{_NOT}(?:\s+\w+){{0,3}}?\s+(?:{_LESS}\s+than|below|under|beneath)"),
    (
        "<=",
        rf"{_NOT}(?:\s+\w+){{0,3}}?\s+(?:{_LONGER}(?:\s+than)?|exceed(?:s|ed|ing)?|past|"
        rf"surpass(?:es)?|"
        rf"above|over|beyond)",
    ),
    (">=", rf"(?:{_LONGER}|above|over|>)(?:\s+than)?{_EQUAL}"),
    ("<=", rf"(?:{_LESS}|below|under|<)(?:\s+than)?{_EQUAL}"),
    (
        "<=",
        r"(?:at (?:the )?(?:most|max(?:imum)?)|max(?:imum|imal|\.)?|up to|within|<=|=<|"
        r"no later than|limited to|limit|capp?ed (?:at|to)|cap|budget)",
    ),
    (">=", r"(?:at (?:the )?(?:least|min(?:imum)?)|min(?:imum|imal|\.)?|>=|=>|floor)"),
    ("<", rf"(?:(?:{_LESS}|faster|quicker|sooner|lighter)\s+than|south of|below|under|beneath|<)"),
    (">", rf"(?:{_LONGER}\s+than|north of|above|over|exceed(?:s|ing)?|surpass(?:es|ing)?|beyond|>)"),
    ("worse", rf"{_NOT}(?:\s+\w+){{0,3}}?\s+worse\s+than"),
    ("better", r"(?:better\s+than|beat(?:s|ing)?|outperform(?:s|ing)?|improve(?:s|d)? (?:up)?on)"),
    ("<=", rf"{_NOT}(?:\s+\w+){{0,3}}?\s+{_RATHER}"),
    (">", _RATHER),
)
_AFTER: tuple[tuple[Compared, str], ...] = (
    (
        ">=",
        r"\+(?!\w)|(?:or|and) (?:more|higher|above|over|greater|larger|up|upwards)|"
        r"(?:[a-z]+ )?at (?:the )?(?:least|minimum)(?!\s+\S*\d)|at (?:the )?(?:least|minimum)|minimum|min\b|"
        r"(?:[\w$]+ )?is (?:the|our|my) (?:floor|minimum|least)\b",
    ),
    (
        "<=",
        r"(?:or|and) (?:less|lower|below|under|fewer|smaller|faster|quicker)|"
        r"(?:[a-z]+ )?at (?:the )?(?:most|maximum)(?!\s+\S*\d)|at (?:the )?(?:most|maximum)|max(?:imum)?\b|tops\b|"
        r"(?:[\w$]+ )?(?:on average )?is (?:the|our|my) (?:limit|maximum|most|ceiling)\b",
    ),
    ("worse", r"or better"),
)
_REFUSED = re.compile(
    r"[^.;]{0,40}\b(?:is|are|would be)(?:(?:\s+not|n't)\s+(?:acceptable|ok|okay|tolerable|allowed|good enough)|"
    r"\s+(?:unacceptable|useless|worthless|too\s+(?:much|high|long|slow|big|large|many)|a no-go))",
    re.I,
)
_AGE = re.compile(r"\b(?:older|younger)\s+than\s*$", re.I)
_BEFORE_YEAR: dict[Compared, Compared] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
"""Of an age that is told by a year: what is older than 1950 has a smaller number."""
_YEARS = range(1700, 2101)
_OPPOSITE: dict[Compared, Compared] = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
_NUMBER = re.compile(r"(?<![\w.])(?P<minus>-)?(?P<value>\d+(?:\.\d+)?(?:e-?\d+)?|\.\d+)(?![\d]|\.\d)", re.IGNORECASE)


@dataclass(frozen=True)
class Amount:
    """A number with its unit."""

    value: float
    """In seconds, bytes, or as written; percent are not divided yet."""
    unit: Unit
    start: int
    end: int
    number: float
    """As written, without its unit."""
    comparison: Compared | None = None
    compared: Span | None = None
    """Where the comparison stands."""
    upper: bool = False
    """Whether it is the second number of a `between`."""

    @property
    def span(self) -> Span:
        """Everything that belongs to it."""
        at = self.compared or Span(self.start, self.end)
        return Span(min(self.start, at.start), max(self.end, at.end))


def amounts(text: Text, taken: Iterable[Span]) -> list[Amount]:
    """Every number that is not part of a name (`taken`), in the order of the text."""
    taken = list(taken)
    found: list[Amount] = []
    for match in _NUMBER.finditer(text.plain):
        if any(span.holds(match.start("value")) for span in taken) or _in_word(text.plain, match):
            continue
        if text.quote(match.start(), match.end()).casefold() == "one" and not _unit(text.plain, match.end())[0]:
            continue  # a pronoun
        value, after = float(match["value"]), match.end()
        unit, factor, end = _unit(text.plain, after)
        if not unit and re.search(r"[A-Za-z]-$", text.plain[max(0, match.start("value") - 2) : match.start("value")]):
            continue
        found.append(_compared(text, Amount(value * factor, unit, match.start(), end, value), found))
    return found


def _in_word(plain: str, match: re.Match[str]) -> bool:
    """Whether a number is glued to letters that are no unit, or is part of a date, a time or a file name."""
    rest = plain[match.end() : match.end() + 12]
    glued = re.match(r"[A-Za-z_]+", rest)
    if glued and not _unit(plain, match.end())[0] and glued[0].casefold() not in ("x", "d"):
        return True
    return bool(re.match(r"[:/-]\d+[:/-]\d|:\d\d\b|\.(?:csv|tsv|txt|json|parquet|xlsx?)", rest))


@cache
def _units() -> tuple[tuple[re.Pattern[str], Unit, float], ...]:
    units: list[tuple[re.Pattern[str], Unit, float]] = []
    tables: Mapping[Unit, Mapping[str, float]] = {"time": vocabulary().units.time, "size": vocabulary().units.size}
    for unit, table in tables.items():
        for phrase, factor in table.items():
            units.append((re.compile(rf"[\s-]?(?:{phrase})(?![A-Za-z0-9])", re.IGNORECASE), unit, factor))
    units.append((re.compile(r"\s?(?:percent)\b"), "percent", 1.0))
    parameters = r"\s?(?:(?:trainable|model|learnable)\s+)?(?:parameters?|params?|weights)\b"
    units.append((re.compile(parameters, re.IGNORECASE), "parameters", 1.0))
    return tuple(units)


def _unit(plain: str, place: int) -> tuple[Unit, float, int]:
    """The unit after a number: kind, factor to the base unit, where it ends."""
    for pattern, unit, factor in _units():
        if (match := pattern.match(plain, place)) is not None:
            return unit, factor, match.end()
    return "", 1.0, place


@cache
def _comparisons(ending: bool) -> tuple[tuple[Compared, re.Pattern[str]], ...]:
    table = _BEFORE if ending else _AFTER
    word = r"(?:(?<=[A-Za-z.])(?![A-Za-z])|(?<![A-Za-z.]))"
    bounds = (r"(?:(?<![A-Za-z])(?=[A-Za-z])|(?=[<>=]))", word) if ending else (r"\s*", "")
    return tuple((sign, re.compile(f"{bounds[0]}(?:{words}){bounds[1]}", re.IGNORECASE)) for sign, words in table)


def _compared(text: Text, amount: Amount, earlier: list[Amount]) -> Amount:
    """The number with the nearest comparison before it in its sentence, or right after it."""
    start = text.sentence(amount.start).start
    if earlier and earlier[-1].end > start:
        start = earlier[-1].end
        between = re.fullmatch(r"\s*(?:and|to|-)\s*", text.plain[start : amount.start])
        before = text.plain[max(0, earlier[-1].start - 12) : earlier[-1].start]
        if between and re.search(r"\b(?:between|from)\b[^,;]*$", before):
            earlier[-1] = _with(earlier[-1], ">=", Span(earlier[-1].start, amount.end))
            return _with(amount, "<=", Span(earlier[-1].start, amount.end), upper=True)
    for sign, pattern in _comparisons(ending=False):
        if (match := pattern.match(text.plain, amount.end)) is not None:
            return _with(amount, sign, Span(amount.start, match.end()))
    best: tuple[int, int, Compared, Span] | None = None
    for rank, (sign, pattern) in enumerate(_comparisons(ending=True)):
        for match in pattern.finditer(text.plain, start, amount.start):
            gap = text.plain[match.end() : amount.start]
            if len(gap.split()) > 7 or re.search(r"[;:]|,\s+(?:but|and|use|with|so)\b", gap):
                continue
            one = (match.end(), -rank, sign, Span(match.start(), match.end()))
            best = max(best, one, key=lambda b: b[:2]) if best else one
    if best is None:
        return amount
    sign = best[2]
    if _REFUSED.match(text.plain, amount.end) is not None:
        sign = _OPPOSITE.get(sign, sign)
    if amount.value in _YEARS and _AGE.search(text.plain, start, amount.start):
        sign = _BEFORE_YEAR.get(sign, sign)
    return _with(amount, sign, best[3])


def _with(amount: Amount, sign: Compared, span: Span, upper: bool = False) -> Amount:
    from dataclasses import replace

    return replace(amount, comparison=sign, compared=span, upper=upper)
