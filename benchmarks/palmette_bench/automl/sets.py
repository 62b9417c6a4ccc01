"""The sets of the bench, as a user would bring them: files to learn from, rows to predict, and the answers hidden.

A set is a folder with `meta.yaml`, a table (images and sounds: `labels.csv` beside the files; graphs: `nodes.csv`,
`edges.csv.gz`, `features_coo.csv.gz`) and a split: `split.csv.gz`, or a column of parts. Validation rows are learnt
from. Files of images and sounds are copied under new names, because a path may give the class away.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from pydantic import TypeAdapter

from palmette.documents import Model
from palmette.errors import MachineError, UserError, did_you_mean

TEST = ("test", "TEST")
LEARNT = ("train", "valid", "TRAIN", "TRIAL")
ORIGINS = 8
"""Forecasts per series, evenly spaced over the last tenth of the rows."""
TESTED = 0.1


class BenchSet(Model):
    """One set with its task."""

    name: str
    task: str
    target: str
    metric: str
    about: str
    """The data, as a user would name them."""
    wish: str
    """What is asked for."""
    limit: str = ""
    """The constraint of the constraint-aware setting."""
    positive: str = ""
    clusters: int = 0
    horizon: int = 0
    time: tuple[str, ...] = ()
    """Columns that together are the time."""
    drop: tuple[str, ...] = ()
    agent: str = ""
    """The set of AutoML-Agent that it is, or stands in for."""
    stands_in: bool = False

    @property
    def problem(self) -> str:
        return self.task.rpartition("_")[2] if self.task != "node_classification" else self.task


@dataclass(frozen=True)
class Question:
    """Rows whose answers are hidden: a file to predict, and the truth of its first rows, in their order.

    Nodes of a graph that are in no part follow after them.
    """

    file: Path
    truth: NDArray[np.object_]


@dataclass(frozen=True)
class PreparedSet:
    """A set on disk, ready for a run."""

    data: tuple[Path, ...]
    """What the run is given."""
    questions: tuple[Question, ...]
    given: bool
    """Whether the rows to predict are among the data."""


@cache
def bench_sets() -> dict[str, BenchSet]:
    """All sets by name."""
    text = Path(__file__).with_name("sets.yaml").read_text(encoding="utf-8")
    return {one.name: one for one in TypeAdapter(list[BenchSet]).validate_python(yaml.safe_load(text))}


def bench_set(name: str) -> BenchSet:
    """The set of this name; UserError if unknown."""
    if name not in bench_sets():
        raise UserError(f"There is no set {name!r}.{did_you_mean(name, bench_sets())}", code="unknown-set")
    return bench_sets()[name]


def prepare(one: BenchSet, root: Path, into: Path) -> PreparedSet:
    """Writes what a run is given to the folder `into`, from the folder of all sets.

    Raises:
        MachineError: the set is not in `root`.
    """
    folder = root / one.name
    if not (folder / "meta.yaml").is_file():
        message = f"The set {one.name!r} is not in {str(root)!r}."
        raise MachineError(message, "Name the folder of the sets with --data.", code="no-such-set")
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    if one.problem == "forecasting":
        return _series(one, _table(folder), into)
    if one.problem == "node_classification":
        return _graph(one, folder, into)
    return _rows(one, folder, into)


def _rows(one: BenchSet, folder: Path, into: Path) -> PreparedSet:
    table = _with_files(_table(folder).drop(columns=list(one.drop), errors="ignore"), folder, into)
    parts = _parts(table, folder)
    table = table.drop(columns=[name for name in table if set(map(str, table[name])) <= {*TEST, *LEARNT}])
    rows = table[parts.isin(TEST)]
    truth = rows[one.target].to_numpy(dtype=object)
    learnt = table[parts.isin(LEARNT)]
    clusters = one.problem == "clustering"
    learnt.drop(columns=one.target if clusters else []).to_csv(into / "train.csv", index=False)
    rows.drop(columns=one.target).to_csv(into / "rows.csv", index=False)
    files = ("train.csv",) if clusters else ("train.csv", "rows.csv")
    # A table of paths needs its folder; a file alone is enough elsewhere.
    data = (into,) if (into / "files").is_dir() else tuple(into / name for name in files)
    return PreparedSet(data, (Question(into / "rows.csv", truth),), not clusters)


def _graph(one: BenchSet, folder: Path, into: Path) -> PreparedSet:
    nodes = pd.read_csv(folder / "nodes.csv")
    triples = pd.read_csv(folder / "features_coo.csv.gz")
    wide = triples.pivot_table(index="node", columns="feature", values="value", fill_value=0).astype(np.int8)
    wide.columns = [f"word_{name}" for name in wide.columns]
    nodes = nodes.merge(wide, left_on="node", right_index=True, how="left").fillna(dict.fromkeys(wide.columns, 0))
    labelled = nodes[nodes["split"].isin(LEARNT)]
    asked = nodes[nodes["split"].isin(TEST)]
    rest = nodes.drop(labelled.index).drop(asked.index)
    labelled.drop(columns="split").to_csv(into / "train.csv", index=False)
    pd.concat([asked, rest]).drop(columns=["split", one.target]).to_csv(into / "rows.csv", index=False)
    pd.read_csv(folder / "edges.csv.gz").to_csv(into / "edges.csv", index=False)
    data = tuple(into / f"{name}.csv" for name in ("train", "rows", "edges"))
    return PreparedSet(data, (Question(data[1], asked[one.target].to_numpy(dtype=object)),), True)


def _series(one: BenchSet, table: pd.DataFrame, into: Path) -> PreparedSet:
    table = table.drop(columns=list(one.drop), errors="ignore")
    if len(one.time) > 1:
        stamps = pd.to_datetime(table[list(one.time)])
        table = table.drop(columns=list(one.time))
        table.insert(0, "time", stamps)
    table[one.target] = table[one.target].ffill().bfill()
    first = int(len(table) * (1 - TESTED))
    origins = np.linspace(first, len(table) - one.horizon, ORIGINS).astype(int)
    table.iloc[:first].to_csv(into / "train.csv", index=False)
    questions = []
    for number, origin in enumerate(origins):
        file = into / f"history_{number}.csv"
        table.iloc[:origin].to_csv(file, index=False)
        questions.append(Question(file, table[one.target].iloc[origin : origin + one.horizon].to_numpy(dtype=object)))
    return PreparedSet((into / "train.csv",), tuple(questions), False)


def _table(folder: Path) -> pd.DataFrame:
    meta = yaml.safe_load((folder / "meta.yaml").read_text(encoding="utf-8"))
    name = next(one for one in meta["files"] if one.removesuffix(".gz").endswith((".csv", ".tsv")))
    separator = "\t" if ".tsv" in name else ","
    if "keep_default_na" in (meta.get("read_options") or {}):
        return pd.read_csv(folder / str(name), sep=separator, low_memory=False, keep_default_na=False, na_values=[""])
    return pd.read_csv(folder / str(name), sep=separator, low_memory=False)


def _parts(table: pd.DataFrame, folder: Path) -> pd.Series[str]:
    if (folder / "split.csv.gz").is_file():
        return pd.read_csv(folder / "split.csv.gz").set_index("row")["split"].reindex(table.index)
    return next(table[name] for name in table if set(map(str, table[name].unique())) <= {*TEST, *LEARNT})


def _with_files(table: pd.DataFrame, folder: Path, into: Path) -> pd.DataFrame:
    """The table with its files copied under neutral names."""
    for name in table.columns:
        first = str(table[name].iloc[0])
        if "/" not in first or not (folder / first).is_file():
            continue
        (into / "files").mkdir(exist_ok=True)
        copies = [f"files/{name}_{row}{Path(str(path)).suffix.lower()}" for row, path in enumerate(table[name])]
        for path, copy in zip(table[name], copies, strict=True):
            shutil.copy(folder / str(path), into / copy)
        table = table.assign(**{name: copies})
    return table
