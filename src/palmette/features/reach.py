"""What generated code may reach: Spark, the repository, and modules that only compute. Judged before anything runs it.

A list of what is allowed, not of what is known to be bad; held against the syntax tree alone. It keeps an answer that
obeys a hostile text from being executed at all. It is no wall: what the team's own functions do when they are called is
not seen here, and a determined author of Python finds ways around any reading of its text. The wall is the sandbox.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator

from palmette.delivery.paths import is_obeyed, matches
from palmette.documents import Model, parse_document, read_text
from palmette.engine.actor import TextFile, Violation
from palmette.features.repository import Checkout
from palmette.features.source import dotted
from palmette.features.spec.run import Run
from palmette.features.spec.view import View

CODE = "reaches-outside"
Words = Annotated[frozenset[str], BeforeValidator(str.split)]



class Lists(Model):
    """The lists of `reach.yaml`, where each is explained."""

    computing: Words
    only: dict[str, Words]
    never: Words
    doors: Words
    outside: Words
    names: Words
    members: Words
    innocent: Words
    fixtures: Words
    formats: Words
    sources: Words
    sinks: Words


LISTS = parse_document(read_text(Path(__file__).with_suffix(".yaml")), Lists, "reach.yaml")

_SETTING = re.compile(
    r"spark\.(remote|jars|files|archives|submit|plugins|extraListeners|.*extra(JavaOptions|ClassPath|LibraryPath))"
)
_RELATIVE = ""
"""First part of the name of a module that is imported relative to the file's own package."""
_JAVA = re.compile(r"\b(reflect|java_method|try_reflect)\s*\(", re.IGNORECASE)
_PLACE = re.compile(r"[A-Za-z][\w+.-]*:/+[^\s/]|/[\w.~-]|~/|(\./)*\.\./")
_FILES = "csv|json|parquet|orc|text|avro|delta|binaryfile|jdbc"
_READS = re.compile(rf"\s*(select|with)\b(?!.*\b({_FILES})\s*\.\s*`)", re.IGNORECASE | re.DOTALL)


def is_place(text: str) -> bool:
    """Whether a text begins as an absolute path, a URL, or a path out of a folder.

    >>> is_place("https://a.b/c"), is_place("/etc/x"), is_place("../x"), is_place("a/b"), is_place("^https?://")
    (True, True, True, False, False)
    """
    return _PLACE.match(text) is not None


class Found(NamedTuple):
    """A place in the file that reaches outside."""

    line: int
    what: str


