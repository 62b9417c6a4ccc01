"""Columns from related tables: a lookup where each key has one row there, else aggregates of the rows of a key.

Where both tables have times, a row sees only what is earlier than itself. The time of a row is its latest column of
times, by median, as a snapshot is later than the events in it.
"""

import re
from collections.abc import Sequence

import pandas as pd

from palmette.automl.kinds import is_id_name
from palmette.automl.samples import Repairs, TableError
from palmette.automl.samples.tables import Raw

SHARED = 0.5  # least share of the keys of the smaller side that the other side has
NUMERIC = 0.95  # least share of present values that are numbers in a column of numbers
MANY = 50  # most values of a column whose last one is a feature
DATE = re.compile(r"\d{4}-\d\d-\d\d")
TIME_NAMED = re.compile(r"time|date|stamp", re.IGNORECASE)
OF_NUMBERS = {"sum": "coalesce(sum({0}) OVER w, 0)", "mean": "avg({0}) OVER w", "min": "min({0}) OVER w",
              "max": "max({0}) OVER w"}  # fmt: skip
OF_WORDS = {"distinct": "count(DISTINCT {0}) OVER w::DOUBLE", "last": "last_value({0} IGNORE NULLS) OVER w"}
RUNNING = """
WITH running AS (
    SELECT key, time, {made} FROM others WHERE key <> '' AND time IS NOT NULL
    WINDOW w AS (PARTITION BY key ORDER BY time RANGE UNBOUNDED PRECEDING)
)
SELECT coalesce(r.count, 0), r.* EXCLUDE (key, time, count), r.time
FROM asked ASOF LEFT JOIN running r ON asked.key = r.key AND r.time < asked.time ORDER BY asked.row
"""  # of rows of one time, each has the aggregates of all


def with_related(main: Raw, others: Sequence[Raw], repairs: Repairs, required: bool = True) -> Raw:
    """Returns the table with columns from others, by every key that they share; raises TableError where a table shares
    no key, and each is required."""
    joined = main
    for other in others:
        links = _links(main, other)
        if not links and required:
            message = f"{other.name!r} shares no key with {main.name!r}."
            raise TableError(message, "Name tables with a common column of keys.", code="no-shared-key", options=())
        for mine, theirs in links:
            found = _lookup if _is_key(other, theirs) else _aggregates
            made = found(main, other, mine, theirs).dropna(axis=1, how="all")
            by = f"{_stem(other)}_by_{theirs}" if len(links) > 1 else _stem(other)
            joined = joined.with_columns(made, [f"{by}_{name}" for name in made])
            repairs.add("joined", other.name, made.shape[1], key=theirs, main=main.name)
    return joined


def _links(main: Raw, other: Raw) -> list[tuple[str, str]]:
    """Returns the pairs of columns that hold the same keys: of one name, or `id` and the other table's `listing_id`."""
    return [
        (mine, theirs)
        for mine in main.names
        for theirs in other.names
        if _spellings(mine, main) & _spellings(theirs, other)
        and ((is_id_name(mine) and is_id_name(theirs)) or _is_key(main, mine) or _is_key(other, theirs))
        and _share_values({*main.texts(mine)} - {""}, {*other.texts(theirs)} - {""})
    ]


def _spellings(name: str, raw: Raw) -> set[str]:
    plain = re.sub(r"[\s_-]", "", name.casefold())
    return {plain, f"{_stem(raw).removesuffix('s')}id"} if plain == "id" else {plain}


def _stem(raw: Raw) -> str:
    return re.sub(r"\W", "_", raw.name.rpartition("/")[2].partition(".")[0].casefold())


def _is_key(raw: Raw, name: str) -> bool:
    texts = raw.texts(name)
    return bool(texts[texts != ""].is_unique)


def _share_values(some: set[str], others: set[str]) -> bool:
    return len(some & others) > SHARED * min(len(some), len(others))


