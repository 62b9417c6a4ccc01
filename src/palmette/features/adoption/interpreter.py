"""Evaluates the functions of a feature script on symbolic data frames, without running anything.

Understood are assignments, calls of functions of the script and its repository, loops over literal lists, and the
methods of data frames and columns that have a counterpart in a specification. Everything else raises `NotReadError`.
"""

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import reduce
from typing import Any, cast

from sqlglot import exp
from sqlglot.errors import SqlglotError

from palmette.features.adoption import frames, methods
from palmette.features.adoption.frames import Frame, Grouped, Keyed, ScriptReading, SymbolicRows, table_rows
from palmette.features.adoption.statements import result_of
from palmette.features.adoption.trees import Cutoff, NotReadError, Ordering, Unread, tree_of
from palmette.features.repository import Module
from palmette.features.signature import parameters_of
from palmette.features.spec.dfr import Table

_DEEPEST = 30
_BUILTINS = ("list", "tuple", "dict", "sorted", "range", "len", "str", "int", "float", "zip", "enumerate")
_PLAIN_METHODS = frozenset({"format", "join", "items", "keys", "values", "get", "lower"})
_PARTLY = frozenset({"agg", "select", "join", "withColumn"})
"""Methods of data frames of which the columns that can be read are read."""


@dataclass(frozen=True)
class Code:
    """A function of the repository, and the values of its class's attributes if it is a method."""

    node: ast.FunctionDef
    module: Module
    owner: ast.ClassDef | None = None
    around: Mapping[str, object] = field(default_factory=dict)
    """Names of the function that defines it."""


