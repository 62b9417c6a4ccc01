"""Which rows are told by models that have not seen them: by chance, by group, by time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from small_projects import Project, blueprint_of, guests, write

from palmette.automl.modalities.tabular import Folds
from palmette.automl.modalities.tabular.folds import folds_of
from palmette.sandbox import Sandbox

BY_TIME = Folds(count=3, kind="time", by="joined")


def test_rows_of_a_single_group_are_divided_by_chance() -> None:
    rows = guests("binary")
    together = np.zeros(len(rows), dtype=np.int64)
    assert sorted(np.bincount(folds_of(rows, blueprint_of("binary"), together))) == [80, 80, 80]


def test_blocks_of_time_are_the_same_in_the_project_rows_without_a_time_first(tmp_path: Path, sandbox: Sandbox) -> None:
    rows, blueprint = guests("binary"), blueprint_of("binary", folds=BY_TIME)
    rows.loc[200:210, "joined"] = None
    times = pd.to_datetime(rows["joined"], format="%d.%m.%Y")
    due = folds_of(rows.assign(joined=times), blueprint)
    assert np.bincount(due).tolist() == [80, 80, 80] and set(due[200:211]) == {0}
    assert times[due == 0].max() <= times[due == 1].min() and times[due == 1].max() <= times[due == 2].min()
    project = Project(write(tmp_path, blueprint, rows), blueprint, rows, sandbox)
    done = project.run("-c", "import train; print(train.make_folds(train.preprocess.read('train.csv')).tolist())")
    assert done.ok and json.loads(done.stdout) == due.tolist(), done.stderr


GROUPED = """
import contract, preprocess, train
rows = preprocess.raw("train.csv")
folds = train.make_folds(rows)
print(rows.assign(fold=folds).groupby("house\\"hold")["fold"].nunique().max(), len(set(folds)))
print("hold" in "".join(preprocess.read("train.csv").columns))
try:
    train.make_folds(preprocess.read("train.csv"))
except contract.ContractError as error:
    print(error)"""


def test_rows_of_one_group_stay_together_though_no_model_reads_the_column(tmp_path: Path, sandbox: Sandbox) -> None:
    """Also where there are fewer groups than folds, and one of them is of rows without a group."""
    rows = guests("binary").assign(**{'house"hold': lambda data: np.where(data.index % 2, "a", None)})
    blueprint = blueprint_of("binary", folds=Folds(count=3, kind="grouped", by='house"hold'))
    project = Project(write(tmp_path, blueprint, rows), blueprint, rows, sandbox)
    done = project.run("-c", GROUPED)
    assert done.ok, done.stderr
    together, read, refused = done.stdout.splitlines()
    assert (together, read) == ("1 2", "False")
    assert refused == 'rows: column house"hold is missing, which says what stays together; give --folds'


def test_where_the_column_of_the_times_is_not_read_folds_are_asked_for(tmp_path: Path, sandbox: Sandbox) -> None:
    rows, blueprint = guests("binary"), blueprint_of("binary", folds=Folds(count=3, kind="time", by="visited"))
    project = Project(write(tmp_path, blueprint, rows), blueprint, rows, sandbox)
    assert "train.py --data train.csv --folds folds.csv --seconds" in (tmp_path / "README.md").read_text("utf-8")
    done = project.run("train.py", "--data", "train.csv", "--out", "model", "--seconds", "1")
    assert not done.ok and "the following arguments are required: --folds" in done.stderr
    assert "blocks of time by visited" in (tmp_path / "train.py").read_text("utf-8")
