"""Files that hold a whole graph, GraphML and the node-link JSON of NetworkX, as a table of nodes and one of edges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from palmette.automl.samples.opening import Opened

NODE = "id"
ENDS = ("source", "target")
TYPES = frozenset({"int", "long", "float", "double"})
DECLARED = re.compile(rb"<!(DOCTYPE|ENTITY)", re.I)
Tables = list[tuple[str, pd.DataFrame]]


def graphml_tables(opened: Opened) -> Tables:
    """Nodes and edges of GraphML, with their attributes.

    Raises:
        InputError: it is damaged, or declares entities, which can make a short file endless.
    """
    if DECLARED.search(opened.data):
        message = "The GraphML file declares entities, which are not expanded."
        raise opened.refusal("not-a-table", message, "Write it again without a DOCTYPE.")
    try:
        root = ElementTree.fromstring(opened.data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise opened.damaged(error, "GraphML") from error
    keys = {one.get("id", ""): one for one in root.iterfind("{*}key")}
    graphs = root.findall("{*}graph")
    if len(graphs) != 1:
        message = f"It holds {len(graphs)} graphs; the nodes of one graph can be classified, and no whole graphs."
        raise opened.refusal("not-a-table", message, "Give a file with one graph.")
    nodes = [{NODE: one.get("id"), **_attributes(one, keys)} for one in graphs[0].iterfind("{*}node")]
    edges = [{name: one.get(name) for name in ENDS} | _attributes(one, keys) for one in graphs[0].iterfind("{*}edge")]
    return _tables(opened, nodes, edges)


def node_link_tables(opened: Opened, text: str) -> Tables | None:
    """Nodes and edges of node-link JSON; None where the text is something else."""
    start = text[:2_000_000]
    if '"nodes"' not in text or not ('"links"' in text or '"edges"' in text) or not start.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    nodes = value.get("nodes")
    edges = value.get("links", value.get("edges"))
    lists = all(isinstance(one, list) and all(isinstance(row, dict) for row in one) for one in (nodes, edges))
    if not lists or not all(NODE in one for one in nodes) or not all({*ENDS} <= one.keys() for one in edges):
        return None
    return _tables(opened, nodes, edges)


def _tables(opened: Opened, nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]) -> Tables:
    found: Tables = []
    for name, rows in (("nodes", nodes), ("edges", edges)):
        columns = dict.fromkeys(key for one in rows for key in one)
        opened.require_size(len(rows), len(columns))
        found.append((name, pd.DataFrame({key: _column(one.get(key) for one in rows) for key in columns})))
    return [one for one in found if len(one[1])]


def _column(values: Iterable[Any]) -> pd.Series:
    return pd.Series(list(values), dtype=object).infer_objects()


def _attributes(element: ElementTree.Element, keys: Mapping[str, ElementTree.Element]) -> dict[str, Any]:
    """The `data` of a node or an edge by the names of their keys."""
    found: dict[str, Any] = {}
    for one in element.iterfind("{*}data"):
        key, text = keys.get(one.get("key", "")), (one.text or "").strip()
        name = key.get("attr.name", key.get("id", "")) if key is not None else one.get("key", "")
        is_number = key is not None and key.get("attr.type") in TYPES
        found[name if name not in (NODE, *ENDS) else f"{name}_value"] = _number(text) if is_number else text or None
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
