"""How a text is written: its encoding, the delimiter and quotes that make its lines most alike, its header."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
         codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF8: ""}  # fmt: skip
WIDE = ["utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be"]
NARROW = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp932", "gb18030", "big5", "euc_kr", "euc_jp", "koi8_r"]
FEW_BROKEN = 0.001  # share of characters that a UTF-8 text may have broken and still be one
BEYOND_ASCII = re.compile(rb"[^\n]*[\x80-\xff][^\n]*")
MOST_LINES = 500  # lines beyond ASCII that an encoding is guessed from
MOST_ROWS = 2000  # that a header is compared with
COMMENT = ("#", "//", "%", "--")  # how a line begins that is no record
SAMPLE = 200  # lines that the choice of a delimiter rests on
DELIMITERS = ("\t", ";", "|", ",", "^", "~", ":", " ")
"""The rarer in values first; of two that fit equally the first is taken."""
LEAST = 0.4  # score below which a text has a single column
PENALTIES = {",": 0.95, ":": 0.5, " ": 0.6, "^": 0.9, "~": 0.9}
NUMBER_OR_DATE = re.compile(
    r"\s*([-+]?[\d.,]*\d[\d.,]*(e[-+]?\d+)?%?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?)\s*", re.IGNORECASE
)
YEAR = re.compile(r"\s*(19|20)\d\d\s*")
LINE_END = re.compile(r"\r\n|\r|\n")  # Unicode has more, and cells may hold those


def wide_encoding(data: bytes) -> str:
    """The encoding of a text whose characters take two bytes or four; empty for others."""
    mark = next((one for one in MARKS if data.startswith(one)), b"")
    return MARKS[mark] if mark else _guessed(data[:4000], WIDE) if 0 in data[:4000] else ""


def decode(data: bytes) -> tuple[str, str]:
    """The text, and its encoding; U+FFFD in the place of bytes that are no characters."""
    marked = data.startswith(codecs.BOM_UTF8)
    encoding = wide_encoding(data) or ("utf-8-sig" if marked else "utf-8")
    text = data.decode(encoding, errors="replace")
    broken = text.count("\ufffd") if encoding == "utf-8" else 0
    whole = sum(character > "\x7f" for character in text) - broken if broken else 0
    if not broken or (broken <= max(1, FEW_BROKEN * len(text)) and whole > 2 * broken):
        return text, encoding
    lines = b"\n".join(match[0] for match in islice(BEYOND_ASCII.finditer(data), MOST_LINES))
    found = _guessed(lines, NARROW)
    western = not found or lines.decode("cp1252", errors="replace") == lines.decode(found, errors="replace")
    encoding = "cp1252" if western else found
    return data.decode(encoding, errors="replace"), encoding


def _guessed(data: bytes, among: list[str]) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data, cp_isolation=among).best()
    return best.encoding.replace("utf_", "utf-").replace("_", "-") if best else ""


class Form(NamedTuple):
    """The characters of a dialect."""

    delimiter: str
    quote: str = '"'
    escape: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """As the csv module takes them."""
        quotes = {"quotechar": self.quote} if self.quote else {"quoting": csv.QUOTE_NONE, "quotechar": None}
        escapes = {"escapechar": self.escape, "doublequote": False} if self.escape else {}
        return {"delimiter": self.delimiter or "\x1f", "skipinitialspace": True} | quotes | escapes


def sniff(text: str) -> Form:
    """The dialect of a text; no delimiter where it has a single column.

    >>> sniff("a;b\\n1,5;2\\n2,5;3\\n").delimiter
    ';'
    """
    lines = [line for line in LINE_END.split(text[:400_000]) if line.strip()][:SAMPLE]
    records = [line for line in lines if not line.startswith(COMMENT)]
    lines = records if 2 * len(records) > len(lines) else lines
    forms = [Form(delimiter, *_quotes(lines, delimiter)) for delimiter in DELIMITERS]
    scores = [_score(lines, form) * PENALTIES.get(form.delimiter, 1.0) for form in forms]
    if max(scores) > LEAST:
        return forms[scores.index(max(scores))]
    # Where no delimiter fits, that of the header if it has one, so that the mistake is seen.
    often = (mark for mark in DELIMITERS[:4] if 2 * sum(mark in line for line in lines) > len(lines))
    return Form(next((mark for mark in often if mark in lines[0]), ""))


def _quotes(lines: Sequence[str], delimiter: str) -> tuple[str, str]:
    """The quote, an apostrophe where it wraps fields and double quotes do not, and the escape."""
    mark, wrapped = re.escape(delimiter), dict[str, int]()
    for quote in ('"', "'"):
        field = re.compile(rf"(^|{mark}) *{quote}[^{quote}]*{quote} *({mark}|$)")
        wrapped[quote] = sum(bool(field.search(line)) for line in lines)
    quote = "'" if wrapped["'"] > max(len(lines) / 2, wrapped['"']) else '"'
    doubled = any(quote * 2 in line.replace(f",{quote * 2}", "") for line in lines)
    return quote, "\\" if not doubled and any(f"\\{quote}" in line for line in lines) else ""


def _score(lines: Sequence[str], form: Form) -> float:
    """Near 1 where all lines have the same number of fields, two or more, and the fields no other delimiter."""
    try:
        rows = [row for row in csv.reader(io.StringIO("\n".join(lines)), **form.settings) if row]
    except csv.Error:
        return 0.0
    widths = Counter(map(len, rows))
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
    if width < 2:
        return 0.0
    # The rows of data decide; the first one may be a title.
    head = 1.0 if len(rows[0]) in (width, max(width - 1, 2)) else 0.6
    first, *body = (row for row in rows if len(row) == width)
    if len(rows[0]) == 1 and not is_header(first, body):
        head = 0.3  # one column whose values have commas
    others = [mark for mark in ("\t", ";", "|") if mark != form.delimiter and any(mark in cell for cell in rows[0])]
    mixed = sum(any(mark in cell for cell in row for mark in others) for row in rows) / len(rows)
    return count / len(rows) * head * (1 + 0.01 * min(width, 20)) * (1 - 0.5 * mixed)


def is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether a row names the columns: words, different from each other and from the cells below them."""
    numbers = [cell for cell in first if NUMBER_OR_DATE.fullmatch(cell)]
    if numbers or not body:
        years = all(YEAR.fullmatch(cell) for cell in numbers) and len(set(first)) == len(first)
        return not numbers or (bool(body) and years)
    sample = body[:: max(1, len(body) // MOST_ROWS)]
    known = 0
    for place, name in enumerate(first):
        cells = [row[place] for row in sample if place < len(row) and row[place].strip()]
        if 2 * sum(bool(NUMBER_OR_DATE.fullmatch(cell)) for cell in cells) > len(cells):
            return True
        known += bool(name.strip()) and name in cells
    return known * 2 < len(first) or len(sample) < 3
