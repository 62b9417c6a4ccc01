"""The syntax tree of a feature script, with queries for static rules and mutations.

Nothing is executed. Names are resolved through assignments in their function and in the module. A value that cannot
be resolved is unknown, and no rule objects to it.
"""

import ast
import re
from collections.abc import Container, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property

from palmette.engine.wiring import closure
from palmette.features.spec.view import View
from palmette.sandbox.import_policy import dotted, imported, last_name

Function = ast.FunctionDef | ast.AsyncFunctionDef
SQL_METHODS = frozenset({"expr", "selectExpr", "filter", "where", "sql"})
"""Methods and functions that take SQL as strings."""


@dataclass(frozen=True)
class ScriptTree:
    """A parsed script and the view that it should build."""

    view: View
    entry: str
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the file."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Functions of the module and methods of its classes, by name."""
        return {node.name: node for node in self.nodes if isinstance(node, Function)}

    @cached_property
    def transforms(self) -> tuple[ast.AST, ...]:
        """The entry function and all functions of the module that it calls, directly or indirectly."""
        named = {name: set(map(last_name, ast.walk(function))) for name, function in self.functions.items()}
        reached = closure([self.entry], lambda name: named.get(name, ()))
        return tuple(function for name, function in self.functions.items() if name in reached)

    @cached_property
    def transform_nodes(self) -> tuple[ast.AST, ...]:
        """Every node inside the transforms, without duplicates, in file order."""
        seen = {id(node): node for function in self.transforms for node in ast.walk(function)}
        return tuple(
            sorted(seen.values(), key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)))
        )

    @cached_property
    def docstrings(self) -> frozenset[int]:
        """Identities of constants that are docstrings."""
        return frozenset(
            id(node.value) for node in self.nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )

    @cached_property
    def parents(self) -> dict[int, ast.AST]:
        """The parent of each node, by the node's identity."""
        return {id(child): parent for parent in self.nodes for child in ast.iter_child_nodes(parent)}

    @cached_property
    def spark_names(self) -> tuple[set[str], set[str]]:
        """Local names of the module pyspark.sql.functions, and of functions imported from it."""
        bound = {local: dotted.replace(".connect.", ".") for local, dotted in imported(self.tree).items()}
        modules = {local for local, dotted in bound.items() if dotted == "pyspark.sql.functions"}
        names = {local for local, dotted in bound.items() if dotted.startswith("pyspark.sql.functions.")}
        return {*modules, "pyspark.sql.functions"}, names

    @cached_property
    def _assigned(self) -> dict[tuple[int, str], list[tuple[int, ast.expr]]]:
        """By the scope's identity and a name: lines and values of its assignments."""
        found: dict[tuple[int, str], list[tuple[int, ast.expr]]] = {}
        for item in self.nodes:
            if isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None:
                targets = item.targets if isinstance(item, ast.Assign) else [item.target]
                names = [target.id for target in targets if isinstance(target, ast.Name)]
                for scope in dict.fromkeys([id(self.function_of(item)), id(self.tree)]):
                    for name in names:
                        found.setdefault((scope, name), []).append((item.lineno, item.value))
        return found

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parents of the node, innermost first."""
        while (parent := self.parents.get(id(node))) is not None:
            yield parent
            node = parent

    def function_of(self, node: ast.AST) -> ast.AST:
        """The innermost function around the node, or the module."""
        return next((item for item in self.ancestors(node) if isinstance(item, Function)), self.tree)

    def line(self, node: ast.AST) -> str:
        """The numbered source line of the node, as evidence."""
        number = getattr(node, "lineno", 0)
        lines = self.text.split("\n")
        return f"{number}: {lines[number - 1].strip()}" if 0 < number <= len(lines) else ""

    def value_of(self, node: ast.expr, depth: int = 6) -> ast.expr:
        """The value last assigned to a name before this line; the node itself if it is unknown."""
        if not isinstance(node, ast.Name) or depth == 0:
            return node
        for scope in (self.function_of(node), self.tree):
            found = [
                item
                for item in self._assigned.get((id(scope), node.id), ())
                if item[0] < node.lineno or scope is self.tree
            ]
            if found:
                return self.value_of(max(found, key=lambda pair: pair[0])[1], depth - 1)
        return node

    def chain(self, node: ast.expr) -> Iterator[ast.Call]:
        """The method calls that produced a value, last first: `a.b(1).c(2)` gives `c`, then `b`."""
        for _ in range(200):
            node = self.value_of(node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield node
                node = node.func.value
            elif isinstance(node, ast.Attribute):
                node = node.value
            else:
                return

    def methods(self, node: ast.expr) -> list[str]:
        """The names of the calls in `chain`."""
        return [call.func.attr for call in self.chain(node) if isinstance(call.func, ast.Attribute)]

    def literals(self, node: ast.AST) -> list[str]:
        """All strings in the node, including those of constants that it refers to."""
        found: list[str] = []
        for item in ast.walk(node):
            value = self.value_of(item) if isinstance(item, ast.Name) else item
            found += [text for _, text in texts([item] if value is item else ast.walk(value))]
        return found


def parse(text: str, view: View, entry: str) -> ScriptTree:
    """Parses a script; SyntaxError if it is not valid Python."""
    return ScriptTree(view, entry.rpartition(".")[2], text, ast.parse(text))


def spliced(text: str, node: ast.expr, after: str) -> str:
    """Replaces a node's source by `after`; columns count UTF-8 bytes, as in the parser."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    whole = text.encode()
    lines = whole.splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    return f"{whole[:start].decode()}{after}{whole[end:].decode()}"