@dataclass(frozen=True)
class Reach:
    """What generated code of a view may reach, and where it may lie."""

    own: frozenset[str]
    """First parts of the names of modules that the repository has or uses, and of the script."""
    places: frozenset[str]
    """Paths and tables that the registry and the run file name."""
    spec: str = ""
    """The specification, as JSON: values that it names may look like places."""
    allow: tuple[str, ...] = ()
    """Globs of the run file."""

    @classmethod
    def of(cls, view: View, run: Run, checkout: Checkout, script: str) -> Reach:
        """`script` is the path of the view's script, which its tests import."""
        used = {name.split(".")[0] for module in checkout.modules for name in module.imports.values()}
        has = {*checkout.packages, checkout.import_name(script).split(".")[0]}
        # Neither words nor descriptions: a place that they name is not one that was asked for.
        unsaid: dict[str, Any] = {"description": True, "features": {"__all__": {"description", "words"}}}
        spec = view.spec.model_dump_json(exclude=unsaid)
        named = [place for table in view.tables.values() for place in (table.path, table.table)]
        places = frozenset(filter(None, [*named, *view.tables, run.output.path, run.output.table, view.table_name]))
        own = {*used, *has} - LISTS.computing - LISTS.outside - sys.stdlib_module_names
        return cls(frozenset({*own, _RELATIVE}), places, spec, run.repository.allow)

    def objections(self, *files: TextFile, tests: TextFile | None = None) -> list[Violation]:
        """Why files may not be put where they could be executed or delivered; none when they may."""
        own = [violation for file in files for violation in self._of(file, is_test=False)]
        return [*own, *(self._of(tests, is_test=True) if tests else ())]

    def _of(self, file: TextFile, *, is_test: bool) -> Iterator[Violation]:
        if is_obeyed(file.path) and not any(matches(file.path, glob) for glob in self.allow):
            message = f"{file.path} is a place that programs obey by themselves; only `repository.allow` can open it."
            yield Violation(code="path-not-allowed", subject=file.path, message=message)
        if not file.path.endswith(".py"):
            return
        lines = file.text.splitlines()
        for line, what in sorted(set(self.reached(file.text, is_test=is_test))):
            evidence = lines[line - 1].strip() if 0 < line <= len(lines) else ""
            message = f"{file.path}:{line}: {what}; generated code reaches Spark and the repository only."
            yield Violation(code=CODE, subject=file.path, message=message, evidence=evidence)

    def reached(self, text: str, *, is_test: bool = False) -> Iterator[Found]:
        """What in a Python file reaches outside; nothing for one that is not Python, which nobody can run.

        A script may name the places that it was given. Tests have rows, which may hold anything, and neither read nor
        write.
        """
        try:
            yield from self._found(ast.parse(text), is_test)
        except SyntaxError:
            return
        except (ValueError, RecursionError, MemoryError):
            yield Found(1, "it cannot be read")
        try:
            coding, _ = tokenize.detect_encoding(io.BytesIO(text.encode("utf-8", "replace")).readline)
        except SyntaxError as error:
            coding = error.msg
        if coding not in ("utf-8", "utf-8-sig"):
            yield Found(1, f"its encoding ({coding}) makes another program of it than the one that is read")

    def _found(self, tree: ast.Module, is_test: bool) -> Iterator[Found]:
        imported = _imported(tree)
        unread = {id(node) for parent in ast.walk(tree) for node in _no_beginnings(parent)}
        calls = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        texts = _texts(tree)
        for node in ast.walk(tree):
            line = getattr(node, "lineno", 1)
            whats = [*self._modules(node, imported), *_members(node, imported), *_runner(node), *_spark(node)]
            whats += [*self._sinks(node, texts), *_unread(node, calls)]
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                whats += self._text(node.value, may_be_place=not is_test and id(node) not in unread)
            if is_test and _source(node):
                whats.append(f"a test works on rows alone, and has no use for {_source(node)!r}")
            yield from (Found(line, what) for what in whats)

    def _modules(self, node: ast.AST, imported: Mapping[str, str]) -> Iterator[str]:
        """Modules, and parts of modules, that are not on the list."""
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{_RELATIVE}.{node.module or ''}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            first, _, rest = dotted(node).partition(".")
            names = [f"{imported[first]}.{rest}"] if first in imported else []
        yield from (f"{name!r} is not among what it may use" for name in names if not self._permits(name))

    def _permits(self, name: str) -> bool:
        first, *parts = name.split(".")
        if first not in LISTS.computing | self.own or ("*" in parts and not name.startswith("pyspark.sql.")):
            return False
        if first in self.own:
            return not LISTS.doors & {*parts}
        if parts and first in LISTS.only and parts.pop(0) not in LISTS.only[first]:
            return False
        return not (LISTS.doors | LISTS.never) & {*parts}

    def _text(self, text: str, *, may_be_place: bool) -> Iterator[str]:
        if _SETTING.match(text):
            yield f"the setting {text[:80]!r} loads programs"
        if _JAVA.search(text):
            yield "SQL that calls Java"
        if may_be_place and is_place(text) and not self._is_given(text):
            yield f"the place {text[:80]!r} is neither the registry's nor the run file's"

    def _sinks(self, node: ast.AST, texts: Mapping[str, str]) -> Iterator[str]:
        """Tables and folders that somebody else is to read or to find his own in."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LISTS.sinks:
            given = node.args[0] if node.args else None
            text = texts.get(given.id) if isinstance(given, ast.Name) else _first_text(given)
            if text is not None and not self._is_given(text) and not text.startswith("?"):
                yield f"{node.func.attr}() of {text[:80]!r}, which is neither the registry's nor the run file's"

    def _is_given(self, text: str) -> bool:
        inside = any(text.startswith(f"{place.rstrip('/')}/") for place in self.places) and ".." not in text
        return text in self.places or inside or f'"{text}"' in self.spec or f"'{text}'" in self.spec


def _no_beginnings(parent: ast.AST) -> list[ast.expr]:
    """Texts in which no place begins: documentation, and what is put behind something else."""
    match parent:
        case ast.Expr(value=text) | ast.BinOp(right=text):
            return [text]
        case ast.JoinedStr(values=[_, *rest]):
            return rest
        case _:
            return []


def _imported(tree: ast.Module) -> dict[str, str]:
    """Local names to the modules, and parts of modules, that they stand for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bound = [(one.asname, one.name) if one.asname else (one.name.split(".")[0],) * 2 for one in node.names]
            found |= dict(bound)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return found


