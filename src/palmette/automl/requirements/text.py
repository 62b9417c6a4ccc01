"""A request made plain, so that rules can be short: numbers as digits, typography as ASCII, slips of the pen mended.

Every place in the plain text leads back to the words as they were written, so that evidence is a quotation.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property

from palmette.automl.requirements.languages import language_of
from palmette.automl.requirements.spelling import mended

_CHARACTERS = {
    **dict.fromkeys("‘’‚‛`´", "'"),
    **dict.fromkeys("“”„‟«»", '"'),
    **dict.fromkeys("‐‑‒–", "-"),
    "—": ", ",
    **dict.fromkeys("\u00a0\u2007\u202f\t", " "),
    "≥": ">=",
    "≤": "<=",
    "⩾": ">=",
    "⩽": "<=",
    "µ": "u",
    "μ": "u",
    "²": "2",
    "×": "x",
    "…": "...",
    "＜": "<",
    "＞": ">",
}
_ONES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_NUMBERS = {word: number for number, word in enumerate(_ONES.split(), 1)} | {"zero": 0}
_TENS = {
    word: 10 * number
    for number, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_PARTS = {
    "half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "sixth": 1 / 6, "eighth": 1 / 8, "tenth": 1 / 10,
    "twentieth": 1 / 20, "fiftieth": 1 / 50, "hundredth": 1 / 100, "thousandth": 1 / 1000,
}  # fmt: skip
_POWERS = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "mio": 1e6, "billion": 1e9}
_ROWS = r"(?:rows|data|records|samples|dates|days|weeks|months|years|time|period|table|file|dataset)"
"""What is divided."""
_UNIT = r"(?:hour|minute|second|day|week|month|millisecond|percent|m?s|h|min|year)s?\b"
_ROW = r"(?:row|sample|instance|record|request|query|call|prediction|customer|message|image)"
_SMALL = rf"(?:{'|'.join([*_NUMBERS, *_TENS])})"


def _words(match: re.Match[str]) -> str:
    parts = re.split(r"[\s-]+", match[0].casefold())
    return f"{sum(_NUMBERS.get(part, _TENS.get(part, 0)) for part in parts)}"


def _number(value: float) -> str:
    return f"{value:.12g}" if value < 1e15 else f"{value:.0f}"


def _power(match: re.Match[str]) -> str:
    return _number(float(match[1]) * _POWERS[match[2].casefold()])


def _part_power(match: re.Match[str]) -> str:
    return _number(_PARTS[match[1].casefold()] * _POWERS[match[2].casefold()])


def _part(match: re.Match[str]) -> str:
    whole = float(match["whole"]) if match["whole"] else 0
    return f"{_number(round(whole + _PARTS[match['part'].casefold()], 6))} {match['unit']}"


def _and_part(match: re.Match[str]) -> str:
    return f"{_number(float(match['n'] or 1) + _PARTS[match['part'].casefold()])} {match['unit']}"


def _comma(match: re.Match[str]) -> str:
    return f"{match[1]}.{match[2]}"


def _parts(match: re.Match[str]) -> str:
    value = float(match[1]) * _PARTS[match["part"].casefold()]
    return _number(round(value, 6)) if value < 1 else match[0]


def _fraction(match: re.Match[str]) -> str:
    part, whole = float(match[1]), float(match[2])
    return _number(round(part / whole, 6)) if part < whole else match[0]


def _share(match: re.Match[str]) -> str:
    some, all_ = float(match[1]), float(match[2])
    return f"{_number(100 * some / all_)} percent of" if 0 < some < all_ <= 100 else match[0]


def _of_all(match: re.Match[str]) -> str:
    some, all_ = float(match["some"]), float(match["all"])
    share = f"{match['sign']}{_number(100 * some / all_)} percent of {match['what']}" if 0 < some < all_ <= 100 else ""
    return share or match[0]


_STEPS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(?<=[A-Za-z])\.(?=,)", ""),  # of an abbreviation: no sentence ends there
    (r" {2,}", " "),
    (r"\n[ \n]*\n", "\n"),
    (r"([^\w\s])\1{3,}", lambda match: match[1] * 3),
    (rf"(?<![\d.,])(\d+),(\d\d?)(?=\s?(?:%|(?:percent|{_UNIT})))", _comma),
    (r"(?:(?<=[<>=])|(?<=[<>=] )|(?<=below )|(?<=under )|(?<=above )|(?<=over )|(?<=least )|(?<=most )|(?<=than ))"
     r"(\d+),(\d\d?)(?!,?\d)", _comma),
    (r"(?<![\d.,])(0),(\d+)(?!,?\d)", _comma),
    (r"(?<=\d),(?=\d{3}(?:\D|$))", ""),
    (r"\d{25,}", "#"),
    (r"\n(?=[ ]*[a-z(])", " "),
    (
        rf"\b(?:{'|'.join(_TENS)})[\s-]+(?:{_ONES.replace(' ', '|')})\b|"
        rf"\b{_SMALL}\b(?=\W|$)",
        _words,
    ),
    (r"\b(?:an?\s+)?(?:1\s+)?dozen\b", "12"),
    (r"\b(half|quarter)(?: of)? an? (thousand|million|billion)\b", _part_power),
    (r"\b(?:a|an)\s+(?=(?:hundred|thousand|million|billion)\b)", "1 "),
    (r"\b(\d+(?:\.\d+)?)\s*(hundred|thousand|million|mio|billion)\b", _power),
    (r"(?<![\w.])(\d+(?:\.\d+)?)[kK]\b(?!-)", lambda match: _number(1000 * float(match[1]))),
    (r"(?<=[$€£])(\d+(?:\.\d+)?)[mM]\b", lambda match: _number(1e6 * float(match[1]))),
    (rf"\b(?:an?|(?P<n>\d+))\s+(?P<unit>{_UNIT})\s+and\s+a\s+(?P<part>half|quarter)\b", _and_part),
    (rf"(?<!last )(?<!past )(?<!next )\b(\d)\s+(?P<part>{'|'.join(_PARTS)})s\b(?:\s+of\s+an?(?=\s+{_UNIT}))?", _parts),
    (
        rf"(?<=than |ever |elow |nder |bove |over |east |most )an?\s+(?P<part>{'|'.join(_PARTS)})(?=\s*(?:[,.;]|$))",
        lambda match: _number(round(_PARTS[match["part"].casefold()], 6)),
    ),
    (rf"\s?/\s?(?={_ROW}s?\b)", " per "),
    (r"\b(who|what|how|where|it|that)'s\b", lambda match: f"{match[1]} is"),
    (
        rf"\b(?P<part>{'|'.join(_PARTS)})(?=\s+of\s+(?:the\s+|all\s+|my\s+|our\s+)?{_ROWS}\b)",
        lambda match: f"{_number(round(100 * _PARTS[match['part'].casefold()], 2))} percent",
    ),
    (
        rf"\b(?:(?P<whole>\d+)\s+and\s+)?(?:an?\s+)?(?P<part>{'|'.join(_PARTS)})"
        rf"(?:\s+of\s+an?|(?<=half|rter)(?:\s+of)?(?:\s+an?)?)\s+(?P<unit>{_UNIT})",
        _part,
    ),
    (r"\bhalf\s+an?(?=\s+[A-Za-z])|\b1 half\b", "0.5"),
    (r"\ban?\s+(?=(?:hour|minute|millisecond|ms)\b)", "1 "),
    (
        r"(?<=\bunder )a\s+(?=second\b)|(?<=\bthan )a\s+(?=second\b)|"
        r"(?<=\bwithin )a\s+(?=second\b)|(?<=\bmost )a\s+(?=second\b)",
        "1 ",
    ),
    (
        r"\b(?:out )?of (?P<all>\d+) (?P<what>[a-z]+),? (?P<sign>(?:[a-z]+ ){0,3})(?P<some>\d+)"
        r"(?= (?:is|are|must|should|be)\b)",
        _of_all,
    ),
    (r"\b(\d+)\s+(?:(?!and\b)[a-z]+\s+)?(?:out of|(?:of|in) every)\s+(\d+)\b", _share),
    (r"(?<![\w./])([1-9])/([2-9]|10)(?![\w./])", _fraction),
    (r"\s*(?:%|\bper\s?cent\b|\bpercent\b|\bpct\b)", " percent"),
    (r"\s*\bpercentage points?\b", " percent"),
    (
        r"\b(\d+(?:\.\d+)?)\s?([kKmMbB])(?=\s?(?:parameters?|params?|weights)\b)",
        lambda m: _number(float(m[1]) * {"k": 1e3, "m": 1e6, "b": 1e9}[m[2].casefold()]),
    ),
)
_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bapprox)(?<!\bvs)(?<!\bmax)(?<!\bmin)(?<!\betc)"
    r"(?<!\bcf)"
    r"(?<!\bDr)(?<!\bMr)"
    r"[.!?]+(?=[\s\"')]|$)|\n+",
    re.IGNORECASE,
)


_WORDS = re.compile(r"[^\W\d_][\w.-]*\w|[^\W\d_]")


@dataclass(frozen=True)
class Span:
    """A stretch of the plain text."""

    start: int
    end: int

    def holds(self, place: int) -> bool:
        return self.start <= place < self.end


class Text:
    """A request: as written, and plain; `untranslated` are the words of another language that nothing stands for."""

    def __init__(self, written: str) -> None:
        self.written = written
        self._plain = list(written)
        self._from = list(range(len(written)))
        self._to = [place + 1 for place in self._from]
        self._characters()
        self.untranslated = self._in_english()
        for pattern, by in _STEPS:
            self._replace(pattern, by)
        self._replace(r"[A-Za-z]{5,}", lambda match: mended(match[0]))

    @cached_property
    def plain(self) -> str:
        return "".join(self._plain)

    def quote(self, start: int, end: int) -> str:
        """The words as written at a place of the plain text, as one line."""
        if end <= start:
            return ""
        return self.written[self._from[start] : self._to[end - 1]].strip()

    def places(self, words: str) -> Iterator[Span]:
        """Where a quotation stands in the plain text, as often as it does."""
        for match in re.finditer(re.escape(words), self.written, re.IGNORECASE) if words else ():
            start, end = bisect_left(self._from, match.start()), bisect_right(self._to, match.end())
            if start < end:
                yield Span(start, end)

    def without(self, spans: Collection[Span]) -> Text:
        """The same text with blanks in these places of the plain one."""
        made = copy(self)
        made.__dict__.pop("plain", None)
        made._plain = list(self._plain)
        for span in spans:
            made._plain[span.start : span.end] = " " * (span.end - span.start)
        return made

    @cached_property
    def sentences(self) -> tuple[Span, ...]:
        spans, start = [], 0
        for match in _END.finditer(self.plain):
            spans.append(Span(start, match.end()))
            start = match.end()
        spans.append(Span(start, len(self.plain)))
        return tuple(span for span in spans if self.plain[span.start : span.end].strip(" .!?\n"))

    def sentence(self, place: int) -> Span:
        """The sentence around a place."""
        return next((span for span in self.sentences if span.holds(place)), Span(0, len(self.plain)))

    def _in_english(self) -> tuple[str, ...] | None:
        """Turns another language into English; the words that have no translation, None where it is not another."""
        language = language_of("".join(self._plain))
        if language is None:
            return None
        left = tuple(_WORDS.findall(language.words.sub(" ", "".join(self._plain))))
        self._replace(r"(?<=\d)[. ](?=\d{3}(?!\d))", "")
        self._replace(r"(?<=\d),(?=\d)", ".")
        self._replace(language.words.pattern, language.translated)
        return left

    def _characters(self) -> None:
        for place in reversed(range(len(self._plain))):
            if (by := _CHARACTERS.get(self._plain[place])) is not None:
                self._set(place, place + 1, by)

    def _replace(self, pattern: str, by: str | Callable[[re.Match[str]], str]) -> None:
        plain = "".join(self._plain)
        for match in reversed(list(re.finditer(pattern, plain, re.IGNORECASE))):
            new = by if isinstance(by, str) else by(match)
            if new != match[0]:
                self._set(match.start(), match.end(), new)

    def _set(self, start: int, end: int, new: str) -> None:
        first = self._from[start] if start < len(self._from) else len(self.written)
        last = self._to[end - 1] if end > start else first
        self._plain[start:end] = list(new)
        self._from[start:end] = [first] * len(new)
        self._to[start:end] = [last] * len(new)


def words_of(plain: str) -> Iterator[re.Match[str]]:
    """The words of a plain text."""
    return re.finditer(r"[A-Za-z0-9_#]+(?:'[a-z]+)?", plain)
