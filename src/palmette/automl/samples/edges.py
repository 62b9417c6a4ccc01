"""Edges beside rows: tables of pairs of nodes become a column with the neighbours of each node.

A table is one of edges where its two columns of ends hold keys of the other tables (referential inclusion). A table of
triples (node, feature, value) beside it becomes columns of the nodes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.opening import MOST_COLUMNS
from palmette.automl.samples import Loaded, Reading, Repairs
from palmette.automl.samples.joins import neighbours_join
from palmette.automl.samples.tables import Raw, keys_of
from palmette.automl.samples.values import EXAMPLES, MISSING, Typed, described
from palmette.errors import UserError
from palmette.problems import error_of

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
FIRST = 50  # rows by which most columns are recognised as no keys
REPEATED = 0.1  # largest share of keys that are repeated by mistake
SHOWN = 3


@dataclass(frozen=True)
class Edges:
    """A table of edges, the names of its two columns of keys, and the column of keys of the nodes."""

    raw: Raw
    ends: tuple[str, str]
    node: str

    def joined(self, loaded: Loaded, repairs: Repairs) -> Loaded:
        """The same data with a column of the neighbours of each node; raises UserError where a key is repeated."""
        node, frames = self.node, [one for one in (loaded.table, loaded.inference) if one is not None]
        keys = pd.concat([keys_of(one[node]) for one in frames], ignore_index=True)
        if (repeated := keys[keys.duplicated()]).size:
            raise error_of(UserError, "nodes-repeated", count=len(repeated), node=node, example=repeated.iloc[0])
        texts = _neighbours(keys, self, repairs)
        repairs.add("nodes-alone", self.raw.name, texts.isna().sum())
        name = _free_name(loaded.table)
        rows, first = len(loaded.table), {node: keys.to_numpy(object), name: texts.to_numpy(object)}
        table = loaded.table.assign(**{column: cells[:rows] for column, cells in first.items()})
        rest = {column: cells[rows:] for column, cells in first.items()}
        as_node = {"kind": "node", "dtype": "object", "distinct": len(keys), "reading": Reading(form="words")}
        as_node["examples"] = tuple(map(str, keys.iloc[:EXAMPLES]))
        columns = [one.model_copy(update=as_node) if one.name == node else one for one in loaded.samples.columns]
        column = described(name, name, Typed(texts, Reading(form="words")), len(texts), "edges")
        in_file = next(one.source or one.name for one in columns if one.name == node)
        join = neighbours_join(self.raw, self.ends, in_file, name)
        found = {
            "joins": (join,) if self.raw.format in ("csv", "parquet", "excel") else (),  # others hold nodes, too
            "columns": (*columns, column),
            "files": (*loaded.samples.files, self.raw.file("edges")),
            "repairs": tuple(dict.fromkeys((*loaded.samples.repairs, *repairs))),
        }
        inference = loaded.inference.assign(**rest) if loaded.inference is not None else None
        return replace(loaded, samples=loaded.samples.model_copy(update=found), table=table, inference=inference)

    def beside(self, rows: Raw, repairs: Repairs) -> Raw:
        """Rows to predict with the same column; edges to nodes of other tables are left out."""
        texts = _neighbours(rows.texts(self.node), self, repairs)
        return rows.with_columns(pd.DataFrame({_free_name(rows.names): texts}))


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
    """The column with a key for nearly each row, which the ends of edges refer to; empty where there is none."""
    shares: dict[str, float] = {}
    for name in dict.fromkeys(name for one in tables for name in one.names):
        columns = [one.frame[name] for one in tables if name in one.names]
        found = [keys_of(one) for one in columns if one.iloc[:FIRST].duplicated().mean() <= REPEATED]
        different = [one for one in found if one.duplicated().mean() <= REPEATED and not one.isin({"", *MISSING}).any()]
        shares[name] = float(keys.isin(pd.concat(different)).mean()) if different and len(keys) else 0.0
    best = max(shares, key=lambda name: shares[name], default="")
    return best if shares.get(best, 0.0) >= INCLUDED else ""


def _with_features(tables: Sequence[Raw], node: str) -> list[Raw]:
    """Tables of nodes; triples of node, feature and value become columns of theirs."""
    triples = next((one for one in tables if _is_of_triples(one, node)), None)
    if triples is None:
        return list(tables)
    keys, features, values = (triples.texts(name) for name in triples.names)
    order = features[pd.to_numeric(features, errors="coerce").sort_values(kind="stable").index].unique()
    cells = pd.DataFrame({"node": keys, "feature": features, "value": pd.to_numeric(values, errors="coerce")})
    wide = cells.pivot_table("value", "node", "feature", aggfunc="last").reindex(columns=order).add_prefix("x")
    others = [one for one in tables if one is not triples]
    for place, one in enumerate(others):
        if node in one.names:
            added = wide.reindex(one.texts(node)).fillna(0.0).set_axis(one.frame.index)
            others[place] = one.with_columns(added)
    return others


def _is_of_triples(table: Raw, node: str) -> bool:
    if len(table.names) != 3 or table.names[0] != node or not FEATURES_NAME.search(table.name):
        return False
    return 0 < table.texts(table.names[1]).nunique() <= MOST_COLUMNS


def _free_name(columns: Container[str]) -> str:
    return NEIGHBOURS if NEIGHBOURS not in columns else f"{NEIGHBOURS}_of_node"


def _neighbours(keys: pd.Series[Any], edges: Edges, repairs: Repairs) -> pd.Series[Any]:
    """The neighbours of each node as text, in the order of the keys."""
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
    return pd.Series([as_text(list(values[one])) for one in parts], dtype=object)
