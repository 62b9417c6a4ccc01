from pathlib import Path

import pytest
import yaml

from palmette.features.pyspark.expressions import translate
from palmette.features.pyspark.output import empty_value
from palmette.features.spec.values import SparkType

CASES = yaml.safe_load((Path(__file__).parent / "expressions.yaml").read_text(encoding="utf-8"))
SCHEMA = {"amount": SparkType("double"), "fee": SparkType("decimal", 10, 2)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["sql"])
def test_code(case: dict[str, str]) -> None:
    assert translate(case["sql"], SCHEMA).text == case["code"]


def test_division_uses_the_repositorys_function() -> None:
    code = translate("a / (b + 1)", divide="safe_divide({numerator}, {denominator})")
    assert code.text == 'safe_divide(F.col("a"), F.col("b") + 1)'


@pytest.mark.parametrize(
    "sql, value",
    [
        ("sum(a)", None),
        ("sum(a) / count(*)", None),
        ("count(*)", "0"),
        ("count(*) + 1", "1"),
        ("coalesce(sum(a), -1)", "-1"),
        ("collect_set(a)", "ARRAY()"),
        ("max(a) - min(a)", None),
        ("count(distinct a) / 2", "TRY_DIVIDE(0, 2)"),
        ("sum(a) filter (where b)", None),
        ("bool_or(a)", None),
    ],
)
def test_value_over_no_rows(sql: str, value: str | None) -> None:
    assert empty_value(sql) == value


def test_an_empty_array_has_the_type_of_its_elements() -> None:
    """Without, `flatten` of no rows is an array of nothing, which Spark refuses."""
    assert (
        empty_value("size(flatten(collect_set(a)))", {"a": SparkType.parse("array<string>")})
        == "SIZE(FLATTEN(CAST(ARRAY() AS ARRAY<ARRAY<STRING>>)))"
    )