class Interpreter:
    """Evaluates functions of the modules of a repository."""

    def __init__(self, modules: Iterable[Module], reading: ScriptReading, tables: Mapping[str, Table]) -> None:
        self.tables = tables
        self.modules = {module.name: module for module in modules}
        self.reading = reading
        self.views = dict[str, Frame]()
        self.depth = 0
        self.zone: str | None = None
        """The session's time zone that the script sets."""

    def run(self, code: Code, arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
        if self.depth > _DEEPEST:
            raise NotReadError(f"{code.node.name} calls itself")
        parameters = parameters_of(code.node)
        scope = _Scope(self, code.module, code.owner)
        scope.names |= code.around
        given = {one.name: one.default for one in parameters if one.default is not None}
        scope.names |= {name: scope.value(ast.parse(text, mode="eval").body) for name, text in given.items()}
        scope.names |= dict(zip((one.name for one in parameters), arguments, strict=False)) | dict(keywords)
        self.depth += 1
        try:
            return scope.body(code.node.body)
        finally:
            self.depth -= 1

    def method(self, value: object, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if isinstance(value, Cutoff):  # its day, its text, the same time in another zone
            return value
        if isinstance(value, Ordering):
            return methods.window_method(value, name, arguments)
        if isinstance(value, exp.Expr):
            return methods.column_method(value, name, arguments, keywords)
        if isinstance(value, Grouped):
            return methods.aggregated(self.reading, value, name, arguments)
        if isinstance(value, SymbolicRows | Keyed):
            if name == "transform":
                return self.run(arguments[0], [value, *arguments[1:]], keywords)
            return methods.frame_method(self.reading, value, name, arguments, keywords)
        if isinstance(value, str | list | dict) and name in _PLAIN_METHODS:
            return getattr(value, name)(*arguments, **keywords)
        raise NotReadError(f"the method {name} is not understood")


@dataclass
class _Returned:
    value: object


class _Scope:
    def __init__(self, interpreter: Interpreter, module: Module, owner: ast.ClassDef | None = None) -> None:
        self.interpreter, self.module, self.owner = interpreter, module, owner
        self.reading = interpreter.reading
        self.names = dict[str, object]()

    def body(self, statements: Sequence[ast.stmt]) -> object:
        done = self._block(statements)
        return None if done is None else done.value

    def statement(self, node: ast.stmt) -> _Returned | None:
        match node:
            case ast.Return():
                return _Returned(None if node.value is None else self.value(node.value))
            case ast.Assign(targets=[target]):
                self.assign(target, self.value(node.value))
            case ast.AnnAssign(value=ast.expr() as value):
                self.assign(node.target, self.value(value))
            case ast.Expr(value=ast.Constant()) | ast.Delete() | ast.Pass() | ast.Import() | ast.ImportFrom():
                pass
            case ast.Expr():
                self.effect(node.value)
            case ast.FunctionDef():
                self.names[node.name] = Code(node, self.module, None, self.names)
            case ast.For(orelse=[]):
                for item in _sequence(self.value(node.iter), node):
                    self.assign(node.target, item)
                    if (done := self._block(node.body)) is not None:
                        return done
            case ast.If():
                return self._block(node.body if self.truth(node.test) else node.orelse)
            case _:
                raise NotReadError(f"`{ast.unparse(node).splitlines()[0]}` is not understood", node.lineno)
        return None

    def _block(self, statements: Sequence[ast.stmt]) -> _Returned | None:
        return next((done for one in statements if (done := self.statement(one)) is not None), None)

    def assign(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple):
            for one, item in zip(target.elts, _sequence(value, target), strict=False):
                self.assign(one, item)
        else:
            raise NotReadError(f"`{ast.unparse(target)} = ...` is not understood", target.lineno)

    def effect(self, node: ast.expr) -> None:
        """A call for its effect: setting the session's zone, appending to a list; anything else has none on values."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        if node.func.attr == "set" and len(node.args) == 2:
            name, zone = (self.value(one) for one in node.args)
            self.interpreter.zone = str(zone) if name == "spark.sql.session.timeZone" else self.interpreter.zone
        elif node.func.attr in ("createOrReplaceTempView", "createTempView"):
            self.interpreter.views[str(self.value(node.args[0]))] = self.value(node.func.value)
        elif node.func.attr in ("append", "extend") and isinstance(found := self.value(node.func.value), list):
            value = self.value(node.args[0])
            found += [value] if node.func.attr == "append" else _sequence(value, node)

    def truth(self, node: ast.expr) -> bool:
        value = self.value(node)
        if isinstance(value, exp.Expr | Cutoff | SymbolicRows | Keyed | methods.DottedName | methods.Method):
            raise NotReadError(f"whether `{ast.unparse(node)}` is not known", node.lineno)
        return bool(value)

    def value(self, node: ast.expr) -> Any:
        try:
            return self._value(node)
        except NotReadError as error:
            error.line = error.line or node.lineno
            raise
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, SqlglotError) as error:
            raise NotReadError(f"`{ast.unparse(node)}` is not understood ({error})", node.lineno) from None

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self.names[node.id] if node.id in self.names else self.global_name(self.module, node.id)
            case ast.Attribute():
                return self.attribute(self.value(node.value), node.attr)
            case ast.Call():
                return self.call(node)
            case ast.BinOp():
                return methods.binary(node.op, self.value(node.left), self.value(node.right))
            case ast.Compare(ops=[op], comparators=[right]):
                return methods.binary(op, self.value(node.left), self.value(right))
            case ast.UnaryOp():
                return methods.unary(node.op, self.value(node.operand))
            case ast.Subscript():
                return self.item(self.value(node.value), self.value(node.slice))
            case ast.IfExp():
                return self.choice(node)
        return self.collection(node)

    def collection(self, node: ast.expr) -> Any:
        """A list, a dict, a comprehension or an f-string."""
        match node:
            case ast.List() | ast.Tuple() | ast.Set():
                return self.items(node.elts)
            case ast.Dict():
                return self.mapping(node)
            case ast.JoinedStr():
                return "".join(str(self.value(one)) for one in node.values)
            case ast.FormattedValue():
                return format(self.value(node.value), self.value(node.format_spec) if node.format_spec else "")
            case ast.Lambda(args=parameters, body=body):
                made = ast.FunctionDef("lambda", parameters, [ast.Return(body)], [], lineno=node.lineno)
                return Code(made, self.module, None, self.names)
            case ast.ListComp() | ast.GeneratorExp():
                return self.comprehension(node, lambda: self.value(node.elt))
            case ast.DictComp():
                return dict(self.comprehension(node, lambda: (self.value(node.key), self.value(node.value))))
        raise NotReadError(f"`{ast.unparse(node)}` is not understood")

    def items(self, nodes: Sequence[ast.expr]) -> list[Any]:
        found = list[Any]()
        for node in nodes:
            found += _sequence(self.value(node.value), node) if isinstance(node, ast.Starred) else [self.value(node)]
        return found

    def mapping(self, node: ast.Dict) -> dict[object, object]:
        found = dict[object, object]()
        for key, value in zip(node.keys, node.values, strict=True):
            found |= self.value(value) if key is None else {self.value(key): self.value(value)}
        return found

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp, make: Callable[[], Any]) -> list[Any]:
        found, (loop, *others) = list[Any](), node.generators
        if others:
            raise NotReadError(f"`{ast.unparse(node)}` is not understood")
        for item in _sequence(self.value(loop.iter), node):
            self.assign(loop.target, item)
            if all(self.truth(one) for one in loop.ifs):
                found.append(make())
        return found

    def choice(self, node: ast.IfExp) -> Any:
        """The value of `a if test else b`; of a cut-off with or without a zone, the cut-off."""
        body, other = self.value(node.body), self.value(node.orelse)
        return body if body == other else body if self.truth(node.test) else other

    def global_name(self, module: Module, name: str) -> Any:
        """A name of a module: a function, a constant, or what it imports."""
        found = _defined(module.tree.body, name)
        if found is not None:
            scope = _Scope(self.interpreter, module)
            return Code(found, module) if isinstance(found, ast.FunctionDef) else scope.value(found)
        dotted = module.imports.get(name, name)
        home, _, attribute = dotted.rpartition(".")
        if home in self.interpreter.modules and home != module.name:
            return self.global_name(self.interpreter.modules[home], attribute)
        return methods.DottedName(dotted)

    def attribute(self, value: object, name: str) -> Any:
        if isinstance(value, methods.DottedName):
            if value.dotted in self.interpreter.modules:
                return self.global_name(self.interpreter.modules[value.dotted], name)
            if value.dotted in ("self", "cls") and self.owner is not None:
                return self.own(name)
            return methods.DottedName(f"{value.dotted}.{name}")
        if isinstance(value, SymbolicRows | Keyed) and name in value.columns:
            return exp.column(name)
        if isinstance(value, methods.Method) and value.name == "na" and name in ("fill", "drop"):
            return methods.Method(value.of, f"{name}na")
        return methods.Method(value, name)

    def own(self, name: str) -> Any:
        """An attribute of the class: a method or a constant."""
        assert self.owner is not None
        found = _defined(self.owner.body, name)
        if found is None:
            raise NotReadError(f"self.{name} is set elsewhere")
        return Code(found, self.module, self.owner) if isinstance(found, ast.FunctionDef) else self.value(found)

    def item(self, value: object, index: object) -> Any:
        if isinstance(value, SymbolicRows | Keyed) and isinstance(index, str):
            return exp.column(index)
        if isinstance(value, SymbolicRows | Keyed):
            return frames.select(self.reading, value, [methods.labelled(one) for one in cast(Sequence[object], index)])
        if isinstance(value, exp.Expr) and isinstance(index, str):
            return exp.Dot(this=value, expression=exp.to_identifier(index))
        if isinstance(value, exp.Expr):
            return exp.Bracket(this=value, expressions=[tree_of(index)])
        return cast(Any, value)[index]

    def call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        partly = isinstance(function, methods.Method) and function.name in _PARTLY
        arguments = [item for one in node.args for item in self.partly(one)] if partly else self.items(node.args)
        keywords = dict[str, Any]()
        for one in node.keywords:
            keywords |= {one.arg: self.value(one.value)} if one.arg else self.value(one.value)
        self.reading.line = node.lineno
        return self.result(function, arguments, keywords)

    def result(self, function: object, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        match function:
            case Code():
                return self.interpreter.run(function, arguments, keywords)
            case methods.DottedName():
                return self.library(function.dotted, arguments, keywords)
            case methods.Method():
                return self.interpreter.method(function.of, function.name, arguments, keywords)
        raise TypeError("it calls what is no function")

    def partly(self, node: ast.expr) -> list[Any]:
        """The values of an argument; if it cannot be read, what stands for it, so that the rest is read."""
        try:
            return self.items([node])
        except NotReadError as error:
            return [Unread(error.reason, error.line, _alias(node))]

    def library(self, dotted: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        home, _, name = dotted.rpartition(".")
        if dotted.startswith("spark."):
            return self.table(name, arguments, keywords)
        if home == "pyspark.sql.functions":
            return methods.spark_function(name, arguments, keywords)
        if home in ("pyspark.sql.Window", "pyspark.sql.window.Window"):
            return methods.window_method(Ordering(), name, arguments)
        if home == "pyspark.sql.types":
            return methods.type_name(name, arguments)
        if dotted in ("datetime.timedelta", "timedelta"):
            return timedelta(*arguments, **keywords)
        if dotted in _BUILTINS:
            return getattr(builtins, dotted)(*arguments, **keywords)
        given = [one for one in (*arguments, *keywords.values()) if isinstance(one, Cutoff)]
        if home.startswith("datetime") and given:  # made aware, or parsed
            return given[0]
        if dotted == "functools.reduce":
            function, *items = arguments
            return reduce(lambda left, right: self.result(function, [left, right], {}), *items)
        if home.endswith("DataFrame"):
            return self.interpreter.method(arguments[0], name, arguments[1:], keywords)
        raise NotReadError(f"{dotted} is not understood")

    def table(self, name: str, arguments: list[Any], keywords: Mapping[str, Any]) -> object:
        """The registered table that the script reads by its name or path; a reader for `spark.read.format("csv")`."""
        if name in ("format", "option", "options", "schema"):
            return methods.DottedName("spark.read")
        if name == "sql":
            registered = {one.name: table_rows(one) for one in self.interpreter.tables.values()}
            values = [*arguments[1:], keywords.get("args")]
            return result_of(self.reading, arguments[0], {**registered, **self.interpreter.views}, values[0] or {})
        if arguments[0] in self.interpreter.views:
            return self.interpreter.views[arguments[0]]
        place = str(arguments[0]).rstrip("/")
        for one in self.interpreter.tables.values():
            if place in (one.name, one.table) or (one.path and place.endswith(one.path.rstrip("/").lstrip("./"))):
                return table_rows(one)
        raise NotReadError(f"{place!r} is not a table of the registry")


def _defined(body: Sequence[ast.stmt], name: str) -> ast.FunctionDef | ast.expr | None:
    """The function of this name in a module or class, or the value that is assigned to it."""
    for node in body:
        match node:
            case ast.FunctionDef(name=found) if found == name:
                return node
            case ast.Assign(targets=[ast.Name(id=found)]) | ast.AnnAssign(target=ast.Name(id=found)) if found == name:
                return node.value
    return None


def _alias(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "alias":
        return str(getattr(node.args[0], "value", ""))
    return ""


def _sequence(value: object, node: ast.AST) -> list[Any]:
    if isinstance(value, Iterable) and not isinstance(value, str | exp.Expr):
        return list(value)
    raise NotReadError("the items of a loop are not known", getattr(node, "lineno", 0))