def _times(raw: Raw, key: str) -> pd.Series | None:
    """Returns the time of each row, as a timestamp or a number; None if there is none but the key."""
    found = [times for name in raw.names if name != key and (times := _as_times(raw, name)) is not None]
    dates = [one for one in found if one.dtype.kind == "M"]
    return max(dates or found, key=lambda one: one.median(), default=None)


def _as_times(raw: Raw, name: str) -> pd.Series | None:
    """Returns a column as timestamps, or as numbers that its name calls times; None for any other."""
    column = raw.frame[raw.names.index(name)]
    texts = column.dropna().astype(str).iloc[:MANY]
    if len(texts) and texts.map(lambda text: bool(DATE.match(text))).all():
        times = pd.to_datetime(column.astype(object), format="ISO8601", errors="coerce", utc=True)
        return times.dt.tz_localize(None).astype("datetime64[ns]")
    return _numbers(column) if TIME_NAMED.search(name) else None


def _numbers(column: pd.Series) -> pd.Series | None:
    """Returns a column as numbers; None if it holds others."""
    numbers = pd.to_numeric(column.astype(object), errors="coerce").astype("float64")
    return numbers if numbers.notna().sum() >= max(1, NUMERIC * column.notna().sum()) else None


def _both_times(main: Raw, mine: str, other: Raw, theirs: str) -> tuple[pd.Series, pd.Series] | None:
    here, there = _times(main, mine), _times(other, theirs)
    return (here, there) if here is not None and there is not None and here.dtype.kind == there.dtype.kind else None


def _lookup(main: Raw, other: Raw, mine: str, theirs: str) -> pd.DataFrame:
    """Returns the columns of the row of each key; missing where that row is later."""
    frame = other.frame.set_axis(list(other.names), axis=1).set_index(other.texts(theirs)).drop(columns=theirs)
    keys, times = main.texts(mine), _both_times(main, mine, other, theirs)
    made = frame[frame.index != ""].reindex(keys).set_axis(main.frame.index)
    if times is not None:
        here, there = times
        when = there.set_axis(other.texts(theirs))
        made[(when[when.index != ""].reindex(keys).set_axis(made.index) > here).to_numpy()] = None
    return made


def _aggregates(main: Raw, other: Raw, mine: str, theirs: str) -> pd.DataFrame:
    """Returns aggregates of the rows of each key, of those before the row's own time if both tables have times."""
    import duckdb

    times = _both_times(main, mine, other, theirs)
    here, there = times or (1.0, 0.0)
    asked = pd.DataFrame({"row": main.frame.index, "key": main.texts(mine), "time": here})
    rows = pd.DataFrame({"key": other.texts(theirs), "time": there})
    made = {"count": "count(*) OVER w::DOUBLE"}
    for place, name in enumerate(other.names):
        column, cells = other.frame[place].astype(object), f"c{place}"
        numbers = None if is_id_name(name) else _numbers(column)
        differs_everywhere = numbers is None and _is_key(other, name)
        if name == theirs or differs_everywhere or _as_times(other, name) is not None:
            continue
        rows[cells] = column.astype(str).where(column.notna(), None) if numbers is None else numbers
        parts = dict(OF_WORDS if numbers is None else OF_NUMBERS)
        if numbers is None and (times is None or column.nunique() > MANY):
            del parts["last"]
        made |= {f"{name}_{part}": form.format(cells) for part, form in parts.items()}
    chosen = ", ".join(f"{form} AS {'count' if not at else f'm{at}'}" for at, form in enumerate(made.values()))
    with duckdb.connect() as connection:
        connection.register("asked", asked)
        connection.register("others", rows)
        found = connection.execute(RUNNING.format(made=chosen)).df().set_axis([*made, "since_last"], axis=1)
    since = asked["time"] - found.set_index(main.frame.index).pop("since_last")
    found["since_last"] = (since.dt.total_seconds() / 86_400 if since.dtype.kind == "m" else since).to_numpy()
    return found.set_axis(main.frame.index).drop(columns=[] if times else "since_last")
