"""Fills a script's template with generated code in the style of the team's own scripts.

The script writer always uses the same spelling (`F`, `"bigint"`, public helpers with a one-line docstring). This
module converts it to the team's, and adds the imports that it needs.
"""

import ast
import copy
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from palmette.features.artefacts import HOLE, Conventions, Parameter, ScriptStyle
from palmette.features.pyspark.code import docstring, indent, quoted, renamed, rendered
from palmette.features.pyspark.scope import free_name
from palmette.features.signature import BY_NAME, parameters_of
from palmette.features.spec.view import View
from palmette.sandbox.import_policy import imported

_CANONICAL = {
    "F": "pyspark.sql.functions",
    "Window": "pyspark.sql.Window",
    "T": "pyspark.sql.types",
    **{name: f"pyspark.sql.{name}" for name in ("DataFrame", "Column", "SparkSession")},
    **{name: f"datetime.{name}" for name in ("datetime", "timedelta", "timezone")},
    "Path": "pathlib.Path",
    "TypeAdapter": "pydantic.TypeAdapter",
    **{name: name for name in ("argparse", "json", "tomllib", "yaml")},
}
"""Names used by the script writer, with what they stand for."""
_DOCSTRING = Path(__file__).with_name("docstring.py.j2")
_MEANINGS = {"config": "The configuration of the view.", "argv": "The arguments of the command line."}
TYPE_OBJECTS = {
    "bigint": "LongType", "int": "IntegerType", "smallint": "ShortType", "double": "DoubleType", "float": "FloatType",
    "string": "StringType", "boolean": "BooleanType", "date": "DateType", "timestamp": "TimestampType",
    "tinyint": "ByteType", "binary": "BinaryType", "timestamp_ntz": "TimestampNTZType",
}  # fmt: skip
"""The classes of types by their names in Spark SQL."""


class ScriptParts(NamedTuple):
    """The generated parts that are filled into a template."""

    bodies: Mapping[str, Sequence[str]]
    """By function of the template: its statements, unindented. The first one is the build function."""
    helpers: Sequence[str]
    """Source of the functions that the build function calls."""
    constants: Sequence[str]
    imports: Sequence[str]
    """Statements that import functions and classes of the team."""
    features: Sequence[str] = ()
    """Source of the decorated functions, in a script with one per feature."""


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
    has_typed_default = bare.startswith("F.coalesce(") and bare.endswith(f"{cast})")  # its values have this type, too
    is_cast = bare.endswith(cast) or has_typed_default
    return column if is_cast else f"{bare}{cast}{alias if bare != column else ''}"


