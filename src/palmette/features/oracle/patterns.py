"""Text patterns: LIKE, Java regular expressions and Java date patterns, implemented with Python's `re`."""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import lru_cache
from itertools import groupby
from zoneinfo import ZoneInfo

from palmette.features.oracle.casts import zone_of
from palmette.features.oracle.clock import at_wall
from palmette.features.oracle.errors import NotCovered, WouldFail

_FOREIGN = re.compile(r"\\[pPhHvVRXQEGZ]|&&|\[[^\]]*\[(?!:)")


@lru_cache(maxsize=1024)
def java_regex(pattern: str) -> re.Pattern[str]:
    """Translates a Java regular expression to Python; raises `NotCovered` where the languages differ."""
    if _FOREIGN.search(pattern.replace("\\\\", "")):
        raise NotCovered(f"the regular expression {pattern!r}")
    text = re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern).replace("\\z", "\\Z")
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise NotCovered(f"the regular expression {pattern!r}") from error


def java_replacement(text: str, match: re.Match[str]) -> str:
    """Expands `$1` and `\\` in a replacement text like Java's `Matcher.replaceAll`."""

    def part(token: re.Match[str]) -> str:
        if token[1]:
            return token[1]
        index = int(token[2])
        if index > (match.re.groups or 0):
            raise WouldFail(f"there is no group {index}")
        return match[index] or ""

    return re.sub(r"\\(.)|\$(\d)", part, text)


@lru_cache(maxsize=1024)
def _like_regex(pattern: str, escape: str, fold: bool) -> re.Pattern[str]:
    parts, index = [], 0
    while index < len(pattern):
        char = pattern[index]
        if char == escape and index + 1 < len(pattern):
            index += 1
            if pattern[index] not in ("%", "_", escape):
                raise WouldFail(f"{pattern!r} escapes {pattern[index]!r}")
            parts.append(re.escape(pattern[index]))
        elif char == escape:
            raise WouldFail(f"{pattern!r} ends in its escape character")
        else:
            parts.append({"%": ".*", "_": "."}.get(char, re.escape(char)))
        index += 1
    return re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if fold else re.NOFLAG))


def like(text: str, pattern: str, escape: str, fold: bool) -> bool:
    return _like_regex(pattern, escape, fold).fullmatch(text) is not None


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Token = tuple[str, str]  # kind (a pattern letter, or `'` for literal text) and text


@lru_cache(maxsize=256)
def _tokens(pattern: str) -> tuple[Token, ...]:
    tokens: list[Token] = []
    pieces = re.findall(r"'(?:[^']|'')*'|[A-Za-z]+|[^A-Za-z']+", pattern)
    if "".join(pieces) != pattern:
        raise NotCovered(f"the date pattern {pattern!r}")
    for piece in pieces:
        if piece[0] == "'":
            tokens.append(("'", piece[1:-1].replace("''", "'") or "'"))
        elif piece[0].isalpha():
            tokens += [(letter, "".join(run)) for letter, run in groupby(piece)]
        else:
            tokens.append(("'", piece))
    if any(kind not in "'yMdHhmsSaEDQXxZ" for kind, _ in tokens) or re.search(r"[\[\]#{}]", pattern):
        raise NotCovered(f"the date pattern {pattern!r}")
    return tuple(tokens)


def format_clock(reading: datetime, pattern: str) -> str:
    """Formats a local time by a Java date pattern; without a zone, its offset is that of UTC."""
    return "".join(text if kind == "'" else _field(reading, kind, len(text)) for kind, text in _tokens(pattern))


def _names(kind: str, width: int) -> list[str]:
    """Names of months or weekdays, whole or as three letters."""
    return [name if width > 3 else name[:3] for name in (_MONTHS if kind == "M" else _DAYS)]


