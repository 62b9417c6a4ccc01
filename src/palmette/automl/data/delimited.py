"""Delimited text into columns of text: the dialect, damaged records, lines that are no records, the header."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow.compute as pc

from palmette.automl.data import clean
from palmette.automl.data.artefacts import Dialect, Repair
from palmette.automl.data.dialects import COMMENT, Form, lines_of, sniff
from palmette.automl.data.headers import is_header, sampled
from palmette.automl.data.opening import Opened
from palmette.automl.data.texts import Texts, array, every

Row = list[str]
WHOLE = Form("", "", "")
"""Of rows that are divided already."""
MOST_RAGGED = 0.5
"""Share of rows with another number of fields above which a text is no table."""


class Delimited(NamedTuple):
    """A table of text: names as they are written, cells by column, null for what a short row lacks."""

    names: list[str]
    columns: list[Texts]
    dialect: Dialect
    repairs: list[Repair]


def read_delimited(opened: Opened, text: str, encoding: str) -> Delimited:
    """The table in a text.

    Raises:
        InputError: there is none.
    """
    tell = Teller(opened.name)
    text, skipped = _preface(text, tell)
    form = sniff(text)
    columns = clean.split(text, form)
    found = _clean_table(columns, tell) if columns else None
    found = found or table_of(opened, _records(text, form, tell), tell, form)
    dialect = Dialect(
        encoding=encoding,
        delimiter=form.delimiter if len(found.names) > 1 else "",
        quote=form.quote,
        escape=form.escape,
        header=found.dialect.header,
        skipped=skipped + found.dialect.skipped,
    )
    return found._replace(dialect=dialect)


def table_of(opened: Opened, rows: list[Row], tell: Teller, form: Form = WHOLE) -> Delimited:
    """The table in rows of text, which may have titles, comments, blank lines and repeated headers among them."""
    rows = _without_blank(rows, tell)
    rows, before = _without_notes(rows, form, tell)
    if not rows:
        raise opened.refusal("empty-file", "There are no rows.", "Name a file with a header and rows.")
    opened.require_size(len(rows), _width(rows))
    first, body = rows[0], rows[1:]
    again = [row for row in body if row == first]
    others = [row for row in body if row != first] if again else body
    header = is_header(first, others)
    rows, names = (others, first) if header else (rows, [f"column_{number + 1}" for number in range(_width(rows))])
    _tell_header(header, names, len(again), tell)
    names, even = _even(opened, names, rows, tell, form.delimiter)
    columns = [array(cells) for cells in zip(*even, strict=True)] if even else [array([]) for _ in names]
    return _table(names, columns, header, before, tell)


def _clean_table(columns: list[Texts], tell: Teller) -> Delimited | None:
    """The table in columns of one length; None where their first row may be a title or a comment."""
    first = [texts[0].as_py() for texts in columns]
    if first[0].startswith("#") or (len(first) > 2 and sum(bool(cell.strip()) for cell in first) < 2):
        return None
    body = [texts.slice(1) for texts in columns]
    again = clean.equal_rows(body, first)
    others = [texts.filter(pc.invert(again)) for texts in body] if again.true_count else body
    sample = [every(texts, sampled(len(texts))).to_pylist() for texts in others]
    header = is_header(first, list(zip(*sample, strict=True)))
    columns, names = (others, first) if header else (columns, [f"column_{number + 1}" for number in range(len(first))])
    _tell_header(header, names, again.true_count, tell)
    return _table(names, columns, header, 0, tell)


def _table(names: list[str], columns: list[Texts], header: bool, before: int, tell: Teller) -> Delimited:
    names, columns = _without_trailing(names, columns, tell)
    return Delimited(names, columns, Dialect(encoding="", delimiter="", header=header, skipped=before), tell.repairs)


class Teller:
    """Collects what was repaired in a file."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.repairs: list[Repair] = []

    def __call__(self, code: str, count: int, text: str) -> None:
        if count:
            said = f"{text[0].upper()}{text[1:]}."
            self.repairs.append(Repair(code=code, subject=self.subject, count=count, text=said))


