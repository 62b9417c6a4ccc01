"""Delimited text into columns of text: its dialect, damaged records, lines that are not records, header, totals."""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from palmette.automl.opening import MOST_COLUMNS, Opened
from palmette.automl.parsing import Texts, array, as_column, read_numbers, sample
from palmette.automl.samples import Dialect, Repairs, TotalRows
from palmette.automl.samples.tables import Raw, clean_names, pandas_names

Row = list[str]
LINE_END = re.compile(r"\r\n|\r|\n")  # Unicode has more, and cells may hold those
COMMENT = ("#", "//", "%", "--")  # how a line begins that is not a record
DELIMITERS = {"\t": 1, ";": 1, "|": 1, ",": 0.95, "^": 0.9, "~": 0.9, ":": 0.5, " ": 0.6}
"""The factor of their scores. The rarer in values come first; of two that fit equally the first is taken."""
SNIFFED = 200  # lines that the choice of a delimiter rests on
LEAST = 0.4  # score below which a text has a single column
NUMBER_OR_DATE = re.compile(
    r"\s*([-+]?[\d.,]*\d[\d.,]*(e[-+]?\d+)?%?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?)\s*", re.IGNORECASE
)
YEAR = re.compile(r"\s*(19|20)\d\d\s*")
REMARK = re.compile(r"\s*[^\W\d_][\w-]*(:|\s+\w+[:\s])")  # how a line below the table begins that is not a record
BLOCK = 2**24  # bytes that Arrow splits at a time; a line is shorter
COMPARED = 2000  # rows that a header is compared with
MOST_RAGGED = 0.5  # share of rows with another number of fields above which a text is not a table
MOST_ABOVE = 30  # records that may stand above the header
TOTAL = re.compile(
    r"((grand|sub|overall)[ -]?)?(totals?|totale|sum|suma|summe|gesamt|gesamtsumme|insgesamt|zwischensumme|average|"
    r"mean|durchschnitt|mittelwert)( \w+)?\s*:?",
    re.IGNORECASE,
)
LAST_ROWS, MOST_TOTALS = 3, 0.2  # rows at the end, one of which must be a total; share that may be totals


def settings(form: Dialect) -> dict[str, Any]:
    """The options of the csv module for a dialect."""
    quotes = {"quotechar": form.quote} if form.quote else {"quoting": csv.QUOTE_NONE, "quotechar": None}
    escapes = {"escapechar": form.escape, "doublequote": False} if form.escape else {}
    return {"delimiter": form.delimiter or "\x1f", "skipinitialspace": True} | quotes | escapes


def read_delimited(opened: Opened, text: str, encoding: str, repairs: Repairs) -> Raw:
    """The table in a text; InputError where there is none."""
    first = re.match(r"sep=.\r?\n", text, re.IGNORECASE)
    if first:  # which spreadsheets write for themselves
        repairs.add("separator-line", opened.name, 1, line=first[0].strip())
        text = text[first.end() :]
    form, records = sniff(text), list[Row]()
    found = _regular_table(text, form)
    if found is None:
        records = _records(text, form, opened.name, repairs)
        found = table_in(opened, records, repairs, form)
    lines = sum(1 + sum(len(LINE_END.findall(cell)) for cell in record) for record in records[: found.above])
    facts = {"encoding": encoding, "skipped": lines + bool(first)}
    return raw_of(opened, found, repairs, form.model_copy(update=facts))


def sniff(text: str) -> Dialect:
    """The dialect that makes the lines of a text most alike.

    >>> sniff("a;b\\n1,5;2\\n2,5;3\\n").delimiter
    ';'
    """
    lines = [line for line in LINE_END.split(text[:400_000]) if line.strip()][:SNIFFED]
    records = [line for line in lines if not line.startswith(COMMENT)]
    lines = records if 2 * len(records) > len(lines) else lines
    forms = [_form(lines, delimiter) for delimiter in DELIMITERS]
    scores = [_score(lines, form) * factor for form, factor in zip(forms, DELIMITERS.values(), strict=True)]
    if max(scores) > LEAST:
        return forms[scores.index(max(scores))]
    # Where no delimiter fits, that of the header if it has one, so that the mistake is seen.
    often = (mark for mark in "\t;|," if 2 * sum(mark in line for line in lines) > len(lines))
    return Dialect(delimiter=next((mark for mark in often if mark in lines[0]), ""))


