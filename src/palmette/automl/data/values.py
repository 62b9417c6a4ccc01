"""One column of values as found into one column of one type, with how it is written and what was repaired."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from palmette.automl.data.artefacts import Reading, Repair
from palmette.automl.data.dates import read_dates
from palmette.automl.data.kinds import FALSE, TRUE
from palmette.automl.data.numbers import read_numbers

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "<na>", "?", "-", "--", "nil", "n.a.", "#n/a n/a", "\\n"})
ERRORS = frozenset({"#div/0!", "#value!", "#ref!", "#name?", "#num!"})
MISSING_NUMBERS = MISSING | ERRORS | {"none", ".", "unknown", "missing", "not available", "*", "n.d."}
"""Among numbers or dates, words for nothing; among words they may be an answer."""
MOST_JUNK = 0.1
"""Share of values that may be no number (or date) in a column of them, where it is a few words that come again."""
FEW_WORDS = 5
MOST_TYPOS = 0.01
CODE_LENGTH = 3
EXACT = 2.0**53
SAMPLE = 5000
EXPONENT = re.compile(r"\d[eE][-+]?\d")
Series = Any


class Typed(NamedTuple):
    """A column of one type: float, integer, bool, datetime64[ns] or text (object, NaN for missing)."""

    series: Series
    reading: Reading
    repairs: list[Repair]


def typed(raw: pd.Series[Any], name: str, decimal_sign: str = ".") -> Typed:
    """The column in the one type that its values are of."""
    if pd.api.types.is_bool_dtype(raw.dtype) and not raw.isna().any():
        return Typed(raw.astype(bool), Reading(form="native"), [])
    if pd.api.types.is_datetime64_any_dtype(raw.dtype):
        series = raw.dt.tz_convert("UTC").dt.tz_localize(None) if raw.dt.tz is not None else raw
        return Typed(series.astype("datetime64[ns]"), Reading(form="native"), [])
    if pd.api.types.is_timedelta64_dtype(raw.dtype):
        said = f"Durations in {name!r} were read as seconds."
        told = Repair(code="duration", subject=name, count=len(raw), text=said)
        return Typed(raw.dt.total_seconds(), Reading(form="native"), [told])
    if pd.api.types.is_numeric_dtype(raw.dtype) and not pd.api.types.is_bool_dtype(raw.dtype):
        return _finite(_narrow(raw.to_numpy(float, na_value=np.nan), raw), name, Reading(form="native"), [])
    return _from_objects(raw, name, decimal_sign)


def _narrow(values: np.ndarray[Any, Any], like: pd.Series[Any]) -> pd.Series[Any]:
    """Whole numbers as int64 where they came as such and none is missing."""
    whole = pd.api.types.is_integer_dtype(like.dtype) and not np.isnan(values).any()
    if whole and (like.max() <= np.iinfo(np.int64).max):
        return like.astype("int64")
    return pd.Series(values, index=like.index)


def _from_objects(raw: pd.Series[Any], name: str, decimal_sign: str) -> Typed:
    texts, nested = _as_texts(raw)
    if not nested and (plain := _plain_numbers(texts, raw.index, name, decimal_sign)) is not None:
        return plain
    codes, found = pd.factorize(texts, use_na_sentinel=True)
    uniques = [str(one) for one in found]
    repairs: list[Repair] = []
    if nested:
        said = f"{nested} nested values in {name!r} were kept as JSON text."
        repairs.append(Repair(code="nested-values", subject=name, count=nested, text=said))
    column = _Distinct(name, uniques, np.bincount(codes[codes >= 0], minlength=len(uniques)), codes, raw.index)
    for read in (_numbers, _dates, _booleans):
        result = read(column, decimal_sign)
        if result is not None:
            return Typed(result.series, result.reading, [*repairs, *result.repairs])
    result = _words(column)
    return Typed(result.series, result.reading, [*repairs, *result.repairs])


def _plain_numbers(texts: Any, index: Any, name: str, decimal_sign: str) -> Typed | None:
    """Numbers as programs write them, at once; None where any text needs a closer look."""
    if decimal_sign != "." or not len(texts):
        return None
    present = ~pd.isna(texts)
    sample = [text for text in texts[:: max(1, len(texts) // SAMPLE)] if text is not None]
    if not any(text[:1].isdecimal() or text[:1] in "+-. " for text in sample):
        return None
    if _are_codes([text.strip() for text in sample]):
        return None
    values = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(float, copy=True)
    words = pd.Series(texts[np.isnan(values) & present], dtype=object).value_counts()
    if len(words) == present.sum() or any(text.strip().casefold() not in MISSING_NUMBERS for text in words.index):
        return None
    known = values[~np.isnan(values)]
    series = pd.Series(values, index=index)
    if not len(known):
        return None
    if (np.abs(known) < EXACT).all() and (known == np.floor(known)).all():
        if any(len(text.strip()) > 15 for text in texts[present]):
            return None
        if len(known) == len(texts) and _are_whole(values, texts, "."):
            series = series.astype("int64")
    elif (np.abs(known) >= EXACT).any():
        return None
    nothing = {str(text).strip(): int(count) for text, count in words.items()}
    reading = Reading(form="number", missing=tuple(sorted(nothing)))
    repairs = _told_markers(name, sorted(text for text in nothing if text), sum(n for t, n in nothing.items() if t))
    return _finite(series, name, reading, repairs)


class _Distinct:
    """The different texts of a column, stripped, with how often each occurs."""

    def __init__(self, name: str, uniques: list[str], counts: Any, codes: Any, index: Any) -> None:
        self.name, self.codes, self.index, self.counts = name, codes, index, counts
        self.stripped = [text.strip() for text in uniques]
        self.padded = int(sum(n for n, a, b in zip(counts, uniques, self.stripped, strict=True) if a != b and b))
        self.folded = [text.casefold() for text in self.stripped]

    def spread(self, values: Any, missing: Any) -> Any:
        """A column from a value for each distinct text."""
        if not len(values):
            return pd.Series([missing] * len(self.codes), index=self.index, dtype=object if missing is np.nan else None)
        taken = np.asarray(values)[np.maximum(self.codes, 0)]
        if (self.codes < 0).any():
            taken[self.codes < 0] = missing
        return pd.Series(taken, index=self.index)

    def split(self, markers: frozenset[str]) -> tuple[list[int], tuple[str, ...]]:
        """Places of the texts that say something, and the texts that say nothing."""
        kept = [place for place, text in enumerate(self.folded) if text not in markers]
        nothing = [self.stripped[place] for place, text in enumerate(self.folded) if text in markers]
        return kept, tuple(sorted(set(nothing)))

    def share(self, places: Sequence[int]) -> float:
        return float(self.counts[list(places)].sum()) if len(places) else 0.0


def _numbers(column: _Distinct, decimal_sign: str) -> Typed | None:
    kept, nothing = column.split(MISSING_NUMBERS)
    texts = [column.stripped[place] for place in kept]
    if not texts or _are_codes(texts):
        return None
    numbers = read_numbers(texts, decimal_sign)
    if numbers is None:
        return None
    bad = [place for place, value in zip(kept, numbers.values, strict=True) if np.isnan(value)]
    total, junk = column.share(kept), column.share(bad)
    if junk and (junk > MOST_JUNK * total or (len(bad) > FEW_WORDS and junk > MOST_TYPOS * total) or junk >= total):
        return None
    values = np.full(len(column.stripped), np.nan)
    values[kept] = numbers.values
    series = column.spread(values, np.nan)
    if not np.isnan(series.to_numpy()).any() and _are_whole(numbers.values, texts, numbers.decimal):
        series = series.astype("int64")
    reading = Reading(
        form="number",
        decimal=numbers.decimal,
        thousands=numbers.thousands,
        affix=numbers.affix,
        missing=tuple(text for text in (*nothing, *(column.stripped[place] for place in bad)) if text)[:20],
    )
    repairs = _told_missing(column, nothing)
    if bad:
        shown = ", ".join(repr(column.stripped[place])[:40] for place in bad[:3])
        said = f"{int(junk)} values of {column.name!r} are no numbers ({shown}); they were read as missing."
        repairs.append(Repair(code="not-a-number", subject=column.name, count=int(junk), text=said))
    written = [f"{what} {mark!r}" for what, mark in _manner(reading) if mark]
    if written:
        said = f"Numbers in {column.name!r} were read without their {' and '.join(written)}."
        repairs.append(Repair(code="number-as-text", subject=column.name, count=int(total), text=said))
    return _finite(series, column.name, reading, repairs)


def _manner(reading: Reading) -> tuple[tuple[str, str], ...]:
    comma = "," if reading.decimal == "," else ""
    return (("decimal comma", comma), ("thousands separator", reading.thousands), ("unit", reading.affix))


def _are_whole(values: Any, texts: Sequence[str], decimal: str) -> bool:
    """Whether numbers are whole, and written so."""
    whole = bool((values == np.floor(values)).all() and (np.abs(values) < EXACT).all())
    return whole and not any(decimal in text or EXPONENT.search(text) for text in texts)


def _are_codes(texts: Sequence[str]) -> bool:
    """Postal codes, account numbers and the like: digits whose zeros or length matter."""
    sample = texts[:: max(1, len(texts) // SAMPLE)]
    if all(text.isdecimal() for text in sample):
        lengths = {len(text) for text in sample}
        padded = any(text.startswith("0") for text in sample) and len(lengths) == 1 and min(lengths) >= CODE_LENGTH
        return padded or any(len(text) > 15 and float(text) > EXACT for text in sample)
    return False


def _dates(column: _Distinct, _: str) -> Typed | None:
    kept, nothing = column.split(MISSING_NUMBERS)
    texts = [column.stripped[place] for place in kept]
    dates = read_dates(texts, column.name) if texts else None
    if dates is None:
        return None
    bad = [place for place, value in zip(kept, dates.values, strict=True) if np.isnat(value)]
    total, junk = column.share(kept), column.share(bad)
    if junk > 0.05 * total and not (len(bad) <= FEW_WORDS and junk <= MOST_JUNK * total):
        return None
    values = np.full(len(column.stripped), np.datetime64("NaT"), dtype="datetime64[ns]")
    values[kept] = dates.values
    repairs = _told_missing(column, nothing)
    said = f"{int(total)} texts of {column.name!r} were read as dates ({', '.join(dates.formats)})."
    repairs.append(Repair(code="date-as-text", subject=column.name, count=int(total), text=said))
    if bad:
        said = f"{int(junk)} values of {column.name!r} are no dates; they were read as missing."
        repairs.append(Repair(code="not-a-date", subject=column.name, count=int(junk), text=said))
    if dates.ambiguous:
        said = f"Day and month of {column.name!r} could be the other way round; they were read as {dates.formats[0]}."
        repairs.append(Repair(code="ambiguous-dates", subject=column.name, count=int(total), text=said, changed=False))
    reading = Reading(form="date", formats=dates.formats, missing=nothing)
    return Typed(column.spread(values, np.datetime64("NaT")), reading, repairs)


def _booleans(column: _Distinct, _: str) -> Typed | None:
    """Yes and no in more than two spellings become the two that are most frequent."""
    kept, nothing = column.split(MISSING)
    words = {column.folded[place] for place in kept}
    yes = [place for place in kept if column.folded[place] in TRUE]
    no = [place for place in kept if column.folded[place] in FALSE]
    if not yes or not no or len(yes) + len(no) < len(kept) or words <= {"0", "1"}:
        return None
    values: list[Any] = [np.nan] * len(column.stripped)
    for side in (yes, no):
        best = max(side, key=lambda place: (column.counts[place], column.stripped[place]))
        for place in side:
            values[place] = column.stripped[best]
    repairs = _told_missing(column, nothing)
    spellings = {column.stripped[place] for place in kept}
    if len(spellings) > 2:
        chosen = " and ".join(repr(one) for one in dict.fromkeys(values[place] for place in (*yes, *no)))
        said = f"{len(spellings)} spellings of yes and no in {column.name!r} became {chosen}."
        repairs.append(Repair(code="boolean-spellings", subject=column.name, count=len(spellings), text=said))
    series = column.spread(np.array(values, dtype=object), np.nan)
    return Typed(series, Reading(form="boolean", missing=nothing), repairs)


def _words(column: _Distinct) -> Typed:
    markers = MISSING - {"na"} if _country_codes(column.stripped) else MISSING
    kept, nothing = column.split(markers)
    values: list[Any] = [np.nan] * len(column.stripped)
    for place in kept:
        values[place] = column.stripped[place]
    repairs = _told_missing(column, nothing)
    if column.padded:
        said = f"{column.padded} values of {column.name!r} had blanks around them."
        repairs.append(Repair(code="blanks", subject=column.name, count=column.padded, text=said))
    alike = len(kept) - len({column.folded[place] for place in kept}) - (len(kept) - len({*values} - {np.nan}))
    if alike > 0 and len(kept) <= 1000:
        said = f"{alike} values of {column.name!r} differ from others only in capitals."
        repairs.append(Repair(code="capitals", subject=column.name, count=alike, text=said, changed=False))
    series = column.spread(np.array(values, dtype=object), np.nan).astype(object)
    return Typed(series, Reading(form="words", missing=nothing), repairs)


def _country_codes(texts: Sequence[str]) -> bool:
    """Two-letter codes, of which NA is Namibia or North America."""
    return len(texts) >= 5 and all(len(text) == 2 and text.isupper() for text in texts if text)


def _told_missing(column: _Distinct, nothing: Sequence[str]) -> list[Repair]:
    words = [text for text in nothing if text]
    folded = {text.casefold() for text in words}
    count = int(sum(n for n, text in zip(column.counts, column.folded, strict=True) if text in folded))
    return _told_markers(column.name, words, count)


def _told_markers(name: str, words: Sequence[str], count: int) -> list[Repair]:
    if not count:
        return []
    said = f"{count} values of {name!r} ({', '.join(map(repr, words[:5]))}) were read as missing."
    return [Repair(code="missing-marker", subject=name, count=count, text=said)]


def _finite(series: Series, name: str, reading: Reading, repairs: list[Repair]) -> Typed:
    if series.dtype.kind == "f" and (endless := int(np.isinf(series.to_numpy()).sum())):
        series = series.mask(np.isinf(series))
        said = f"{endless} infinite values of {name!r} were read as missing."
        repairs = [*repairs, Repair(code="infinite", subject=name, count=endless, text=said)]
    return Typed(series, reading, [*repairs, *_sentinels(series, name)])


def _sentinels(series: Series, name: str) -> list[Repair]:
    """Extreme numbers of nines that come again, far from all others, probably mean "missing"."""
    values = series.to_numpy(float, na_value=np.nan)
    values = values[~np.isnan(values)]
    if len(values) < 20:
        return []
    found = []
    for end in (values.min(), values.max()):
        if f"{abs(end):.0f}".strip("9") == "" and abs(end) >= 99 and end == int(end):
            rest = values[values != end]
            count = len(values) - len(rest)
            wide = max(float(np.ptp(rest)), 1.0) if len(rest) else 1.0
            gap = float(np.abs(rest - end).min()) if len(rest) else 0.0
            if count >= max(2, 0.002 * len(values)) and gap > 2 * wide:
                said = f"{count} values of {name!r} are {end:g}, far from all others: they may be missing."
                found.append(Repair(code="sentinel", subject=name, count=count, text=said, changed=False))
    return found


def _as_texts(raw: pd.Series[Any]) -> tuple[np.ndarray[Any, Any], int]:
    """Cells as text, None where there is nothing; how many were nested."""
    cells = raw.to_numpy(object)
    if pd.api.types.infer_dtype(cells, skipna=True) in ("string", "empty"):
        found = cells.copy()
        found[pd.isna(cells)] = None
        return found, 0
    found = np.empty(len(cells), dtype=object)
    nested = 0
    for place, cell in enumerate(cells):
        if isinstance(cell, dict | list | tuple | np.ndarray):
            nested += 1
            found[place] = json.dumps(cell, default=_jsonable, ensure_ascii=False)
        else:
            found[place] = None if cell is None or cell is pd.NaT or cell is pd.NA or cell != cell else _as_text(cell)
    return found, nested


def _as_text(cell: Any) -> str:
    if isinstance(cell, float | np.floating):
        value = float(cell)
        return repr(int(value)) if value.is_integer() and abs(value) < EXACT else repr(value)
    if isinstance(cell, dt.datetime | dt.date | pd.Timestamp):
        return cell.isoformat().removesuffix("T00:00:00")
    if isinstance(cell, bytes):
        return cell.decode("utf-8", errors="replace")
    return str(int(cell)) if isinstance(cell, decimal.Decimal) and cell == cell.to_integral_value() else str(cell)


def _jsonable(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
