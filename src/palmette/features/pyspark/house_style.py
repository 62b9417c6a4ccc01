"""Adapts generated code to the style of the team's own scripts: module names, docstrings and functions.

The script writer always uses the same spelling (`F`, `W`, `"bigint"`, public helpers with a one-line docstring). This
module converts it to the team's and inserts it into the hole of a skeleton.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from palmette.features.artefacts import Conventions, ScriptStyle
from palmette.features.pyspark.code import docstring, indent, quoted
from palmette.features.spec.view import View

HOLE = "raise NotImplementedError"
_CANONICAL = {
    "F": ("pyspark.sql.functions", "from pyspark.sql import functions as F"),
    "W": ("pyspark.sql.Window", "from pyspark.sql import Window as W"),
    "T": ("pyspark.sql.types", "from pyspark.sql import types as T"),
    "DataFrame": ("pyspark.sql.DataFrame", "from pyspark.sql import DataFrame"),
    "Column": ("pyspark.sql.Column", "from pyspark.sql import Column"),
    "SparkSession": ("pyspark.sql.SparkSession", "from pyspark.sql import SparkSession"),
    "datetime": ("datetime.datetime", "from datetime import datetime"),
    "timedelta": ("datetime.timedelta", "from datetime import timedelta"),
    "timezone": ("datetime.timezone", "from datetime import timezone"),
}
"""Names used by the script writer: qualified name and import statement."""
_TYPE_OBJECTS = {
    "bigint": "LongType", "int": "IntegerType", "smallint": "ShortType", "double": "DoubleType", "float": "FloatType",
    "string": "StringType", "boolean": "BooleanType", "date": "DateType", "timestamp": "TimestampType",
}  # fmt: skip


class ScriptParts(NamedTuple):
    """The generated parts that are filled into a skeleton."""

    body: Sequence[str]
    """The statements of the build function, unindented."""
    helpers: Sequence[str]
    """Source of the functions that the body calls."""
    constants: Sequence[str]
    utilities: Mapping[str, str]
    """Team functions that the code calls, each with its module."""


def cast_to(column: str, name: str, kind: str) -> str:
    """The code of an output column with an explicit cast.

    >>> cast_to('F.lit(0).alias("clicks")', "clicks", "bigint")
    'F.lit(0).cast("bigint").alias("clicks")'
    """
    cast = f".cast({quoted(kind)})"
    if column == quoted(name):
        return f"F.col({column}){cast}"
    alias = f".alias({quoted(name)})"
    bare = column.removesuffix(alias)
    return column if bare.endswith(cast) else f"{bare}{cast}{alias if bare != column else ''}"


def fill(skeleton: str, parts: ScriptParts, view: View, conventions: Conventions) -> str:
    """Fills the hole of a skeleton and adds the required functions, constants and imports."""
    style = conventions.style
    module = ast.parse(skeleton)
    top, builder = _holding_hole(module)
    body = "\n".join(parts.body)
    helpers = list(parts.helpers)
    if style.helpers == "none" and helpers:
        body, helpers = inlined(body, helpers)
    if style.helpers == "private":
        for name in [_name_of(helper) for helper in helpers]:
            body, helpers = _private(body, name), [_private(helper, name) for helper in helpers]
    helpers = [_documented(helper, style) for helper in helpers]
    code = "\n".join([body, *helpers])
    bound = {name: local for local, name in _bound(module).items()}
    imports, renames = _imports(code, style, bound)
    imports += [f"from {home} import {name}" for name, home in parts.utilities.items() if f"{home}.{name}" not in bound]
    body, *helpers = [_respelt(text, renames, style) for text in (body, *helpers)]
    if f"{style.imports.get('pyspark.sql.types', 'T')}." in "\n".join([body, *helpers]) and style.type_objects:
        imports += [style.statements.get("pyspark.sql.types", _CANONICAL["T"][1])]
    lines = skeleton.split("\n")
    end = top.end_lineno or top.lineno
    after = [part for helper in helpers for part in ("", "", *helper.split("\n"))]
    lines[end:end] = after
    hole = builder.body[-1]
    lines[hole.lineno - 1 : hole.end_lineno] = indent(body.split("\n"), hole.col_offset // 4)
    described = _builder_docstring(builder, view, style)
    if described is not None:
        start, stop, doc = described
        lines[start:stop] = indent(doc.split("\n"), hole.col_offset // 4)
    return _headed(lines, module, imports, [_respelt(line, renames, style) for line in parts.constants])


def _headed(lines: list[str], module: ast.Module, imports: Sequence[str], constants: Sequence[str]) -> str:
    """Inserts imports and constants after the existing ones."""
    heads = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    doc = [module.body[0]] if ast.get_docstring(module) is not None else []
    at = max((node.end_lineno or 0 for node in [*heads, *doc]), default=0)
    known = {ast.unparse(node) for node in heads}
    added = [line for line in dict.fromkeys(imports) if line not in known]
    rest = ["", *constants] if constants else []
    return "\n".join([*lines[:at], *added, *rest, *lines[at:]])


def _holding_hole(module: ast.Module) -> tuple[ast.stmt, ast.FunctionDef]:
    """The function to fill, and the top-level statement that contains it."""
    for top in module.body:
        for node in ast.walk(top):
            if isinstance(node, ast.FunctionDef) and ast.unparse(node.body[-1]) == HOLE:
                return top, node
    raise ValueError("the skeleton has no function to fill")


def _bound(module: ast.Module) -> dict[str, str]:
    """The imports of a module: local name to qualified name."""
    found: dict[str, str] = {}
    for node in module.body:
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _imports(code: str, style: ScriptStyle, bound: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The further import statements that generated code needs, and the team's name for each of the writer's names."""
    imports, renames = [], {}
    for name, (dotted, canonical) in _CANONICAL.items():
        if re.search(rf"(?<![\w.\"]){name}\b", code) is None:
            continue
        package = dotted.rpartition(".")[0]
        if dotted in bound:
            renames[name] = bound[dotted]
        elif package == "datetime" and package in bound:
            renames[name] = f"{bound[package]}.{name}"
        else:
            renames[name] = style.imports.get(dotted, name)
            imports.append(style.statements.get(dotted, canonical))
    return imports, {name: other for name, other in renames.items() if name != other}