def _form(lines: Sequence[str], delimiter: str) -> Dialect:
    """The dialect with this delimiter.

    Its quote is an apostrophe where that, unlike double quotes, wraps fields of most lines, or makes lines more alike.
    """
    mark, wrapped, forms = re.escape(delimiter), dict[str, int](), dict[str, Dialect]()
    for quote in ('"', "'"):
        field = re.compile(rf"(^|{mark}) *{quote}[^{quote}]*{quote} *({mark}|$)")
        wrapped[quote] = sum(bool(field.search(line)) for line in lines)
        doubled = any(quote * 2 in line.replace(f",{quote * 2}", "") for line in lines)
        escape = "\\" if not doubled and any(f"\\{quote}" in line for line in lines) else ""
        forms[quote] = Dialect(delimiter=delimiter, quote=quote, escape=escape)
    if not wrapped["'"] or wrapped["'"] > max(len(lines) / 2, wrapped['"']):
        return forms["'" if wrapped["'"] else '"']
    return max(forms.values(), key=lambda form: _score(lines, form))


def _score(lines: Sequence[str], form: Dialect) -> float:
    """A score near 1 where all lines have the same number of fields, two or more, and no other delimiter in them."""
    try:
        rows = [row for row in csv.reader(io.StringIO("\n".join(lines)), **settings(form)) if row]
    except csv.Error:
        return 0.0
    width = _width(rows)
    if width < 2:
        return 0.0
    first, *body = (row for row in rows if len(row) == width)
    # The rows of data decide; the first one may be a title.
    head = 1.0 if len(rows[0]) in (width, max(width - 1, 2)) else 0.6
    if len(rows[0]) == 1 and not is_header(first, body):
        head = 0.3  # one column whose values have commas
    others = [mark for mark in ("\t", ";", "|") if mark != form.delimiter and any(mark in cell for cell in rows[0])]
    mixed = sum(any(mark in cell for cell in row for mark in others) for row in rows) / len(rows)
    return (1 + len(body)) / len(rows) * head * (1 + 0.01 * min(width, 20)) * (1 - 0.5 * mixed)


