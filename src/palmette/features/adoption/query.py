"""Writes a view as one SELECT: evaluates the code of its PySpark script on data frames that record SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from sqlglot import exp
from sqlglot.optimizer.simplify import simplify_parens

from palmette.features.adoption import methods, trees
from palmette.features.adoption.frames import ScriptReading
from palmette.features.adoption.interpreter import Code, Interpreter
from palmette.features.adoption.trees import NotReadError, Tree
from palmette.features.artefacts import Conventions, Utilities
from palmette.features.pyspark.build import Build
from palmette.features.pyspark.code import indent
from palmette.features.pyspark.expressions import sql_name
from palmette.features.pyspark.io import constants, needed_columns
from palmette.features.pyspark.scope import ScriptScope, free_name, identifier
from palmette.features.pyspark.times import is_utc
from palmette.features.repository.checkout import Module
from palmette.features.repository.readme import parse_signature
from palmette.features.signature import signature
from palmette.features.spec.view import AS_OF, View

_IMPORTS = """
from datetime import datetime, timedelta, timezone
from pyspark.sql import functions as F
from pyspark.sql import Window
"""
_SUM = re.compile(r"(?<!\w)\(\s*([\w:.]+ [-+] INTERVAL '\d+' \w+)\s*\)")
_TO_UTC = re.compile(r"to_utc_timestamp\((.+?), current_timezone\(\)\)")


def write_query(view: View, cutoff: str = AS_OF) -> str:
    """The view as a SELECT with the parameter `cutoff`, and with a common table expression for each transform.

    Raises:
        NotReadError: a definition of the view has no counterpart in SQL.
    """
    module = Module("build.py", "build", _python(view))
    writer = _QueryWriter(view, module)
    given = [{name: writer.table(name) for name in view.tables}, exp.Placeholder(this=cutoff)]
    build = next(function.node for function in module.functions if function.name == "build")
    try:
        select = writer.run(Code(build, module), given, {}).select
    except NotReadError as error:
        raise NotReadError(f"SQL lacks `{module.text.splitlines()[error.line - 1].strip()}`") from None
    for name, query in writer.named.items():
        select = select.with_(name, as_=query)
    select = select.transform(lambda node: simplify_parens(node, dialect="spark"))
    for name in select.find_all(exp.Identifier):
        name.set("quoted", sql_name(name.name) != name.name)
    text = trees.with_not_null(select.sql(trees.SparkSql, pretty=True, normalize_functions=False, max_text_width=100))
    return _SUM.sub(r"\1", _TO_UTC.sub(r"\1", text) if is_utc(view.zone) else text) + "\n"


def query_of(view: View, conventions: Conventions) -> str:
    """The query of a view with the team's name for the cut-off."""
    bound = signature(view, conventions, "build")
    return write_query(view, next((one.name for one in bound if one.meaning == "as_of"), AS_OF))


def _python(view: View) -> str:
    """The code that computes the view, without the functions that read and write."""
    build = parse_signature("build(tables: dict[str, DataFrame], as_of: datetime)")
    assert build is not None
    taken = {build.name, *map(identifier, view.tables), *(identifier(source.name) for source in view.sources)}
    scope = ScriptScope(view, Utilities(), taken)
    body = Build(scope, Conventions(script_path="", test_path="", config_path="", functions=(build,))).body()
    code = "\n".join([*scope.functions, "def build(tables, as_of):", *indent(body)])
    return "\n".join([_IMPORTS, *constants(scope, {}, code), code])


def why_no_query(view: View) -> str:
    """Why the view has no query; empty if it has one."""
    try:
        write_query(view)
    except NotReadError as error:
        return error.reason
    return ""