def fill(template: str, parts: ScriptParts, view: View, conventions: Conventions) -> str:
    """Fills the functions of a template and adds the required functions, constants and imports.

    A template without a build function has a statement in the place of the decorated functions.
    """
    style = conventions.style
    template = _with_forms(template, view, conventions)
    module = ast.parse(template)
    bodies = {name: "\n".join(lines) for name, lines in parts.bodies.items()}
    helpers, features, build = list(parts.helpers), list(parts.features), next(iter(bodies))
    if style.helpers == "none" and build:
        bodies[build], helpers = inlined(bodies[build], helpers)
    if style.helpers in ("private", "method") or not build:
        for name in map(_name_of, parts.helpers):
            texts = _private([bodies[build], *helpers, *features], name, method=style.helpers == "method")
            bodies[build], *texts = texts
            helpers, features = texts[: len(helpers)], texts[len(helpers) :]
    helpers, features = ([_documented(one, style) for one in each] for each in (helpers, features))
    bound = {name: local for local, name in imported(module).items()}
    fixed = [line for line in parts.constants if not re.search(rf"(?m)^{line.partition(' =')[0]}\b", template)]
    fixed = [_annotated(line, style.constant) for line in fixed]
    imports, renames = _imports("\n".join([*bodies.values(), *features, *helpers]), style, bound)
    imports += ["from typing import Final"] if fixed and style.constant.startswith("Final") else []
    bodies = {name: _respelt(body, renames, style) for name, body in bodies.items()}
    helpers, features = ([_respelt(one, renames, style) for one in each] for each in (helpers, features))
    code = "\n".join([bodies[build], *features, *helpers])
    if f"{style.imports.get('pyspark.sql.types', 'T')}." in code and style.type_objects:
        imports += [style.statements.get("pyspark.sql.types", "from pyspark.sql import types as T")]
    lines = template.split("\n")
    for top, node in reversed(list(_with_holes(module))):
        hole = node.body[-1]
        beside = node if style.helpers == "method" else top
        end, depth = beside.end_lineno or beside.lineno, beside.col_offset // 4
        if node.name == build and not style.helpers_first:
            lines[end:end] = indent([part for one in helpers for part in ("", "", *one.split("\n"))], depth)
        lines[hole.lineno - 1 : hole.end_lineno] = indent(bodies[node.name].split("\n"), hole.col_offset // 4)
        if node.name == build and conventions.skeleton and ast.get_docstring(node) is not None:
            doc = indent(_builder_docstring(node, view, style).split("\n"), hole.col_offset // 4)
            lines[node.body[0].lineno - 1 : node.body[0].end_lineno] = doc
        if node.name == build and style.helpers_first:
            first = min([beside.lineno, *(one.lineno for one in getattr(beside, "decorator_list", ()))]) - 1
            lines[first:first] = indent([part for one in helpers for part in (*one.split("\n"), "", "")], depth)
    if features:
        at = lines.index(HOLE)
        lines[at : at + 1] = "\n\n\n".join([*helpers, *features]).split("\n")
    constants = [_respelt(line, renames, style) for line in fixed]
    return _headed(lines, module, [*imports, *parts.imports], constants)


def _with_forms(template: str, view: View, conventions: Conventions) -> str:
    """The template with the team's form of docstrings where none is the team's own, or one only names the view."""
    style, lines = conventions.style, template.split("\n")
    if style.docstrings in ("plain", "none"):
        return template
    functions = [node for node in ast.walk(ast.parse(template)) if isinstance(node, ast.FunctionDef)]
    for node in sorted(functions, key=lambda node: -node.lineno):
        doc = ast.get_docstring(node) or ""
        is_own = conventions.skeleton and not doc.endswith(f" for `{view.name}`.")
        if doc and not is_own and "\n" not in doc:
            whole = indent(_docstring(node, doc, style).split("\n"), node.body[0].col_offset // 4)
            lines[node.body[0].lineno - 1 : node.body[0].end_lineno] = whole
    return "\n".join(lines)


def _annotated(constant: str, annotation: str) -> str:
    """The statement of a constant with the team's annotation.

    >>> _annotated('ZONE = "UTC"', "Final[{type}]")
    'ZONE: Final[str] = "UTC"'
    """
    name, _, value = constant.partition(" = ")
    kind = type(ast.literal_eval(value)).__name__
    return f"{name}: {annotation.replace('{type}', kind)} = {value}" if annotation else constant


def _headed(lines: list[str], module: ast.Module, imports: Sequence[str], constants: Sequence[str]) -> str:
    """Inserts imports and constants after the existing ones."""
    heads = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    doc = [module.body[0]] if ast.get_docstring(module) is not None else []
    at = max((node.end_lineno or 0 for node in [*heads, *doc]), default=0)
    known = {ast.unparse(node) for node in heads}
    added = [line for line in dict.fromkeys(imports) if line not in known]
    rest = ["", *constants] if constants else []
    return "\n".join([*lines[:at], *added, *rest, *lines[at:]])


def _with_holes(module: ast.Module) -> Iterator[tuple[ast.stmt, ast.FunctionDef]]:
    """The functions to fill in file order, each with the top-level statement that contains it."""
    for top in module.body:
        for node in ast.walk(top):
            if isinstance(node, ast.FunctionDef) and ast.unparse(node.body[-1]) == HOLE:
                yield top, node


def respelt(code: str, style: ScriptStyle) -> tuple[list[str], str]:
    """The team's import statements for generated code, and the code with the names that they bind."""
    imports, renames = _imports(code, style, {})
    return imports, _respelt(code, renames, style)


def _imports(code: str, style: ScriptStyle, bound: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The further import statements that generated code needs, and the team's name for each of the writer's names."""
    imports, renames = [], {}
    for name, dotted in _CANONICAL.items():
        if re.search(rf"(?<![\w.\"]){name}\b", code) is None:
            continue
        package, _, last = dotted.rpartition(".")
        alias = f" as {name}" if last != name else ""
        canonical = f"from {package} import {last}{alias}" if package else f"import {name}"
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
        text = "\n".join(renamed(line, name, other, calls=True) for line in text.split("\n"))
    if style.type_objects:
        types = style.imports.get("pyspark.sql.types", "T")
        text = re.sub(r'\.cast\("([^"]+)"\)', lambda found: f".cast({_type_object(found[1], types)})", text)
    return text


def _type_object(kind: str, types: str) -> str:
    decimal = re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", kind)
    if decimal:
        return f"{types}.DecimalType({decimal[1]}, {decimal[2]})"
    return f"{types}.{TYPE_OBJECTS[kind]}()" if kind in TYPE_OBJECTS else quoted(kind)


def _name_of(helper: str) -> str:
    return helper.removeprefix("def ").partition("(")[0]


def _private(texts: Sequence[str], name: str, *, method: bool) -> list[str]:
    """Code with a function's name, where it is defined and called, preceded by an underscore."""
    found = re.compile(rf"(?<![\w.\"]){name}(?=\()")
    if method:
        texts = [text.replace(f"def {name}(", f"def _{name}(self, ") for text in texts]
    return [found.sub(f"self._{name}" if method else f"_{name}", text) for text in texts]


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
    kind = ast.unparse(node.returns or ast.Constant(""))
    return rendered(
        _DOCSTRING,
        summary=docstring(summary),
        style=style.docstrings,
        arguments=[(one.name, one.annotation, _meaning(one)) for one in parameters_of(node)],
        kind=kind,
        returns="The column." if "DataFrame" not in kind else "The rows." if kind.endswith("Frame") else "The tables.",
    )


def _meaning(argument: Parameter) -> str:
    """The description of a generated parameter, for a docstring."""
    kind = argument.annotation
    if known := _MEANINGS.get(BY_NAME.get(argument.name, "other")):
        return known
    if kind.startswith(("dict", "Dict", "Mapping")):
        return "The tables by name."
    if kind.endswith("DataFrame"):
        return "The rows with their cut-offs." if argument.name == "spine" else f"Rows of `{argument.name}`."
    if kind.endswith(("datetime", "date", "str")):
        return "The cut-off: only what was known before it counts."
    return "The Spark session." if kind.endswith("SparkSession") else "A column."


def _builder_docstring(node: ast.FunctionDef, view: View, style: ScriptStyle) -> str:
    """The docstring of a neighbour's build function, for this view."""
    keys = " and ".join(f"`{key}`" for key in view.grain)
    summary = f"Give one row per row of `{view.spine.table}`." if view.spine else f"Give one row per {keys}."
    return _docstring(node, summary, style)


def inlined(body: str, helpers: Sequence[str]) -> tuple[str, list[str]]:
    """Inlines calls of generated functions; returns the statements and the functions that could not be inlined.

    A function remains if it does more than compute one value, or is called where no statement can be inserted.
    """
    nodes = [ast.parse(helper).body[0] for helper in helpers]
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    tree = ast.parse("def build():\n" + textwrap.indent(body, "    ")).body[0]
    assert isinstance(tree, ast.FunctionDef)
    plain = {name: node for name, node in functions.items() if _is_plain(node)}
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | functions.keys()
    statements = _Inliner(plain, taken - plain.keys()).block(tree.body)
    text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in statements)
    left = [helper for helper in helpers if re.search(rf"\b{_name_of(helper)}\(", text)]
    return text, left


def _is_plain(node: ast.FunctionDef) -> bool:
    returns = [child for child in ast.walk(node) if isinstance(child, ast.Return)]
    straight = all(isinstance(item, ast.Assign | ast.Expr | ast.Return) for item in node.body)
    return len(returns) == 1 and straight and returns[0] is node.body[-1]


class _Inliner(ast.NodeTransformer):
    """Replaces calls of functions by their code; calls inside expressions become variables."""

    def __init__(self, functions: Mapping[str, ast.FunctionDef], taken: set[str]) -> None:
        self.functions, self.taken = functions, taken
        self.before: list[ast.stmt] = []
        """Statements to insert before the current one."""

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        outer = self.before
        for statement in statements:
            self.before = []
            if isinstance(statement, ast.Assign | ast.Return) and (function := self._called(statement.value)):
                assert isinstance(statement.value, ast.Call)
                statement.value = self._value(function, statement.value)
            else:
                statement = self.visit(statement)
            made += [*self.before, statement]
        self.before = outer
        return made

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if function := self._called(node):
            return self._variable(function.name, self._value(function, node))
        return self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def _called(self, node: ast.expr | None) -> ast.FunctionDef | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self.functions.get(node.func.id)
        return None

    def _variable(self, wanted: str, value: ast.expr) -> ast.Name:
        """Assigns a value to a new variable before the current statement."""
        name = self._fresh(wanted)
        self.before.append(ast.Assign(targets=[ast.Name(name, ast.Store())], value=value))
        return ast.Name(name, ast.Load())

    def _value(self, function: ast.FunctionDef, call: ast.Call) -> ast.expr:
        """The expression that the function returns for these arguments; its other statements go before."""
        given = dict(zip((one.arg for one in function.args.args), call.args, strict=False))
        given |= {one.arg: one.value for one in call.keywords if one.arg}
        values: dict[str, ast.expr] = {}
        for name, value in given.items():
            value = self.visit(value)
            uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(function))
            is_simple = isinstance(value, ast.Name | ast.Constant | ast.Subscript) or uses < 2
            values[name] = value if is_simple else self._variable(name, value)
        nodes = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        local = sorted({node.id for node in nodes if isinstance(node.ctx, ast.Store)})
        rename = _Rename(values, {name: self._fresh(name) for name in local})
        statements = function.body[ast.get_docstring(function) is not None :]
        *others, last = self.block([rename.visit(copy.deepcopy(item)) for item in statements])
        assert isinstance(last, ast.Return) and last.value is not None
        self.before += others
        return last.value

    def _fresh(self, wanted: str) -> str:
        name = free_name(wanted, self.taken)
        self.taken.add(name)
        return name


class _Rename(ast.NodeTransformer):
    """Substitutes arguments for parameters and renames local variables."""

    def __init__(self, values: Mapping[str, ast.expr], names: Mapping[str, str]) -> None:
        self.values, self.names = values, names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.names:
            return ast.Name(self.names[node.id], node.ctx)
        return self.values.get(node.id, node)
