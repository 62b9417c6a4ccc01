"""All mutants of a script, and samples balanced over functions and operators."""

import ast
import hashlib
import re
from collections import defaultdict
from typing import NamedTuple

from palmette.engine.actor import Measurement
from palmette.features.mutation.operators import OPERATORS
from palmette.features.passed import PassedBefore
from palmette.features.script_tree import ScriptTree, called, spliced

_NEUTRAL_CALLS = ("broadcast", "hint", "repartition", "coalesce_partitions", "cache", "persist")


class Mutant(NamedTuple):
    """The script with one change."""

    name: str
    """`location operator number`; unique and stable."""
    operator: str
    function: str
    line: int
    before: str
    after: str
    text: str
    """The changed script."""
    in_query: bool = False
    """Whether the line is one of the query that the script runs from a file."""

    @property
    def change(self) -> str:
        """What is changed and in which function; the same after changes elsewhere in the script."""
        return f"{self.function}: {self.before} -> {self.after}"


def mutants(source: ScriptTree) -> list[Mutant]:
    """The mutants of the transforms that are valid Python, distinct, and different from the script."""
    seen = {(statement.lineno, ast.dump(statement)) for statement in source.tree.body}
    found: list[Mutant] = []
    for node in source.transform_nodes:
        if not isinstance(node, ast.expr) or _is_excluded(source, node):
            continue
        for operator in OPERATORS:
            for number, after in enumerate(operator(source, node)):
                mutant = _mutant(source, node, f"{operator.__name__} {number}", after)
                key = _changed_statement(source, node, mutant.text)
                if key is not None and key not in seen:
                    seen.add(key)
                    found.append(mutant)
    return found


def _changed_statement(source: ScriptTree, node: ast.expr, text: str) -> tuple[int, str] | None:
    """Line and syntax tree of the module's statement that a mutant changes; None if it is not valid Python."""
    *_, statement, _ = [node, *source.ancestors(node)]
    assert isinstance(statement, ast.stmt) and statement.end_lineno is not None
    before, lines = source.text.split("\n"), text.split("\n")
    start = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
    try:
        tree = ast.parse("\n".join(lines[start - 1 : statement.end_lineno + len(lines) - len(before)]))
    except SyntaxError:
        return None
    return statement.lineno, "".join(map(ast.dump, tree.body))


def _is_excluded(source: ScriptTree, node: ast.expr) -> bool:
    """Whether a node affects no feature: output names, signatures, session settings."""
    for item in [node, *source.ancestors(node)]:
        if isinstance(item, ast.arguments | ast.JoinedStr):
            return True
        if isinstance(item, ast.FunctionDef):
            return False
        if called(item) in _NEUTRAL_CALLS or (called(item) == "set" and "conf.set(" in ast.unparse(item)):
            return True
    return False


def _mutant(source: ScriptTree, node: ast.expr, operator: str, after: str) -> Mutant:
    before = ast.get_source_segment(source.text, node) or ""
    replacement = f"({after})" if isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp) else after
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    lines = [(number, *pair) for number, pair in enumerate(pairs, 1) if pair[0] != pair[1]]
    in_query = len(lines) == 1 and before.startswith('"""')
    line, shown = (lines[0][0], lines[0][1:]) if in_query else (node.lineno, (before, after))
    return Mutant(
        name=f"{node.lineno}:{node.col_offset}-{node.end_lineno}:{node.end_col_offset} {operator}",
        operator=operator.split(" ")[0],
        function=getattr(source.function_of(node), "name", ""),
        line=line,
        before=shown[0].strip(),
        after=shown[1].strip(),
        text=spliced(source.text, node, replacement),
        in_query=in_query,
    )


def sample(found: list[Mutant], size: int, seed: int) -> list[Mutant]:
    """At most `size` mutants, chosen in turn from every function and operator; returned in file order.

    The order is random and depends on the changes alone, so that most are chosen again after a change of the script.
    """

    def place(text: str) -> bytes:
        return hashlib.sha256(f"{seed} {text}".encode()).digest()

    groups: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in sorted(found, key=lambda mutant: place(mutant.change)):
        groups[f"{mutant.function} {mutant.operator}"].append(mutant)
    queues = [groups[key] for key in sorted(groups, key=place)]
    chosen: list[Mutant] = []
    while len(chosen) < size and any(queues):
        chosen += [queue.pop() for queue in queues if queue][: size - len(chosen)]
    return sorted(chosen, key=lambda mutant: (mutant.line, mutant.name))


class MutantHistory:
    """What earlier runs learned about mutants; it decides what is tried first, never a result."""

    def __init__(self, passed: PassedBefore | None = None) -> None:
        self._passed = passed or PassedBefore()

    def hints(self, mutant: Mutant) -> list[str]:
        """The test that noticed the change, and the words of the change."""
        known = self._passed.find("mutant", mutant.change)
        return [*([known.name] if known else []), *re.findall(r"\w{3,}", mutant.change)]

    def was_equivalent(self, mutant: Mutant) -> bool:
        known = self._passed.find("mutant", mutant.change)
        return known is not None and known.status == "skipped"

    def keep(self, mutant: Mutant, noticed_by: str = "") -> None:
        """Keeps the test that noticed the change, or that no output showed it."""
        measurement = Measurement(name=noticed_by, status="passed" if noticed_by else "skipped")
        self._passed.keep(measurement, "mutant", mutant.change)
