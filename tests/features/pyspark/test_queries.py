"""Queries of views give what the oracle gives."""

from pathlib import Path

from random_views import example

from palmette.features.adoption.query import write_query
from palmette.features.harness.connect import ConnectHarness, ScriptCase
from palmette.features.oracle import differences

WRAPPER = """
from pathlib import Path

def build(spark, tables, as_of=None):
    spark.conf.set("spark.sql.session.timeZone", "{zone}")
    for name, frame in tables.items():
        frame.createOrReplaceTempView(name)
    return spark.sql(Path(__file__).with_suffix(".sql").read_text(), args={{"as_of": as_of}} if as_of else {{}})
"""


def test_queries_agree_with_the_oracle(harness: ConnectHarness, tmp_path: Path) -> None:
    """In one process, which takes longer to start than one view."""
    found, cases = {}, []
    for seed in (0, 2, 4, 7, 11):
        path = tmp_path / f"script_{seed}.py"
        view, frames, as_of, wanted = example(seed)
        path.write_text(WRAPPER.format(zone=view.zone), encoding="utf-8")
        path.with_suffix(".sql").write_text(write_query(view), encoding="utf-8")
        found[path] = view, wanted
        cases.append(ScriptCase(path.stem, frames, as_of, "Asia/Tokyo", script=path))
    results = harness.execute(next(iter(found)), "build", cases, root=tmp_path)
    for result, (path, (view, wanted)) in zip(results, found.items(), strict=True):
        query = path.with_suffix(".sql").read_text(encoding="utf-8")
        assert result.frame is not None, f"{result.error}\n{query}"
        assert differences(wanted, result.frame, view) == (), query
