"""The columns of a table, typed as they were for training, however the rows arrive."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin

LARGEST = 1e30  # larger numbers overflow in some libraries
YES = frozenset({"1", "true", "t", "yes", "y", "on", "ja", "oui", "si", "sí", "wahr", "vrai"})
NO = frozenset({"0", "false", "f", "no", "n", "off", "nein", "non", "falsch", "faux"})
MINUS = re.compile(r"^\((.*)\)$|^(.*)-$")
CLOCK = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([AaPp])\.?[Mm]\.?)?")
WHOLE = re.compile(r"-?\d+\.0")


class TypedColumns(TransformerMixin, BaseEstimator):
    """Makes a frame of typed columns from rows as `pandas.read_csv` or JSON gives them; learns nothing.

    Args:
        readers: How columns are read, and which ones, e.g. `(Numbers(), ["age", "height"])`; others are left out.
        names_in_file: By column, its name in the file, where that is another; either name is understood.
    """

    def __init__(self, readers: Sequence[tuple[Any, Sequence[str]]], names_in_file: Mapping[str, str] | None = None):
        self.readers = readers
        self.names_in_file = names_in_file

    def fit(self, X: Any, y: Any = None) -> TypedColumns:
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """The typed columns; ColumnError where one is missing, or has a value that cannot be read."""
        rows, in_file = pd.DataFrame(X).rename(columns=str), self.names_in_file or {}
        places = {name: in_file.get(name, name) for name in self.get_feature_names_out()}
        places = {name: place if place in rows else name for name, place in places.items()}
        if absent := [in_file.get(name, name) for name, place in places.items() if place not in rows]:
            raise ColumnError(f"Columns are missing: {', '.join(map(repr, absent))}.", absent)
        made = {name: reader.read(rows[places[name]]) for reader, names in self.readers for name in names}
        return pd.DataFrame(made, index=rows.index, copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return np.array([name for _, names in self.readers for name in names], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


class ColumnError(ValueError):
    """Columns are missing, or one has a value that cannot be read."""

    def __init__(self, message: str, columns: Sequence[str]) -> None:
        super().__init__(message)
        self.columns = columns


@dataclass(frozen=True)
class Numbers:
    """Numbers as float64, infinite ones as missing; minus is also read from (3), 3- and a typographic sign."""

    missing: Sequence[str] = ()  # texts that stand for no value

    def read(self, column: pd.Series) -> np.ndarray:
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
            numbers = column.to_numpy("float64")
        else:
            numbers = np.array(read_each(column, self.missing, self.number, "a number"), dtype="float64")
        return np.where(np.isinf(numbers), np.nan, np.clip(numbers, -LARGEST, LARGEST))

    def number(self, value: Any) -> float:
        if isinstance(value, str):
            value = MINUS.sub(r"-\1\2", value.replace("\u2212", "-").replace("_", "?"))
        return float(value)


@dataclass(frozen=True)
class FormattedNumbers(Numbers):
    """Numbers with a unit, thousands separators or another decimal sign."""

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def number(self, value: Any) -> float:
        if isinstance(value, str):
            value = value.casefold().replace(self.unit.casefold(), "")
            if self.thousands:  # between groups of three digits only: 9,000 is a number and 90,00 is not
                value = re.sub(rf"(?<=\d){re.escape(self.thousands)}(?=\d{{3}}(?!\d))", "", value)
            value = value.replace(self.decimal, ".").strip()
        return super().number(value)


@dataclass(frozen=True)
class Clocks(Numbers):
    """Times of day, such as 13:45 or 1:45 pm, as hours: 13.75."""

    def number(self, value: Any) -> float:
        found = CLOCK.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            return super().number(value)
        hour, minute, second, half = found.groups()
        whole = int(hour) if half is None else int(hour) % 12 + 12 * (half in "Pp")
        return whole + int(minute) / 60 + float(second or 0) / 3600


@dataclass(frozen=True)
class Booleans:
    """Yes as 1.0, no as 0.0."""

    missing: Sequence[str] = ()

    def read(self, column: pd.Series) -> np.ndarray:
        return np.array(read_each(column, self.missing, self.number, "yes or no"), dtype="float64")

    def number(self, value: Any) -> float:
        word = text_of(value).lower()
        if word not in YES | NO:
            raise ValueError
        return float(word in YES)


@dataclass(frozen=True)
class Datetimes:
    """Timestamps in UTC without a zone, by formats of strptime or ISO 8601; missing before 1678 and after 2261."""

    formats: Sequence[str] = ()
    missing: Sequence[str] = ()

    def read(self, column: pd.Series) -> np.ndarray:
        if column.dtype.kind == "M":
            times = pd.to_datetime(column, utc=True).dt.tz_localize(None)
            return times.where(times.between(pd.Timestamp.min, pd.Timestamp.max)).to_numpy("datetime64[ns]")
        texts = read_each(column, self.missing, text_of)
        found = np.full(len(texts), np.datetime64("NaT", "ns"))
        for form in (*self.formats, "ISO8601"):
            read = pd.to_datetime(texts, format=form, errors="coerce", utc=True).tz_localize(None)
            found = np.where(np.isnat(found), read.to_numpy("datetime64[ns]"), found)
        read_each(column[np.isnat(found)], self.missing, self.beyond, "a date")
        return found

    def beyond(self, value: Any) -> None:
        """Raises ValueError unless it is a date of a year that nanoseconds since 1970 do not reach."""
        for form in (*self.formats, "ISO8601"):
            try:
                pd.to_datetime(text_of(value), format=form, utc=True)
            except pd.errors.OutOfBoundsDatetime:
                return
            except ValueError:
                continue
        raise ValueError


@dataclass(frozen=True)
class Categories:
    """Text, None where there is no value."""

    digits: int = 0  # length of codes such as 00501, whose zeros readers of files lose
    missing: Sequence[str] = ()

    def read(self, column: pd.Series) -> np.ndarray:
        texts = read_each(column, self.missing, text_of)
        return np.array(
            [text.zfill(self.digits) if text and text.isdecimal() else text for text in texts], dtype=object
        )


@dataclass(frozen=True)
class Texts:
    """Text, empty where there is no value."""

    missing: Sequence[str] = ()

    def read(self, column: pd.Series) -> np.ndarray:
        return np.array([text or "" for text in read_each(column, self.missing, str)], dtype=object)


def read_each(column: pd.Series, missing: Sequence[str], read: Callable[[Any], Any], what: str = "a cell") -> list[Any]:
    """The values, None for missing ones; ColumnError for one on which `read` raises ValueError."""
    made: list[Any] = []
    for place, value in enumerate(column.to_numpy(object)):
        value = value.strip() if isinstance(value, str) else value
        try:
            if isinstance(value, list | dict):
                raise ValueError
            is_missing = value in ("", *missing) if isinstance(value, str) else pd.isna(value)
            made.append(None if is_missing else read(value))
        except (ValueError, OverflowError):
            message = f"Column {column.name!r} is {value!r} in row {column.index[place]}, which is not {what}."
            raise ColumnError(message, [str(column.name)]) from None
    return made


def text_of(value: Any) -> str:
    """Text of a value; whole numbers without a fraction, however a reader has typed them."""
    text = str(value)
    return text[:-2] if WHOLE.fullmatch(text) else text
