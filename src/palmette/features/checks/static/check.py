"""The static check: applies all rules to one syntax tree."""

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from inspect import isfunction
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.static import calls, names, rows, writes
from palmette.features.formatting import holds_module
from palmette.features.script_tree import ScriptTree, parse

Rule = Callable[[ScriptTree], Iterator[tuple[ast.AST, str]]]
"""A rule yields the nodes that violate it, each with a message."""
RULES: Mapping[str, Rule] = {
    name.strip("_").replace("_", "-"): rule
    for module in (writes, calls, rows, names)
    for name, rule in vars(module).items()
    if isfunction(rule) and rule.__module__ == module.__name__ and not name.startswith("_")
}
"""By code: every public function of these modules is a rule, and its name is the code."""


class StaticCheck:
    """Rules on the syntax tree: forbidden calls, unstable orders, unknown names, unsafe writes, missing modules."""

    code: ClassVar[str] = "static"
    codes: ClassVar[tuple[str, ...]] = ("syntax", "missing-module", *RULES)
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 0

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        name, text = subject.script.name, subject.text
        try:
            source = parse(text, subject.view, subject.entry)
        except SyntaxError as error:
            message, evidence = f"{name} is not Python: {error.msg}.", f"{error.lineno}: {(error.text or '').strip()}"
            return CheckResult((Violation(code="syntax", message=message, evidence=evidence, subject=name),))
        found = (*_missing_modules(source, subject), *violations(source, name))
        return CheckResult(found, detail=f"{len(RULES)} rules")


def _missing_modules(source: ScriptTree, subject: ScriptUnderTest) -> Iterator[Violation]:
    """Imports at the top of the script that would fail: of modules that are neither installed nor in the repository."""
    folders, script = (subject.root, subject.root / "src", *subject.python_path), subject.script.name
    for node in source.tree.body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
        for name in names:
            first = name.partition(".")[0]
            is_installed = first in sys.stdlib_module_names or find_spec(first) is not None
            if not is_installed and not any(holds_module(folder, name) for folder in folders):
                message = f"{script}:{node.lineno}: module {name!r} is neither installed nor in {str(subject.root)!r}."
                yield Violation(code="missing-module", message=message, evidence=source.line(node), subject=script)


def violations(source: ScriptTree, name: str) -> Iterator[Violation]:
    """The violations of all rules in file order, without duplicates."""
    broken = [(node, code, message) for code, rule in RULES.items() for node, message in rule(source)]
    found = {(getattr(node, "lineno", 0), code, message): node for node, code, message in broken}
    for (line, code, message), node in sorted(found.items(), key=lambda item: item[0]):
        place = f"{name}:{line}" if line else name
        yield Violation(code=code, message=f"{place}: {message}.", evidence=source.line(node), subject=name)
