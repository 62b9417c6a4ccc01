"""Reads a file like the user's, and writes rows as such a file has them."""

import csv
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from palmette.automl.calls import source
from palmette.automl.candidates import Blueprint, ColumnUse
from palmette.automl.kinds import TEXT_FILES, as_url, file_kinds, with_contents
from palmette.automl.parsing import MONTH, QUARTER, first_month
from palmette.automl.samples import Dialect, Reading, TableFormat
from palmette.automl.samples.files import LABEL

TEXT = {"sep": ",", "encoding": "utf-8", "quotechar": '"', "quoting": 0, "escapechar": None, "skiprows": 0}
SHEET = {"sheet_name": "", "skiprows": 0}
"""Defaults of `pandas.read_csv` and `pandas.read_excel`."""
BLANK_ONLY = "dtype=object, keep_default_na=False, na_values=['']"  # words such as NA are texts


def reader_source(format: TableFormat) -> str:
    """The expression that reads the file at `path` with pandas.

    >>> reader_source(TableFormat(dialect=Dialect(delimiter=";")))
    'pd.read_csv(path, sep=";", dtype=str, keep_default_na=False)'
    """
    read = {
        "parquet": "pd.read_parquet(path)",
        "json": "pd.read_json(path, lines=True, dtype=False, convert_dates=False, precise_float=True)",
        "excel": f"pd.read_excel(path, {_options(format.dialect, SHEET)}{BLANK_ONLY}).dropna(how='all')",
        "csv": f"pd.read_csv(path, {_options(format.dialect, TEXT)}dtype=str, keep_default_na=False)",
    }[format.format]
    if (totals := format.dialect.totals) is None:
        return read
    column = totals.column if format.dialect.header else int(totals.column)
    return f"without_totals({read}, {source(column)}, {source(list(totals.labels))})"


def _options(dialect: Dialect, usual: Mapping[str, Any]) -> str:
    """The arguments that differ from what is usual, as source with a comma at the end."""
    given = {
        "sep": dialect.delimiter or ",",
        "encoding": dialect.encoding,
        "quotechar": dialect.quote or '"',
        "quoting": csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        "escapechar": dialect.escape or None,
        "sheet_name": dialect.sheet,
        "skiprows": dialect.skipped,
    }
    options = [f"{name}={source(given[name])}" for name, value in usual.items() if given[name] != value]
    return "".join(f"{one}, " for one in [*options, *([] if dialect.header else ["header=None"])])


def file_suffixes_of(blueprint: Blueprint) -> tuple[str, ...]:
    """The suffixes of files that are rows by themselves; empty where rows have other columns."""
    only = blueprint.columns[0]
    kinds = file_kinds() if only.name != TEXT_FILES.name else {**file_kinds(), TEXT_FILES.name: TEXT_FILES}
    return kinds[only.kind].suffixes if len(blueprint.columns) == 1 and only.kind in kinds else ()


def input_name(blueprint: Blueprint) -> str:
    """What the delivered programs read, for examples of commands."""
    is_folder = file_suffixes_of(blueprint) and blueprint.target in ("", LABEL)
    return "joined.parquet" if blueprint.format.joins else "FOLDER" if is_folder else "new.csv"


def in_file_names(rows: pd.DataFrame, blueprint: Blueprint) -> pd.DataFrame:
    """Typed rows under the column names of the file, with the target and columns that validation needs.

    Paths are replaced by the contents of their files, as the sandbox sees no others. Classes made by a threshold are
    replaced by a number of that class.
    """
    if blueprint.threshold is not None and blueprint.target in rows:
        numbers = dict(zip(blueprint.threshold.classes, blueprint.threshold.stand_ins, strict=True))
        rows = rows.assign(**{blueprint.target: rows[blueprint.target].map(numbers)})
    rows = with_contents(rows, [one.name for one in blueprint.file_columns])
    names = {one.name: one.in_file for one in blueprint.columns}
    names |= {blueprint.target: blueprint.target_in_file or blueprint.target}
    names |= {name: name for name in (blueprint.labels, blueprint.folds.by) if name not in names}
    return rows[[name for name in names if name in rows]].rename(columns=names)


def in_file_form(rows: pd.DataFrame, blueprint: Blueprint) -> pd.DataFrame:
    """Rows as people send them to the endpoint: numbers and dates as in the file, no columns for validation only."""
    used = {one.name for one in blueprint.columns} | {blueprint.target, blueprint.labels}
    frame = in_file_names(rows.drop(columns={blueprint.folds.by} - used, errors="ignore"), blueprint)
    uses = {one.in_file: one for one in blueprint.columns}
    return pd.DataFrame({name: _written(frame[name], uses[name]) if name in uses else frame[name] for name in frame})


def _written(values: pd.Series, column: ColumnUse) -> pd.Series:
    reading = column.reading
    if column.kind in file_kinds():
        return pd.Series([as_url(value) for value in values], values.index, object)
    if column.kind == "number" and not reading.is_plain:
        return values.map(lambda value: number_text(float(value), reading), na_action="ignore")
    if reading.form == "unix":
        return values.map(lambda value: value.timestamp() * reading.per_second, na_action="ignore")
    if column.kind == "datetime":
        return values.map(lambda value: date_text(value, reading.formats), na_action="ignore")
    return values


def number_text(value: float, reading: Reading) -> str:
    """A number as the column writes it.

    >>> number_text(1164.5, Reading(form="number", decimal=",", thousands=".", affix="€"))
    '€1.164,5'
    >>> number_text(39.8, Reading(form="number", affix="t", affix_after=True))
    '39.8 t'
    """
    text = repr(value)
    if not math.isfinite(value) or "e" in text:
        return text
    whole, _, rest = text.partition(".")
    grouped = f"{int(whole):,}".replace(",", reading.thousands) if reading.thousands and whole != "-0" else whole
    digits = grouped + (f"{reading.decimal}{rest}" if rest != "0" else "")
    if not reading.affix_after:
        return reading.affix + digits
    return f"{digits} {reading.affix}" if reading.affix.isalnum() else digits + reading.affix


def date_text(value: pd.Timestamp, formats: Sequence[str]) -> str:
    """A timestamp in the first format of its column if that is exact, else in ISO 8601."""
    form = formats[0] if formats else ""
    text = (value.to_period("Q") if QUARTER in form else value).strftime(form)
    same = form and pd.to_datetime(first_month(text), format=form.replace(QUARTER, MONTH), errors="coerce") == value
    return text if same else value.isoformat()
