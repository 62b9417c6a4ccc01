"""Graphs from files: tables of nodes and edges, triples of features, GraphML, node-link JSON; and what is repaired."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from palmette.automl.endpoint.delivered import rows_of_file
from palmette.automl.samples.load import load
from palmette.errors import InputError, UserError

SHARED = Path(__file__).resolve().parents[4] / "shared" / "datasets"
NODES = pd.DataFrame({"id": ["a", "b", "c", "d"], "size": [1, 2, 3, 4], "kind": ["x", "y", "x", None]})
EDGES = pd.DataFrame(
    {"source": ["a", "b", "a", "b", "c", "c", "d"], "target": ["b", "a", "b", "c", "c", "nobody", "nobody"]}
)


def written(folder: Path, nodes: pd.DataFrame = NODES, edges: pd.DataFrame = EDGES) -> Path:
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    return folder


def test_edges_become_neighbours_and_what_is_left_out_is_reported(tmp_path: Path) -> None:
    found = load([written(tmp_path, edges=EDGES.iloc[[0, 1, 2, 3, 4, 3, 0, 1, 2, 3, 5, 6]])])
    assert found.table["neighbours"].tolist() == ["b", "a c", "b", None]
    kinds = {one.name: one.kind for one in found.samples.columns}
    assert (kinds["id"], kinds["neighbours"]) == ("node", "edges")
    counts = {one.code: one.count for one in found.samples.repairs}
    assert (counts["edges-unknown"], counts["edges-loops"]) == (2, 1)
    assert counts["edges-repeated"] == 7 and counts["edges-read"] == 2 and counts["nodes-alone"] == 1
    assert {one.role for one in found.samples.files} == {"train", "edges"}


def test_nodes_to_predict_are_read_with_their_edges(tmp_path: Path) -> None:
    said: list[str] = []
    rows = rows_of_file(written(tmp_path, NODES.drop(columns="kind"), EDGES.iloc[[0, 1, 2, 3, 5]]), tell=said.append)
    assert rows["neighbours"].tolist() == ["b", "a c", "b", None] and any("nobody" in one for one in said)


def test_named_files_and_archives_are_read_alike(tmp_path: Path) -> None:
    written(tmp_path, edges=EDGES.iloc[:5])
    with zipfile.ZipFile(tmp_path / "graph.zip", "w") as archive:
        for name in ("nodes.csv", "edges.csv"):
            archive.write(tmp_path / name, name)
    apart = load([tmp_path / "nodes.csv", tmp_path / "edges.csv"]).table
    assert apart.equals(load([tmp_path / "graph.zip"]).table)


def test_a_table_that_refers_to_nothing_is_no_table_of_edges(tmp_path: Path) -> None:
    written(tmp_path, edges=EDGES.assign(source="elsewhere"))
    with pytest.raises(UserError, match="do not belong together"):
        load([tmp_path])


def test_a_key_of_two_rows_is_refused(tmp_path: Path) -> None:
    NODES.to_csv(tmp_path / "train.csv", index=False)
    NODES.drop(columns="kind").to_csv(tmp_path / "test.csv", index=False)
    EDGES.iloc[:5].to_csv(tmp_path / "edges.csv", index=False)
    with pytest.raises(UserError, match="repeat the key of a node"):
        load([tmp_path])
    (tmp_path / "one").mkdir()
    nodes = pd.DataFrame({"id": [f"n{place}" for place in (*range(20), 0)], "kind": "a"})
    edges = pd.DataFrame({"source": nodes["id"].iloc[:15], "target": "n3"})
    with pytest.raises(UserError, match="repeat the key of a node in 'id'"):
        load([written(tmp_path / "one", nodes, edges)])


def test_triples_become_columns(tmp_path: Path) -> None:
    written(tmp_path, NODES.rename(columns={"id": "node"}), EDGES.iloc[:5])
    triples = pd.DataFrame({"node": ["a", "c"], "feature": [7, 10], "value": [1, 0.5]})
    triples.to_csv(tmp_path / "features_coo.csv", index=False)
    table = load([tmp_path]).table
    assert table["x7"].tolist() == [1, 0, 0, 0] and table["x10"].tolist() == [0, 0, 0.5, 0]


def test_keys_with_blanks_are_kept_whole(tmp_path: Path) -> None:
    names = {"a": "Ann Lee", "b": "Bo Li", "c": "Cy", "d": "Di"}
    edges = EDGES.iloc[:4].replace(names)
    table = load([written(tmp_path, NODES.replace({"id": names}), edges)]).table
    assert json.loads(table["neighbours"][1]) == ["Ann Lee", "Cy"]


def graphml(extra: str = "", graphs: int = 1) -> str:
    nodes = "".join(f'<node id="{row.id}"><data key="d">{row.size_}</data></node>' for row in _rows())
    edges = '<edge source="a" target="b"/><edge source="b" target="c"/>'
    key = '<key id="d" for="node" attr.name="size" attr.type="int"/>'
    one = f'<graph edgedefault="undirected">{nodes}{edges}</graph>'
    start = f'<?xml version="1.0"?>{extra}<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    return f"{start}{key}{one * graphs}</graphml>"


def _rows() -> list[pd.Series]:
    return list(NODES.rename(columns={"size": "size_"}).itertuples(index=False))  # type: ignore[arg-type]  # rows with names


def test_graphml_and_node_link_json_are_graphs(tmp_path: Path) -> None:
    (tmp_path / "one.graphml").write_text(graphml(), encoding="utf-8")
    links = [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]
    nodes = [{"id": one.id, "size": one.size_} for one in _rows()]
    (tmp_path / "two.json").write_text(json.dumps({"directed": False, "nodes": nodes, "links": links}), "utf-8")
    for name in ("one.graphml", "two.json"):
        table = load([tmp_path / name]).table
        assert table["size"].tolist() == [1, 2, 3, 4] and table["neighbours"].tolist() == ["b", "a c", "b", None]


GML = """graph [
  node [ id 7 label "Ann" size 1 ]
  node [ id 8 label "Bo" size 2 ]
  node [ id 9 label "{last}" size 3 ]
  edge [ source 7 target 8 value 2.5 ]
]"""
GEXF = """<?xml version="1.0"?><gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph>
<attributes class="node"><attribute id="0" title="size" type="integer"/></attributes><nodes>{nodes}</nodes>
<edges><edge id="0" source="a" target="b"/><edge id="1" source="b" target="c"/></edges></graph></gexf>"""


def test_gml_and_gexf_are_graphs(tmp_path: Path) -> None:
    node = '<node id="{0.id}" label="{0.id}"><attvalues><attvalue for="0" value="{0.size_}"/></attvalues></node>'
    (tmp_path / "one.gexf").write_text(GEXF.format(nodes="".join(map(node.format, _rows()))), "utf-8")
    (tmp_path / "two.gml").write_text(GML.format(last="Cy"), "utf-8")
    (tmp_path / "same.gml").write_text(GML.format(last="Ann"), "utf-8")
    table = load([tmp_path / "one.gexf"]).table
    assert table["size"].tolist() == [1, 2, 3, 4] and table["neighbours"].tolist() == ["b", "a c", "b", None]
    assert "label" not in table
    table = load([tmp_path / "two.gml"]).table
    assert table["id"].tolist() == ["Ann", "Bo", "Cy"] and table["neighbours"].tolist() == ["Bo", "Ann", None]
    assert load([tmp_path / "same.gml"]).table["neighbours"].tolist() == ["8", "7", None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (graphml('<!DOCTYPE x [<!ENTITY y "z">]>'), "declares entities"),
        (graphml(graphs=2), "2 graphs"),
        (graphml()[:-30], "damaged"),
    ],
)
def test_graphml_that_cannot_be_read_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.graphml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load([tmp_path / "bad.graphml"])


def test_nodes_in_files_of_their_own_make_one_graph(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"node": range(40), "a": random.normal(size=40), "b": random.normal(size=40)})
    table["label"] = np.where(table["a"] > 0, "up", "down")
    edges = pd.DataFrame({"source": range(39), "target": range(1, 40)})
    parts = {"train": table.iloc[:20], "test": table.iloc[20:32], "other_nodes": table.iloc[32:]}
    for name, part in parts.items():
        part.drop(columns=[] if name == "train" else ["label"]).to_csv(tmp_path / f"{name}.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    train, test, others = (tmp_path / f"{name}.csv" for name in parts)
    loaded = load([train, test, others, tmp_path / "edges.csv"])
    assert loaded.inference is not None and len(loaded.inference) == 20
    asked = loaded.inference.iloc[:12]
    assert loaded.table["node"].tolist() == [str(one) for one in range(20)]
    assert asked["node"].tolist() == [str(one) for one in range(20, 32)] and "label" not in asked
    assert asked["neighbours"][11] == "30 32"


@pytest.mark.skipif(not (SHARED / "cora").is_dir(), reason="no shared sets here")
def test_a_shared_set_is_read_as_it_lies() -> None:
    found = load([SHARED / "cora"])
    assert found.table.shape == (2708, 1437 - 1) and found.samples.split_column == "split"
    counts = {one.code: one.count for one in found.samples.repairs}
    assert counts["edges-read"] == 5278
