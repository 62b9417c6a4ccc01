"""Related tables: lookups, and aggregates that see only earlier rows."""

import gzip
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from small_packages import blueprint_of, selection_of

from palmette.automl.candidates import ColumnUse
from palmette.automl.project.writer import write_package
from palmette.automl.samples import TableError
from palmette.automl.samples.load import load, reload

ORDERS = """id,customer_id,date,price
1,c1,2024-01-10,10
2,c1,2024-02-10,20
3,c2,2024-03-10,30
4,c3,2024-04-10,40
"""
CUSTOMERS = """customer_id,city
c1,Oslo
c2,Rome
c3,Oslo
"""
CALLS = """order_id,customer_id,date,topic,minutes
1,c1,2024-01-09,bill,5
1,c1,2024-01-10,bill,7
2,c1,2024-02-01,fault,1
9,c2,2024-05-01,bill,9
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for name, text in {"orders": ORDERS, "customers": CUSTOMERS, "calls": CALLS}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


def test_rows_see_keys_of_other_tables_and_what_was_earlier(shop: Path) -> None:
    loaded = load([shop], "orders.csv + customers.csv + calls.csv")
    table = loaded.table
    assert list(table["customers_city"]) == ["Oslo", "Oslo", "Rome", "Oslo"]
    assert list(table["calls_by_customer_id_count"]) == [1, 3, 0, 0]  # neither the same day nor later
    assert table["calls_by_customer_id_minutes_mean"].iloc[1] == pytest.approx(13 / 3)
    assert table["calls_by_customer_id_since_last"].iloc[1] == 9
    assert table["calls_by_customer_id_topic_last"].iloc[1] == "fault"
    assert list(table["calls_by_order_id_count"]) == [1, 1, 0, 0]
    assert {one.role for one in loaded.samples.files} == {"train", "related"}
    pd.testing.assert_frame_equal(reload(loaded.samples).table, table)


def test_tables_without_a_common_key_are_refused_by_name_and_skipped_otherwise(shop: Path) -> None:
    (shop / "rates.csv").write_text("currency,rate\nNOK,1\nEUR,2\n")
    with pytest.raises(TableError, match="shares no key"):
        load([shop], "orders.csv + rates.csv")
    with pytest.raises(TableError, match=r"no table 'rate\.csv'"):
        load([shop], "orders.csv + rate.csv")
    (shop / "orders.csv.gz").write_bytes(gzip.compress((shop / "orders.csv").read_bytes()))
    (shop / "orders.csv").unlink()
    assert "customers_city" in load([shop], "orders + *").table, "suffixes may be left out"


@pytest.mark.parametrize("name", ["given.csv", "customers.tsv"])
def test_two_tables_with_one_name_in_sql_are_refused(name: str, shop: Path) -> None:
    (shop / name).write_text(CUSTOMERS.replace("Oslo", "Bonn").replace(",", ";"))
    with pytest.raises(TableError, match="a name that is taken") as caught:
        load([shop], f"orders.csv + customers.csv + {name}")
    assert caught.value.code == "name-collision"


def test_a_package_joins_related_files_as_the_run_did(shop: Path) -> None:
    loaded = load([shop], "orders.csv + customers.csv + calls.csv")
    columns = (ColumnUse(name="price", kind="number", examples=(1.0,)),)
    blueprint = blueprint_of("clustering", columns=columns, format=loaded.samples.format)
    for file in write_package(blueprint, selection_of(blueprint, "kmeans")):
        (shop / "made" / file.path).parent.mkdir(parents=True, exist_ok=True)
        (shop / "made" / file.path).write_text(file.text)
    given = ("--data", "orders.csv", "--related", ".", "--output", "joined.parquet")
    subprocess.run([sys.executable, "made/join.py", *given], cwd=shop, check=True)
    joined = pd.read_parquet(shop / "joined.parquet")
    assert list(joined["calls_by_customer_id_count"]) == [1, 3, 0, 0]
    for name, column in loaded.table.drop(columns="date").items():
        found = joined[name] if column.dtype == object else pd.to_numeric(joined[name])
        assert found.isna().equals(column.isna()) and (found[found.notna()] == column[column.notna()]).all(), name
    pinned = (shop / "made/requirements.txt").read_text().split()
    assert {"duckdb", "pyarrow"} <= {line.split("==")[0] for line in pinned}
    assert "Add those of related files with join.py." in (shop / "made/serve.py").read_text()
    assert "predict.py --input joined.parquet" in (shop / "made/README.md").read_text()
