"""Rules for the calls and imports of a feature script."""

import ast
from collections.abc import Iterator

from palmette.features.script_tree import (
    ScriptTree,
    called,
    calls,
    is_spark_function,
    method_calls,
    spark_calls,
    sql_calls,
)
from palmette.sandbox.import_policy import dotted

_ACTIONS = frozenset({
    "collect", "toPandas", "toLocalIterator", "take", "head", "tail", "show", "isEmpty", "foreach", "foreachPartition",
    "approxQuantile", "toArrow",
})  # fmt: skip
_UDFS = frozenset({"udf", "pandas_udf", "arrow_udf", "udtf"})
_PYTHON_ON_ROWS = frozenset({"mapInPandas", "mapInArrow", "applyInPandas", "applyInArrow", "applyInPandasWithState"})
_CLOCK = frozenset({"current_timestamp", "current_date", "now", "localtimestamp", "curdate"})
_PYTHON_CLOCK = ("datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns")
_RANDOM = frozenset({
    "rand", "randn", "uuid", "monotonically_increasing_id", "shuffle", "spark_partition_id", "random", "randstr",
    "uniform",
})  # fmt: skip
_MODULES = frozenset({
    "subprocess", "socket", "requests", "urllib", "urllib3", "http", "httpx", "aiohttp", "ctypes", "ftplib",
    "multiprocessing", "pickle", "shutil", "smtplib",
})  # fmt: skip
_IO = frozenset({"read", "readStream", "write", "writeTo", "writeStream"})
_GROUPINGS = frozenset({"groupBy", "groupby", "cube", "rollup", "pivot", "groupingSets"})


def driver_action(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Calls in transforms that bring rows to the driver."""
    for node, method in method_calls(source.transform_nodes):
        name = method.attr
        if name in ("count", "first"):
            acts = not node.args and not node.keywords and _GROUPINGS.isdisjoint(source.methods(method.value)[:2])
        else:
            is_collection = isinstance(source.value_of(method.value), ast.Constant | ast.List | ast.Tuple | ast.Dict)
            acts = name in _ACTIONS and not (is_collection and name in ("take", "head", "show", "foreach"))
        if acts and not is_spark_function(source, node):
            yield node, f"{name}() runs a job on the driver inside a transform"


def python_udf(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Python code that runs on rows, such as UDFs."""
    for node in source.nodes:
        name = ""
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyspark.sql"):
            name = min(_UDFS & {alias.name for alias in node.names}, default="")
        elif isinstance(node, ast.Attribute) and node.attr in _UDFS | _PYTHON_ON_ROWS | {"rdd"}:
            name = f".{node.attr}"
        if name:
            yield node, f"{name} runs Python on rows; Spark's built-in functions do not"


def clock(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Reads of the current time; features depend only on the cut-off."""
    found: list[tuple[ast.AST, str]] = [(node, called(node)) for node in spark_calls(source, _CLOCK)]
    found += [(node, called(node)) for node in spark_calls(source, {"unix_timestamp"}) if not node.args]
    names = ((node, dotted(node.func)) for node in calls(source.transform_nodes))
    found += [(node, name) for node, name in names if name.endswith(_PYTHON_CLOCK)]
    for place, name in (*found, *sql_calls(source, _CLOCK)):
        yield place, f"{name}() depends on when the script runs; use the cut-off"


def random(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Random values; the same input must give the same features."""
    found: list[tuple[ast.AST, str]] = [(node, f"{called(node)}()") for node in spark_calls(source, _RANDOM)]
    found += [(text, f"{name}()") for text, name in sql_calls(source, _RANDOM)]
    found += [(node, f"module {name!r}") for node, name in _imported(source) if name in ("random", "secrets", "uuid")]
    for place, what in found:
        yield place, f"{what} gives other values at every run"
    for node in calls(source.transform_nodes, {"sample", "randomSplit", "sampleBy"}):
        if source.methods(node):
            yield node, f"{called(node)}() takes random rows"


def imports_palmette(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Imports of palmette; a feature script must run without it."""
    for node, name in _imported(source):
        if name == "palmette":
            yield node, "the script must not depend on palmette"


def forbidden_import(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Access to the machine or the network; a feature script uses only Spark and the team's package."""
    for node, name in _imported(source):
        if name in _MODULES:
            yield node, f"module {name!r} reaches outside Spark"
    inside = set(map(id, source.transform_nodes))
    for item in source.nodes:
        if isinstance(item, ast.Attribute) and (path := dotted(item)).startswith("os."):
            harmless = path.startswith(("os.path", "os.environ", "os.getenv", "os.fspath"))
            if not harmless or id(item) in inside:
                yield item, f"{path} reaches outside Spark"


def _imported(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """The imports of a script: each statement with the top-level module."""
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((node, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node, node.module.split(".")[0]


def dynamic_code(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Code that is created at run time."""
    for node in calls(source.nodes, {"eval", "exec", "compile", "__import__"}):
        if isinstance(node.func, ast.Name):
            yield node, f"{called(node)}() runs code that cannot be reviewed"


def print_(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Calls of print in transforms, where executors and drivers have logs instead."""
    for node in calls(source.transform_nodes, {"print"}):
        if isinstance(node.func, ast.Name):
            yield node, "print() inside a transform"


def io_in_transform(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Reading or writing in transforms; other functions are responsible for that."""
    reads = {"spark.table", "open"}
    if not any(calls(source.transform_nodes, {"createOrReplaceTempView", "createTempView"})):
        reads.add("spark.sql")
    for node in source.transform_nodes:
        what = ""
        if isinstance(node, ast.Attribute) and node.attr in _IO and not dotted(node).startswith(("config.", "self.")):
            what = f".{node.attr}"
        elif isinstance(node, ast.Call) and dotted(node.func) in reads:
            what = f"{dotted(node.func)}()"
        if what:
            yield node, f"{what} inside a transform; reading and writing have their own functions"


def column_loop(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """withColumn in a loop: every call adds a projection, until the optimizer stalls."""
    for node in calls(source.transform_nodes, {"withColumn", "withColumnRenamed"}):
        around = source.ancestors(node)
        if any(isinstance(item, ast.For | ast.While) or called(item) == "reduce" for item in around):
            yield node, f"{called(node)} in a loop; build the columns first and use one select or withColumns"