class _QueryWriter(Interpreter):
    """Makes each data frame that a function returns a common table expression with the function's name."""

    def __init__(self, view: View, module: Module) -> None:
        super().__init__([module], ScriptReading(), view.tables)
        self.view = view
        self.named = dict[str, exp.Query]()
        self.functions = list[str]()
        """Those that are being evaluated."""

    def run(self, code: Code, arguments: Sequence[object], keywords: Mapping[str, object]) -> Any:
        self.functions.append(code.node.name)
        result = super().run(code, arguments, keywords)
        name = self.functions.pop()
        return result.under(name) if isinstance(result, _Query) and self.functions else result

    def method(self, value: object, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if not isinstance(value, _Query):
            return super().method(value, name, arguments, keywords)
        unread = [one for one in arguments if isinstance(one, trees.Unread)]
        if name not in _METHODS or unread:
            raise NotReadError(f"{name}() has no counterpart in SQL", unread[0].line if unread else 0)
        return _METHODS[name](value, *arguments, **keywords)

    def table(self, name: str) -> _Query:
        columns = tuple(needed_columns(self.view, self.view.tables[name]))
        return _Query(self, exp.select("*").from_(exp.to_table(name)), columns)


@dataclass(frozen=True)
class _Query:
    """A data frame as a SELECT."""

    writer: _QueryWriter
    select: exp.Select
    columns: tuple[str, ...]
    keys: tuple[Tree, ...] = ()
    """Those that the rows are grouped by next."""

    @property
    def step(self) -> str:
        """A name for rows inside the current function."""
        function = self.writer.functions[-1]
        return "features" if function == "build" else f"{function}_rows"

    @property
    def is_whole(self) -> bool:
        """Whether it selects all columns of a table or of joined tables."""
        return self.select.expressions == [exp.Star()] and not self.select.args.get("distinct")

    def under(self, name: str) -> _Query:
        """All columns of this query, which becomes a common table expression."""
        if self.is_whole and not self.select.args.get("where") and not self.select.args.get("joins"):
            return self
        name = free_name(name, {*self.writer.named, *self.writer.tables})
        self.writer.named[name] = self.select
        return replace(self, select=exp.select("*").from_(exp.to_table(name)), keys=())

    def open(self) -> _Query:
        """A query of the same rows to which conditions and columns can be added."""
        return self if self.is_whole else self.under(self.step)

    def chosen(self, *columns: object) -> _Query:
        pairs = [methods.labelled(one) for one in columns]
        query = self.open()
        select = query.select.select(*(_aliased(*pair) for pair in pairs), append=False)
        return replace(query, select=select, columns=tuple(name for name, _ in pairs))

    def with_columns(self, added: Mapping[str, Tree]) -> _Query:
        if set(added) & set(self.columns):
            every = {name: exp.column(name) for name in self.columns} | dict(added)
            return self.chosen(*(exp.alias_(tree, name) for name, tree in every.items()))
        query = self.open()
        select = query.select.select(*(_aliased(*pair) for pair in added.items()))
        return replace(query, select=select, columns=(*self.columns, *added))

    def where(self, condition: Tree) -> _Query:
        query = self.open()
        return replace(query, select=query.select.where(condition))

    def join(self, other: _Query, on: str | list[str] | Tree, how: str = "inner") -> _Query:
        left = self.open()
        left = left.under(self.step) if left.select.args.get("where") else left
        first = next(other.select.find_all(exp.Table)).name
        table = next(other.under(f"{first}_rows").select.find_all(exp.Table))
        keys = [on] if isinstance(on, str) else on if isinstance(on, list) else []
        select = left.select.join(table, join_type=how, **({"using": keys} if keys else {"on": on}))
        return replace(left, select=select, columns=(*self.columns, *(one for one in other.columns if one not in keys)))

    def aggregated(self, *aggregates: object) -> _Query:
        query = self.chosen(*self.keys, *aggregates)
        return replace(query, select=query.select.group_by(*(key.unalias() for key in self.keys)), keys=())

    def not_null(self, subset: Iterable[str] = ()) -> _Query:
        return self.where(exp.and_(*(exp.column(name).is_(exp.null()).not_() for name in subset or self.columns)))

    def union(self, other: _Query) -> _Query:
        both = cast(exp.Select, exp.union(self.select, other.select, distinct=False))
        return replace(self, select=both).under(self.step)

    def scalar(self) -> Tree:
        return self.select.select(self.select.expressions[0].unalias(), append=False).subquery()


def _aliased(name: str, tree: Tree) -> Tree:
    return tree if isinstance(tree, exp.Column) and tree.name == name else exp.alias_(tree, name)


_METHODS: Mapping[str, Callable[..., Any]] = {
    "select": _Query.chosen,
    "where": _Query.where,
    "join": _Query.join,
    "groupBy": lambda query, *keys: replace(query.open(), keys=tuple(map(trees.named, keys))),
    "agg": _Query.aggregated,
    "withColumn": lambda query, name, value: query.with_columns({name: value}),
    "withColumns": _Query.with_columns,
    "withColumnRenamed": lambda query, old, new: query.chosen(
        *(exp.alias_(exp.column(one), new if one == old else one) for one in query.columns)
    ),
    "drop": lambda query, *names: query.chosen(*(one for one in query.columns if one not in names)),
    "dropna": _Query.not_null,
    "distinct": lambda query: replace(query, select=query.select.distinct()),
    "union": _Query.union,
    "scalar": _Query.scalar,
}
"""By name of a data frame's method."""
