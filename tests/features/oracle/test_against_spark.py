"""The oracle's evaluator against Spark itself: every expression of the data files, on every row."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from evaluator_rows import ROWS, SCHEMA

from palmette.features.frame import Frame
from palmette.features.oracle.compare import alike
from palmette.features.oracle.errors import WouldFail
from palmette.features.oracle.expression import compile_group, compile_row
from palmette.features.spec.values import SparkType
from palmette.sandbox import WarmSpark

ZONE = "Europe/Berlin"
BATCH = 200
HERE = Path(__file__).parent


def _lines(name: str) -> list[str]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def session(warm_spark: WarmSpark) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(warm_spark.remote).getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    spark.createDataFrame(ROWS.to_arrow()).createOrReplaceTempView("rows")
    spark.conf.unset("spark.sql.timestampType")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")  # compiling takes longer than a few rows
    yield spark
    spark.stop()


def _by_oracle(sql: str, row: dict[str, Any]) -> Any:
    try:
        return compile_row(sql, SCHEMA, ZoneInfo(ZONE)).run(row)
    except WouldFail:
        return WouldFail


def _answers(session: Any, columns: list[str]) -> list[tuple[SparkType, list[Any]]]:
    """Type and values of every column, many a query."""
    found = []
    for start in range(0, len(columns), BATCH):
        batch = ", ".join(columns[start : start + BATCH])
        frame = Frame.from_arrow(session.sql(f"SELECT {batch} FROM rows ORDER BY id").toArrow())
        found += [(kind, [row[name] for row in frame.rows]) for name, kind in frame.schema.items()]
    return found


def test_row_expressions(session: Any) -> None:
    expressions = _lines("expressions.txt")
    mine = [[_by_oracle(sql, dict(row)) for row in ROWS.rows] for sql in expressions]
    guarded = []
    for index, (sql, values) in enumerate(zip(expressions, mine, strict=True)):
        failing = [str(row["id"]) for row, value in zip(ROWS.rows, values, strict=True) if value is WouldFail]
        safe = f"CASE WHEN id NOT IN ({', '.join(failing)}) THEN {sql} END" if failing else sql
        guarded.append(f"{safe} AS c{index}")
    theirs = _answers(session, guarded)
    problems = []
    for index, (sql, values) in enumerate(zip(expressions, mine, strict=True)):
        kind = compile_row(sql, SCHEMA, ZoneInfo(ZONE)).kind
        spark_kind, answers = theirs[index]
        if spark_kind != kind:
            problems.append(f"{sql}: type {kind}, Spark {spark_kind}")
        for number, (answer, value) in enumerate(zip(answers, values, strict=True), 1):
            if value is not WouldFail and not alike(spark_kind, answer, value):
                problems.append(f"{sql} on row {number}: {value!r}, Spark {answer!r}")
    assert not problems, "\n".join(problems)


def test_expressions_that_fail(session: Any) -> None:
    from pyspark.errors import PySparkException

    problems = []
    for sql in _lines("expressions.txt"):
        failing = [row["id"] for row in ROWS.rows if _by_oracle(sql, dict(row)) is WouldFail]
        for number in failing[:1]:
            try:
                got = session.sql(f"SELECT {sql} AS c FROM rows WHERE id = {number}").toArrow().to_pylist()
            except PySparkException:
                continue
            problems.append(f"{sql} on row {number} should fail, Spark gives {got}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("empty", [False, True])
def test_group_expressions(session: Any, empty: bool) -> None:
    alone = [sql for sql in _lines("groups.txt") if "WITHIN GROUP" in sql and "DISTINCT" in sql]
    ordered = [sql for sql in _lines("groups.txt") if "WITHIN GROUP" in sql and sql not in alone]
    plain = [sql for sql in _lines("groups.txt") if sql not in (*ordered, *alone)]
    problems = []
    for expressions in (plain, ordered, *([sql] for sql in alone)):  # Spark fails on some together
        names = ", ".join(f"{sql} AS c{index}" for index, sql in enumerate(expressions))
        theirs = Frame.from_arrow(session.sql(f"SELECT {names} FROM rows {'WHERE id < 0' * empty}").toArrow())
        for index, sql in enumerate(expressions):
            compiled = compile_group(sql, SCHEMA, ZoneInfo(ZONE))
            value, kind = compiled.run([] if empty else list(ROWS.rows)), theirs.schema[f"c{index}"]
            got = theirs.rows[0][f"c{index}"]
            if kind != compiled.kind or not alike(kind, got, value):
                problems.append(f"{sql}: {value!r} ({compiled.kind}), Spark {got!r} ({kind})")
    assert not problems, "\n".join(problems)