def is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether a row names the columns: words, different from each other and from the cells below them."""
    numbers = [cell for cell in first if NUMBER_OR_DATE.fullmatch(cell)]
    if numbers or not body:
        years = all(YEAR.fullmatch(cell) for cell in numbers) and len(set(first)) == len(first)
        return not numbers or (bool(body) and years)
    some = body[:: max(1, len(body) // COMPARED)]
    known = 0
    for place, name in enumerate(first):
        cells = [row[place] for row in some if place < len(row) and row[place].strip()]
        if 2 * sum(bool(NUMBER_OR_DATE.fullmatch(cell)) for cell in cells) > len(cells):
            return True
        known += bool(name.strip()) and name in cells
    return known * 2 < len(first) or len(some) < 3


class TableCells(NamedTuple):
    """A table of texts by column."""

    names: Row  # empty texts where there is no header
    columns: list[Texts]  # null for what a short row lacks
    header: bool
    repeated: int = 0  # repetitions of the header
    above: int = 0  # records above the header, or above the first row where there is none


def _regular_table(text: str, form: Dialect) -> TableCells | None:
    """The table in a text that Arrow splits as `csv` does; None where it needs a closer look.

    Quotes close, and all lines have as many fields as the first; none of the others is blank or repeats it.
    """
    quoted = bool(form.quote) and form.quote in text
    if form.delimiter in ("", " ") or form.escape or text[0] == "#" or (quoted and not _every_quote_closes(text, form)):
        return None
    parsing = arrow_csv.ParseOptions(delimiter=form.delimiter, quote_char=form.quote if quoted else False)
    parsing.newlines_in_values, parsing.ignore_empty_lines = quoted, False
    reading = arrow_csv.ReadOptions(autogenerate_column_names=True, block_size=BLOCK)
    try:
        width = len(next(csv.reader(io.StringIO(text[:BLOCK], newline=""), **settings(form)), []))
        if not 1 < width <= MOST_COLUMNS:
            return None
        types = {f"f{place}": pa.large_string() for place in range(width)}
        converting = arrow_csv.ConvertOptions(column_types=types, check_utf8=False)
        table = arrow_csv.read_csv(pa.py_buffer(text.encode()), reading, parsing, converting)
    except (csv.Error, pa.ArrowInvalid):  # a long field, or another number of them
        return None
    columns = [texts.combine_chunks() for texts in table.columns]
    body = [texts.slice(1) for texts in columns]
    first, last = ([texts[at].as_py() for texts in columns] for at in (0, -1))
    padded = any(pc.any(pc.starts_with(texts, " ")).as_py() for texts in columns)
    odd = any(pc.any(reduce(pc.and_, map(pc.equal, body, row))).as_py() for row in (first, [""] * width))
    if padded or odd or _filled(first) < width or _filled(last) < 2:
        return None
    header = is_header(first, list(zip(*(sample(texts, COMPARED).to_pylist() for texts in body), strict=True)))
    return TableCells(first, body, True) if header else TableCells([""] * width, columns, False)


def _every_quote_closes(text: str, form: Dialect) -> bool:
    """Whether quotes stand only around whole fields, and doubled inside of them."""
    mark, ends = re.escape(form.quote), rf"{re.escape(form.delimiter)}\r\n"
    inside = rf"[^{mark}]*+(?:{mark}{mark}[^{mark}]*+)*+"
    field = rf"(?<![^{ends}]){mark}{inside}{mark}(?![^{ends}])"
    return re.fullmatch(rf"(?:[^{mark}]*+{field})*+[^{mark}]*+", text) is not None


def table_in(opened: Opened, records: list[Row], repairs: Repairs, form: Dialect) -> TableCells:
    """The table in records, which may have titles, comments, blank lines and repeated headers among them."""
    rows, above = _rows(records, form, opened.name, repairs)
    if not rows:
        raise opened.refusal("empty-file/rows")
    width = _width(rows)
    opened.require_size(len(rows), width)
    body = [row for row in rows[1:] if row != rows[0]]
    header = is_header(rows[0], body)
    cells, even = _even(opened, rows[0] if header else [""] * width, body if header else rows, repairs, form.delimiter)
    columns = [array(column) for column in zip(*even, strict=True)] if even else [array([]) for _ in cells]
    return TableCells(cells, columns, header, len(rows) - 1 - len(body), above)


def raw_of(opened: Opened, found: TableCells, repairs: Repairs, form: Dialect, sheet: str = "") -> Raw:
    """The table without empty columns at the end and without totals, under names that libraries take."""
    name, (cells, columns, header, repeated, _), used = opened.name, found, len(found.names)
    while header and used > 1 and not "".join([cells[used - 1], *filter(None, columns[used - 1].to_pylist())]).strip():
        used -= 1
    repairs.add("trailing-delimiter", name, len(cells) - used)
    columns, place, labels = _without_totals(columns[:used])
    repairs.add("total-rows", name, len(labels), label=labels[-1] if labels else "")
    opened.require_size(len(columns[0]), len(columns))
    if header:
        repairs.add("repeated-header", name, repeated)
        sources = pandas_names(cells[:used])
        for cell, source in zip(cells, sources, strict=False):
            repairs.add("repeated-column-name", source, bool(cell) and source != cell, source=cell[:200])
        names = clean_names(sources, repairs)
    else:
        sources, names = list(map(str, range(used))), [f"column_{at + 1}" for at in range(used)]
        repairs.add("no-header", name, len(names), first=names[0], last=names[-1])
    frame = pd.DataFrame(dict(zip(names, map(as_column, columns), strict=True)))
    totals = TotalRows(column=sources[place], labels=tuple(dict.fromkeys(labels))) if labels else None
    facts = {"header": header, "totals": totals} | ({} if len(names) > 1 else {"delimiter": ""})
    kind, dialect = "excel" if sheet else "csv", form.model_copy(update=facts)
    return Raw(opened, sheet, kind, tuple(sources), frame, repairs, dialect)


def _records(text: str, form: Dialect, name: str, repairs: Repairs) -> list[Row]:
    """The records; where quotes are damaged, by lines if lines are more alike than the records that quotes make."""
    csv.field_size_limit(2**31 - 1)
    quoted, lines, broken = list[Row](), list[Row](), 0
    for strict in (True, False):
        try:
            quoted = list(csv.reader(io.StringIO(text, newline=""), **settings(form), strict=strict))
        except csv.Error:
            continue
        if strict or not any("\n" in cell for row in quoted for cell in row):
            return quoted
    for line in LINE_END.split(text):
        odd = bool(form.quote) and (line.count(form.quote) - line.count(f"{form.escape}{form.quote}") * 2) % 2 == 1
        row = next(csv.reader([line], **settings(form.model_copy(update={"quote": ""}) if odd else form)), [])
        lines.append([cell.strip(form.quote) for cell in row] if odd else row)
        broken += odd
    alike = [Counter(map(len, filter(None, rows))) for rows in (quoted, lines)]  # by number of fields
    if quoted and max(alike[0].values()) / alike[0].total() > max(alike[1].values()) / alike[1].total():
        return quoted
    repairs.add("broken-quotes", name, broken)
    return lines


def _width(rows: Sequence[Row]) -> int:
    """How many fields most rows have; the larger number of two that are equally frequent."""
    widths = Counter(map(len, rows))
    return max(widths, key=lambda one: (widths[one], one)) if widths else 0


def _filled(row: Row) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _is_remark(row: Row) -> bool:
    """Whether a record below the table holds nothing but words in its first field, as `Source: the ledger`."""
    return len(row) > 2 and _filled(row) == 1 and REMARK.match(row[0]) is not None


def _rows(records: list[Row], form: Dialect, name: str, repairs: Repairs) -> tuple[list[Row], int]:
    """The header and the rows below it, without comments and blank lines; the header's place among the records."""
    end = len(records)
    while end and (not _filled(records[end - 1]) or _is_remark(records[end - 1])):
        end -= 1
    repairs.add("comment-lines", name, sum(map(_is_remark, records[end:])))
    kept = [place for place in range(end) if len(records[place]) > 1 or _filled(records[place])]
    repairs.add("blank-lines", name, end - len(kept))
    width = _width([records[place] for place in kept])
    single = width == 1 and not form.delimiter
    marks = "#" if single else COMMENT
    notes = {n for n in kept if records[n][0].lstrip().startswith(marks) and (single or len(records[n]) != width)}
    repairs.add("comment-lines", name, len(notes))
    body = [place for place in kept if place not in notes]
    rows = [records[place] for place in body]
    first = next((at for at in range(len(rows)) if not _is_above(rows, at, width)), 0)
    repairs.add("title-lines", name, first)
    return rows[first:], body[first] if body else 0


