"""Delimited text in which every line has the same fields and every quote its place: split at once, without a row.

What it gives is what `csv.reader` gives; whatever could be read in two ways is left to that.
"""

from __future__ import annotations

import csv
import io
import re

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from palmette.automl.data.dialects import Form
from palmette.automl.data.opening import MOST_COLUMNS
from palmette.automl.data.texts import Texts

BLOCK = 2**24
"""Bytes that are split at a time; a line is shorter."""


def split(text: str, form: Form) -> list[Texts] | None:
    """The fields by column, in all rows of the text; None where it takes a closer look.

    All rows have as many fields as the first, two or more; none is empty, and the last one is not blank.
    """
    quoted = bool(form.quote) and form.quote in text
    if form.delimiter in ("", " ") or form.escape or text.startswith("\ufeff"):
        return None
    if quoted and not _every_quote_closes(text, form):
        return None
    try:
        first = next(csv.reader(io.StringIO(text[:BLOCK], newline=""), **form.settings), [])
        columns = _columns(text, form, len(first), quoted) if len(first) <= MOST_COLUMNS else []
    except (csv.Error, pa.ArrowInvalid):
        return None  # a field is too long, or a line has another number of them
    padded = [place for place, texts in enumerate(columns) if pc.any(pc.starts_with(texts, " ")).as_py()]
    if len(columns) < 2 or (padded and quoted) or equal_rows(columns, [""] * len(columns)).true_count:
        return None
    if not any(texts[-1].as_py().strip() for texts in columns):
        return None
    for place in padded:
        columns[place] = pc.ascii_ltrim(columns[place], " ")
    return columns


def equal_rows(columns: list[Texts], row: list[str]) -> pa.BooleanArray:
    """Whether each row is this one."""
    equal = pc.equal(columns[0], row[0])
    for texts, cell in zip(columns[1:], row[1:], strict=True):
        equal = pc.and_(equal, pc.equal(texts, cell)) if equal.true_count else equal
    return equal


def _columns(text: str, form: Form, width: int, quoted: bool) -> list[Texts]:
    table = arrow_csv.read_csv(
        pa.py_buffer(text.encode()),
        read_options=arrow_csv.ReadOptions(autogenerate_column_names=True, block_size=BLOCK),
        parse_options=arrow_csv.ParseOptions(
            delimiter=form.delimiter,
            quote_char=form.quote if quoted else False,
            newlines_in_values=quoted,
            ignore_empty_lines=False,
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types={f"f{place}": pa.large_string() for place in range(width)}, check_utf8=False
        ),
    )
    return [texts.combine_chunks() for texts in table.columns]


def _every_quote_closes(text: str, form: Form) -> bool:
    """Whether quotes stand only around whole fields, and doubled inside of them."""
    mark, ends = re.escape(form.quote), rf"{re.escape(form.delimiter)}\r\n"
    inside = rf"[^{mark}]*+(?:{mark}{mark}[^{mark}]*+)*+"
    field = rf"(?<![^{ends}]){mark}{inside}{mark}(?![^{ends}])"
    return re.fullmatch(rf"(?:[^{mark}]*+{field})*+[^{mark}]*+", text) is not None
