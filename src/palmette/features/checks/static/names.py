"""Rules for the columns, tables and dates that a script mentions."""

import ast
import re
from collections.abc import Iterable, Iterator

import sqlglot
from sqlglot import exp

from palmette.errors import nearest
from palmette.features.script_tree import ScriptTree, called, calls, is_spark_function, sql_texts, texts
from palmette.features.signature import parameters_of

_READERS = frozenset({
    "select", "groupBy", "groupby", "partitionBy", "orderBy", "sort", "col", "column", "asc", "desc", "drop",
    "dropDuplicates", "sum", "avg", "mean", "min", "max", "count", "countDistinct", "count_distinct",
})  # fmt: skip
"""Methods and functions whose string arguments are column names."""
_NAMED_BY_SPARK = frozenset({"count", "pos", "col", "key", "value", "window"})
"""Names that Spark gives to the results of count(), posexplode, explode and window."""
_DATE = re.compile(r"^(\d{4})-\d{2}-\d{2}([T ].*)?$")
_DICT = re.compile(r"(dict|mapping)\[str,dataframe", re.IGNORECASE)
_SENTINELS = frozenset({"1970", "9999", "1900", "0001"})


def forbidden_column(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Forbidden columns in transforms."""
    names = _forbidden_names(source)
    sql = {id(constant) for constant, _ in sql_texts(source)}
    found: list[tuple[ast.AST, set[str]]] = [
        (node, {node.attr}) for node in source.transform_nodes if isinstance(node, ast.Attribute)
    ]
    found += [
        (node, set(re.findall(r"\w+", text)) if id(node) in sql else {text.split(".")[-1]})
        for node, text in _texts(source)
    ]
    for node, mentioned in found:
        for name in sorted(mentioned & names):
            yield node, f"column {name!r} is forbidden by the specification"


def _texts(source: ScriptTree) -> Iterator[tuple[ast.Constant, str]]:
    return ((node, text) for node, text in texts(source.transform_nodes) if id(node) not in source.docstrings)


def _forbidden_names(source: ScriptTree) -> set[str]:
    """Forbidden column names that no allowed column shares."""
    allowed = set(source.view.kept) | set(source.view.output)
    names: set[str] = set()
    for entry in source.view.forbidden:
        table, _, column = entry.rpartition(".")
        others = {c.name for t in source.view.tables.values() if table and t.name != table for c in t.columns}
        if column not in others | allowed:
            names.add(column)
    return names


def unknown_column(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Columns that are read but exist in no table, are not in the output and are not created by the script."""
    known = {column.name for table in source.view.tables.values() for column in table.columns}
    known |= _NAMED_BY_SPARK | set(source.view.output) | {feature.name for feature in source.view.features}
    known |= {name for item in source.view.sources for name in item.schema}
    reads = list(_reads(source))
    beside = source.docstrings | {id(node) for node, _ in reads}
    written = [text for node, text in texts(source.nodes) if id(node) not in beside]
    made = {name for text in written for name in (text, *re.findall(r"\w+", text))}
    made |= {keyword.arg for node in calls(source.nodes) for keyword in node.keywords if keyword.arg}
    made |= {name for _, text in sql_texts(source) for name in re.findall(r"(?i)\bas\s+`?(\w+)", text)}
    made |= _made_by_pattern(source, {name for _, name in reads})
    for node, name in reads:
        parts = name.replace("`", "").split(".")
        if parts[-1] in ("", "*") or not parts[-1].isidentifier() or {parts[0], parts[-1]} & (known | made):
            continue
        yield node, f"column {name!r} exists in no table of the view{_hint(parts[-1], known)}"


def _hint(name: str, known: Iterable[str]) -> str:
    hint = nearest(name, known)
    return f"; did you mean {hint!r}?" if hint else ""


def _made_by_pattern(source: ScriptTree, names: set[str]) -> set[str]:
    """The names that an f-string of the script could produce."""
    made: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.JoinedStr):
            parts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in node.values]
            made |= {name for name in names if re.fullmatch("".join(parts), name)}
    return made


def _reads(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Nodes that read columns by name, with the names."""
    for node in calls(source.transform_nodes, _READERS):
        if _reads_columns(source, node):
            for argument in node.args:
                yield from texts(argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument])
    inside = set(map(id, source.transform_nodes))
    for constant, text in sql_texts(source):
        if id(constant) in inside:
            yield from ((constant, name) for name in _columns_of_sql(text))


def _reads_columns(source: ScriptTree, node: ast.Call) -> bool:
    if isinstance(node.func, ast.Name):
        return is_spark_function(source, node)
    return called(node) not in ("sum", "min", "max", "avg", "mean", "count") or is_spark_function(source, node)


def _columns_of_sql(text: str) -> list[str]:
    """Column names in a Spark SQL expression; empty if it cannot be parsed."""
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except sqlglot.errors.SqlglotError:
        return []
    bound = {name.name for item in tree.find_all(exp.Lambda) for name in item.expressions}
    return [one.name for one in tree.find_all(exp.Column) if one.name not in bound and one.table not in bound]


def unknown_table(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Tables that do not belong to the view."""
    for function in source.functions.values():
        dicts = {one.name for one in parameters_of(function) if _DICT.match(one.annotation.replace(" ", ""))}
        for node in ast.walk(function):
            match node:
                case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=table)):
                    if owner in dicts and table not in source.view.tables:
                        hint = _hint(str(table), source.view.tables)
                        yield node, f"table {table!r} is not one of the view's{hint}"


def fixed_date(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Dates in transforms that are not in the specification."""
    written = source.view.spec.model_dump_json()
    for node, text in _texts(source):
        match = _DATE.match(text)
        if match and match[1] not in _SENTINELS and text not in written:
            yield node, f"the date {text!r} is not in the specification; use the cut-off"
    for call in calls(source.transform_nodes, {"datetime", "date"}):
        given = [one.value for one in call.args[:3] if isinstance(one, ast.Constant) and isinstance(one.value, int)]
        if len(given) == 3:
            year, month, day = given
            if str(year) not in _SENTINELS and f"{year:04}-{month:02}-{day:02}" not in written:
                yield call, "a date that is not in the specification; use the cut-off"
