"""Finds functions that read the tables of a view themselves, and how they read each."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from palmette.features.repository.checkout import Function, Module
from palmette.features.repository.neighbours import entry_of, inferred_returns
from palmette.features.repository.spelling import general
from palmette.features.signature import meaning_of


@dataclass(frozen=True)
class ReadingFunction:
    """A function or method that makes a view's rows from a session."""

    builder: Function
    pattern: str
    """The expression that reads a table, with placeholders for the table's name."""
    tables: tuple[str, ...]
    cutoff: str
    """The declaration of its cut-off; empty if it takes none."""

    @property
    def name(self) -> str:
        """The name of the function for everything after reading; private beside a class."""
        return f"{'_' if self.builder.owner else ''}{self.builder.name}_from_tables"

    def statement(self, tables: tuple[str, ...]) -> str:
        """The body of the function for a view of other tables."""
        given = [self.pattern.replace("\0", name).replace("\1", name.upper()) for name in sorted(tables)]
        return f"return {self.name}({', '.join([*given, *self.cutoff.split(':')[:1]])})"

    def rest(self, tables: tuple[str, ...], hole: str) -> str:
        """The function for everything after reading, without its body."""
        parameters = ", ".join(filter(None, [*(f"{name}: DataFrame" for name in sorted(tables)), self.cutoff]))
        return f'def {self.name}({parameters}) -> DataFrame:\n    """Build the rows from the tables."""\n    {hole}'


def reading_function(module: Module) -> ReadingFunction | None:
    """The only public function or method that makes rows from a session; None if it reads tables in unlike ways."""
    found, entry = [], entry_of(module)
    for function in (*module.functions, *module.methods):
        meanings = {meaning_of(one): one for one in function.parameters}
        makes_rows = inferred_returns(function) == "DataFrame" and not meanings.keys() & {"table", "tables", "frame"}
        if makes_rows and "spark" in meanings and not function.name.startswith("_") and function.name != entry:
            found.append((function, meanings))
    if len(found) != 1:
        return None
    builder, meanings = found[0]
    calls = _reads(builder.node, meanings["spark"].name)
    reads = {_table(call): ast.get_source_segment(module.text, call) or "" for call in calls}
    patterns = {general(code, table) for table, code in reads.items()}
    cutoff = meanings.get("as_of")
    declared = f"{cutoff.name}: {cutoff.annotation}" if cutoff is not None else ""
    return ReadingFunction(builder, patterns.pop(), tuple(reads), declared) if len(patterns) == 1 else None


def _reads(function: ast.FunctionDef, spark: str) -> Iterator[ast.Call]:
    """The calls that take the session and a name, or are a method of the session's with a name."""
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call) and node.args):
        root: ast.AST = call.func
        while isinstance(root, ast.Attribute | ast.Call):
            root = root.value if isinstance(root, ast.Attribute) else root.func
        passed = [getattr(one, "id", "") for one in call.args]
        if _table(call) and spark in (getattr(root, "id", ""), *passed[:-1]):
            yield call


def _table(call: ast.Call) -> str:
    """The last name or text in the last argument."""
    found = [getattr(one, "attr", None) or getattr(one, "value", None) for one in ast.walk(call.args[-1])]
    names = [one for one in found if isinstance(one, str) and one.isidentifier()]
    return names[-1] if names else ""
