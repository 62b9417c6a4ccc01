"""Scripts, probes, mains and tests run in the sandbox on warm Spark, and only files are believed."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

from palmette.features.frame import Frame
from palmette.features.harness.connect import ConnectHarness, HarnessProbe, OrderOfTests, ScriptCase
from palmette.features.spec.values import SparkType
from palmette.sandbox import WarmSpark

MakeCase = Callable[..., ScriptCase]


def test_a_script_makes_a_frame(harness: ConnectHarness, script: Path, team: Path, case: MakeCase) -> None:
    result = harness.execute(script, "build", [case()], root=team)[0]
    assert result.error == ""
    assert result.frame is not None
    assert {name: str(kind) for name, kind in result.frame.schema.items()} == {
        "user_id": "string", "n": "bigint", "average": "double"
    }  # fmt: skip
    rows = sorted(result.frame.rows, key=lambda row: row["user_id"])
    assert rows == [{"user_id": "a", "n": 2, "average": 4.0}, {"user_id": "b", "n": 0, "average": None}]


def test_a_connect_server_elsewhere_gives_the_same(
    harness: ConnectHarness, script: Path, team: Path, case: MakeCase
) -> None:
    remote = ConnectHarness(WarmSpark(master=harness.spark.remote))
    (here,), (there,) = (one.execute(script, "build", [case()], root=team) for one in (harness, remote))
    assert remote.spark.is_external and there.frame is not None and there.frame == here.frame


def test_zone_and_partitions_reach_the_session(harness: ConnectHarness, team: Path, case: MakeCase) -> None:
    script = team / "probe.py"
    script.write_text(
        "def build(spark, orders):\n"
        "    from pyspark.sql import functions as F\n"
        "    spark.conf.set('spark.sql.optimizer.excludedRules', "
        "'org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation')\n"
        "    placed = orders.select(F.spark_partition_id().alias('part'), F.hour('ts').alias('hour'))\n"
        "    return placed.agg(F.current_timezone().alias('zone'), "
        "F.count_distinct('part').alias('parts'), F.min('hour').alias('hour'))\n",
        encoding="utf-8",
    )
    cases = [case(session_zone="Asia/Tokyo", partitions=3), case(), case(session_zone="UTC", partitions=2)]
    results = harness.execute(script, "build", cases, root=team)
    rows = [result.frame.rows[0] for result in results if result.frame]
    assert rows == [
        {"zone": "Asia/Tokyo", "parts": 3, "hour": 9},
        {"zone": "UTC", "parts": 1, "hour": 0},
        {"zone": "UTC", "parts": 2, "hour": 0},
    ]


def test_every_type_comes_back_as_it_went(harness: ConnectHarness, team: Path) -> None:
    values = {
        "boolean": True, "tinyint": 1, "smallint": 2, "int": 3, "bigint": 4, "float": 0.5, "double": 0.25,
        "string": "é", "binary": b"\x00\xff", "date": date(2024, 2, 29), "decimal(12,2)": Decimal("1.50"),
        "timestamp": datetime(2024, 3, 31, 1, 30, 0, 1, tzinfo=UTC),
        "timestamp_ntz": datetime.fromisoformat("2024-03-31T02:30:00"),
        "array<double>": [float("inf"), float("-inf")],
        "array<float>": [0.5, None], "map<string,bigint>": {"a": 1}, "array<string>": [],
    }  # fmt: skip
    schema = {f"c{i}": SparkType.parse(name) for i, name in enumerate(values)}
    row = dict(zip(schema, values.values(), strict=True))
    frame = Frame.of(schema, [row, {}])
    (result,) = harness.probes(team, (), [HarnessProbe("types", "result = frames['t']", {"t": frame})])
    assert result.error == "" and result.frame == frame


def test_plans_are_given_when_asked_for(harness: ConnectHarness, script: Path, team: Path, case: MakeCase) -> None:
    result = harness.execute(script, "build", [case(plan=True)], root=team)[0]
    assert "Analyzed Logical Plan" in result.plan and "Physical Plan" in result.plan


FAULTS = {
    "raises": ("    raise ValueError('no luck')", "ValueError: no luck"),
    "exits": ("    import sys; sys.exit(0)", "SystemExit: 0"),
    "no column": ("    return users.select('nope')", "UNRESOLVED_COLUMN"),
    "fails late": ("    return users.selectExpr('1 / 0 AS x')", "DIVIDE_BY_ZERO"),
    "no frame": ("    return 3", "TypeError: build gave int instead of a DataFrame"),
    "strange type": ("    return users.selectExpr('struct(1) AS x')", "UnreadableResult"),
    "ends the process": ("    import os; os._exit(9)", "ProcessEnded"),
}
"""By name: the body of a build function, and its error. The last one ends the process in which all are called."""


def test_what_a_script_does_wrong_is_a_value(harness: ConnectHarness, team: Path, case: MakeCase) -> None:
    cases = [case(fault, script=team / f"{fault.replace(' ', '_')}.py") for fault in FAULTS]
    for each in cases:
        each.script.write_text(f"def build(users):\n{FAULTS[each.name][0]}\n", encoding="utf-8")
    for result in harness.execute(cases[0].script, "build", cases, root=team):
        assert FAULTS[result.name][1] in result.error and result.frame is None
        assert "JVM stacktrace" not in result.error


def test_the_trace_shows_the_team_s_lines_alone(harness: ConnectHarness, team: Path, case: MakeCase) -> None:
    script = team / "faulty.py"
    script.write_text("def build(users):\n    return users.nope()\n", encoding="utf-8")
    trace = harness.execute(script, "build", [case()], root=team)[0].trace
    assert "return users.nope()" in trace and "site-packages" not in trace and "palmette_driver" not in trace
    assert str(team) not in trace, "where it ran differs from run to run"


def test_a_script_that_cannot_be_imported_fails_each_case(harness: ConnectHarness, team: Path, case: MakeCase) -> None:
    script = team / "src" / "shop" / "features" / "broken.py"
    script.write_text("import shop.nothing\ndef build(users): return users\n", encoding="utf-8")
    results = harness.execute(script, "build", [case("one"), case("two")], root=team)
    assert [result.name for result in results] == ["one", "two"]
    assert all("No module named 'shop.nothing'" in result.error for result in results)


def test_a_case_that_never_ends_is_ended(harness: ConnectHarness, team: Path, case: MakeCase) -> None:
    script = team / "endless.py"
    script.write_text("def build(users):\n    while True: pass\n", encoding="utf-8")
    quick = dataclasses.replace(harness, case_seconds=0.4)
    first, second = quick.execute(script, "build", [case("one"), case("two")], root=team)
    assert first.error.startswith("TimeoutError") and second.error.startswith("NotRun")


SETTINGS = """
def setting():
    return spark.conf.get("spark.sql.limit.scaleUpFactor")
