"""Queries of views give what the oracle gives."""

from pathlib import Path

import pytest
from random_views import example

from palmette.errors import InputError
from palmette.features.adoption.query import write_query
from palmette.features.adoption.trees import NotReadError
from palmette.features.harness.connect import ConnectHarness, ScriptCase
from palmette.features.oracle import NotCovered, WouldFail, differences

WRAPPER = """
from pathlib import Path

def build(spark, tables, as_of=None):
    spark.conf.set("spark.sql.session.timeZone", "{zone}")
    for name, frame in tables.items():
        frame.createOrReplaceTempView(name)
    return spark.sql(Path(__file__).with_suffix(".sql").read_text(), args={{"as_of": as_of}} if as_of else {{}})
"""


@pytest.mark.parametrize("seed", (0, 2, 4, 7, 11))
def test_query_agrees_with_oracle(seed: int, harness: ConnectHarness, tmp_path: Path) -> None:
    try:
        view, frames, as_of, wanted = example(seed)
        query = write_query(view)
    except (InputError, NotCovered, WouldFail, NotReadError) as error:
        pytest.skip(f"{type(error).__name__}: {error}")
    path = tmp_path / "script.py"
    path.write_text(WRAPPER.format(zone=view.zone), encoding="utf-8")
    path.with_suffix(".sql").write_text(query, encoding="utf-8")
    (result,) = harness.execute(path, "build", [ScriptCase(str(seed), frames, as_of, "Asia/Tokyo")], root=tmp_path)
    assert result.frame is not None, f"{result.error}\n{query}"
    assert differences(wanted, result.frame, view) == (), query
