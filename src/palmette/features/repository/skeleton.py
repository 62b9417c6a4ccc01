"""Turns a neighbouring script into the skeleton of a new one, keeping everything that does not depend on its view.

The build function loses its body. Names of the neighbour's view or tables are replaced by those of the new view:
variables, arguments or entries that exist once per table are repeated for each new table. The skeleton is adapted to
the other neighbours in the same way and compared with them; the neighbour that reproduces most others is used.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from itertools import groupby
from typing import NamedTuple, Self

from palmette.engine.wiring import closure
from palmette.features.artefacts import HOLE, FeatureFunctions
from palmette.features.repository.checkout import (
    Checkout,
    Function,
    Module,
    bound_names,
    dotted_name,
    is_python,
    undefined_names,
)
from palmette.features.repository.decorated import feature_functions, grouping_keys, marked_functions
from palmette.features.repository.neighbours import Neighbour, builder_of, entry_of, query_path, query_tables
from palmette.features.repository.reading import ReadingFunction, reading_function
from palmette.features.repository.spelling import general, mentions, replaced, respelt, without
from palmette.features.signature import BY_NAME, is_frame, meaning_of

_DOCSTRING = re.compile(r'""".*?"""', re.DOTALL)

_Item = ast.AST | tuple[ast.AST, ast.AST]
"""A statement, argument or element, or the key and value of an entry."""


class ViewNames(NamedTuple):
    """Names of a view that a script mentions outside the computation."""

    view: str
    tables: tuple[str, ...]
    keys: tuple[str, ...] = ()


class Skeleton(NamedTuple):
    """A script for a new view with a placeholder for the body of the build function, or for decorated functions."""

    text: str
    builder: str
    """The build function: `name`, or `Class.name`; empty for a script without one."""
    model: str
    """Path of the neighbour."""
    unexplained: tuple[str, ...]
    """Unexplained differences to other neighbours, as sentences."""
    query: str = ""
    """Path with `{view}` of the SQL file with the query that the neighbour runs; empty if it runs none."""
    features: FeatureFunctions | None = None
    """The shape of decorated functions."""
    cutoff: str = "as_of"
    """The name of the cut-off if there is no build function; empty if the neighbour has none."""


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def skeleton(neighbours: Sequence[Neighbour], new: ViewNames, checkout: Checkout) -> Skeleton | None:
    """The skeleton from the neighbour that reproduces most others; None if no neighbour can be adapted."""
    sources = [source for one in neighbours if (source := _Source.of(one, checkout)) is not None]
    ranked: list[tuple[tuple[int, int, str], _Source, str, tuple[str, ...]]] = []
    for source in sources:
        text = source.filled(new)
        if text is None or not is_python(text) or undefined_names(text) - undefined_names(source.module.text):
            continue
        differing = [(other, found) for other in sources if (found := source.differences(other))]
        unlike = -abs(len(source.names.tables) - len(new.tables))
        notes = tuple(
            f"`{', '.join(found)}` of `{other.module.path}` differs from `{source.module.path}`, which is the model."
            for other, found in differing
        )
        ranked.append(((-len(differing), unlike, source.module.path), source, text, notes))
    if not ranked:
        return None
    _, source, text, notes = max(ranked, key=lambda item: item[0])
    text = _without_own_docstrings(text, source, sources, new.view)
    if len(source.names.tables) == 1:
        tables = source.names.tables[0], " and ".join(new.tables)
        text = _DOCSTRING.sub(lambda found: replaced(found[0], *tables), text)
    dotted = source.reading.name if source.reading else source.builder.dotted
    builder = "" if source.marked else respelt(dotted, source.names.view, new.view)
    views = {one.names.view: marked_functions(checkout).get(one.module.path, ()) for one in (source, *sources)}
    features = feature_functions(views, new.view) if source.marked else None
    given = features.parameters if features is not None else ()
    cutoff = next((one.name for one in given if meaning_of(one) == "as_of"), "as_of")
    return Skeleton(text, builder, source.module.path, notes, source.query, features, cutoff)


@dataclass(frozen=True)
class _Source:
    """A neighbour split into its parts."""

    module: Module
    builder: Function
    """The build function, or the first decorated function."""
    marked: tuple[Function, ...]
    """The decorated functions, if there is no build function."""
    names: ViewNames
    query: str
    reading: ReadingFunction | None = None
    """The build function if it reads its tables itself; its skeleton hands them to another function."""

    @classmethod
    def of(cls, neighbour: Neighbour, checkout: Checkout) -> Self | None:
        module = neighbour.module
        marked = tuple(one.function for one in marked_functions(checkout).get(module.path, ()) if not entry_of(module))
        builder = marked[0] if marked else builder_of(module)
        reading = reading_function(module) if builder is None else None
        builder = reading.builder if reading is not None else builder
        if builder is None:
            return None
        query = query_path(neighbour, checkout)
        text = checkout.text(query.replace("{view}", neighbour.view)) if query else ""
        built = marked or (builder,)
        tables = reading.tables if reading is not None else _tables(module, built) or query_tables(text)
        keys = dict.fromkeys(key for one in built for key in grouping_keys(module, one).values())
        return cls(module, builder, marked, ViewNames(neighbour.view, tables, tuple(keys)), query, reading)

    @cached_property
    def kept(self) -> tuple[ast.stmt, ...]:
        """The statements that a script of another view needs, too, i.e. without those that only the features need."""
        body = self.module.tree.body
        top = next(node for node in body if node is self.builder.owner or node is self.builder.node)
        defined = {name: node for node in body for name in bound_names(node)}
        run = (node for node in body if isinstance(node, ast.If | ast.Expr | ast.Try | ast.With))
        start: list[ast.AST] = [node for node in run if node is not body[0]]
        start += [node for node in body if isinstance(node, ast.FunctionDef) and self._stands_alone(node)]
        own = (self.names.view, *self.names.keys)
        assigned = [(node, [*ast.walk(node.value)]) for node in body if isinstance(node, ast.Assign)]
        start += [node for node, values in assigned if any(getattr(one, "value", None) in own for one in values)]
        start += [self.builder.node.args, *self.builder.node.decorator_list]
        if isinstance(top, ast.ClassDef):
            start += [*(node for node in top.body if node is not self.builder.node), *top.bases, *top.decorator_list]

        def uses(node: ast.AST) -> list[ast.AST]:
            names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
            return [defined[name] for name in names & set(defined) if defined[name] is not top]

        needed = closure(start, uses) | {top}
        return tuple(node for node in body if isinstance(node, ast.Import | ast.ImportFrom) or node in needed)

    def _stands_alone(self, node: ast.FunctionDef) -> bool:
        """Whether a function is for external callers: nothing else in the module uses it."""
        if node in (self.builder.node, *(one.node for one in self.marked)) or node.name.startswith("_"):
            return False
        others = (child for other in self.module.tree.body if other is not node for child in ast.walk(other))
        used = {child.id for child in others if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)}
        return node.name not in used

    def filled(self, new: ViewNames) -> str | None:
        """The kept statements for another view; None if names of this view's tables would remain."""
        edits = [edit for node in self.kept for edit in self._edits(node, new)]
        edits += [self._hole(new), *self._dropped()]
        parts = []
        for node in self.kept:
            start, end = self._span(node)
            parts.append(self._applied(start, end, edits))
            if self.reading and self.builder.node in (node, *getattr(node, "body", ())):
                parts[-1] += f"\n\n\n{self.reading.rest(new.tables, HOLE)}"
        body = _joined(self.kept, parts)
        rest = _DOCSTRING.sub("", body)
        old = set(self.names.tables) - set(new.tables)
        if any(mentions(without(rest, self.names.view), name) for name in old):
            return None
        return respelt(f"{body}\n", self.names.view, new.view)

    def differences(self, other: Self) -> list[str]:
        """The functions in which the adapted skeleton differs from another neighbour."""
        text = self.filled(other.names)
        if text is None or not is_python(text):
            return [self.builder.node.name]
        mine, theirs = _shapes(ast.parse(text)), _shapes(ast.Module(body=list(other.kept), type_ignores=[]))
        built = {self.builder.node.name, other.builder.node.name}
        return sorted(name for name in mine.keys() & theirs.keys() - built if mine[name] != theirs[name])

    @cached_property
    def _lines(self) -> list[str]:
        return StringIO(self.module.text).readlines()  # a form feed ends no line of Python

    def _place(self, line: int, column: int) -> int:
        """The text offset of a syntax tree position, whose columns count bytes."""
        return sum(map(len, self._lines[: line - 1])) + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.stmt | ast.expr | ast.arg | ast.keyword)
        decorators = getattr(node, "decorator_list", [])
        first = decorators[0] if decorators else node
        at = self._place(first.lineno, first.col_offset) - bool(decorators)  # the `@`
        return at, self._place(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def _hole(self, new: ViewNames) -> _Edit:
        """Replaces the body of the build function, except for its docstring, or the first decorated function."""
        if self.marked:
            return _Edit(*self._span(self.builder.node), HOLE)
        body = self.builder.node.body
        rest = body[1:] if ast.get_docstring(self.builder.node) is not None else body
        hole = self.reading.statement(new.tables) if self.reading else HOLE
        if not rest:
            _, end = self._span(body[-1])
            return _Edit(end, end, f"\n{' ' * body[-1].col_offset}{hole}")
        return _Edit(self._span(rest[0])[0], self._span(rest[-1])[1], hole)

    def _dropped(self) -> Iterator[_Edit]:
        """Removes methods that only the build function calls."""
        owner, builder = self.builder.owner, self.builder.node
        for method in owner.body if owner is not None else ():
            if not isinstance(method, ast.FunctionDef) or method is builder:
                continue
            callers = [node for node in self.module.tree.body if node is not owner]
            callers += [node for node in (owner.body if owner else ()) if node not in (method, builder)]
            if _calls(builder, method.name) and not any(_calls(node, method.name) for node in callers):
                start, end = self._span(method)
                yield _Edit(len(self.module.text[:start].rstrip()), end, "")

    def _applied(self, start: int, end: int, edits: Iterable[_Edit]) -> str:
        text, at = "", start
        for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
            if edit.start >= at and edit.end <= end:  # not outside, nor inside another edit
                text += self.module.text[at : edit.start] + edit.text
                at = edit.end
        return text + self.module.text[at:end]

    def _edits(self, node: ast.AST, new: ViewNames) -> Iterator[_Edit]:
        """Replacements of items that exist once per table, and of the view's keys, outermost first."""
        hidden = set(map(id, self.builder.node.body))
        keys: Sequence[ast.AST] = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        if all(isinstance(one, ast.Constant) and one.value in self.names.keys for one in keys) and keys:
            if keys[0] is not node:
                ends = self._span(keys[0])[0], self._span(keys[-1])[1]
                yield _Edit(*ends, ", ".join(f'"{key}"' for key in new.keys))
            elif len(new.keys) == 1:
                yield _Edit(*self._span(node), f'"{new.keys[0]}"')
        defined = {function.name for function in (*self.module.functions, *self.module.methods)}
        own = not isinstance(node, ast.Call) or dotted_name(node.func).rpartition(".")[2] in defined
        for items, separator in _lists(node):
            shown = [item for item in items if id(item) not in hidden]
            yield from self._repeated(shown, separator, new, alone=own or len(new.tables) == 1)
        for child in ast.iter_child_nodes(node):
            if id(child) not in hidden:
                yield from self._edits(child, new)

    def _repeated(self, items: Sequence[_Item], separator: str, new: ViewNames, *, alone: bool) -> Iterator[_Edit]:
        """Repeats consecutive items that differ only in a table's name for each table of the new view.

        `alone`: Whether a single item may be repeated, too.
        """
        for table, group in groupby(items, key=self._is_per_table):
            if not table:
                continue
            spans = [self._item_span(item) for item in group]
            texts = [self.module.text[start:end] for start, end in spans]
            tables = [name for text in texts if (name := self._one_table(text))]
            patterns = {general(text, name) for text, name in zip(texts, tables, strict=True)}
            if len(patterns) > 1 or len(set(tables)) != len(tables) or (len(spans) == 1 and not alone):
                continue
            pattern = patterns.pop()
            is_line = len(spans) == 1 or separator.startswith("\n")
            joint = separator if is_line else self.module.text[spans[0][1] : spans[1][0]]
            made = joint.join(pattern.replace("\0", name).replace("\1", name.upper()) for name in new.tables)
            yield _Edit(spans[0][0], spans[-1][1], made)

    def _item_span(self, item: _Item) -> tuple[int, int]:
        if isinstance(item, tuple):
            return self._span(item[0])[0], self._span(item[1])[1]
        return self._span(item)

    def _is_per_table(self, item: _Item) -> bool:
        """Whether an item is about one table; a statement only if its variable or function is named after it."""
        start, end = self._item_span(item)
        text = self.module.text[start:end]
        match item:
            case ast.FunctionDef(name=name):
                pass
            case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target):
                name = ast.unparse(target)
            case ast.stmt():
                return False
            case _:
                name = text
        return None not in (self._one_table(name), self._one_table(text))

    def _one_table(self, text: str) -> str | None:
        found = [name for name in self.names.tables if mentions(without(text, self.names.view), name)]
        return found[0] if len(found) == 1 else None