def _is_above(rows: list[Row], at: int, width: int) -> bool:
    """Whether a record is a title or a remark: it has few fields, or is short, and the next full one is a header."""
    row, last = rows[at], min(len(rows) - 1, MOST_ABOVE)
    if at >= last or width < 2 or len(row) < 2 or (width > 2 and _filled(row) < 2):
        return at < last and width > 1
    given = len(row) - next((n for n, cell in enumerate(reversed(row)) if cell.strip()), len(row))  # to the last text
    sure = at > 0 or given < width - 1 or any(map(NUMBER_OR_DATE.fullmatch, row))  # else a header without row names
    full = next((n for n in range(at + 1, last) if len(rows[n]) == _filled(rows[n]) == width), -1)
    few = (sure and given < width) or _filled(row) < 0.6 * width
    return full > 0 and few and is_header(rows[full], []) and not is_header(rows[full + 1], [])


def _even(
    opened: Opened, names: Row, rows: list[Row], repairs: Repairs, delimiter: str
) -> tuple[Row, list[Sequence[str | None]]]:
    """Names and rows of one width: short rows are filled, long ones cut, as far as it is still a table.

    Where runs of blanks divide, the fields that a short row lacks are unknown: it has none.
    """
    name, width = opened.name, _width(rows) if rows else len(names)
    if any(len(row) == len(names) + 1 and row[-1].strip() for row in rows):
        _require_undivided(opened, names, rows)
    if width == len(names) + 1 and any(row[-1].strip() for row in rows if len(row) == width):
        names = ["", *names]
        repairs.add("row-names", name, 1)
    width = max(len(names), width) if width <= len(names) + 1 else len(names)
    ragged = sum(len(row) not in (width, len(names)) for row in rows)
    if ragged > MOST_RAGGED * len(rows):
        raise opened.refusal("not-a-table/ragged", fields=len(names), ragged=ragged, rows=len(rows))
    short = sum(len(row) < len(names) for row in rows)
    lost = sum(any(cell.strip() for cell in row[width:]) for row in rows)
    repairs.add("short-rows", name, short, lacking="every cell" if delimiter == " " else "the rest")
    repairs.add("long-rows", name, lost, width=width + 1)
    names = names + [""] * (width - len(names))
    if delimiter == " ":
        rows = [row if len(row) >= len(names) else [] for row in rows]
    return names, [row if len(row) == width else [*row[:width], *[None] * (width - len(row))] for row in rows]