result = []
for change in ("spark.conf.set('spark.sql.limit.scaleUpFactor', 1)", "spark.sql('SET spark.sql.limit.scaleUpFactor=2')",
               "spark.createDataFrame([(1,)], 'a int').schema", "spark.conf.set('spark.sql.limit.scaleUpFactor', '3')"):
    exec(change)
    result.append(setting())
"""


def test_probes_call_the_team_s_functions(harness: ConnectHarness, team: Path, orders: Frame) -> None:
    divide = (
        "from pyspark.sql import functions as F\nfrom shop.util import ratio\n"
        "result = frames['t'].select(ratio(F.col('amount'), F.lit(0)).alias('x')).limit(1)"
    )
    results = harness.probes(
        team,
        (),
        [
            HarnessProbe("frame", divide, {"t": orders}),
            HarnessProbe("value", "from shop.config import SpendConfig\nresult = SpendConfig(days=3).model_dump()"),
            HarnessProbe("error", "from shop.util import nothing"),
            HarnessProbe("settings", SETTINGS),
        ],
    )
    assert [result.name for result in results] == ["frame", "value", "error", "settings"]
    assert results[3].value == ["1", "2", "2", "3"], "settings are not those of an earlier answer"
    assert results[0].frame is not None and results[0].frame.rows == ({"x": None},)
    assert results[1].value == {"days": 3}
    assert results[2].error.startswith("ImportError")


def test_rows_tell_the_types_of_their_frame_however_ordered(harness: ConnectHarness, team: Path) -> None:
    code = "frame = spark.range(2).selectExpr('id AS n'); frame.orderBy('n').collect(); spark.client._analyze = None"
    (answer,) = harness.probes(team, (), [HarnessProbe("types", f"{code}; result = frame.dtypes")])
    assert answer.value == [["n", "bigint"]] and not answer.error


def test_main_runs_as_submitted(harness: ConnectHarness, script: Path, team: Path) -> None:
    write = "frames['u'].write.parquet('data/users'); result = 1"
    users = Frame.of({"user_id": SparkType.parse("string")}, [{"user_id": "a"}])
    (probed,) = harness.probes(team, (), [HarnessProbe("write", write, {"u": users})])
    assert probed.error == ""
    as_of = "2024-02-01T00:00:00+00:00"
    done = harness.run_main(script, ["--as-of", as_of, "--out", "out/spend"], root=team)
    assert done.ok, done
    assert done.execution.stdout.strip() == "score: 100 %"
    assert list((team / "out" / "spend").glob("*.parquet"))
    again = harness.run_main(script, ["--as-of", as_of, "--out", "out/spend"], root=team)
    assert not again.ok and "PATH_ALREADY_EXISTS" in again.error
    assert "write.parquet" in again.trace
    misused = harness.run_main(script, ["--as-of"], root=team)
    assert not misused.ok and misused.error.startswith("SystemExit")


def test_tests_run_against_each_variant(harness: ConnectHarness, script: Path, team: Path) -> None:
    text = script.read_text(encoding="utf-8")
    variants = {
        "original": text,
        "no default": text.replace("F.lit(0)", "F.lit(7)"),
        "endless": text.replace("    seen =", "    while True: pass\n    seen ="),
        "broken": text.replace("def build", "def built"),
        "original again": text,
    }
    quick = dataclasses.replace(harness, variant_seconds=2.5)
    results = quick.run_tests(team / "tests" / "test_spend.py", variants, script, root=team)
    assert list(results) == list(variants)
    everything = ("test_counts[31-1]", "test_counts[1-1]", "test_nothing")
    for name in ("original", "original again"):
        assert results[name].ok and results[name].passed == everything, results[name]
    assert list(results["no default"].failed) == ["test_nothing"] and not results["no default"].ok
    assert results["endless"].error.startswith("TimeoutError")
    assert "cannot import name 'build'" in results["broken"].error
    assert script.read_text(encoding="utf-8") == text


def test_a_suite_stops_at_its_first_failure(harness: ConnectHarness, script: Path, team: Path) -> None:
    right = script.read_text(encoding="utf-8")
    variants = {"mutant": right.replace("F.lit(1)", "F.lit(None)"), "right": right}
    orders = {"mutant": OrderOfTests(), "right": OrderOfTests(("test_nothing",), most=1)}
    tests = team / "tests" / "test_spend.py"
    result, first = harness.run_tests(tests, variants, script, root=team, orders=orders).values()
    assert len(result.failed) == 1 and not result.passed
    assert first.passed == ("test_nothing",)
    assert "\x1b" not in next(iter(result.failed.values()))


def test_a_variant_replaces_the_build_function_of_a_test_file(
    harness: ConnectHarness, script: Path, team: Path
) -> None:
    tests = team / "tests" / "test_own.py"
    tests.write_text("def build():\n    return 1\n\n\ndef test_it():\n    assert build() == 2\n", encoding="utf-8")
    variants = {"two": "def build():\n    return 2\n", "three": "def build():\n    return 3\n"}
    results = harness.run_tests(tests, variants, script, root=team, builder="build")
    assert results["two"].ok and results["three"].failed


def test_a_file_without_tests_has_not_passed(harness: ConnectHarness, script: Path, team: Path) -> None:
    tests = team / "tests" / "test_none.py"
    tests.write_text("", encoding="utf-8")
    result = harness.run_tests(tests, {"it": script.read_text(encoding="utf-8")}, script, root=team)["it"]
    assert not result.ok and result.error == "the file has no tests"