def _calls(node: ast.AST, method: str) -> bool:
    return any(isinstance(child, ast.Attribute) and child.attr == method for child in ast.walk(node))


def _docstrings(module: ast.Module) -> Iterator[tuple[str, ast.Expr]]:
    """The docstrings of functions and classes, with the function's name or `class`."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            yield "class" if isinstance(node, ast.ClassDef) else node.name, first


def _without_own_docstrings(text: str, source: _Source, sources: Sequence[_Source], view: str) -> str:
    """Replaces docstrings that no other neighbour has by ones that only name the view."""
    others = [
        {(name, respelt(ast.unparse(doc), other.names.view, view)) for name, doc in _docstrings(other.module.tree)}
        for other in sources
        if other is not source
    ]
    lines = text.split("\n")
    for name, doc in sorted(_docstrings(ast.parse(text)), key=lambda item: -item[1].lineno):
        replaced_later = name == source.builder.node.name and source.reading is None
        if replaced_later or not others or any((name, ast.unparse(doc)) in one for one in others):
            continue
        what = "The feature view" if name == "class" else name.strip("_").replace("_", " ").capitalize() + " for"
        made = f'{" " * doc.col_offset}"""{what} `{view}`."""'
        lines[doc.lineno - 1 : doc.end_lineno] = [made]
    return "\n".join(lines)


def _lists(node: ast.AST) -> Iterator[tuple[Sequence[_Item], str]]:
    """The lists in a node whose items may exist once per table, with their separators."""
    for name in ("body", "orelse", "finalbody"):
        found = getattr(node, name, None)
        if isinstance(found, list) and found:
            yield found, "\n" + " " * found[0].col_offset
    match node:
        case ast.Call():
            yield node.args, ", "
            yield node.keywords, ", "
        case ast.arguments():
            yield [*node.posonlyargs, *node.args], ", "
            yield node.kwonlyargs, ", "
        case ast.List() | ast.Tuple() | ast.Set():
            yield node.elts, ", "
        case ast.Dict():
            yield [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None], ", "


def _tables(module: Module, functions: Sequence[Function]) -> tuple[str, ...]:
    """The tables that a neighbour's features use: its data-frame parameters, or the keys of a dict of them."""
    parameters = [parameter for function in functions for parameter in function.parameters]
    frames = [p.name.removesuffix("_df") for p in parameters if is_frame(p) and BY_NAME.get(p.name) != "frame"]
    dicts = {p.name for p in parameters if meaning_of(p) == "tables"}
    keys = [
        node.slice.value
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in dicts
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ]
    return tuple(dict.fromkeys([*frames, *keys]))


def _shapes(module: ast.Module) -> dict[str, str]:
    """By name: functions without docstrings, as text that does not depend on formatting."""
    found = {}
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            found[node.name] = "\n".join([ast.dump(node.args), *(ast.dump(item) for item in body)])
    return found


def _joined(nodes: Sequence[ast.stmt], parts: Sequence[str]) -> str:
    """Joins statements with the usual blank lines."""
    text = ""
    blocks = (ast.FunctionDef, ast.ClassDef, ast.If)
    for index, (node, part) in enumerate(zip(nodes, parts, strict=True)):
        if index:
            text += "\n\n\n" if isinstance(node, blocks) or isinstance(nodes[index - 1], blocks) else "\n"
        text += part
    return text
