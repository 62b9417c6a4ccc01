"""The data-processing operations of a PySpark script, counted from its text by the published definitions.

A script is read, never run. What the team's own functions do inside does not count: only the script's text does.

| kind | what counts as one |
|---|---|
| filter | a call of `filter` or `where` on a frame |
| compute | a column of `withColumn` or `withColumns`, or a computed and named one in a `select` |
| replace | a call of `replace`, `fillna` or `na.fill`, or of `regexp_replace` or `translate` |
| aggregate | a `groupBy`, `rollup` or `cube`, with what is computed for its groups |
| convert | a call of `cast`, `astype`, `try_cast`, `to_date`, `to_timestamp`, `to_number` or one like them |
| categorize | a condition: a call of `when`, also one chained to another |
| extract | a call of `split`, `split_part`, `substring`, `regexp_extract`, `get_json_object`, or of a part of a date |

A default for a missing value (`coalesce`), a join and an order are none of these.
"""

import ast
from collections import Counter
from collections.abc import Iterator

METHODS = {
    "filter": "filter where",
    "compute": "withColumn",
    "replace": "replace fillna fill",
    "aggregate": "groupBy groupby rollup cube",
    "convert": "cast astype try_cast",
    "categorize": "when",
    "extract": "substr getField",
}
"""Called on a frame or a column, by kind."""
FUNCTIONS = {
    "replace": "regexp_replace translate replace",
    "convert": "to_date try_to_date to_timestamp try_to_timestamp to_number try_to_number to_char date_format "
    "from_unixtime timestamp_millis timestamp_micros timestamp_seconds",
    "categorize": "when",
    "extract": "split split_part substring substr substring_index regexp_extract regexp_substr get_json_object "
    "json_tuple from_json year quarter month weekofyear day dayofmonth dayofweek dayofyear weekday hour minute second "
    "extract date_part",
}
"""Of `pyspark.sql.functions`, by kind."""
_METHODS, _FUNCTIONS = (
    {name: kind for kind, names in table.items() for name in names.split()} for table in (METHODS, FUNCTIONS)
)


def count(script: str) -> Counter[str]:
    """How many operations of each kind a script has, given its text.

    >>> count("from pyspark.sql import functions as F\\nd = df.where('a > 1').select(F.to_date('t'))")["convert"]
    1
    """
    tree = ast.parse(script)
    modules, names = _functions(tree)
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _of_a_time(node):
            continue
        function = node.func
        if isinstance(function, ast.Name):
            found[_FUNCTIONS.get(names.get(function.id, ""), "")] += 1
        elif isinstance(function, ast.Attribute):
            is_function = isinstance(function.value, ast.Name) and function.value.id in modules
            found[(_FUNCTIONS if is_function else _METHODS).get(function.attr, "")] += 1
            if not is_function:
                found["compute"] += sum(1 for _ in _columns(function.attr, node))
    del found[""]  # calls that are none
    return found


def _functions(tree: ast.Module) -> tuple[set[str], dict[str, str]]:
    """What the module of functions is called in a script, and the functions that it imports by name."""
    modules: set[str] = set()
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "pyspark.sql":
            modules |= {one.asname or one.name for one in node.names if one.name == "functions"}
        elif isinstance(node, ast.ImportFrom) and node.module == "pyspark.sql.functions":
            names |= {one.asname or one.name: one.name for one in node.names}
        elif isinstance(node, ast.Import):
            modules |= {one.asname for one in node.names if one.name == "pyspark.sql.functions" and one.asname}
    return modules, names


def _of_a_time(call: ast.Call) -> bool:
    """Whether this is the `replace` of a date or time of Python."""
    named = {word.arg for word in call.keywords}
    return bool(named) and not call.args and named <= {"tzinfo", "hour", "minute", "second", "microsecond"}


def _columns(method: str, call: ast.Call) -> Iterator[ast.expr]:
    """The columns that a call of `withColumns` or `select` computes."""
    if method == "withColumns":
        for given in call.args:
            if isinstance(given, ast.Dict):
                yield from given.values
    elif method == "select":
        for given in call.args:
            if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "alias":
                named = given.func.value
                if not (isinstance(named, ast.Call) and ast.unparse(named.func).split(".")[-1] in ("col", "lit")):
                    yield given
