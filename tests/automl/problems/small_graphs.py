"""Small graphs whose classes show in the columns and in the edges, as files and as blueprints."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.candidates import Blueprint, Candidate, ColumnUse, Folds
from palmette.automl.samples.load import load
from palmette.automl.splitting.data_splits import DataSplits

SGC = Candidate(name="sgc", learner="sgc")
PLAIN = Candidate(name="linear", learner="linear")
NETWORK = Candidate(name="gpr_gnn", learner="gpr_gnn")


def tables(nodes: int = 240, alike: float = 0.9, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Nodes `p0` ... with a weak number, a part of them without their class; edges join `alike` nodes that often."""
    random = np.random.default_rng(seed)
    classes = random.integers(0, 3, nodes)
    starts = random.integers(0, nodes, 4 * nodes)
    same = [random.choice(np.flatnonzero(classes == classes[one])) for one in starts]
    ends = np.where(random.random(len(starts)) < alike, same, random.integers(0, nodes, len(starts)))
    table = pd.DataFrame({"paper": [f"p{one}" for one in range(nodes)]})
    table["size"] = classes + random.normal(0, 1.5, nodes)
    table["year"] = random.integers(1990, 2000, nodes)
    table["area"] = np.array(["ai", "db", "os"], dtype=object)[classes]
    table.loc[random.random(nodes) < 0.2, "area"] = None
    edges = pd.DataFrame({"source": [f"p{one}" for one in starts], "target": [f"p{one}" for one in ends]})
    return table, edges


def written(folder: Path, **options: Any) -> Path:
    """A folder with nodes.csv and edges.csv."""
    nodes, edges = tables(**options)
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    return folder


def graph_blueprint(**changes: Any) -> Blueprint:
    """For the column `area`."""
    fields: dict[str, Any] = {
        "package": "area_model",
        "title": "area",
        "problem": "node_classification",
        "target": "area",
        "metric": "accuracy",
        "classes": ("ai", "db", "os"),
        "rows": 150,
        "columns": (
            ColumnUse(name="paper", kind="node", examples=("p0", "p1", "p2", "p3")),
            ColumnUse(name="size", kind="number", examples=(0.5, 1.0)),
            ColumnUse(name="year", kind="number", examples=(1991.0, 1995.0)),
            ColumnUse(name="neighbours", kind="edges", examples=("p1 p2", "p3", None)),
        ),
        "folds": Folds(count=3, kind="stratified"),
        "candidates": (SGC, PLAIN),
        "seconds": 10.0,
    }
    return Blueprint(**{**fields, **changes})


def graph_splits(folder: Path, held_out: int = 60, **options: Any) -> DataSplits:
    """Labelled nodes in two parts; those that are held out, and those without a class, are the context."""
    table = load([written(folder, **options)]).table
    known = table[table["area"].notna()].reset_index(drop=True)
    train, holdout = known.iloc[held_out:].reset_index(drop=True), known.iloc[:held_out].reset_index(drop=True)
    context = pd.concat([holdout, table[table["area"].isna()]], ignore_index=True).drop(columns="area")
    return DataSplits(train, holdout, None, context=context)