def with_query(script: str, query: str) -> str:
    """The script with the text of its query; unchanged unless it reads one query from a file."""
    try:
        ran = [node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return script
    read = [node.args[0] for node in ran if getattr(node.func, "attr", "") == "sql" and node.args]
    is_one = len(read) == 1 and isinstance(read[0], ast.Call)
    return spliced(script, read[0], literal(query)) if is_one else script


def literal(query: str) -> str:
    """A query as a literal of several lines."""
    escaped = query.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{escaped}"""'


def called(node: ast.AST) -> str:
    """The last name of a call's function: `collect` for `df.select(x).collect()`; empty for other nodes."""
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def is_spark_function(source: ScriptTree, node: ast.Call) -> bool:
    """Whether the call is one of pyspark.sql.functions: `F.x(...)`, or a bare name imported from there."""
    modules, names = source.spark_names
    if isinstance(node.func, ast.Attribute):
        return dotted(node.func.value) in modules
    return isinstance(node.func, ast.Name) and node.func.id in names


def calls(nodes: Iterable[ast.AST], names: Container[str] | None = None) -> Iterator[ast.Call]:
    """Calls among nodes, optionally only of functions and methods with these last names."""
    return (node for node in nodes if isinstance(node, ast.Call) and (names is None or called(node) in names))


def method_calls(
    nodes: Iterable[ast.AST], names: Container[str] | None = None
) -> Iterator[tuple[ast.Call, ast.Attribute]]:
    """Like `calls`, but only calls of attributes, each with its attribute."""
    return ((node, node.func) for node in calls(nodes, names) if isinstance(node.func, ast.Attribute))


def spark_calls(source: ScriptTree, names: Container[str]) -> Iterator[ast.Call]:
    """Calls of the Spark functions with these names."""
    return (node for node in calls(source.nodes, names) if is_spark_function(source, node))


def texts(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.Constant, str]]:
    """String constants among nodes."""
    return ((node, node.value) for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def sql_texts(source: ScriptTree) -> Iterator[tuple[ast.Constant, str]]:
    """String constants with SQL: the arguments of `expr`, `selectExpr`, `filter`, `where` and `sql`."""
    return texts(argument for node in calls(source.nodes, SQL_METHODS) for argument in node.args)


def sql_calls(source: ScriptTree, names: Set[str]) -> Iterator[tuple[ast.Constant, str]]:
    """Calls of these functions (in lower case) in SQL: the text and the function's name."""
    for constant, text in sql_texts(source):
        for name in sorted({name.lower() for name in re.findall(r"([A-Za-z_]\w*)\s*\(", text)} & names):
            yield constant, name