def _respelt(text: str, renames: Mapping[str, str], style: ScriptStyle) -> str:
    """Generated code with the team's module names and type notation."""
    for name, other in renames.items():
        text = "\n".join(_renamed_name(line, name, other) for line in text.split("\n"))
    if style.type_objects:
        types = style.imports.get("pyspark.sql.types", "T")
        text = re.sub(r'\.cast\("([^"]+)"\)', lambda found: f".cast({_type_object(found[1], types)})", text)
    return text


def _renamed_name(line: str, name: str, other: str) -> str:
    """As `renamed`, but also where the name is called: `datetime(2024, 1, 1)`."""
    text = r"""\"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\#.*"""
    return re.sub(rf"{text}|(?<![\w.]){name}(?!\w)", lambda found: other if found[0] == name else found[0], line)


def _type_object(kind: str, types: str) -> str:
    decimal = re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", kind)
    if decimal:
        return f"{types}.DecimalType({decimal[1]}, {decimal[2]})"
    return f"{types}.{_TYPE_OBJECTS[kind]}()" if kind in _TYPE_OBJECTS else quoted(kind)


def _name_of(helper: str) -> str:
    return helper.removeprefix("def ").partition("(")[0]


def _private(text: str, name: str) -> str:
    return re.sub(rf"(?<![\w.\"]){name}(?=\()", f"_{name}", text)


def _documented(helper: str, style: ScriptStyle) -> str:
    """A generated function with its docstring in the team's format."""
    node = ast.parse(helper).body[0]
    assert isinstance(node, ast.FunctionDef)
    doc = ast.get_docstring(node) or ""
    first, last = node.body[0].lineno - 1, node.body[0].end_lineno
    lines = helper.split("\n")
    lines[first:last] = indent(_docstring(node, doc, style).split("\n")) if style.docstrings != "none" else []
    return "\n".join(lines)


def _docstring(node: ast.FunctionDef, summary: str, style: ScriptStyle) -> str:
    """A quoted docstring: the summary, plus parameters and result if the team documents them."""
    arguments = {one.arg: _meaning(one) for one in node.args.args if one.arg not in ("self", "cls")}
    returns = "The rows." if "DataFrame" in ast.unparse(node.returns or ast.Constant("")) else "The column."
    summary = docstring(summary)
    match style.docstrings:
        case "google":
            given = [f"    {name}: {text}" for name, text in arguments.items()]
            sections = [*(["", "Args:", *given] if given else []), "", "Returns:", f"    {returns}"]
        case "numpy":
            given = [line for name, text in arguments.items() for line in (name, f"    {text}")]
            head = ["", "Parameters", "----------", *given] if given else []
            sections = [
                *head,
                "",
                "Returns",
                "-------",
                ast.unparse(node.returns or ast.Constant("")),
                f"    {returns}",
            ]
        case "sphinx":
            sections = ["", *(f":param {name}: {text}" for name, text in arguments.items()), f":returns: {returns}"]
        case _:
            return f'"""{summary}"""'
    return "\n".join([f'"""{summary}', *sections, '"""'])


def _meaning(argument: ast.arg) -> str:
    """The description of a generated parameter, for a docstring."""
    kind = ast.unparse(argument.annotation) if argument.annotation else ""
    if kind.endswith("]") and "DataFrame" in kind:
        return "The tables by name."
    if kind.endswith("DataFrame"):
        return "The rows with their cut-offs." if argument.arg == "spine" else f"Rows of `{argument.arg}`."
    if kind.endswith(("datetime", "date", "str")):
        return "The cut-off: only what was known before it counts."
    return "The Spark session." if kind.endswith("SparkSession") else "A column."


