"""Rules on what a feature script may call and import."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from palmette.features.checks.static.finding import Finding
from palmette.features.source import (
    Source,
    called,
    calls_in_sql,
    is_spark_function,
    sql_texts,
)
from palmette.sandbox.reach import dotted

_ACTIONS = frozenset(
    {
        "collect",
        "toPandas",
        "toLocalIterator",
        "take",
        "head",
        "tail",
        "show",
        "isEmpty",
        "foreach",
        "foreachPartition",
        "approxQuantile",
        "toArrow",
    }
)
_UDFS = frozenset({"udf", "pandas_udf", "arrow_udf", "udtf"})
_PYTHON_ON_ROWS = frozenset({"mapInPandas", "mapInArrow", "applyInPandas", "applyInArrow", "applyInPandasWithState"})
_CLOCK = frozenset({"current_timestamp", "current_date", "now", "localtimestamp", "curdate"})
_PYTHON_CLOCK = (
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
    "time.time",
    "time.time_ns",
)
_RANDOM = frozenset(
    {
        "rand",
        "randn",
        "uuid",
        "monotonically_increasing_id",
        "shuffle",
        "spark_partition_id",
        "random",
        "randstr",
        "uniform",
    }
)
_MODULES = frozenset(
    {
        "subprocess",
        "socket",
        "requests",
        "urllib",
        "urllib3",
        "http",
        "httpx",
        "aiohttp",
        "ctypes",
        "ftplib",
        "multiprocessing",
        "pickle",
        "shutil",
        "smtplib",
    }
)
_IO = frozenset({"read", "readStream", "write", "writeTo", "writeStream"})
_GROUPINGS = frozenset({"groupBy", "groupby", "cube", "rollup", "pivot", "groupingSets"})


def driver_actions(source: Source) -> Iterator[Finding]:
    """A transform must not bring rows to the driver."""
    for node in source.transform_nodes:
        name = called(node)
        if (
            not isinstance(node, ast.Call)
            or not isinstance(node.func, ast.Attribute)
            or is_spark_function(source, node)
        ):
            continue
        if (name in _ACTIONS and not (name in ("take", "head", "show", "foreach") and _is_foreign(source, node))) or (
            name in ("count", "first")
            and not node.args
            and not node.keywords
            and not _is_grouped(source, node.func.value)
        ):
            yield Finding("driver-action", node, f"{name}() runs a job on the driver inside a transform")


def _is_grouped(source: Source, receiver: ast.expr) -> bool:
    return any(name in _GROUPINGS for name in source.methods(receiver)[:2])


def _is_foreign(source: Source, node: ast.Call) -> bool:
    """Whether the receiver is plainly no data frame: a constant, a list, an imported module."""
    assert isinstance(node.func, ast.Attribute)
    return isinstance(source.value_of(node.func.value), ast.Constant | ast.List | ast.Tuple | ast.Dict)


def python_udfs(source: Source) -> Iterator[Finding]:
    """No Python on rows where Spark has a built-in."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyspark.sql"):
            if used := sorted(_UDFS & {alias.name for alias in node.names}):
                yield Finding("python-udf", node, f"{used[0]} runs Python on rows; Spark's built-in functions do not")
        elif isinstance(node, ast.Attribute) and node.attr in _UDFS | _PYTHON_ON_ROWS | {"rdd"}:
            yield Finding("python-udf", node, f".{node.attr} runs Python on rows; Spark's built-in functions do not")


def clocks(source: Source) -> Iterator[Finding]:
    """Features depend on the cut-off, never on when the script runs."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        if is_spark_function(source, node) and (name in _CLOCK or (name == "unix_timestamp" and not node.args)):
            yield Finding("clock", node, f"{name}() depends on when the script runs; use the cut-off")
    for node in source.transform_nodes:
        if isinstance(node, ast.Call) and dotted(node.func).endswith(_PYTHON_CLOCK):
            yield Finding("clock", node, f"{dotted(node.func)}() depends on when the script runs; use the cut-off")
    for constant, text in sql_texts(source):
        for name in sorted(calls_in_sql(text) & _CLOCK):
            yield Finding("clock", constant, f"{name}() depends on when the script runs; use the cut-off")


def chance(source: Source) -> Iterator[Finding]:
    """The same input gives the same features."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and is_spark_function(source, node) and called(node) in _RANDOM:
            yield Finding("random", node, f"{called(node)}() gives other values at every run")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for name in _imported(node) & {"random", "secrets", "uuid"}:
                yield Finding("random", node, f"module {name!r} gives other values at every run")
    for node in source.transform_nodes:
        if (
            called(node) in ("sample", "randomSplit", "sampleBy")
            and isinstance(node, ast.Call)
            and source.methods(node)
        ):
            yield Finding("random", node, f"{called(node)}() takes rows by chance")
    for constant, text in sql_texts(source):
        for name in sorted(calls_in_sql(text) & _RANDOM):
            yield Finding("random", constant, f"{name}() gives other values at every run")


def imports(source: Source) -> Iterator[Finding]:
    """A feature script reaches Spark and the team's package, not the machine or the network."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for name in sorted(_imported(node)):
            if name == "palmette":
                yield Finding("imports-palmette", node, "the script must not depend on palmette")
            elif name in _MODULES:
                yield Finding("forbidden-import", node, f"module {name!r} reaches outside Spark")
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and (path := dotted(node)).startswith("os."):
            harmless = path.startswith(("os.path", "os.environ", "os.getenv", "os.fspath"))
            if not harmless or any(node is item for item in source.transform_nodes):
                yield Finding("forbidden-import", node, f"{path} reaches outside Spark")


def _imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    return {node.module.split(".")[0]} if node.module and not node.level else set()


def dynamic_code(source: Source) -> Iterator[Finding]:
    """What runs must be readable: no code made at run time."""
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("eval", "exec", "compile", "__import__")
        ):
            yield Finding("dynamic-code", node, f"{node.func.id}() runs code that nobody can review")


def prints(source: Source) -> Iterator[Finding]:
    """A transform says nothing: executors and drivers have logs."""
    for node in source.transform_nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield Finding("print", node, "print() inside a transform")


def input_output(source: Source) -> Iterator[Finding]:
    """Transforms take and return data frames; reading and writing have their own functions."""
    for node in source.transform_nodes:
        if isinstance(node, ast.Attribute) and node.attr in _IO and not dotted(node).startswith(("config.", "self.")):
            yield Finding(
                "io-in-transform",
                node,
                f".{node.attr} inside a transform; reading and writing have their own functions",
            )
        elif isinstance(node, ast.Call) and dotted(node.func) in ("spark.table", "spark.sql", "open"):
            yield Finding(
                "io-in-transform",
                node,
                f"{dotted(node.func)}() inside a transform; reading and writing have their own functions",
            )


def column_loops(source: Source) -> Iterator[Finding]:
    """Every withColumn adds a projection: in a loop the plan grows until the optimiser stalls."""
    for node in source.transform_nodes:
        if called(node) in ("withColumn", "withColumnRenamed") and any(
            isinstance(item, ast.For | ast.While) or (called(item) == "reduce" and isinstance(item, ast.Call))
            for item in source.ancestors(node)
        ):
            yield Finding(
                "column-loop",
                node,
                f"{called(node)} in a loop; build the columns first and use one select or withColumns",
            )


RULES = (
    driver_actions,
    python_udfs,
    clocks,
    chance,
    imports,
    dynamic_code,
    prints,
    input_output,
    column_loops,
)
