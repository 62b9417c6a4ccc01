"""The import policy of generated code: modules that only compute, and additions by its environment.

It is checked before the code runs. It is an allow-list over the syntax tree. It
keeps an answer that obeys a hostile text from being executed at all. It does not analyse imported code,
and a determined author can evade any static check of Python: the protection is the sandbox.
"""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

from pydantic import BeforeValidator

from palmette.documents import Model
from palmette.engine.actor import TextFile, Violation

CODE = "reaches-outside"
RELATIVE = ""  # first part of a relative import's module name
WordSet = Annotated[frozenset[str], BeforeValidator(str.split)]
NodeRule = Callable[[ast.AST], Iterator[str]]  # yields messages about a node beyond the lists


class AllowLists(Model):
    """The lists of an environment's `import_policy.yaml`, which explains each."""

    computing: WordSet
    only: Mapping[str, WordSet]
    never: WordSet
    doors: WordSet
    whole: WordSet
    names: WordSet
    members: WordSet
    innocent: WordSet
    sources: WordSet
    sinks: WordSet


_PLACE = re.compile(r"[A-Za-z][\w+.-]*:/+[^\s/]|/[\w.~-]|~/|(\./)*\.\./")


def is_place(text: str) -> bool:
    """Whether a text starts like an absolute path, a URL, or a path that leaves its folder.

    >>> is_place("https://a.b/c"), is_place("/etc/x"), is_place("../x"), is_place("a/b"), is_place("^https?://")
    (True, True, True, False, False)
    """
    return _PLACE.match(text) is not None


class PolicyFinding(NamedTuple):
    """A violation in the file."""

    line: int
    what: str


