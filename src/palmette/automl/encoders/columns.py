"""Reads rows from files or JSON as the typed columns of training."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.parsing import first_month, hours_of

LARGEST = 1e30  # some libraries overflow above it
YES = frozenset({"1", "true", "t", "yes", "y", "on", "ja", "oui", "si", "sí", "wahr", "vrai"})
NO = frozenset({"0", "false", "f", "no", "n", "off", "nein", "non", "falsch", "faux"})
MINUS = re.compile(r"^\((.*)\)$|^(.*)-$")
WHOLE = re.compile(r"-?\d+\.0")
DTYPES = {"number": "float64", "boolean": "float64", "datetime": "datetime64[ns]"}  # other kinds are object
PLAIN = frozenset({*DTYPES, "category", "text", "node"})  # other readers also take lists and missing values


class ColumnError(ValueError):
    """Columns are missing or cannot be read; `columns` maps their names to the reasons."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        super().__init__(" ".join(dict.fromkeys(columns.values())))
        self.columns = columns


def without_totals(rows: pd.DataFrame, column: str | int, labels: Sequence[str]) -> pd.DataFrame:
    """Leaves out, with a warning, rows with the label of a total in a column."""
    if column not in rows:
        return rows
    totals = rows[column].astype(str).str.strip().isin(labels)
    if totals.any():
        warnings.warn(f"rows of totals were left out: {totals.sum()}", stacklevel=2)
    return rows[~totals]


