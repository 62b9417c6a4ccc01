"""Columns from related tables: a lookup where each key has one row there, else aggregates of the rows of a key.

Where both tables have times, a row sees only what is earlier than itself. The time of a row is its latest column of
times, by median, as a snapshot is later than the events in it. The SQL that is executed here is delivered, too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pandas as pd

from palmette.automl.kinds import is_id_name
from palmette.automl.samples import Dialect, Repairs, TableError, TableJoin
from palmette.automl.samples.formats import quoted
from palmette.automl.samples.tables import Raw
from palmette.documents import read_plain

SHARED = 0.5  # least share of the keys of the smaller side that the other side has
NUMERIC = 0.95  # least share of present values that are numbers in a column of numbers
MAIN = "given"  # the table that columns are added to, in SQL
MANY = 50  # most values of a column whose last one is a feature
DATE = re.compile(r"\d{4}-\d\d-\d\d")
TIME_NAMED = re.compile(r"time|date|stamp", re.IGNORECASE)
SQL: Mapping[str, Any] = read_plain(Path(__file__).with_suffix(".yaml"))


class JoinTime(NamedTuple):
    """The column with the times of rows, as SQL, and its middle."""

    sql: str
    is_date: bool
    middle: pd.Timestamp | float


def with_related(main: Raw, others: Sequence[Raw], repairs: Repairs, required: bool = True) -> Raw:
    """Returns the table with columns from others, by every key that they share.

    Raises TableError where a table shares no key, and each is required, or where SQL would have one name for two.
    """
    joined = replace(main, related=tuple(others))
    for other in others:
        links = _links(main, other)
        if not links and required:
            message = f"{other.name!r} shares no key with {main.name!r}."
            raise TableError(message, "Name tables with a common column of keys.", code="no-shared-key", options=())
        if links and _stem(other) in {MAIN, *(join.table for join in joined.joins)}:
            message = f"{other.name!r} would be joined as {_stem(other)!r}, a name that is taken."
            raise TableError(message, "Rename the file.", code="name-collision", options=())
        for mine, theirs in links:
            by = f"{_stem(other)}_by_{theirs}" if len(links) > 1 else _stem(other)
            here, there = _times(main, mine), _times(other, theirs)
            times = (here, there) if here and there and here.is_date == there.is_date else None
            join = (_lookup if _is_key(other, theirs) else _aggregates)(main, other, mine, theirs, by, times)
            with duckdb.connect() as connection:
                connection.execute(SQL["macros"])
                connection.register(MAIN, _frame(main).assign(row_=range(len(main.frame))))
                connection.register(_stem(other), _frame(other))
                found = connection.execute(join).df().iloc[:, len(main.names) + 1 :]
            made = found.set_axis(main.frame.index).dropna(axis=1, how="all")
            joined = replace(joined.with_columns(made), joins=(*joined.joins, _join(other, join)))
            repairs.add("joined", other.name, made.shape[1], key=theirs, main=main.name)
    return joined


def neighbours_join(edges: Raw, ends: tuple[str, str], node: str, name: str) -> TableJoin:
    """Returns how a column with the neighbours of each node is added; node and name as in the file."""
    facts = {"node": quoted(node), "name": quoted(name), "edges": quoted(_stem(edges))}
    return _join(edges, SQL["neighbours"].format(start=_name(edges, ends[0]), end=_name(edges, ends[1]), **facts))


def _join(other: Raw, sql: str) -> TableJoin:
    kind = other.format if other.format in ("parquet", "json", "excel") else "csv"
    dialect = (other.dialect or Dialect()).model_copy(update={"totals": None})
    facts = {"format": kind, "dialect": dialect, "table": _stem(other), "file": other.name, "sql": sql}
    return TableJoin.model_validate(facts)


def _frame(raw: Raw) -> pd.DataFrame:
    """Returns a table with the names of its file; words are Python strings."""
    frame = raw.frame.copy(deep=False)
    for name in (name for name, column in frame.items() if column.dtype.kind not in "biufM"):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), None).map(str, na_action="ignore")
    return frame.set_axis(list(raw.sources), axis=1)


def _name(raw: Raw, name: str) -> str:
    """Returns a column of the file as SQL."""
    return quoted(raw.sources[raw.names.index(name)])


def _links(main: Raw, other: Raw) -> list[tuple[str, str]]:
    """Returns the pairs of columns that hold the same keys: of one name, or `id` and the other table's `listing_id`."""
    found = list[tuple[str, str]]()
    for mine, theirs in product(main.names, other.names):
        alike = _spellings(mine, main) & _spellings(theirs, other)
        if alike and ((is_id_name(mine) and is_id_name(theirs)) or _is_key(main, mine) or _is_key(other, theirs)):
            here, there = ({*raw.texts(name)} - {""} for raw, name in ((main, mine), (other, theirs)))
            found += [(mine, theirs)] if len(here & there) > SHARED * min(len(here), len(there)) else []
    return found