@dataclass(frozen=True)
class CodePolicy:
    """The policy for generated code of one environment; a subclass supplies the lists."""

    lists: ClassVar[AllowLists]
    rules: ClassVar[tuple[NodeRule, ...]] = ()
    summary: ClassVar[str]  # A short description of what is allowed

    own: frozenset[str]  # top-level names of the code's own modules, or its project's
    places: frozenset[str] = frozenset()  # paths and tables that the code was given
    spec: str = ""  # the code's specification as JSON; values in it may look like paths

    def violations(self, file: TextFile, *, rows_alone: bool = False) -> Iterator[Violation]:
        """The violations in a file; none if it is not Python."""
        if not file.path.endswith(".py"):
            return
        lines = file.text.splitlines()
        for line, what in sorted(set(self.findings(file.text, rows_alone=rows_alone))):
            evidence = lines[line - 1].strip() if 0 < line <= len(lines) else ""
            message = f"{file.path}:{line}: {what}; {self.summary}."
            yield Violation(code=CODE, subject=file.path, message=message, evidence=evidence)

    def findings(self, text: str, *, rows_alone: bool = False) -> Iterator[PolicyFinding]:
        """The findings in a Python file; none if it does not parse, because it cannot run either.

        The code may name the paths it was given. With `rows_alone`, string values may be anything,
        but the code may neither read nor write.
        """
        try:
            yield from self._findings(ast.parse(text), rows_alone)
        except SyntaxError:
            return
        except (ValueError, RecursionError, MemoryError):
            yield PolicyFinding(1, "it cannot be read")
        try:
            coding, _ = tokenize.detect_encoding(io.BytesIO(text.encode("utf-8", "replace")).readline)
        except SyntaxError as error:
            coding = error.msg
        if coding not in ("utf-8", "utf-8-sig"):
            yield PolicyFinding(1, f"its encoding ({coding}) makes another program of it than the one that is read")

    def _findings(self, tree: ast.Module, rows_alone: bool) -> Iterator[PolicyFinding]:
        bound = imported(tree)
        unread = {id(node) for parent in ast.walk(tree) for node in _no_beginnings(parent)}
        calls = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        texts = _texts(tree)
        for node in ast.walk(tree):
            line = getattr(node, "lineno", 1)
            whats = [*self._modules(node, bound), *self._members(node, bound)]
            whats += [what for rule in self.rules for what in rule(node)]
            whats += [*self._sinks(node, texts), *_unread(node, calls)]
            if rows_alone:
                whats += self._sources(node)
            elif id(node) not in unread:
                whats += self._place(node)
            yield from (PolicyFinding(line, what) for what in whats)

    def _modules(self, node: ast.AST, bound: Mapping[str, str]) -> Iterator[str]:
        """Modules, and parts of modules, that are not on the list."""
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{RELATIVE}.{node.module or ''}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            first, _, rest = dotted(node).partition(".")
            names = [f"{bound[first]}.{rest}"] if first in bound else []
        yield from (f"{name!r} is not among what it may use" for name in names if not self._permits(name))

    def _permits(self, name: str) -> bool:
        first, *parts = name.split(".")
        is_whole = "*" not in parts or any(name.startswith(f"{one}.") for one in self.lists.whole)
        if first not in self.lists.computing | self.own or not is_whole:
            return False
        if first in self.own:
            return not self.lists.doors & {*parts}
        if parts and first in self.lists.only and parts.pop(0) not in self.lists.only[first]:
            return False
        return not (self.lists.doors | self.lists.never) & {*parts}

    def _place(self, node: ast.AST) -> Iterator[str]:
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and is_place(text) and not self._is_given(text):
            yield f"the place {text[:80]!r} is none that it was given"

    def _sinks(self, node: ast.AST, texts: Mapping[str, str]) -> Iterator[str]:
        """Tables and folders that other programs use."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in self.lists.sinks:
            given = node.args[0] if node.args else None
            text = texts.get(given.id) if isinstance(given, ast.Name) else first_text(given)
            if text is not None and not self._is_given(text) and not text.startswith("?"):
                yield f"{node.func.attr}() of {text[:80]!r}, which is none that it was given"

    def _is_given(self, text: str) -> bool:
        inside = any(text.startswith(f"{place.rstrip('/')}/") for place in self.places) and ".." not in text
        return text in self.places or inside or f'"{text}"' in self.spec or f"'{text}'" in self.spec

    def _members(self, node: ast.AST, bound: Mapping[str, str]) -> Iterator[str]:
        """Names and members that hide what the code does, or change what does not belong to it."""
        names: list[str] = []
        match node:
            case ast.Name(id=name) if name in self.lists.names:
                yield f"{name!r} does what cannot be read from the source"
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if not name.startswith("__"):
                names = [name] if name in self.lists.members else []
            case ast.Attribute(attr=name):
                names = [name]
            case ast.MatchClass(kwd_attrs=found):
                names = found
        led = self.lists.members | self.lists.doors
        closed = [name for name in names if name in led or (name.startswith("_") and name not in self.lists.innocent)]
        yield from (f"the member {name!r} leads outside" for name in closed)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            first = dotted(node).partition(".")[0]
            if first in bound:
                yield f"it changes {dotted(node)!r}, which is not its own"
        if isinstance(node, ast.Call) and last_name(node.func) == "open" and not _only_reads(node):
            yield "it opens a file to write"

    def _sources(self, node: ast.AST) -> Iterator[str]:
        """Path-like sources and targets of calls."""
        match node:
            case ast.Attribute(attr=name) | ast.Name(id="open" as name) if name in self.lists.sources:
                yield f"what works on rows alone has no use for {name!r}"


def _no_beginnings(parent: ast.AST) -> list[ast.expr]:
    """Strings that cannot start a path: docstrings, and later parts of concatenations."""
    match parent:
        case ast.Expr(value=text) | ast.BinOp(right=text):
            return [text]
        case ast.JoinedStr(values=[_, *rest]):
            return rest
        case _:
            return []


def imported(
    tree: ast.AST, home: Callable[[ast.ImportFrom], str | None] = lambda node: None if node.level else node.module
) -> dict[str, str]:
    """Modules and members by their local names, without those of which `home` gives no module."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bound = [(one.asname, one.name) if one.asname else (one.name.split(".")[0],) * 2 for one in node.names]
            found |= dict(bound)
        elif isinstance(node, ast.ImportFrom) and (module := home(node)) is not None:
            found |= {one.asname or one.name: f"{module}.{one.name}" for one in node.names}
    return found


def _texts(tree: ast.Module) -> dict[str, str]:
    """String constants by variable name."""
    given = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign)]
    pairs = [(target, one.value) for one in given for target in getattr(one, "targets", [getattr(one, "target", None)])]
    return {name.id: text for name, value in pairs if isinstance(name, ast.Name) and (text := first_text(value))}


def _unread(node: ast.AST, calls: Collection[int]) -> Iterator[str]:
    """Calls or code in disguise: functions used without a call, and quoted annotations."""
    if isinstance(node, ast.Name | ast.Attribute) and last_name(node) == "open" and id(node) not in calls:
        yield "'open' under another name"
    annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
    for part in ast.walk(annotation) if annotation else ():
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and "(" in part.value:
            yield f"the annotation {part.value[:80]!r} is code"


def _only_reads(call: ast.Call) -> bool:
    """Whether `open(path)` or `path.open()` only reads, as far as the source shows."""
    at = 1 if isinstance(call.func, ast.Name) else 0
    modes = [*call.args[at : at + 1], *(word.value for word in call.keywords if word.arg in ("mode", None))]
    known = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return len(known) == len(modes) and all(set(mode) <= set("rbt") for mode in known)


def dotted(node: ast.AST) -> str:
    """A dotted name as text, e.g. `datetime.datetime.now`; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return node.id if isinstance(node, ast.Name) else ""


def first_text(node: ast.expr | None) -> str | None:
    """A string, or the constant start of an f-string."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "?" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def last_name(node: ast.AST) -> str:
    """The name of an attribute, or of a variable; empty for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