def _texts(tree: ast.Module) -> dict[str, str]:
    """Names that are given a text somewhere in the file."""
    given = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign)]
    pairs = [(target, one.value) for one in given for target in getattr(one, "targets", [getattr(one, "target", None)])]
    return {name.id: text for name, value in pairs if isinstance(name, ast.Name) and (text := _first_text(value))}


def _unread(node: ast.AST, calls: Collection[int]) -> Iterator[str]:
    """What becomes a call or code only later: a function under another name, and annotations in quotation marks."""
    if isinstance(node, ast.Name | ast.Attribute) and _name(node) == "open" and id(node) not in calls:
        yield "'open' under another name"
    annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
    for part in ast.walk(annotation) if annotation else ():
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and "(" in part.value:
            yield f"the annotation {part.value[:80]!r} is code"


def _members(node: ast.AST, imported: Mapping[str, str]) -> Iterator[str]:
    """Names and members by which a text does what cannot be read in it, or changes what is not its own."""
    names: list[str] = []
    match node:
        case ast.Name(id=name) if name in LISTS.names:
            yield f"{name!r} does what nobody can read in the text"
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if not name.startswith("__"):
            names = [name] if name in LISTS.members else []
        case ast.Attribute(attr=name):
            names = [name]
        case ast.MatchClass(kwd_attrs=found):
            names = found
    led = LISTS.members | LISTS.doors
    closed = [name for name in names if name in led or (name.startswith("_") and name not in LISTS.innocent)]
    yield from (f"the member {name!r} leads outside" for name in closed)
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        first = dotted(node).partition(".")[0]
        if first in imported:
            yield f"it changes {dotted(node)!r}, which is not its own"
    if isinstance(node, ast.Call) and _name(node.func) == "open" and not _only_reads(node):
        yield "it opens a file to write"


def _only_reads(call: ast.Call) -> bool:
    """Whether `open(path)` or `path.open()` reads, for all that the text says."""
    at = 1 if isinstance(call.func, ast.Name) else 0
    modes = [*call.args[at : at + 1], *(word.value for word in call.keywords if word.arg in ("mode", None))]
    known = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return len(known) == len(modes) and all(set(mode) <= set("rbt") for mode in known)


def _runner(node: ast.AST) -> Iterator[str]:
    """What a file of tests would do to its own runner."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name.startswith("pytest_"):
        yield f"{node.name!r} is a hook of the runner"
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.startswith("pytest_"):
        yield f"{node.id!r} loads plug-ins into the runner"
    elif isinstance(node, ast.arg) and node.arg in LISTS.fixtures:
        yield f"the fixture {node.arg!r} reaches the runner"


def _spark(node: ast.AST) -> Iterator[str]:
    """Connections and statements: Spark itself can reach the network and files."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    given = node.args[0] if node.args else None
    if node.func.attr == "sql" and not (isinstance(text := _first_text(given), str) and _READS.match(text)):
        yield "a statement that does more than select from tables, or cannot be read"
    of_tables = any(isinstance(one, ast.Attribute) and one.attr in ("read", "write") for one in ast.walk(node.func))
    if node.func.attr == "format" and of_tables:
        if isinstance(given, ast.Constant):
            if given.value not in LISTS.formats:
                yield f"the format {given.value!r} is a connection"
        elif not isinstance(given, ast.Name | ast.Attribute | ast.Subscript):
            yield "a format that cannot be read"
    if node.func.attr == "master" and not (_first_text(given) or "").startswith("local"):
        yield "a Spark elsewhere"
    if any(word.arg == "filename" for word in node.keywords):
        yield "it writes a file"


def _source(node: ast.AST) -> str:
    """By what data comes from or goes to a place; empty for anything else."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id="open" as name) if name in LISTS.sources:
            return name
        case _:
            return ""


def _first_text(node: ast.expr | None) -> str | None:
    """A text, or the beginning of one with values in it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "?" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