def _builder_docstring(node: ast.FunctionDef, view: View, style: ScriptStyle) -> tuple[int, int, str] | None:
    """The line range of the build function's docstring, and its text for this view; None if it has no docstring."""
    if ast.get_docstring(node) is None:
        return None
    keys = " and ".join(f"`{key}`" for key in view.grain)
    summary = f"Give one row per row of `{view.spine.table}`." if view.spine else f"Give one row per {keys}."
    return node.body[0].lineno - 1, node.body[0].end_lineno or 0, _docstring(node, summary, style)


def inlined(body: str, helpers: Sequence[str]) -> tuple[str, list[str]]:
    """Inlines calls of generated functions; returns the statements and the functions that could not be inlined.

    A function remains if it does more than compute one value, or is called where no statement can be inserted.
    """
    functions = {
        node.name: node for helper in helpers if isinstance(node := ast.parse(helper).body[0], ast.FunctionDef)
    }
    inliner = _Inliner({name: node for name, node in functions.items() if _is_plain(node)})
    tree = ast.parse("def build():\n" + textwrap.indent(body, "    ")).body[0]
    assert isinstance(tree, ast.FunctionDef)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    inliner.taken |= (names | functions.keys()) - inliner.functions.keys()
    statements = inliner.block(tree.body)
    text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in statements)
    left = [helper for helper in helpers if re.search(rf"\b{_name_of(helper)}\(", text)]
    return text, left


def _is_plain(node: ast.FunctionDef) -> bool:
    returns = [child for child in ast.walk(node) if isinstance(child, ast.Return)]
    straight = all(isinstance(item, ast.Assign | ast.Expr | ast.Return) for item in node.body)
    return len(returns) == 1 and straight and returns[0] is node.body[-1]


class _Inliner:
    """Replaces calls by the code of the called functions."""

    def __init__(self, functions: Mapping[str, ast.FunctionDef]) -> None:
        self.functions = functions
        self.taken: set[str] = set()
        """Variable names in use."""

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [made for statement in statements for made in self._statement(statement)]

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        if isinstance(statement, ast.Assign) and (call := self._call(statement.value)) is not None:
            before, value = self._body(call)
            return [*before, ast.Assign(targets=statement.targets, value=value)]
        if isinstance(statement, ast.Return) and (call := self._call(statement.value)) is not None:
            before, value = self._body(call)
            return [*before, ast.Return(value=value)]
        before = []
        replace = _Replace(self, before)
        changed = replace.visit(statement)
        return [*before, changed]

    def _call(self, node: ast.expr | None) -> ast.Call | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.functions:
            return node
        return None

    def variable(self, call: ast.Call, before: list[ast.stmt]) -> ast.Name:
        """Assigns the value of a call to a new variable; appends the statements to `before`."""
        assert isinstance(call.func, ast.Name)
        statements, value = self._body(call)
        name = self._fresh(call.func.id)
        before += [*statements, ast.Assign(targets=[ast.Name(name, ast.Store())], value=value)]
        return ast.Name(name, ast.Load())

    def _body(self, call: ast.Call) -> tuple[list[ast.stmt], ast.expr]:
        """The statements of the called function with arguments substituted, and the expression it returns."""
        assert isinstance(call.func, ast.Name)
        function = self.functions[call.func.id]
        before: list[ast.stmt] = []
        given = dict(zip((one.arg for one in function.args.args), call.args, strict=False))
        given |= {one.arg: one.value for one in call.keywords if one.arg}
        values: dict[str, ast.expr] = {}
        for name, value in given.items():
            value = _Replace(self, before).visit(value)
            uses = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(function))
            if isinstance(value, ast.Name | ast.Constant | ast.Subscript) or uses < 2:
                values[name] = value
            else:
                fresh = self._fresh(name)
                before.append(ast.Assign(targets=[ast.Name(fresh, ast.Store())], value=value))
                values[name] = ast.Name(fresh, ast.Load())
        body = ast.parse(ast.unparse(function)).body[0]
        assert isinstance(body, ast.FunctionDef)
        local = {n.id for n in ast.walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        names = {name: self._fresh(name) for name in sorted(local)}
        statements = body.body[1:] if ast.get_docstring(body) is not None else body.body
        settled = [_Rename(values, names).visit(item) for item in statements]
        done = self.block(settled)
        last = done.pop()
        assert isinstance(last, ast.Return) and last.value is not None
        return [*before, *done], last.value

    def _fresh(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self.taken:
            name, number = f"{wanted}_{number}", number + 1
        self.taken.add(name)
        return name


class _Replace(ast.NodeTransformer):
    """Replaces calls inside an expression by variables."""

    def __init__(self, inliner: _Inliner, before: list[ast.stmt]) -> None:
        self.inliner, self.before = inliner, before

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self.inliner._call(node) is not None:
            return self.inliner.variable(node, self.before)
        self.generic_visit(node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node


class _Rename(ast.NodeTransformer):
    """Substitutes arguments for parameters and renames local variables."""

    def __init__(self, values: Mapping[str, ast.expr], names: Mapping[str, str]) -> None:
        self.values, self.names = values, names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.names:
            return ast.Name(self.names[node.id], node.ctx)
        return self.values.get(node.id, node)