def _field(at: datetime, kind: str, width: int) -> str:
    match kind:
        case "y" if width == 2:
            return f"{at.year % 100:02d}"
        case "M" if width >= 3:
            return _names(kind, width)[at.month - 1]
        case "E":
            return _names(kind, width)[at.weekday()]
        case "a":
            return "AM" if at.hour < 12 else "PM"
        case "S":
            return f"{at.microsecond:06d}".ljust(9, "0")[:width]
        case "Q" if width == 3:
            return f"Q{(at.month + 2) // 3}"
        case "Q" if width > 3:
            raise NotCovered("a long quarter pattern")
        case "X" | "x" | "Z":
            return _offset_text(at.utcoffset() or timedelta(), kind, width)
    numbers = {
        "y": at.year, "M": at.month, "d": at.day, "H": at.hour, "h": at.hour % 12 or 12, "m": at.minute, "s": at.second,
        "D": at.timetuple().tm_yday, "Q": (at.month + 2) // 3,
    }  # fmt: skip
    return f"{numbers[kind]:0{width}d}"


def _offset_text(offset: timedelta, kind: str, width: int) -> str:
    if kind == "X" and not offset:
        return "Z"
    if (kind == "Z" and width > 3) or width > 3:
        raise NotCovered("a long offset pattern")
    minutes = int(abs(offset).total_seconds()) // 60
    hours, rest = divmod(minutes, 60)
    sign = "-" if offset < timedelta() else "+"
    if kind != "Z" and width == 1:
        return f"{sign}{hours:02d}" + (f"{rest:02d}" if rest else "")
    return f"{sign}{hours:02d}{':' if kind != 'Z' and width == 3 else ''}{rest:02d}"


@lru_cache(maxsize=256)
def _parser(pattern: str) -> tuple[re.Pattern[str], tuple[Token, ...]]:
    parts, tokens = [], []
    for kind, text in _tokens(pattern):
        if kind == "'":
            parts.append(re.escape(text))
            continue
        tokens.append((kind, text))
        parts.append(f"({_shape(kind, len(text))})")
    return re.compile("".join(parts), re.ASCII), tuple(tokens)


def _shape(kind: str, width: int) -> str:
    match kind:
        case "y":
            return r"\d{2}" if width == 2 else rf"\d{{{max(width, 1)},6}}"
        case "E" | "M" if kind == "E" or width >= 3:
            return "|".join(_names(kind, width))
        case "a":
            return "AM|PM"
        case "S":
            return rf"\d{{{width}}}"
        case "X" | "x" | "Z":
            return r"Z|[+-]\d{2}(?::?\d{2})?"
        case "D" | "Q":
            raise NotCovered("parsing a day of the year or a quarter")
        case _:
            return r"\d{1,2}" if width == 1 else rf"\d{{{width}}}"


def parse_clock(text: str, pattern: str, zone: ZoneInfo) -> datetime:
    """Parses text by a Java date pattern; raises `WouldFail` if it does not match."""
    reading, offset = _reading(text, pattern)
    return at_wall(reading, zone) if offset is None else reading.replace(tzinfo=offset).astimezone(UTC)


def parse_day(text: str, pattern: str) -> date:
    return _reading(text, pattern)[0].date()


def _reading(text: str, pattern: str) -> tuple[datetime, timezone | ZoneInfo | None]:
    regex, tokens = _parser(pattern)
    match = regex.fullmatch(text)
    if match is None:
        raise WouldFail(f"{text!r} does not fit the pattern {pattern!r}")
    found = {kind: value for (kind, _), value in zip(tokens, match.groups(), strict=True)}
    number = {kind: int(value) for kind, value in found.items() if value.isdigit()}
    if ("y", "yy") in tokens:
        number["y"] += 2000
    if "M" in found and "M" not in number:
        number["M"] = 1 + next(i for i, name in enumerate(_MONTHS) if name.startswith(found["M"]))
    if not 1 <= number.get("h", 12) <= 12:
        raise WouldFail(f"{number['h']} is not an hour of the clock")
    hour = number["h"] % 12 + 12 * (found.get("a") == "PM") if "h" in number else number.get("H", 0)
    fraction = int(found.get("S", "0").ljust(6, "0")[:6])
    try:
        day = date(number.get("y", 1970), number.get("M", 1), number.get("d", 1))
        reading = datetime.combine(day, time(hour, number.get("m", 0), number.get("s", 0), fraction))
    except ValueError as error:
        raise WouldFail(f"{text!r} does not fit the pattern {pattern!r}") from error
    if "E" in found and not _DAYS[reading.weekday()].startswith(found["E"]):
        raise WouldFail(f"{text!r} names another weekday")
    return reading, zone_of(next((found[kind] for kind in "XxZ" if kind in found), None))
