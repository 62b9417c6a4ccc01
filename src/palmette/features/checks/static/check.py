"""The static check: every rule on one syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import Outcome, Owner, Subject
from palmette.features.checks.static import calls, names, rows, writes
from palmette.features.checks.static.finding import Finding
from palmette.features.source import Source, parse

Rule = Callable[[Source], Iterator[Finding]]
RULES: tuple[Rule, ...] = (*writes.RULES, *calls.RULES, *rows.RULES, *names.RULES)


class StaticCheck:
    """Rules on the syntax tree: forbidden calls, unstable orders, unknown names, unsafe writes."""

    code: ClassVar[str] = "static"
    codes: ClassVar[tuple[str, ...]] = (
        "syntax",
        "missing-function",
        "not-re-runnable",
        "static-overwrite",
        "driver-action",
        "python-udf",
        "clock",
        "random",
        "imports-palmette",
        "forbidden-import",
        "dynamic-code",
        "print",
        "io-in-transform",
        "column-loop",
        "cross-join",
        "join-without-keys",
        "unordered-first",
        "unordered-collect",
        "tied-order",
        "hidden-fan-out",
        "select-star",
        "open-pivot",
        "forbidden-column",
        "unknown-column",
        "unknown-table",
        "fixed-date",
    )
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 0

    def __init__(self, predefined: tuple[str, ...] = ()) -> None:
        self._predefined = predefined

    def check(self, subject: Subject) -> Outcome:
        text = subject.script.read_text(encoding="utf-8")
        try:
            source = parse(text, subject.view, subject.entry, self._predefined)
        except SyntaxError as error:
            return Outcome(
                (
                    Violation(
                        code="syntax",
                        message=f"{subject.script.name} is not Python: {error.msg}.",
                        evidence=f"{error.lineno}: {(error.text or '').strip()}",
                        subject=subject.script.name,
                    ),
                )
            )
        return Outcome(tuple(violations(source, subject.script.name)), detail=f"{len(RULES)} rules")


def violations(source: Source, name: str) -> Iterator[Violation]:
    """What the rules find, each place and code once, in the order of the file."""
    findings = {(getattr(f.node, "lineno", 0), f.code, f.message): f for rule in RULES for f in rule(source)}
    for (line, code, message), finding in sorted(findings.items(), key=lambda item: item[0]):
        place = f"{name}:{line}" if line else name
        yield Violation(code=code, message=f"{place}: {message}.", evidence=source.line(finding.node), subject=name)