def _spellings(name: str, raw: Raw) -> set[str]:
    plain = re.sub(r"[\s_-]", "", name.casefold())
    return {plain, f"{_stem(raw).removesuffix('s')}id"} if plain == "id" else {plain}


def _stem(raw: Raw) -> str:
    return re.sub(r"\W", "_", raw.name.rpartition("/")[2].partition(".")[0].casefold())


def _is_key(raw: Raw, name: str) -> bool:
    texts = raw.texts(name)
    return bool(texts[texts != ""].is_unique)


def _times(raw: Raw, key: str) -> JoinTime | None:
    """Returns the column with the time of each row; None if there is none but the key."""
    found = [times for name in raw.names if name != key and (times := _as_times(raw, name)) is not None]
    return max([one for one in found if one.is_date] or found, key=lambda one: one.middle, default=None)


def _as_times(raw: Raw, name: str) -> JoinTime | None:
    """Returns a column of timestamps, or of numbers that its name calls times; None for any other."""
    column = raw.frame[name]
    texts = column.dropna().astype(str).iloc[:MANY]
    if len(texts) and texts.map(lambda text: bool(DATE.match(text))).all():
        times = pd.to_datetime(column.astype(object), format="ISO8601", errors="coerce", utc=True)
        return JoinTime(f"as_time({_name(raw, name)})", True, times.median())
    numbers = _numbers(column) if TIME_NAMED.search(name) else None
    return None if numbers is None else JoinTime(f"as_number({_name(raw, name)})", False, numbers.median())


def _numbers(column: pd.Series) -> pd.Series | None:
    """Returns a column as numbers; None if it holds others."""
    numbers = pd.to_numeric(column.astype(object), errors="coerce").astype("float64")
    return numbers if numbers.notna().sum() >= max(1, NUMERIC * column.notna().sum()) else None


def _lookup(main: Raw, other: Raw, mine: str, theirs: str, by: str, times: tuple[JoinTime, JoinTime] | None) -> str:
    """Returns the SQL for the columns of the row of each key; missing where that row is later."""
    made = [f",\n    other.{_name(other, name)} AS {quoted(f'{by}_{name}')}" for name in other.names if name != theirs]
    if times is not None:
        here, there = (time.sql.replace("(", f"({of}.", 1) for time, of in zip(times, ("given", "other"), strict=True))
    earlier = f" AND NOT coalesce({there} > {here}, false)" if times else ""
    keys = {"mine": _name(main, mine), "theirs": _name(other, theirs)}
    return str(SQL["lookup"]).format(made="".join(made), other=quoted(_stem(other)), earlier=earlier, **keys)


def _aggregates(main: Raw, other: Raw, mine: str, theirs: str, by: str, times: tuple[JoinTime, JoinTime] | None) -> str:
    """Returns the SQL for aggregates of the rows of each key; only of earlier ones if both tables have times."""
    made = ""
    for name in other.names:
        column = other.frame[name].astype(object)
        is_number = not is_id_name(name) and _numbers(column) is not None
        differs_everywhere = not is_number and _is_key(other, name)
        if name == theirs or differs_everywhere or _as_times(other, name) is not None:
            continue
        parts = dict(SQL["of_numbers" if is_number else "of_words"])
        if not is_number and (times is None or column.nunique() > MANY):
            del parts["last"]
        cells, over = f"as_{'number' if is_number else 'word'}({_name(other, name)})", " OVER w" if times else ""
        for part, form in parts.items():
            made += f",\n        {form.format(cells, over)} AS {quoted(f'{by}_{name}_{part}')}"
    facts = {"made": made, "other": quoted(_stem(other)), "count": quoted(f"{by}_count")}
    facts |= {"mine": _name(main, mine), "theirs": _name(other, theirs), "since_last": quoted(f"{by}_since_last")}
    if times is None:
        return str(SQL["groups"]).format(**facts)
    here, there = times
    since = "epoch(asked.time_ - past.time_) / 86400" if here.is_date else "asked.time_ - past.time_"
    return str(SQL["running"]).format(**facts, here=here.sql, there=there.sql, since=since)
