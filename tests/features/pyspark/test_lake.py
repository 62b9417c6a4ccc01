"""Generated scripts read and write tables of a catalogue; Delta and Iceberg tables where a variable names the jars."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from pyspark_scripts import script

from palmette.engine.actor import TextFile
from palmette.features.artefacts import Config
from palmette.features.frame import Frame
from palmette.features.frames import scenarios
from palmette.features.oracle import differences, expected
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import resolve
from palmette.sandbox import java_environment
from palmette.sandbox.java import quick_options
from palmette.sandbox.spark import QUICK_PLANS
from palmette_bench.featbench.suite import HERE, WORLD

CATALOG = "spark.sql.catalog.spark_catalog"
SETTINGS = {
    "parquet": {},
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        CATALOG: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        CATALOG: "org.apache.iceberg.spark.SparkSessionCatalog",
        f"{CATALOG}.type": "hadoop",
        f"{CATALOG}.warehouse": "lake",
    },
}
RUNNER = """
import json, script, sys
from datetime import datetime
from pathlib import Path
from pyspark.sql import SparkSession

kind, as_of, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS").getOrCreate()
for file in Path("rows").iterdir():
    rows = spark.read.parquet(str(file)).write.format(kind)
    rows.save(f"lake/{file.stem}") if kind == "delta" else rows.saveAsTable(file.stem)
output = "lake/out" if kind == "delta" else "out"
for _ in range(2):
    script.write(script.build(script.load(spark, {}), datetime.fromisoformat(as_of)), {"output": output})
found = spark.read.format(kind).load(output) if kind == "delta" else spark.table(output)
found.write.parquet("built")
"""


@pytest.mark.parametrize("kind", SETTINGS)
def test_scripts_read_and_write_tables(kind: str, tmp_path: Path) -> None:
    jars = os.environ.get(f"PALMETTE_{kind.upper()}_JARS", "")
    if kind != "parquet" and not jars:
        pytest.skip(f"PALMETTE_{kind.upper()}_JARS names no jars")
    registry = yaml.safe_load((WORLD / "registry.yaml").read_text(encoding="utf-8"))
    for table in registry["tables"]:
        place = {"path": f"lake/{table['name']}", "format": kind} if kind == "delta" else {"table": table["name"]}
        table.update({"path": None, "format": "parquet", "partitions": []} | place)
    spec = yaml.safe_load((HERE / "tasks/usr_tier_hist_ftrs/fsc.yaml").read_text(encoding="utf-8"))
    view = resolve(FeatureSpec.model_validate(spec), Registry.model_validate(registry))
    storage, places = "delta" if kind == "delta" else "table", {"output": 'config["output"]'}
    config = Config(file=TextFile(path="x.yaml", text=""), class_name="", accessors=places, storage=storage)
    (tmp_path / "script.py").write_text(script(view, config=config), encoding="utf-8")
    (tmp_path / "runner.py").write_text(RUNNER, encoding="utf-8")
    case = next(one for one in scenarios(view) if one.name == "values")
    (tmp_path / "rows").mkdir()
    for name, frame in case.frames.items():
        pq.write_table(frame.to_arrow(), tmp_path / "rows" / f"{name}.parquet")
    settings = {**QUICK_PLANS, **SETTINGS[kind]} | ({"spark.jars": jars} if jars else {})
    command = [sys.executable, "runner.py", kind, case.as_of.isoformat() if case.as_of else "", json.dumps(settings)]
    # Another test of this process may use Spark Connect.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    environment = outside | java_environment() | {"JAVA_TOOL_OPTIONS": quick_options()}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    built = Frame.from_arrow(pq.read_table(tmp_path / "built"))
    assert differences(expected(view, case.frames, case.as_of), built, view) == ()
