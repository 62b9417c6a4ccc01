"""Tables beside the rows: related tables become columns, and tables of edges become the neighbours of each node.

Related tables give a lookup where each key has one row there, else aggregates of the rows of a key. Where both tables
have times, a row sees only what is earlier than itself. The time of a row is its latest column of times, by median, as
a snapshot is later than the events in it.

A table is one of edges where its two columns of ends hold keys of the other tables (referential inclusion). A table of
triples (node, feature, value) beside it becomes columns of the nodes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.kinds import is_id_name
from palmette.automl.samples import Loaded, Reading, Repairs, TableError
from palmette.automl.samples.opening import MOST_COLUMNS
from palmette.automl.samples.tables import Raw, keys_of
from palmette.automl.samples.values import EXAMPLES, MISSING, Typed, described
from palmette.errors import UserError

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

NEIGHBOURS = "neighbours"
PAIRS = (
    ("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"), ("start", "end"),
    ("node1", "node2"), ("id1", "id2"), ("citing", "cited"), ("sourceid", "targetid"), ("fromid", "toid"),
    ("fromnode", "tonode"), ("sourcenode", "targetnode"),
)  # fmt: skip
"""Names of the two ends of an edge."""
EDGES_NAME = re.compile(r"(^|[^a-z])(edges?|edge_?list|links?|cites|citations?|friendships?|adjacency)([^a-z]|$)", re.I)
FEATURES_NAME = re.compile(r"(^|[^a-z])(features?|attributes?|words?|coo)([^a-z]|$)", re.I)
INCLUDED = 0.8  # least share of the ends that are keys of nodes
FIRST = 50  # rows in which a column of keys has no value twice: most other columns are recognised by them
SHOWN = 3


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
        and _share_values(main.texts(mine), other.texts(theirs))
    ]


def _spellings(name: str, raw: Raw) -> set[str]:
    plain = re.sub(r"[\s_-]", "", name.casefold())
    return {plain, f"{_stem(raw).removesuffix('s')}id"} if plain == "id" else {plain}


def _stem(raw: Raw) -> str:
    return re.sub(r"\W", "_", raw.name.rpartition("/")[2].partition(".")[0].casefold())


def _is_key(raw: Raw, name: str) -> bool:
    texts = raw.texts(name)
    return bool(texts[texts != ""].is_unique)


def _share_values(some: pd.Series, others: pd.Series) -> bool:
    left, right = {*some} - {""}, {*others} - {""}
    return len(left & right) > SHARED * min(len(left), len(right))


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


@dataclass(frozen=True)
class Edges:
    """A table of edges, the names of its two columns of keys, and the column of keys of the nodes."""

    raw: Raw
    ends: tuple[str, str]
    node: str


def edges_apart(raws: Sequence[Raw], repairs: Repairs) -> tuple[list[Raw], Edges | None]:
    """The tables of nodes, and the edges among them; all tables, and None, where no table is one of edges."""
    for raw in raws:
        ends, others = _ends(raw), [one for one in raws if one is not raw]
        if ends is None or not others:
            continue
        keys = pd.concat([raw.texts(name) for name in ends], ignore_index=True)
        if node := _node_column(others, keys[keys != ""]):
            repairs.add("edges-attributes", raw.name, len(raw.names) - len(ends))
            return _with_features(others, node), Edges(raw, ends, node)
    return list(raws), None


def with_neighbours(loaded: Loaded, edges: Edges, repairs: Repairs) -> Loaded:
    """The same data with a column of the neighbours of each node; raises UserError where two rows have the same key."""
    node, frames = edges.node, [one for one in (loaded.table, loaded.inference) if one is not None]
    keys = pd.concat([keys_of(one[node]) for one in frames], ignore_index=True)
    if (repeated := keys[keys.duplicated()]).size:
        message = f"{len(repeated)} rows repeat the key of a node in {node!r}, e.g. {repeated.iloc[0]!r}."
        raise UserError(message, "Give each node one row.", code="nodes-repeated")
    texts = pd.Series([as_text(one) for one in _neighbours(keys, edges, repairs)], dtype=object)
    repairs.add("nodes-alone", edges.raw.name, texts.isna().sum())
    name = NEIGHBOURS if NEIGHBOURS not in loaded.table else f"{NEIGHBOURS}_of_node"
    rows, first = len(loaded.table), {node: keys.to_numpy(object), name: texts.to_numpy(object)}
    table = loaded.table.assign(**{column: cells[:rows] for column, cells in first.items()})
    rest = {column: cells[rows:] for column, cells in first.items()}
    as_node = {"kind": "node", "dtype": "object", "distinct": len(keys), "reading": Reading(form="words")}
    as_node["examples"] = tuple(map(str, keys.iloc[:EXAMPLES]))
    columns = [one.model_copy(update=as_node) if one.name == node else one for one in loaded.samples.columns]
    column = described(name, name, Typed(texts, Reading(form="words")), len(texts), "edges")
    found = {
        "columns": (*columns, column),
        "files": (*loaded.samples.files, edges.raw.file("edges")),
        "repairs": tuple(dict.fromkeys((*loaded.samples.repairs, *repairs))),
    }
    inference = loaded.inference.assign(**rest) if loaded.inference is not None else None
    return replace(loaded, samples=loaded.samples.model_copy(update=found), table=table, inference=inference)


def as_text(names: Sequence[str]) -> str | None:
    """Keys with blanks between them, as JSON where a key has a blank itself; None for none.

    >>> as_text(["3", "8"]), as_text(["Ann Lee"]), as_text([])
    ('3 8', '["Ann Lee"]', None)
    """
    plain = all(not re.search(r"\s", name) for name in names) and not (names and names[0].startswith("["))
    return (" ".join(names) if plain else json.dumps(list(names), ensure_ascii=False)) or None if names else None


def _ends(raw: Raw) -> tuple[str, str] | None:
    """The columns of ends, by their names, or because a table of two columns is named as one of edges."""
    plain = {re.sub(r"[\s_-]", "", name.casefold()): name for name in raw.names}
    named = ((plain[first], plain[second]) for first, second in PAIRS if first in plain and second in plain)
    two = raw.names if len(raw.names) == 2 and EDGES_NAME.search(raw.name) else None
    return next(named, None) or two


def _node_column(tables: Sequence[Raw], keys: pd.Series[Any]) -> str:
    """The column with a different key in each row, which the ends of edges refer to; empty where there is none."""
    best, most = "", INCLUDED - 1e-9
    for name in dict.fromkeys(name for one in tables for name in one.names):
        columns = [one.frame[one.names.index(name)] for one in tables if name in one.names]
        found = [keys_of(one) for one in columns if one.iloc[:FIRST].is_unique]
        different = [one for one in found if one.is_unique and not one.isin({"", *MISSING}).any()]
        share = float(keys.isin(pd.concat(different)).mean()) if different and len(keys) else 0.0
        best, most = (name, share) if share > most else (best, most)
    return best


def _with_features(tables: Sequence[Raw], node: str) -> list[Raw]:
    """Tables of nodes; triples of node, feature and value become columns of theirs."""
    triples = next((one for one in tables if _is_of_triples(one, node)), None)
    if triples is None:
        return list(tables)
    keys, features, values = (triples.texts(name) for name in triples.names)
    order = features[pd.to_numeric(features, errors="coerce").sort_values(kind="stable").index].unique()
    cells = pd.DataFrame({"node": keys, "feature": features, "value": pd.to_numeric(values, errors="coerce")})
    wide = cells.pivot_table("value", "node", "feature", aggfunc="last").reindex(columns=order)
    names, others = tuple(f"x{one}" for one in order), [one for one in tables if one is not triples]
    return [
        one.with_columns(wide.reindex(one.texts(node)).fillna(0.0).set_axis(one.frame.index), names)
        if node in one.names
        else one
        for one in others
    ]


def _is_of_triples(table: Raw, node: str) -> bool:
    if len(table.names) != 3 or table.names[0] != node or not FEATURES_NAME.search(table.name):
        return False
    return 0 < table.texts(table.names[1]).nunique() <= MOST_COLUMNS


def _neighbours(keys: pd.Series[Any], edges: Edges, repairs: Repairs) -> list[list[str]]:
    """The keys of the neighbours of each node, in the order of the table."""
    index, name = pd.Index(keys), edges.raw.name
    texts = [edges.raw.texts(one) for one in edges.ends]
    starts, ends = (index.get_indexer(pd.Index(one)) for one in texts)
    known = (starts >= 0) & (ends >= 0)
    unknown = pd.concat([texts[0][starts < 0].iloc[:SHOWN], texts[1][ends < 0].iloc[:SHOWN]]).unique()[:SHOWN]
    repairs.add("edges-unknown", name, (~known).sum(), shown=", ".join(repr(one[:40]) for one in unknown))
    loops = known & (starts == ends)
    repairs.add("edges-loops", name, loops.sum())
    pairs = np.sort(np.column_stack([starts, ends])[known & ~loops], axis=1)
    different = np.unique(pairs, axis=0)
    repairs.add("edges-repeated", name, len(pairs) - len(different))
    repairs.add("edges-read", name, len(different))
    both = np.vstack([different, different[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    parts = np.split(both[:, 1], np.searchsorted(both[:, 0], np.arange(1, len(keys))))
    values = keys.to_numpy(object)
    return [list(values[one]) for one in parts]
