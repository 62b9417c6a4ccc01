"""Generated scripts give the same rows on Spark 3.5, where PALMETTE_SPARK35 names a Python that has it."""

import os
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark_scripts import script

from palmette.features.frame import Frame
from palmette.features.frames import scenarios
from palmette.features.oracle import differences, expected
from palmette.features.spec.resolve import load_view
from palmette_bench.featbench.suite import HERE, WORLD

PYTHON = os.environ.get("PALMETTE_SPARK35", "")
RUNNER = """
import sys
from datetime import datetime
from pathlib import Path

from pyspark.sql import SparkSession

import script

folder, as_of = Path(sys.argv[1]), sys.argv[2]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
for case in sorted(folder.iterdir()):
    tables = {path.stem: spark.read.parquet(str(path)) for path in case.glob("*.parquet")}
    built = script.build(tables, datetime.fromisoformat(as_of) if as_of else None)
    built.write.parquet(str(case / "built"))
"""


@pytest.mark.skipif(not PYTHON, reason="PALMETTE_SPARK35 names no Python with PySpark 3.5")
@pytest.mark.parametrize("task", ["dda_txn", "usr_tier_hist_ftrs", "ofr_rdm_late_ftrs"])
def test_scripts_give_the_same_rows_on_spark_35(task: str, tmp_path: Path) -> None:
    view = load_view(HERE / "tasks" / task / "fsc.yaml", WORLD / "registry.yaml")
    (tmp_path / "script.py").write_text(script(view), encoding="utf-8")
    (tmp_path / "runner.py").write_text(RUNNER, encoding="utf-8")
    chosen = [one for one in scenarios(view) if one.name in ("boundaries", "values", "absences")]
    for one in chosen:
        (tmp_path / "cases" / one.name).mkdir(parents=True)
        for name, frame in one.frames.items():
            pq.write_table(frame.to_arrow(), tmp_path / "cases" / one.name / f"{name}.parquet")
    as_of = chosen[0].as_of.isoformat() if chosen[0].as_of else ""
    command = [PYTHON, str(tmp_path / "runner.py"), str(tmp_path / "cases"), as_of]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    for one in chosen:
        built = Frame.from_arrow(pq.read_table(tmp_path / "cases" / one.name / "built"))
        assert differences(expected(view, one.frames, one.as_of), built, view) == (), one.name
