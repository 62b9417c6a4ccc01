"""The CDNOW example: conversion, specifications, and a repository of another style."""

import datetime as dt
import gzip
import importlib.util
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest

from palmette.documents import read_located
from palmette.features.checks.examples import examples, unlike
from palmette.features.oracle import expected
from palmette.features.samples import check_samples
from palmette.features.spec.dfr import Registry
from palmette.features.spec.resolve import check_run, load_view
from palmette.features.spec.run import Run

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

CDNOW = Path(__file__).parents[2] / "examples" / "cdnow"
VIEWS = ("customer_rfm", "customer_scoring")
ORIGINAL = """\
 00001 19970101  1  11.77
 00020 19970112  1  12.00
 00020 19970112  5  77.00
 00020 19971001  1   0.00
"""


@pytest.fixture(scope="module")
def prepare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cdnow_prepare", CDNOW / "prepare.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def example(prepare: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not prepare.DATA.is_file():
        pytest.skip(f"the CDNOW purchases are not at {prepare.DATA}; they are not part of palmette")
    folder: Path = prepare.prepare(tmp_path_factory.mktemp("cdnow"))
    return folder


def test_both_forms_of_the_data_are_read_alike(prepare: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "CDNOW_master.txt").write_text(ORIGINAL, encoding="ascii")
    rows = [line.split() for line in ORIGINAL.splitlines()]
    text = "customer_id,date,cds,dollars\n" + "".join(f"{a},{b[:4]}-{b[4:6]}-{b[6:]},{c},{d}\n" for a, b, c, d in rows)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text.encode()))
    original, converted = (list(prepare.purchases(tmp_path / name)) for name in ("CDNOW_master.txt", "x.csv.gz"))
    assert original == converted
    assert original[2] == {
        "purchase_id": 3,
        "customer_id": 20,
        "date": dt.date(1997, 1, 12),
        "cds": 5,
        "dollars": Decimal("77.00"),
    }


def test_the_label_looks_ahead_90_days_from_the_scoring(prepare: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(ORIGINAL, encoding="ascii")
    scorings = prepare.scorings(prepare.purchases(tmp_path / "a.txt"))
    bought = [(row["customer_id"], row["scored_at"].date()) for row in scorings if row["buys"]]
    assert len(scorings) == 6 and bought == [(20, dt.date(1997, 10, 1))]


def test_absent_data_is_said_with_its_source(prepare: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"CDNOW_master\.txt .*--data"):
        prepare.prepare(tmp_path, tmp_path / "absent.csv.gz")


@pytest.mark.parametrize("name", VIEWS)
def test_specifications_resolve_on_the_real_data(example: Path, name: str) -> None:
    view = load_view(example / "specs" / f"{name}.yaml", example / "registry.yaml")
    assert not check_samples(read_located(example / "registry.yaml", Registry), example)
    assert not check_run(read_located(example / "runs" / f"{name}.yaml", Run), example / "runs")
    for case in examples(view):
        assert not unlike(view, case, expected(view, case.frames, case.as_of)), case.name


def test_the_real_data_has_its_published_size(example: Path) -> None:
    import pyarrow.parquet as pq

    warehouse = example / "repository" / "warehouse"
    purchases = pq.read_table(warehouse / "purchases")
    assert purchases.num_rows == 69_659
    assert pq.read_table(warehouse / "customers").num_rows == 23_570
    assert sum(purchases["cds"].to_pylist()) == 167_881