def _preface(text: str, tell: Teller) -> tuple[str, int]:
    """The text without the first line that spreadsheets write for themselves."""
    if found := re.match(r"sep=.\r?\n", text, re.IGNORECASE):
        tell("separator-line", 1, f"the line {found[0].strip()!r} at the top of {tell.subject} was left out")
        return text[found.end() :], 1
    return text, 0


def _records(text: str, form: Form, tell: Teller) -> list[Row]:
    """The records; where quotes are damaged, by lines if lines are more alike than what the quotes make of them."""
    csv.field_size_limit(2**31 - 1)
    try:
        return list(csv.reader(io.StringIO(text, newline=""), **form.settings, strict=True))
    except csv.Error:
        pass
    try:
        quoted = list(csv.reader(io.StringIO(text, newline=""), **form.settings))
    except csv.Error:
        quoted = []
    if quoted and not any("\n" in cell for row in quoted for cell in row):
        return quoted
    lines, broken = _by_lines(text, form)
    if quoted and _alike(quoted) > _alike(lines):
        return quoted
    tell("broken-quotes", broken, f"{broken} lines of {tell.subject} have a quote that nothing closes; it was left out")
    return lines


def _by_lines(text: str, form: Form) -> tuple[list[Row], int]:
    """Each line as a record, and how many have a quote that nothing closes."""
    found: list[Row] = []
    broken = 0
    for line in lines_of(text):
        odd = bool(form.quote) and (line.count(form.quote) - line.count(f"{form.escape}{form.quote}") * 2) % 2 == 1
        settings = form.settings | ({"quoting": csv.QUOTE_NONE, "quotechar": None} if odd else {})
        row = next(csv.reader([line], **settings), [])
        found.append([cell.strip(form.quote) for cell in row] if odd else row)
        broken += odd
    return found, broken


def _alike(rows: list[Row]) -> float:
    """Share of rows with the most frequent number of fields."""
    widths = Counter(len(row) for row in rows if row)
    return max(widths.values()) / widths.total() if widths else 0.0


def _without_blank(rows: list[Row], tell: Teller) -> list[Row]:
    while rows and not any(cell.strip() for cell in rows[-1]):
        rows.pop()
    kept = [row for row in rows if row and (len(row) > 1 or row[0].strip())]
    count = len(rows) - len(kept)
    tell("blank-lines", count, f"{count} blank lines of {tell.subject} were left out")
    return kept


def _width(rows: Sequence[Row]) -> int:
    """How many fields most rows have; of the body, because titles come first."""
    widths = Counter(len(row) for row in rows)
    return max(widths, key=lambda one: (widths[one], one)) if widths else 0


def _without_notes(rows: list[Row], form: Form, tell: Teller) -> tuple[list[Row], int]:
    """The rows without comments, and without titles above the header; how many lines were above it."""
    width = _width(rows)
    notes = [row[0].lstrip().startswith(COMMENT) and len(row) != width for row in rows]
    if width == 1 and not form.delimiter:
        notes = [row[0].startswith("#") for row in rows]
    first = next((index for index, row in enumerate(rows) if len(row) >= min(width, 2) and not notes[index]), 0)
    if width > 2:
        while first < min(len(rows) - 1, 20) and (len([c for c in rows[first] if c.strip()]) < 2 or notes[first]):
            first += 1
    titles = sum(1 for index in range(first) if not notes[index])
    tell("title-lines", titles, f"{titles} lines above the header of {tell.subject} were left out")
    tell("comment-lines", sum(notes), f"{sum(notes)} comment lines of {tell.subject} were left out")
    kept = [row for index, row in enumerate(rows) if index >= first and not notes[index]]
    if kept and kept[0][0].startswith("#") and len(kept[0]) == width > 1:
        kept[0] = [kept[0][0].lstrip("# "), *kept[0][1:]]
    return kept, first


def _tell_header(header: bool, names: list[str], again: int, tell: Teller) -> None:
    if header:
        tell("repeated-header", again, f"{again} repetitions of the header in {tell.subject} were left out")
    else:
        tell(
            "no-header",
            len(names),
            f"there is no header in {tell.subject}; its columns are called {names[0]} to {names[-1]}",
        )


