"""Which characters divide and quote the fields of a text: the choice under which its lines are most alike."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from palmette.automl.data.headers import is_header

COMMENT = ("#", "//", "%", "--")
"""How a line begins that is no record."""
SAMPLE = 200
"""Lines that the choice rests on."""
DELIMITERS = ("\t", ";", "|", ",", "^", "~", ":", " ")
"""The rarer in values first; of two that fit equally the first is taken."""
WORTH = 0.4
"""Score below which a text has a single column."""
PENALTIES = {",": 0.95, ":": 0.5, " ": 0.6, "^": 0.9, "~": 0.9}


class Form(NamedTuple):
    """The characters of a dialect."""

    delimiter: str
    quote: str
    escape: str

    @property
    def settings(self) -> dict[str, Any]:
        """As the csv module takes them."""
        found: dict[str, Any] = {"delimiter": self.delimiter or ",", "skipinitialspace": True}
        if not self.delimiter:
            found["delimiter"] = "\x1f"
        if self.escape:
            found |= {"escapechar": self.escape, "doublequote": False}
        return found | ({"quotechar": self.quote} if self.quote else {"quoting": csv.QUOTE_NONE, "quotechar": None})


def lines_of(text: str) -> list[str]:
    """The lines as files divide them; Unicode has more characters that end one, and cells may hold those."""
    return re.split(r"\r\n|\r|\n", text)


def sniff(text: str) -> Form:
    """The dialect of a text; no delimiter where it has a single column.

    >>> sniff("a;b\\n1,5;2\\n2,5;3\\n").delimiter
    ';'
    """
    lines = [line for line in lines_of(text[:400_000]) if line.strip()][:SAMPLE]
    records = [line for line in lines if not line.startswith(COMMENT)]
    lines = records if 2 * len(records) > len(lines) else lines
    best, most = Form("", '"', ""), WORTH
    for delimiter in DELIMITERS:
        quote = _quote(lines, delimiter)
        form = Form(delimiter, quote, _escape(lines, quote))
        score = _score(lines, form) * PENALTIES.get(delimiter, 1.0)
        if score > most:
            best, most = form, score
    return best if best.delimiter else _of_header(lines, best)


def _of_header(lines: Sequence[str], single: Form) -> Form:
    """Where no delimiter fits, that of the header if it has one, so that the mistake is seen."""
    for delimiter in DELIMITERS[:4]:
        if lines and delimiter in lines[0] and sum(delimiter in line for line in lines) > len(lines) / 2:
            return single._replace(delimiter=delimiter)
    return single


def _quote(lines: Sequence[str], delimiter: str) -> str:
    """The apostrophe, where it wraps fields and double quotes do not."""
    mark = re.escape(delimiter)
    wrapped = {
        quote: sum(bool(re.search(rf"(^|{mark}) *{quote}[^{quote}]*{quote} *({mark}|$)", line)) for line in lines)
        for quote in ('"', "'")
    }
    return "'" if wrapped["'"] > len(lines) / 2 and wrapped["'"] > wrapped['"'] else '"'


def _escape(lines: Sequence[str], quote: str) -> str:
    escaped = sum(f"\\{quote}" in line for line in lines)
    doubled = any(quote * 2 in line.replace(f",{quote * 2}", "") for line in lines)
    return "\\" if escaped and not doubled else ""


def _score(lines: Sequence[str], form: Form) -> float:
    """Near 1 where all lines have the same number of fields, two or more, and the fields no other delimiter."""
    try:
        rows = [row for row in csv.reader(io.StringIO("\n".join(lines)), **form.settings) if row]
    except csv.Error:
        return 0.0
    if not rows:
        return 0.0
    widths = Counter(map(len, rows))
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
    if width < 2:
        return 0.0
    # The rows of data decide; the first one may be a title.
    head = 1.0 if len(rows[0]) in (width, max(width - 1, 2)) else 0.6
    first = next(index for index, row in enumerate(rows) if len(row) == width)
    body = [row for row in rows[first + 1 :] if len(row) == width]
    if first and len(rows[0]) == 1 and not is_header(rows[first], body):
        head = 0.3  # one column whose values have commas
    others = [mark for mark in ("\t", ";", "|") if mark != form.delimiter and any(mark in cell for cell in rows[0])]
    mixed = sum(any(mark in cell for cell in row for mark in others) for row in rows) / len(rows)
    return count / len(rows) * head * (1 + 0.01 * min(width, 20)) * (1 - 0.5 * mixed)
