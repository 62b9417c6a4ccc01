"""One column of values as found into one column of one type, with the way it is written, and its repairs."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.compute as pc

from palmette.automl import parsing
from palmette.automl.kinds import FALSE, STRUCTURE, TRUE, Kind, file_kinds, is_id_name, kind_of
from palmette.automl.parsing import EXACT, TEXT, Texts, array, hours_of, of_column, sample
from palmette.automl.samples import ArrayUse, Reading, Repairs, SampleColumn
from palmette.automl.task_spec.request import name_words

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "<na>", "?", "-", "--", "nil", "n.a.", "#n/a n/a", "\\n"})
# Missing only among numbers or dates: among words they may be an answer.
MISSING_NUMBERS = MISSING | {"none", ".", "unknown", "missing", "not available", "*", "n.d.", "#div/0!", "#value!",
                             "#ref!", "#name?", "#num!"}  # fmt: skip
BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))  # the characters that `str.strip` removes
MOST_JUNK, FEW_WORDS = 0.1, 5  # share of values that may be no number (or date), where they are a few words
TYPOS, ODD_DATES = 0.01, 0.05  # the same where they are more different words
PADDED = 0.005  # share of digits with leading zeros from which a column holds codes
MOST_DIGITS = 15  # of a whole number that a float certainly holds
SAMPLE = 5000
EXAMPLES, EXAMPLE_LENGTH = 5, 80
MOST_COMPARED = 1000  # different words up to which those that are alike are searched
FEWEST_CODES, MOST_CODES, ROWS_OF_CODE = 10, 100, 5  # different codes of classes, and rows of each
ALIKE = 0.5  # correlation of the frequencies of neighbouring numbers, above which they are quantities
CLASSES = frozenset({"class", "classes", "label", "labels", "category"})
"""Words of a name that calls numbers classes."""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
LEADING_ZEROS = re.compile(r"[-+]?0\d+")
ZONE = re.compile(r"(Z|UTC|[-+]\d{2}:?\d{2})$")
UNIX_UNITS = {1: "seconds", 1_000: "milliseconds", 1_000_000: "microseconds"}
NATIVE = Reading(form="native")
Places = npt.NDArray[np.intp]
NOWHERE = np.array([], dtype=np.intp)


class Typed(NamedTuple):
    """A column of one type: float, integer, bool, datetime64[ns] or text (object, NaN for missing)."""

    series: Any
    reading: Reading


def typed(raw: pd.Series[Any], name: str, decimal_sign: str, repairs: Repairs) -> Typed:
    """The column in the one type of its values; repairs are added to `repairs`."""
    kind = raw.dtype.kind
    if raw.dtype == TEXT:
        return _from_texts(of_column(raw), name, decimal_sign, repairs)
    if kind == "b" and not raw.isna().any():
        return Typed(raw.astype(bool), NATIVE)
    if kind == "M":
        series = raw.dt.tz_convert("UTC").dt.tz_localize(None) if raw.dt.tz is not None else raw
        beyond = (series < pd.Timestamp.min) | (series > pd.Timestamp.max)
        repairs.add("not-a-date", name, beyond.sum(), shown=", ".join(map(str, series[beyond][:3])))
        return Typed(series.mask(beyond).astype("datetime64[ns]"), NATIVE)
    if kind == "m":
        repairs.add("duration", name, len(raw))
        return Typed(raw.dt.total_seconds(), NATIVE)
    if kind in "iuf":
        values = raw.to_numpy(float, na_value=np.nan)
        whole = kind != "f" and not np.isnan(values).any() and raw.max() <= np.iinfo(np.int64).max
        return _finite(raw.astype("int64") if whole else pd.Series(values, index=raw.index), name, NATIVE, repairs)
    cells = raw.to_numpy(object)
    repairs.add("nested-values", name, sum(isinstance(cell, dict | list | tuple | np.ndarray) for cell in cells))
    return _from_texts(array([text_of(cell) for cell in cells]), name, decimal_sign, repairs)


def described(
    name: str, source: str, made: Typed, rows: int, kind: Kind | None = None, array: ArrayUse | None = None
) -> SampleColumn:
    """The column of a table with `rows` rows; its kind follows from the values where none is given."""
    known = made.series.iloc[:rows]
    distinct, missing = known.dropna().unique(), round(float(known.isna().mean()), 6) if rows else 0.0
    shown = [Path(value).name if kind in file_kinds() else str(value) for value in pd.Series(distinct[:EXAMPLES])]
    examples = tuple(text if kind in STRUCTURE else text[:EXAMPLE_LENGTH] for text in shown)  # keys stay whole
    return SampleColumn(
        name=name, source=source, kind=kind or kind_of(known, name, len(distinct)), dtype=str(known.dtype),
        missing=missing, distinct=len(distinct), examples=examples, reading=made.reading, array=array,
    )  # fmt: skip


def with_codes(columns: Sequence[SampleColumn], table: pd.DataFrame) -> list[SampleColumn]:
    """The columns with the reason why whole numbers, from 0 or 1 without a gap, are codes of classes.

    Either another column has a name for each of them, or neighbours are not alike in frequency, as they are in counts
    and ages, while they label files or are called classes.
    """
    names = [one for one in columns if one.kind == "category"]
    are_files = any(one.kind in file_kinds() for one in columns)

    def why(one: SampleColumn) -> str:
        if one.kind != "number" or not FEWEST_CODES < one.distinct <= min(MOST_CODES, len(table) / ROWS_OF_CODE):
            return ""
        known = table[one.name].dropna()
        if known.min() not in (0, 1) or known.max() - known.min() + 1 != one.distinct or (known % 1 != 0).any():
            return ""
        for other in (other for other in names if other.distinct == one.distinct):
            if len(table[[one.name, other.name]].dropna().drop_duplicates()) == one.distinct:
                return f"each belongs to one value of {other.name!r}"
        ranks = known.value_counts().sort_index().rank()
        are_alike = ranks.nunique() > 1 and ranks.autocorr() > ALIKE
        is_named = are_files or not CLASSES.isdisjoint(name_words(one.name))
        return "they leave no gap, and neighbours are not alike in frequency" if is_named and not are_alike else ""

    return [one.model_copy(update={"codes": why(one)}) for one in columns]


def text_of(cell: Any) -> str | None:
    """A cell as text: JSON for nested values, hexadecimal digits for binary bytes; None for a missing value.

    >>> text_of(["a", 1]), text_of(b"ab"), text_of(b"a\\xff"), text_of(2.0)
    ('["a", 1]', 'ab', '0x61ff', '2')
    """
    match cell:
        case str():
            return cell
        case dict() | list() | tuple() | np.ndarray():
            return json.dumps(cell, default=_jsonable, ensure_ascii=False)
        case _ if cell is None or cell is pd.NaT or cell is pd.NA:
            return None
        case float() | np.floating() | decimal.Decimal():
            value = float(cell)
            whole = value.is_integer() and abs(value) < EXACT
            return None if value != value else str(int(value)) if whole else str(cell)
        case dt.date():
            return cell.isoformat().removesuffix("T00:00:00")
        case bytes():
            text = cell.decode(errors="replace")
            return f"0x{cell.hex()}" if "\ufffd" in text or CONTROL.search(text) else text
    return str(cell)


def _jsonable(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else text_of(value)


class DistinctTexts:
    """The distinct texts of a column in the order of their first row, trimmed, with their counts."""

    def __init__(self, name: str, texts: Texts, repairs: Repairs) -> None:
        encoded = texts.dictionary_encode()
        self.name, self.repairs = name, repairs
        self.codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        self.counts = np.bincount(self.codes[self.codes >= 0], minlength=len(encoded.dictionary))
        self.trimmed = pc.utf8_trim(encoded.dictionary, BLANKS)
        self.folded = pc.utf8_lower(self.trimmed)
        self.padded = pc.and_(pc.not_equal(self.trimmed, encoded.dictionary), pc.not_equal(self.trimmed, ""))
        """Whether a text has blanks around it."""

    def rows(self, places: Places) -> int:
        """How many rows have one of these texts."""
        return int(self.counts[places].sum())

    def present(self, markers: frozenset[str]) -> Places:
        """The texts that do not mark a missing value."""
        found = pc.is_in(self.folded, value_set=array(sorted(markers)))
        return np.flatnonzero(~found.to_numpy(zero_copy_only=False))

    def at(self, places: Places) -> list[str]:
        found: list[str] = self.trimmed.take(places).to_pylist()
        return found

    def finished(self, kept: Places, values: Any, missing: Any, reading: Reading, bad: Places = NOWHERE) -> Typed:
        """The column from a value for each kept text; the other texts, and the bad ones, are missing."""
        spread = np.full(len(self.counts) + 1, missing, dtype=np.asarray(values).dtype)
        spread[kept] = values  # the last place is for rows without a text
        dropped = np.setdiff1d(np.arange(len(self.counts)), kept, assume_unique=True)
        dropped = dropped[[bool(text) for text in self.at(dropped)]] if len(dropped) else dropped
        words = sorted({*self.at(dropped)})
        self.repairs.add("missing-marker", self.name, self.rows(dropped), shown=", ".join(map(repr, words[:5])))
        reading = reading.model_copy(update={"missing": (*words, *self.at(bad))[:20]})
        return Typed(pd.Series(spread[self.codes]), reading)

    def tolerates(self, kept: Places, bad: Places, typos: float) -> bool:
        """Whether so few of the kept texts are bad that the others are what they seem."""
        total, junk = self.rows(kept), self.rows(bad)
        return len(kept) > 0 and junk < total and junk <= (MOST_JUNK if len(bad) <= FEW_WORDS else typos) * total

    def report_bad(self, code: str, bad: Places) -> None:
        self.repairs.add(code, self.name, self.rows(bad), shown=", ".join(repr(text)[:40] for text in self.at(bad[:3])))


def _from_texts(texts: Texts, name: str, sign: str, repairs: Repairs) -> Typed:
    column = DistinctTexts(name, texts, repairs)
    kept = column.present(MISSING_NUMBERS)
    numbers = _numbers(column, kept, sign) or _dates(column, kept) or _clocks(column, kept) if len(kept) else None
    return numbers or _booleans(column) or _words(column)


def _numbers(column: DistinctTexts, kept: Places, sign: str) -> Typed | None:
    name, repairs, texts = column.name, column.repairs, column.trimmed.take(kept)
    numbers = None if _are_codes(texts, name) else parsing.read_numbers(texts, sign)
    bad = kept[np.isnan(numbers.values)] if numbers else kept
    if numbers is None or not column.tolerates(kept, bad, TYPOS):
        return None
    values, reading = numbers.values, Reading(form="number", **numbers.style._asdict())
    series, reading = column.finished(kept, values, np.nan, reading, bad)
    column.report_bad("not-a-number", bad)
    fractions = pc.match_substring_regex(texts, rf"{re.escape(reading.decimal)}|[0-9][eE][-+]?[0-9]")
    if (values == np.floor(values)).all() and (np.abs(values) < EXACT).all() and not pc.any(fractions).as_py():
        series = series.astype("int64") if series.notna().all() else series
    marks = (reading.decimal.strip("."), reading.thousands, reading.affix)
    manner = zip(("decimal comma", "thousands separator", "unit"), marks, strict=True)
    if written := " and ".join(f"{what} {mark!r}" for what, mark in manner if mark):
        bare = column.rows(kept[[reading.affix.casefold() not in text.casefold() for text in column.at(kept)]])
        rest = f"; {bare} of {column.rows(kept)} have none" if bare else ""
        repairs.add("number-as-text", name, column.rows(kept), written=written, rest=rest)
    else:
        _warn_of_numbers(sample(texts, parsing.SAMPLE).to_pylist(), name, repairs)
    return _finite(series, name, reading, repairs)


def _are_codes(texts: Texts, name: str) -> bool:
    """Whether they are postal codes, account numbers and the like: digits whose leading zeros or length matter."""
    padded = pc.sum(pc.match_substring_regex(texts, "^0[0-9]+$")).as_py() or 0
    if padded and (padded >= PADDED * len(texts) or is_id_name(name)):
        digits = pc.sum(pc.match_substring_regex(texts, "^[0-9]+$")).as_py()
        fractions = pc.any(pc.match_substring_regex(texts, "^-?[0-9]*[.,][0-9]")).as_py()
        return digits > 0.5 * len(texts) and not fractions
    some = sample(texts, SAMPLE).to_pylist()
    return all(map(str.isdecimal, some)) and any(len(text) > MOST_DIGITS and float(text) > EXACT for text in some)


def _dates(column: DistinctTexts, kept: Places) -> Typed | None:
    texts, name, repairs = column.at(kept), column.name, column.repairs
    dates = parsing.read_dates(texts, name)
    bad = kept[np.isnat(dates.values) & ~dates.out_of_range] if dates else kept
    if dates is None or not column.tolerates(kept, bad, ODD_DATES):
        return None
    found = column.finished(kept, dates.values, np.datetime64("NaT"), Reading(form="date", formats=dates.formats), bad)
    repairs.add("date-as-text", name, column.rows(kept), formats=", ".join(dates.formats))
    column.report_bad("not-a-date", kept[np.isnat(dates.values)])
    some = texts[:: max(1, len(texts) // SAMPLE)]
    repairs.add("ambiguous-dates", name, len(some) * dates.ambiguous, format=dates.formats[0])
    years = found.series.dropna().dt.year
    if any("%y" in form for form in dates.formats) and len(years):
        repairs.add("short-years", name, len(some), first=years.min(), last=years.max())
    zones = [bool(ZONE.search(text)) for text in some if ":" in text]
    repairs.add("no-zone", name, zones.count(False) if any(zones) else 0)
    return found


def _clocks(column: DistinctTexts, kept: Places) -> Typed | None:
    if not any(":" in text for text in column.at(kept[:SAMPLE])):
        return None
    hours = np.array([hours_of(text) for text in column.at(kept)])
    bad = kept[np.isnan(hours)]
    if not column.tolerates(kept, bad, ODD_DATES):
        return None
    column.repairs.add("time-as-text", column.name, column.rows(kept))
    column.report_bad("not-a-time", bad)
    return column.finished(kept, hours, np.nan, Reading(form="clock"), bad)


def _booleans(column: DistinctTexts) -> Typed | None:
    """Yes and no in more than two spellings become the two most frequent spellings."""
    kept = column.present(MISSING)
    spellings = column.at(kept) if len(kept) <= MOST_COMPARED else []
    folded = [text.casefold() for text in spellings]
    if not {*folded} <= TRUE | FALSE or not {*folded} & TRUE or not {*folded} & FALSE or {*spellings} <= {"0", "1"}:
        return None
    ranked = sorted(zip(column.counts[kept], spellings, folded, strict=True), reverse=True)
    yes, no = (next(text for _, text, fold in ranked if fold in side) for side in (TRUE, FALSE))
    values = np.array([yes if fold in TRUE else no for fold in folded], dtype=object)
    count = len({*spellings})
    column.repairs.add("boolean-spellings", column.name, count if count > 2 else 0, yes=yes, no=no)
    return column.finished(kept, values, np.nan, Reading(form="boolean"))


def _words(column: DistinctTexts) -> Typed:
    first = [text for text in column.trimmed.slice(0, MOST_COMPARED).to_pylist() if text]
    countries = len(first) >= 5 and all(len(text) == 2 and text.isupper() for text in first)  # NA is Namibia
    kept = column.present(MISSING - {"na"} if countries else MISSING)
    texts = column.at(kept)
    found = column.finished(kept, np.array(texts, dtype=object), np.nan, Reading(form="words"))
    column.repairs.add("blanks", column.name, column.rows(np.flatnonzero(column.padded)))
    if len(texts) <= MOST_COMPARED:
        shown = {unicodedata.normalize("NFKC", text).casefold() for text in texts}
        column.repairs.add("capitals", column.name, len({*texts}) - len(shown))
    return found


def _warn_of_numbers(texts: Sequence[str], name: str, repairs: Repairs) -> None:
    """Reports leading zeros that are lost, and points that may separate thousands."""
    if padded := list(dict.fromkeys(text for text in texts if LEADING_ZEROS.fullmatch(text))):
        shown = ", ".join(map(repr, padded[:2]))
        repairs.add("leading-zeros", name, len(padded), shown=shown, number=int(padded[0]))
    bare = [text.lstrip("+-") for text in texts]
    pointed = [text for text in bare if "." in text]
    whole = [text for text in bare if text.isdecimal()]
    grouped = pointed and all(parsing.GROUPED["."].fullmatch(text) and text[0] != "0" for text in pointed)
    if grouped and whole and max(map(len, whole)) <= 3:
        repairs.add("ambiguous-numbers", name, len(pointed), shown=pointed[0])


def unix_times(series: Any, name: str, reading: Reading, repairs: Repairs) -> Typed | None:
    """The times that plain numbers count since 1970; None where they cannot be times."""
    values = series.to_numpy(float, na_value=np.nan)
    counts = parsing.unix_counts(values[~np.isnan(values)]) if reading.is_plain else 0
    if not counts:
        return None
    repairs.add("unix-times", name, np.isfinite(values).sum(), unit=UNIX_UNITS[counts])
    times = pd.Series(pd.to_datetime(np.round(values / counts * 1e6), unit="us"), series.index)
    return Typed(times.astype("datetime64[ns]"), reading.model_copy(update={"form": "unix", "per_second": counts}))


def _finite(series: Any, name: str, reading: Reading, repairs: Repairs) -> Typed:
    """The column without infinite numbers, or the times that they count since 1970.

    Reports repeated nines far from all others, which may mean "missing".
    """
    values = series.to_numpy(float, na_value=np.nan)
    infinite = np.isinf(values)
    repairs.add("infinite", name, infinite.sum())
    if parsing.names_times(name) and (times := unix_times(series, name, reading, repairs)):
        return times
    values = values[np.isfinite(values)]
    for end in (values.min(), values.max()) if len(values) >= 20 else ():
        if abs(end) >= 99 and end == int(end) and {*f"{abs(end):.0f}"} == {"9"}:
            rest = values[values != end]
            count = len(values) - len(rest)
            gap = float(np.abs(rest - end).min(initial=np.inf))
            if len(rest) and count >= max(2, 0.002 * len(values)) and gap > 2 * max(float(np.ptp(rest)), 1.0):
                repairs.add("sentinel", name, count, value=end)
    return Typed(series.mask(infinite) if infinite.any() else series, reading)