def _even(
    opened: Opened, names: Row, rows: list[Row], tell: Teller, delimiter: str
) -> tuple[list[str], list[list[str | None]]]:
    """Names and rows of one width: short rows are filled, long ones cut, as far as it is still a table.

    Where runs of blanks divide, nobody can tell which fields a short row lacks: it has none.
    """
    width = _width(rows) if rows else len(names)
    if any(len(row) == len(names) + 1 and row[-1].strip() for row in rows):
        _require_undivided(opened, names, rows)
    if width == len(names) + 1 and not all(not row[-1].strip() for row in rows if len(row) == width):
        names = ["", *names]
        tell("row-names", 1, f"rows of {tell.subject} have a field more than its header; the first is the row's name")
    width = max(len(names), width) if width <= len(names) + 1 else len(names)
    full = {width, len(names)}
    ragged = sum(1 for row in rows if len(row) not in full)
    if ragged > MOST_RAGGED * len(rows):
        raise opened.refusal(
            "not-a-table",
            f"The header has {len(names)} fields, and {ragged} of {len(rows)} rows have another number of them.",
            "Check the delimiter and the quotes of the file.",
        )
    short = [row for row in rows if len(row) < len(names)]
    long = [row for row in rows if len(row) > width]
    lost = sum(1 for row in long if any(cell.strip() for cell in row[width:]))
    lacking = "all of them" if delimiter == " " else "what they lack"
    tell("short-rows", len(short), f"{len(short)} rows of {tell.subject} are too short; {lacking} is missing")
    tell("long-rows", lost, f"{lost} rows of {tell.subject} are too long; fields from the {width + 1}. on are lost")
    names = names + [""] * (width - len(names))
    if not short and not long and all(len(row) == width for row in rows):
        return names, rows  # type: ignore[return-value]  # text is text or None, and nobody changes it
    if delimiter == " ":
        rows = [row if len(row) >= len(names) else [] for row in rows]
    even: list[list[str | None]] = [[*row[:width], *[None] * (width - len(row))] for row in rows]
    return names, even


def _require_undivided(opened: Opened, names: Row, rows: list[Row]) -> None:
    """No value is divided, such as 1,200 without quotes, nor is a field without a name anything but that of its row.

    Raises:
        InputError: one is, or most rows have a field more and do not begin with names of their own, all different.
    """
    more = [row for row in rows if len(row) == len(names) + 1]
    at = next((at for at in range(len(names)) if _is_divided(more, at)), None)
    named = all(len(row) > len(names) for row in rows) and len({row[0] for row in more}) == len(more)
    if at is None and (named or 2 * len(more) <= len(rows)):
        return
    said = f"The header has {len(names)} fields, and {len(more)} of {len(rows)} rows have {len(names) + 1}"
    if at is not None:
        cells = " and ".join(map(repr, more[0][at : at + 2]))
        said += f"; fields {at + 1} and {at + 2} look like one number, as in {cells}"
    remedy = "Put values that hold the delimiter into quotes, or give every column a name in the header."
    raise opened.refusal("too-many-fields", f"{said}.", remedy)


def _is_divided(rows: list[Row], at: int) -> bool:
    """Whether two fields side by side are one number: the second always has three digits, once with a 0 in front."""
    pairs = [row[at : at + 2] for row in rows]
    whole = all(re.fullmatch(r"-?[1-9]\d{0,2}", start) and re.fullmatch(r"\d{3}", end) for start, end in pairs)
    return whole and any(end.startswith("0") for _, end in pairs)


def _without_trailing(names: list[str], columns: list[Texts], tell: Teller) -> tuple[list[str], list[Texts]]:
    """Without the nameless empty columns that a delimiter at the end of the lines makes."""
    last = len(names)
    while last > 1 and not names[last - 1].strip() and not _says(columns[last - 1]):
        last -= 1
    count = len(names) - last
    tell("trailing-delimiter", count, f"{count} empty columns at the end of the lines of {tell.subject} were left out")
    return names[:last], columns[:last]


def _says(texts: Texts) -> bool:
    return any((cell or "").strip() for cell in texts.unique().to_pylist())
