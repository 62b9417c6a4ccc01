"""Expressions: what they use, what they may not use, and of which type they are."""

from pathlib import Path
from typing import Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from palmette.features.spec import functions
from palmette.features.spec.expressions import check, type_of
from palmette.features.spec.sql import ExpressionError, parse
from palmette.features.spec.values import SparkType
from palmette.sandbox import WarmSpark

SCHEMA = {
    name: SparkType.parse(kind)
    for name, kind in {
        "i": "int",
        "b": "bigint",
        "f": "float",
        "d": "double",
        "m": "decimal(12,2)",
        "n": "decimal(5,0)",
        "s": "string",
        "t": "timestamp",
        "w": "timestamp_ntz",
        "dt": "date",
        "o": "boolean",
        "a": "array<int>",
        "v": "array<float>",
    }.items()
}
TYPES = yaml.safe_load(Path(__file__).with_name("cases").joinpath("types.yaml").read_text("utf-8"))
CASES = [(kind, str(text), expected) for kind, entries in TYPES.items() for text, expected in entries.items()]


@pytest.mark.parametrize(("kind", "text", "expected"), CASES, ids=lambda value: value)
def test_types(kind: Literal["row", "aggregate"], text: str, expected: str) -> None:
    checked = check(text, SCHEMA, kind)
    assert not checked.faults
    assert str(checked.type) == expected


def test_types_are_those_of_spark(warm_spark: WarmSpark) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(warm_spark.remote).getOrCreate()
    try:
        frame = spark.createDataFrame([], ", ".join(f"{name} {kind}" for name, kind in SCHEMA.items()))
        frame.createOrReplaceTempView("columns_of_all_types")
        told = spark.sql(
            "SELECT "
            + ", ".join(f"{text} AS c{i}" for i, (kind, text, _) in enumerate(CASES) if kind == "row")
            + " FROM columns_of_all_types"
        ).schema.fields
        grouped = [(text, expected) for kind, text, expected in CASES if kind == "aggregate"]
        told += spark.sql(
            "SELECT "
            + ", ".join(f"{text} AS c{i}" for i, (text, _) in enumerate(grouped))
            + " FROM columns_of_all_types"
        ).schema.fields
    finally:
        spark.stop()
    assert {case[1]: field.dataType.simpleString() for case, field in zip(CASES, told, strict=True)} == {
        text: expected for _, text, expected in CASES
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty-expression"),
        ("i +", "bad-expression"),
        ("i j", "bad-expression"),
        ("i as j", "bad-expression"),
        ("i; drop table x", "bad-expression"),
        ("i;", "bad-expression"),
        ("select 1", "bad-expression"),
        ("'open", "bad-expression"),
        ("(i", "bad-expression"),
        ("no + 1", "unknown-column"),
        ("x.i", "qualified-column"),
        ("lenght(s)", "unknown-function"),
        ("uuid()", "non-deterministic"),
        ("now()", "non-deterministic"),
        ("current_date", "non-deterministic"),
        ("unix_timestamp()", "non-deterministic"),
        ("exists(select 1)", "subquery-not-allowed"),
        ("sum(i) over ()", "window-not-allowed"),
        ("rank()", "window-not-allowed"),
        ("explode(a)", "illegal-function"),
        ("java_method('a', 'b')", "illegal-function"),
        ("max(i)", "aggregate-not-allowed"),
        ("s + 1", "illegal-type"),
        ("-s", "illegal-type"),
        ("t > 3", "illegal-type"),
        ("s = 3", "illegal-type"),
        ("i and o", "illegal-type"),
        ("year(i)", "illegal-type"),
        ("i like 'a'", "illegal-type"),
        ("coalesce(i, 'a')", "illegal-type"),
        ("i[0]", "illegal-type"),
        ("case when i then 1 end", "illegal-type"),
        ("cast(a as int)", "illegal-type"),
        ("size(s)", None),
        ("abs(s)", "illegal-type"),
        ("transform(a, x -> x + no)", "unknown-column"),
        ("aggregate(a, (x, y) -> x + y)", None),  # without a start, its type is unknown
        ("t - t > interval 1 day", None),
        ("`i` + 1", None),
    ],
)
def test_what_is_refused(text: str, code: str | None) -> None:
    faults = check(text, SCHEMA).faults
    assert code in [fault.code for fault in faults] if code else not faults


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("i", "no-aggregate"),
        ("sum(i) + i", "bare-column"),
        ("first(i)", "order-dependent"),
        ("collect_list(s)", "order-dependent"),
        ("listagg(s, ',')", "order-dependent"),
        ("listagg(s, ',') within group (order by t)", None),
        ("sum(s)", "illegal-type"),
        ("sum(i) / count(*)", None),
        ("max_by(s, t)", None),
        ("percentile_cont(0.5) within group (order by s)", "illegal-type"),
    ],
)
def test_what_aggregates_are_refused(text: str, code: str | None) -> None:
    faults = check(text, SCHEMA, "aggregate").faults
    assert code in [fault.code for fault in faults] if code else not faults


def test_facts() -> None:
    parsed = parse("sum(m) / nullif(count(distinct s), 0) + timestampdiff(HOUR, t, w) + size(filter(a, x -> x > i))")
    assert parsed.columns == ("m", "s", "t", "w", "a", "i")
    assert parsed.functions == ("count", "filter", "nullif", "size", "sum", "timestampdiff")
    assert parsed.aggregates == ("count", "sum")


def test_unknown_types_are_not_guessed() -> None:
    assert type_of("named_struct('a', i)", SCHEMA) is None
    assert type_of("i + 'a'", SCHEMA) is None


def test_names_are_matched_to_the_nearest() -> None:
    assert [fault.nearest for fault in check("datedif(t, t)", SCHEMA).faults] == ["datediff"]


def test_every_listed_function_is_one_of_spark() -> None:
    kinds = (
        "aggregates",
        "window_only",
        "generators",
        "non_deterministic",
        "outside_the_data",
        "like_first",
        "common",
        "numeric_first",
        "temporal_first",
        "array_first",
    )
    strange = {name for kind in kinds for name in functions.names(kind)} | set(functions.results())
    assert not strange - functions.names("all")


@given(st.text(alphabet="abis()+*-'\",.<>=[]0123456789 \n", max_size=40))
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        parse(text)
    except ExpressionError as error:
        assert error.fault.code in ("empty-expression", "bad-expression")
    else:
        check(text, SCHEMA)
