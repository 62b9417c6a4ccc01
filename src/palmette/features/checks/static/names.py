"""Rules on the columns, tables and dates that a script mentions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from palmette.errors import nearest
from palmette.features.checks.static.finding import Finding
from palmette.features.source import Source, called, is_spark_function, sql_texts

_READERS = frozenset(
    {
        "select",
        "groupBy",
        "groupby",
        "partitionBy",
        "orderBy",
        "sort",
        "col",
        "column",
        "asc",
        "desc",
        "drop",
        "dropDuplicates",
        "sum",
        "avg",
        "mean",
        "min",
        "max",
        "count",
        "countDistinct",
        "count_distinct",
    }
)
"""Methods and functions whose text arguments are names of columns."""
_NAMED_BY_SPARK = frozenset({"count", "pos", "col", "key", "value", "window"})
"""Names that Spark gives to the results of count(), posexplode, explode and window."""
_DATE = re.compile(r"^(\d{4})-\d{2}-\d{2}([T ].*)?$")
_SENTINELS = frozenset({"1970", "9999", "1900", "0001"})


def forbidden_columns(source: Source) -> Iterator[Finding]:
    """No feature depends on a forbidden column, so no transform names one."""
    names = _forbidden_names(source)
    texts = {id(constant): text for constant, text in sql_texts(source)}
    for node in source.transform_nodes:
        if id(node) in source.docstrings:
            continue
        mentioned: set[str] = set()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            mentioned = set(re.findall(r"\w+", texts[id(node)])) if id(node) in texts else {node.value.split(".")[-1]}
        elif isinstance(node, ast.Attribute):
            mentioned = {node.attr}
        for name in sorted(mentioned & names):
            yield Finding("forbidden-column", node, f"column {name!r} is forbidden by the specification")


def _forbidden_names(source: Source) -> set[str]:
    """Forbidden column names that nothing allowed shares."""
    allowed = set(source.view.kept) | set(source.view.output)
    names: set[str] = set()
    for entry in source.view.forbidden:
        table, _, column = entry.rpartition(".")
        others = {c.name for t in source.view.tables.values() if table and t.name != table for c in t.columns}
        if column not in others | allowed:
            names.add(column)
    return names


def unknown_columns(source: Source) -> Iterator[Finding]:
    """Every column that is read exists in a table, in the output, or is made by the script."""
    known = {column.name for table in source.view.tables.values() for column in table.columns}
    known |= _NAMED_BY_SPARK | set(source.view.output) | {feature.name for feature in source.view.features}
    known |= {name for item in source.view.sources for name in item.schema}
    reads = list(_reads(source))
    reading = {id(node) for node, _ in reads}
    made = {
        text
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in reading | source.docstrings
        for text in _words(node.value)
    }
    made |= {
        keyword.arg
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg
    }
    made |= {name for _, text in sql_texts(source) for name in re.findall(r"(?i)\bas\s+`?(\w+)", text)}
    if any(isinstance(node, ast.JoinedStr) for node in ast.walk(source.tree)):
        made |= _made_by_pattern(source, {name for _, name in reads})
    for node, name in reads:
        parts = name.replace("`", "").split(".")
        if parts[-1] in ("", "*") or not parts[-1].isidentifier() or {parts[0], parts[-1]} & (known | made):
            continue
        hint = nearest(parts[-1], known)
        yield Finding(
            "unknown-column",
            node,
            f"column {name!r} exists in no table of the view" + (f"; did you mean {hint!r}?" if hint else ""),
        )


def _words(text: str) -> set[str]:
    return {text} | set(re.findall(r"\w+", text))


def _made_by_pattern(source: Source, names: set[str]) -> set[str]:
    """The names that some f-string of the script could make."""
    made: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.JoinedStr):
            pattern = "".join(
                re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in node.values
            )
            made |= {name for name in names if re.fullmatch(pattern, name)}
    return made


def _reads(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Where columns are read by name, and the names."""
    for node in source.transform_nodes:
        if isinstance(node, ast.Call) and called(node) in _READERS and _reads_columns(source, node):
            for argument in node.args:
                items = argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument]
                yield from (
                    (item, item.value)
                    for item in items
                    if isinstance(item, ast.Constant) and isinstance(item.value, str)
                )
    inside = {id(node) for node in source.transform_nodes}
    for constant, text in sql_texts(source):
        if id(constant) in inside:
            yield from ((constant, name) for name in _columns_of_sql(text))


def _reads_columns(source: Source, node: ast.Call) -> bool:
    if isinstance(node.func, ast.Name):
        return is_spark_function(source, node)
    return called(node) not in ("sum", "min", "max", "avg", "mean", "count") or is_spark_function(source, node)


def _columns_of_sql(text: str) -> list[str]:
    """Column names in a Spark SQL expression; none when it cannot be parsed."""
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except sqlglot.errors.SqlglotError:
        return []
    bound = {name.name for item in tree.find_all(exp.Lambda) for name in item.expressions}
    return [
        column.name for column in tree.find_all(exp.Column) if column.name not in bound and column.table not in bound
    ]


def unknown_tables(source: Source) -> Iterator[Finding]:
    """Every table that is asked for is one of the view's."""
    for function in source.functions.values():
        arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
        dicts = {
            a.arg
            for a in arguments
            if a.annotation is not None
            and ast.unparse(a.annotation)
            .replace(" ", "")
            .lower()
            .startswith(("dict[str,dataframe", "mapping[str,dataframe"))
        }
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Name)
                and node.value.id in dicts
                and isinstance(node.slice, ast.Constant)
                and node.slice.value not in source.view.tables
            ):
                hint = nearest(str(node.slice.value), source.view.tables)
                yield Finding(
                    "unknown-table",
                    node,
                    f"table {node.slice.value!r} is not one of the view's"
                    + (f"; did you mean {hint!r}?" if hint else ""),
                )


def fixed_dates(source: Source) -> Iterator[Finding]:
    """A specification has no dates, so a transform has none either."""
    written = source.view.spec.model_dump_json()
    for node in source.transform_nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in source.docstrings:
            match = _DATE.match(node.value)
            if match and match[1] not in _SENTINELS and node.value not in written:
                yield Finding(
                    "fixed-date",
                    node,
                    f"the date {node.value!r} is not in the specification; use the cut-off",
                )
        elif (
            isinstance(node, ast.Call)
            and called(node) in ("datetime", "date")
            and len(node.args) >= 3
            and all(isinstance(a, ast.Constant) and isinstance(a.value, int) for a in node.args[:3])
        ):
            year, month, day = (int(ast.literal_eval(argument)) for argument in node.args[:3])
            if str(year) not in _SENTINELS and f"{year:04}-{month:02}-{day:02}" not in written:
                yield Finding("fixed-date", node, "a date that is not in the specification; use the cut-off")


RULES = (forbidden_columns, unknown_columns, unknown_tables, fixed_dates)
