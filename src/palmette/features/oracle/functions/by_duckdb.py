"""Functions that DuckDB computes, where it means the same as Spark; unsupported if DuckDB is not installed."""

from __future__ import annotations

from functools import cache
from typing import Any

from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import function
from palmette.features.spec.type_rules import BIGINT, DOUBLE, FLOAT, INT, STRING, array_of
from palmette.features.spec.values import SparkType

_VECTOR = array_of(FLOAT)
_TYPES = {BIGINT: "BIGINT", INT: "INT", DOUBLE: "DOUBLE", STRING: "VARCHAR", _VECTOR: "FLOAT[]"}
_FUNCTIONS: tuple[tuple[str, str, tuple[SparkType, ...], SparkType], ...] = (
    ("asinh", "asinh($1)", (DOUBLE,), DOUBLE),
    ("bin", "bin($1)", (BIGINT,), STRING),
    ("bit_count", "bit_count($1)", (BIGINT,), INT),
    ("regexp_extract_all", "regexp_extract_all($1, $2, $3)", (STRING, STRING, INT), array_of(STRING)),
    ("vector_cosine_similarity", "list_cosine_similarity($1, $2)", (_VECTOR, _VECTOR), FLOAT),
    ("vector_inner_product", "list_inner_product($1, $2)", (_VECTOR, _VECTOR), FLOAT),
    ("vector_l2_distance", "list_distance($1, $2)", (_VECTOR, _VECTOR), FLOAT),
)
"""Spark's name, the expression in DuckDB, the types of its arguments, and of the result."""


@cache
def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise NotCovered("a function that needs `pip install duckdb`") from error
    return duckdb


def _register(name: str, expression: str, parameters: tuple[SparkType, ...], result: SparkType) -> None:
    for place, kind in enumerate(parameters, 1):
        expression = expression.replace(f"${place}", f"CAST(${place} AS {_TYPES[kind]})")

    @function(name, parameters, result)
    def compute(*values: Any) -> Any:
        duckdb = _duckdb()
        try:
            return duckdb.execute(f"SELECT {expression}", values).fetchone()[0]
        except duckdb.Error as error:
            raise NotCovered(f"{name}: {error}") from error


for _each in _FUNCTIONS:
    _register(*_each)
