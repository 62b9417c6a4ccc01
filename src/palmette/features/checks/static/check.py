"""The static check: applies all rules to one syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.static import calls, names, rows, writes
from palmette.features.script_tree import ScriptTree, parse

Rule = Callable[[ScriptTree], Iterator[tuple[ast.AST, str]]]
"""A rule yields the nodes that violate it, each with a message."""
RULES: Mapping[str, Rule] = {**writes.RULES, **calls.RULES, **rows.RULES, **names.RULES}


class StaticCheck:
    """Rules on the syntax tree: forbidden calls, unstable orders, unknown names, unsafe writes."""

    code: ClassVar[str] = "static"
    codes: ClassVar[tuple[str, ...]] = ("syntax", *RULES)
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 0

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        name, text = subject.script.name, subject.script.read_text(encoding="utf-8")
        try:
            source = parse(text, subject.view, subject.entry)
        except SyntaxError as error:
            message, evidence = f"{name} is not Python: {error.msg}.", f"{error.lineno}: {(error.text or '').strip()}"
            return CheckResult((Violation(code="syntax", message=message, evidence=evidence, subject=name),))
        return CheckResult(tuple(violations(source, name)), detail=f"{len(RULES)} rules")


def violations(source: ScriptTree, name: str) -> Iterator[Violation]:
    """The violations of all rules in file order, without duplicates."""
    found = {
        (getattr(node, "lineno", 0), code, message): node
        for code, rule in RULES.items()
        for node, message in rule(source)
    }
    for (line, code, message), node in sorted(found.items(), key=lambda item: item[0]):
        place = f"{name}:{line}" if line else name
        yield Violation(code=code, message=f"{place}: {message}.", evidence=source.line(node), subject=name)