def _require_undivided(opened: Opened, names: Row, rows: list[Row]) -> None:
    """Raises InputError where a surplus field is not a row name, or a number such as 1,200 was divided."""
    more = [row for row in rows if len(row) == len(names) + 1]
    pairs = [[",".join(row[at : at + 2]) for row in more] for at in range(len(names))]
    # The second part of a divided number always has three digits, and once a 0 in front.
    numbers = (all(re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", one) for one in p) and ",0" in "".join(p) for p in pairs)
    divided = next((p[0] for p, is_number in zip(pairs, numbers, strict=True) if is_number), "")
    named = all(len(row) > len(names) for row in rows) and len({row[0] for row in more}) == len(more)
    if not divided and (named or 2 * len(more) <= len(rows)):
        return
    facts = {"fields": len(names), "more": len(more), "rows": len(rows), "surplus": len(names) + 1}
    raise opened.refusal("too-many-fields/divided" if divided else "too-many-fields", divided=divided, **facts)


def _without_totals(columns: list[Texts]) -> tuple[list[Texts], int, list[str]]:
    """The columns without rows of totals, the place of the column that labels these, and its text in each of them.

    The first text of such a row is a word for a total, and it holds sums or little else.
    """
    count = len(columns[0])
    last = list(zip(*(texts.slice(max(count - LAST_ROWS, 0)).to_pylist() for texts in columns), strict=True))
    places = [next((at for at, cell in enumerate(row) if (cell or "").strip()), 0) for row in last]
    at = next((at for at, row in zip(places, last, strict=True) if TOTAL.fullmatch((row[at] or "").strip())), None)
    if at is None or len(columns) < 2 or count < 4:
        return columns, 0, []
    labels = [(text or "").strip() for text in columns[at].to_pylist()]
    labelled = [place for place, text in enumerate(labels) if TOTAL.fullmatch(text)]
    if len(labelled) > MOST_TOTALS * count + 1:
        return columns, 0, []
    others = [texts for place, texts in enumerate(columns) if place != at]
    filled = {place: sum(bool((texts[place].as_py() or "").strip()) for texts in others) for place in labelled}
    sums = _sums(others, labelled)
    totals = [place for place in labelled if 2 * filled[place] <= len(others) > 1 or place in sums]
    kept = pa.array(~np.isin(np.arange(count), totals))
    return [texts.filter(kept) for texts in columns] if totals else columns, at, [labels[place] for place in totals]


def _sums(columns: Sequence[Texts], labelled: Sequence[int]) -> set[int]:
    """Which of the labelled rows hold the sum or mean of all other rows, or of those since the one before."""
    found, starts = set[int](), [0, *(place + 1 for place in labelled)]
    cells = ([(cell or "").strip() or "nan" for cell in texts.to_pylist()] for texts in columns)
    for numbers in filter(None, map(read_numbers, map(array, cells))):
        for start, place in zip(starts, labelled, strict=False):
            for part in (np.delete(numbers.values, labelled), numbers.values[start:place]):
                part = part[~np.isnan(part)]
                if len(part) > 1 and np.ptp(part) > 0:
                    wanted = [part.sum(), part.mean()]
                    found |= {place} if np.isclose(numbers.values[place], wanted, rtol=1e-3, atol=0.01).any() else set()
    return found