def read_columns(rows: Any, readers: Sequence[Any], in_file: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Types columns of rows from `pandas.read_csv` or JSON; `in_file` maps columns to their names in the file."""
    rows, in_file = pd.DataFrame(rows).rename(columns=str), in_file or {}
    columns = {name: place for place, (_, _, names) in enumerate(readers) for name in names}
    sources = {name: in_file[name] if in_file.get(name) in rows else name for name in columns}
    absent = [in_file.get(name, name) for name, source in sources.items() if source not in rows]
    unread, made = dict.fromkeys(absent, f"Columns are missing: {', '.join(map(repr, absent))}."), dict[str, Any]()
    for place, (kind, read, _) in enumerate(readers):  # together, as there may be thousands of columns
        names = [name for name in columns if columns[name] == place and sources[name] in rows]
        made |= zip(names, read_cells(rows[[sources[one] for one in names]], kind, read, unread).T, strict=True)
    if unread:
        raise ColumnError(unread)
    return pd.DataFrame({name: made[name] for name in columns}, index=rows.index)


def read_cells(rows: pd.DataFrame, kind: str, read: Callable[[Any], Any], unread: dict[str, str]) -> np.ndarray:
    """Reads columns; missing cells become None, NaN or an empty text. Adds to `unread` if `read` raises ValueError."""
    made, empty, plain = list[Any](), "" if kind == "text" else None, kind in PLAIN
    if DTYPES.get(kind) == "float64" and all(one.kind in "fi" for one in rows.dtypes):
        values = rows.to_numpy("float64", na_value=np.nan)
    else:
        for (column, row), cell in np.ndenumerate(rows.to_numpy(object).T):
            value = cell.strip() if isinstance(cell, str) else cell
            try:
                if isinstance(value, list | dict) and plain:
                    raise ValueError
                found = None if plain and (pd.isna(value) or value == "") else read(value)
            except (ValueError, OSError, OverflowError) as error:
                name, found, why = str(rows.columns[column]), None, "" if plain else f": {error}"
                where = f"Column {name!r} is {repr(cell)[:80]} in row {rows.index[row]}"
                unread.setdefault(name, f"{where}, not readable as {kind}{why}.")
            made.append(empty if found is None else found)
        values = np.fromiter(made, object, len(made)).astype(DTYPES.get(kind, "object")).reshape(rows.shape, order="F")
    return np.where(np.isinf(values), np.nan, np.clip(values, -LARGEST, LARGEST)) if kind == "number" else values


def number(value: Any) -> float:
    """Reads a number; (3), 3- and a typographic minus are negative."""
    if isinstance(value, str):
        value = MINUS.sub(r"-\1\2", value.replace("\u2212", "-").replace("_", "?"))
    return float(value)


def formatted_number(value: Any, decimal: str = ".", thousands: str = "", unit: str = "") -> float:
    """Reads a number with a unit, thousands separators or another decimal sign."""
    if isinstance(value, str):
        mark = re.escape(unit.casefold())  # before the first digit or after the last one
        value = re.sub(rf"^(\D*?){mark}|{mark}(\D*)$", r"\1\2", value.casefold())
        if thousands:  # separates groups of three digits only: 9,000 is a number, 90,00 is not
            value = re.sub(rf"(?<=\d){re.escape(thousands)}(?=\d{{3}}(?!\d))", "", value)
        value = value.replace(decimal, ".").strip()
    return number(value)


def clock(value: Any) -> float:
    """Reads a time of day, such as 13:45 or 1:45 pm, as hours: 13.75."""
    hours = hours_of(value) if isinstance(value, str) else float("nan")
    return number(value) if hours != hours else hours


def boolean(value: Any) -> float:
    """Reads yes as 1.0 and no as 0.0."""
    word = text_of(value).lower()
    if word not in YES | NO:
        raise ValueError
    return float(word in YES)


def timestamp(value: Any, formats: Sequence[str] = ()) -> datetime | None:
    """Reads a timestamp as naive UTC, by strptime formats or ISO 8601; None before 1678 and after 2261."""
    text, found = text_of(value), None
    for form in formats:
        with suppress(ValueError):
            found = found or datetime.strptime(text, form)  # noqa: DTZ007 - what follows treats it as UTC
    found = found or datetime.fromisoformat(re.sub(r" ?(UTC|Z)$", "+00:00", text).replace(" +", "+").replace(" -", "-"))
    found = found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    return found if 1678 <= found.year < 2262 else None


def unix_time(value: Any, per_second: int) -> datetime | None:
    """Reads a number of seconds since 1970, or of their fractions, as naive UTC; other values as `timestamp` does."""
    with suppress(TypeError, ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(float(value) / per_second, UTC).replace(tzinfo=None)
    return timestamp(value)


def quarter(value: Any, formats: Sequence[str]) -> datetime | None:
    """Reads a quarter such as 1959Q2 as its first day, by formats such as %YM%m."""
    return timestamp(first_month(text_of(value)), formats)


def code(value: Any, digits: int) -> str:
    """Reads a code such as 00501, restoring leading zeros that file readers drop."""
    text = text_of(value)
    return text.zfill(digits) if text.isdecimal() else text


def text_of(value: Any) -> str:
    """Reads a text; whole numbers lose their fraction, however they were typed."""
    text = str(value)
    return text[:-2] if WHOLE.fullmatch(text) else text


def unless(value: Any, missing: Sequence[str], read: Callable[[Any], Any]) -> Any:
    """Returns None for texts that mark a missing value, else the result of `read`."""
    return None if value in missing else read(value)


def with_arrays(rows: Any, arrays: Mapping[str, tuple[Sequence[str], float]]) -> pd.DataFrame:
    """Adds columns with lists of numbers from 0 to 255, if the rows have the source columns.

    `arrays` are, by new column, the columns of numbers, or one column of lists, and the upper end of their scale.
    """
    rows = pd.DataFrame(rows).rename(columns=str)
    for name, (columns, top) in arrays.items():
        if list(columns) == [name] and name in rows:
            files = [cell if isinstance(cell, str | bytes) else scaled(cell, 255 / top) for cell in rows[name]]
        elif name not in rows and {*columns} <= {*rows}:
            files = (rows[list(columns)].astype("float64").to_numpy() * (255 / top)).tolist()
        else:
            continue
        rows = rows.drop(columns=list(columns)).assign(**{name: pd.Series(files, rows.index, object)})
    return rows


def scaled(cell: Any, factor: float) -> Any:
    """Multiplies nested lists or arrays by a factor; returns lists."""
    if isinstance(cell, list | tuple | np.ndarray):
        return [scaled(one, factor) for one in cell]
    return cell if cell is None else float(cell) * factor
