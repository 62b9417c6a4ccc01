"""One column of values as found into one column of one type, with how it is written and what was repaired."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from palmette.automl.data.artefacts import Reading, Repair
from palmette.automl.data.dates import hours_of, read_dates
from palmette.automl.data.distinct import Distinct
from palmette.automl.data.kinds import BOOLEAN, FALSE, TRUE
from palmette.automl.data.numbers import floats_of, read_numbers
from palmette.automl.data.texts import TEXT, Texts, array, every, of_column
from palmette.automl.data.told import seen_as, told_dates, told_numbers

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
MOST_DIGITS = 15
"""Signs of a whole number that a float holds for sure."""
SAMPLE = 5000
MOST_COMPARED = 1000
"""Different words up to which those that are alike are looked for."""
EXPONENT = re.compile(r"\d[eE][-+]?\d")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
NESTED = (dict, list, tuple, np.ndarray)
Series = Any


class Typed(NamedTuple):
    """A column of one type: float, integer, bool, datetime64[ns] or text (object, NaN for missing)."""

    series: Series
    reading: Reading
    repairs: list[Repair]


def typed(raw: pd.Series[Any], name: str, decimal_sign: str = ".") -> Typed:
    """The column in the one type that its values are of."""
    if raw.dtype == TEXT:
        return _from_texts(of_column(raw), name, decimal_sign)
    if pd.api.types.is_bool_dtype(raw.dtype) and not raw.isna().any():
        return Typed(raw.astype(bool), Reading(form="native"), [])
    if pd.api.types.is_datetime64_any_dtype(raw.dtype):
        return _instants(raw.dt.tz_convert("UTC").dt.tz_localize(None) if raw.dt.tz is not None else raw, name)
    if pd.api.types.is_timedelta64_dtype(raw.dtype):
        said = f"Durations in {name!r} were read as seconds."
        told = Repair(code="duration", subject=name, count=len(raw), text=said)
        return Typed(raw.dt.total_seconds(), Reading(form="native"), [told])
    if pd.api.types.is_numeric_dtype(raw.dtype) and not pd.api.types.is_bool_dtype(raw.dtype):
        return _finite(_narrow(raw.to_numpy(float, na_value=np.nan), raw), name, Reading(form="native"), [])
    texts, nested = _as_texts(raw)
    found = _from_texts(texts, name, decimal_sign, bool(nested))
    if not nested:
        return found
    said = f"{nested} nested values in {name!r} were kept as JSON text."
    told = Repair(code="nested-values", subject=name, count=nested, text=said)
    return found._replace(repairs=[told, *found.repairs])


def _instants(series: Series, name: str) -> Typed:
    """Dates of a file that has a type for them, as far as they can be told in nanoseconds since 1970."""
    beyond = (series < pd.Timestamp.min) | (series > pd.Timestamp.max)
    repairs = _told_beyond(int(beyond.sum()), name)
    return Typed(series.mask(beyond).astype("datetime64[ns]"), Reading(form="native"), repairs)


def _told_beyond(count: int, name: str) -> list[Repair]:
    first, last = pd.Timestamp.min.year, pd.Timestamp.max.year
    said = f"{count} dates of {name!r} lie before {first} or after {last}; they were read as missing."
    return [Repair(code="not-a-date", subject=name, count=count, text=said)] if count else []


def _narrow(values: np.ndarray[Any, Any], like: pd.Series[Any]) -> pd.Series[Any]:
    """Whole numbers as int64 where they came as such and none is missing."""
    whole = pd.api.types.is_integer_dtype(like.dtype) and not np.isnan(values).any()
    if whole and (like.max() <= np.iinfo(np.int64).max):
        return like.astype("int64")
    return pd.Series(values, index=like.index)


def _from_texts(texts: Texts, name: str, decimal_sign: str, nested: bool = False) -> Typed:
    if not nested and (plain := _plain_numbers(texts, name, decimal_sign)) is not None:
        return plain
    column = Distinct(name, texts)
    for read in (_numbers, _dates, _clocks, _booleans):
        result = read(column, decimal_sign)
        if result is not None:
            return result
    return _words(column)


def _plain_numbers(texts: Texts, name: str, decimal_sign: str) -> Typed | None:
    """Numbers as programs write them, at once; None where any text needs a closer look."""
    if decimal_sign != "." or not len(texts):
        return None
    sample = every(texts, max(1, len(texts) // SAMPLE)).drop_null().to_pylist()
    if not any(text[:1].isdecimal() or text[:1] in "+-. " for text in sample):
        return None
    if _are_codes(sample):
        return None
    values = floats_of(texts)
    missing = np.isnan(values)
    words = _counted(texts.filter(missing)) if missing.any() else {}
    if not MISSING_NUMBERS.issuperset(map(str.casefold, words)):
        return None
    known = values[~missing]
    if not len(known) or (np.abs(known) >= EXACT).any():
        return None
    series: Series = pd.Series(values)
    if (known == np.floor(known)).all():
        if _longest(texts) > MOST_DIGITS:
            return None
        if len(known) == len(texts) and not _any(pc.match_substring_regex(texts, "[.eE]")):
            series = series.astype("int64")
    reading = Reading(form="number", missing=tuple(sorted(words)))
    repairs = _told_markers(name, sorted(text for text in words if text), sum(n for t, n in words.items() if t))
    return _finite(series, name, reading, [*repairs, *told_numbers(sample, name)])


def _counted(texts: Texts) -> dict[str, int]:
    """How often each text occurs, blanks around it aside."""
    counts: Counter[str] = Counter()
    for one in texts.drop_null().value_counts().to_pylist():
        counts[one["values"].strip()] += one["counts"]
    return counts


def _longest(texts: Texts) -> int:
    """The most signs of a text, blanks around it aside."""
    long = texts.filter(pc.greater(pc.utf8_length(texts), MOST_DIGITS)).to_pylist()
    return max((len(text.strip()) for text in long), default=0)


def _any(truths: Any) -> bool:
    return bool(pc.any(truths).as_py())


def _numbers(column: Distinct, decimal_sign: str) -> Typed | None:
    kept, texts, nothing = column.split(MISSING_NUMBERS)
    if not texts or _are_codes(texts):
        return None
    numbers = read_numbers(texts, decimal_sign)
    if numbers is None:
        return None
    bad = kept[np.isnan(numbers.values)]
    total, junk = column.rows(kept), column.rows(bad)
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
    if len(bad):
        shown = ", ".join(repr(column.stripped[place])[:40] for place in bad[:3])
        said = f"{int(junk)} values of {column.name!r} are no numbers ({shown}); they were read as missing."
        repairs.append(Repair(code="not-a-number", subject=column.name, count=int(junk), text=said))
    written = [f"{what} {mark!r}" for what, mark in _manner(reading) if mark]
    if written:
        bare = [place for place in kept if numbers.affix.casefold() not in column.folded[place]]
        rest = f"; {int(column.rows(np.array(bare)))} of {int(total)} have none" if bare else ""
        said = f"Numbers in {column.name!r} were read without their {' and '.join(written)}{rest}."
        repairs.append(Repair(code="number-as-text", subject=column.name, count=int(total), text=said))
    repairs += told_numbers(texts, column.name) if not written else []
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
    if all(text.strip().isdecimal() for text in sample):
        sample = [text.strip() for text in sample]
        lengths = {len(text) for text in sample}
        padded = any(text.startswith("0") for text in sample) and len(lengths) == 1 and min(lengths) >= CODE_LENGTH
        return padded or any(len(text) > 15 and float(text) > EXACT for text in sample)
    return False


def _dates(column: Distinct, _: str) -> Typed | None:
    kept, texts, nothing = column.split(MISSING_NUMBERS)
    dates = read_dates(texts, column.name) if texts else None
    if dates is None:
        return None
    bad = kept[np.isnat(dates.values) & ~dates.beyond]
    total, junk = column.rows(kept), column.rows(bad)
    if _are_too_many(junk, total, len(bad)):
        return None
    values = np.full(len(column.stripped), np.datetime64("NaT"), dtype="datetime64[ns]")
    values[kept] = dates.values
    repairs = _told_missing(column, nothing)
    said = f"{int(total)} texts of {column.name!r} were read as dates ({', '.join(dates.formats)})."
    repairs.append(Repair(code="date-as-text", subject=column.name, count=int(total), text=said))
    if len(bad):
        said = f"{int(junk)} values of {column.name!r} are no dates; they were read as missing."
        repairs.append(Repair(code="not-a-date", subject=column.name, count=int(junk), text=said))
    if dates.ambiguous:
        said = f"Day and month of {column.name!r} could be the other way round; they were read as {dates.formats[0]}."
        repairs.append(Repair(code="ambiguous-dates", subject=column.name, count=int(total), text=said, changed=False))
    repairs += [
        *told_dates(texts, dates, column.name),
        *_told_beyond(int(column.rows(kept[dates.beyond])), column.name),
    ]
    told = tuple(text for text in (*nothing, *(column.stripped[place] for place in bad)) if text)[:20]
    reading = Reading(form="date", formats=dates.formats, missing=told)
    return Typed(column.spread(values, np.datetime64("NaT")), reading, repairs)


def _are_too_many(junk: float, total: float, different: int) -> bool:
    """Whether so many of the rows are no date that the others are none either."""
    return junk > 0.05 * total and not (different <= FEW_WORDS and junk <= MOST_JUNK * total)


def _clocks(column: Distinct, _: str) -> Typed | None:
    kept, texts, nothing = column.split(MISSING_NUMBERS)
    hours = np.array([hours_of(text) for text in texts])
    bad = kept[np.isnan(hours)] if len(kept) else kept
    total, junk = column.rows(kept), column.rows(bad)
    if not len(kept) or len(bad) == len(kept) or _are_too_many(junk, total, len(bad)):
        return None
    values = np.full(len(column.stripped), np.nan)
    values[kept] = hours
    said = f"{int(total)} times of day in {column.name!r} were read as hours since midnight: 13:45 is 13.75."
    repairs = [*_told_missing(column, nothing)]
    repairs.append(Repair(code="time-as-text", subject=column.name, count=int(total), text=said))
    if len(bad):
        said = f"{int(junk)} values of {column.name!r} are no times of day; they were read as missing."
        repairs.append(Repair(code="not-a-time", subject=column.name, count=int(junk), text=said))
    told = tuple(text for text in (*nothing, *(column.stripped[place] for place in bad)) if text)[:20]
    return Typed(column.spread(values, np.nan), Reading(form="clock", missing=told), repairs)


def _booleans(column: Distinct, _: str) -> Typed | None:
    """Yes and no in more than two spellings become the two that are most frequent."""
    kept, texts, nothing = column.split(MISSING)
    if any(text.casefold() not in BOOLEAN for text in texts):
        return None
    yes = [place for place in kept if column.folded[place] in TRUE]
    no = [place for place in kept if column.folded[place] in FALSE]
    if not yes or not no or {*texts} <= {"0", "1"}:
        return None
    values: list[Any] = [np.nan] * len(column.stripped)
    for side in (yes, no):
        best = max(side, key=lambda place: (column.counts[place], column.stripped[place]))
        for place in side:
            values[place] = column.stripped[best]
    repairs = _told_missing(column, nothing)
    spellings = {*texts}
    if len(spellings) > 2:
        chosen = " and ".join(repr(one) for one in dict.fromkeys(values[place] for place in (*yes, *no)))
        said = f"{len(spellings)} spellings of yes and no in {column.name!r} became {chosen}."
        repairs.append(Repair(code="boolean-spellings", subject=column.name, count=len(spellings), text=said))
    series = column.spread(np.array(values, dtype=object), np.nan)
    return Typed(series, Reading(form="boolean", missing=nothing), repairs)


def _words(column: Distinct) -> Typed:
    markers = MISSING - {"na"} if _country_codes(column.stripped) else MISSING
    kept, texts, nothing = column.split(markers)
    values = np.full(len(column.stripped), np.nan, dtype=object)
    values[kept] = texts
    repairs = _told_missing(column, nothing)
    if column.padded:
        said = f"{column.padded} values of {column.name!r} had blanks around them."
        repairs.append(Repair(code="blanks", subject=column.name, count=column.padded, text=said))
    few = texts if len(texts) <= MOST_COMPARED else []
    if alike := len({*few}) - len({*map(seen_as, few)}):
        other = len({*map(seen_as, few)}) < len({text.casefold() for text in few})
        how = "in capitals, or in characters that look alike or are not seen" if other else "in capitals"
        said = f"{alike} values of {column.name!r} differ from others only {how}."
        repairs.append(Repair(code="capitals", subject=column.name, count=alike, text=said, changed=False))
    series = column.spread(values, np.nan).astype(object)
    return Typed(series, Reading(form="words", missing=nothing), repairs)


def _country_codes(texts: Sequence[str]) -> bool:
    """Two-letter codes, of which NA is Namibia or North America."""
    return len(texts) >= 5 and all(len(text) == 2 and text.isupper() for text in texts if text)


def _told_missing(column: Distinct, nothing: Sequence[str]) -> list[Repair]:
    words = [text for text in nothing if text]
    if not words:
        return []
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


def _as_texts(raw: pd.Series[Any]) -> tuple[Texts, int]:
    """Cells as text, null where there is nothing; how many were nested."""
    found: list[str | None] = []
    nested = 0
    for cell in raw.to_numpy(object):
        if isinstance(cell, str):
            found.append(cell)
        elif isinstance(cell, NESTED):
            nested += 1
            found.append(text_of(cell))
        else:
            empty = cell is None or cell is pd.NaT or cell is pd.NA or cell != cell
            found.append(None if empty else text_of(cell))
    return array(found), nested


def text_of(cell: Any) -> str:
    """A cell of a file that has types, as text: JSON of what is nested, hexadecimal digits of bytes that are no text.

    >>> text_of(["a", 1]), text_of(b"ab"), text_of(b"a\\xff"), text_of(2.0)
    ('["a", 1]', 'ab', '0x61ff', '2')
    """
    if isinstance(cell, NESTED):
        return json.dumps(cell, default=_jsonable, ensure_ascii=False)
    if isinstance(cell, float | np.floating):
        value = float(cell)
        return repr(int(value)) if value.is_integer() and abs(value) < EXACT else repr(value)
    if isinstance(cell, dt.datetime | dt.date | pd.Timestamp):
        return cell.isoformat().removesuffix("T00:00:00")
    if isinstance(cell, bytes):
        try:
            text = cell.decode()
        except UnicodeDecodeError:
            text = "\0"
        return f"0x{cell.hex()}" if CONTROL.search(text) else text
    return str(int(cell)) if isinstance(cell, decimal.Decimal) and cell == cell.to_integral_value() else str(cell)


def _jsonable(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else text_of(value)
