"""Faults of the test coder."""

import ast
import re
from collections.abc import Callable, Sequence

from palmette.features.artefacts import Tests
from palmette.features.script_tree import spliced
from palmette_bench.featbench.faults.kind import Faulted, FaultKind, Mutate, anywhere, with_text

FAILED = frozenset({"test-failed"})
REFUSED = frozenset({"tests-not-run", "test-failed", "test-cannot-fail", "reaches-outside"})
TOLERATED = 6
"""From so many tests on, one that fails is within the 20 % that the criterion lets pass."""


def _functions(text: str) -> list[ast.FunctionDef]:
    return [
        node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def _expected(function: ast.FunctionDef) -> Sequence[ast.expr]:
    """The rows that a test expects: a list, or those of a call whose first argument is what they have in common."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "expected":
            if isinstance(node.value, ast.Call):
                return node.value.args[1:]
            return node.value.elts if isinstance(node.value, ast.List) else ()
    return ()


def _in_tests(change: Callable[[str, ast.FunctionDef], str | None], most: int | None) -> Mutate:
    """Changes up to `most` tests (all where None), the last first, so that places stay right."""

    def mutate(tests: Tests) -> Faulted | None:
        names: list[str] = []
        text = tests.file.text
        functions = _functions(text)
        for function in reversed(functions):
            changed = change(text, function) if most is None or len(names) < most else None
            if changed is not None:
                text, names = changed, [*names, function.name]
        if not names or (most is not None and len(functions) < TOLERATED):
            return None
        return Faulted(with_text(tests, text), tuple(names) if most is not None else ())

    mutate.__doc__ = change.__doc__
    return anywhere(mutate)


def row_too_many(text: str, function: ast.FunctionDef) -> str | None:
    """A test expects a row twice."""
    rows = _expected(function)
    return spliced(text, rows[0], f"*[{ast.get_source_segment(text, rows[0])}] * 2") if rows else None


def checks_nothing(text: str, function: ast.FunctionDef) -> str | None:
    """A test that compares what came out with itself."""
    last = function.body[-1]
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call) or len(last.value.args) != 2:
        return None
    return spliced(text, last.value.args[1], ast.unparse(last.value.args[0]))


def in_order(text: str, function: ast.FunctionDef) -> str | None:
    """A test that takes the order of the rows for granted."""
    last = function.body[-1]
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call) or len(last.value.args) != 2:
        return None
    actual, expected = map(ast.unparse, last.value.args)
    lines = text.splitlines(keepends=True)
    line = f"    assert {actual}.collect() == {expected}.collect()\n"
    return "".join([*lines[: last.lineno - 1], line, *lines[last.end_lineno or last.lineno :]])


def wrong_import(tests: Tests) -> Faulted | None:
    """The function under test is imported by another name."""
    match = re.findall(r"^from (\S+) import (\w+)$", tests.file.text, flags=re.MULTILINE)
    if not match:
        return None
    module, name = match[-1]
    text = tests.file.text.replace(f"from {module} import {name}", f"from {module} import {name}_frame as {name}")
    return Faulted(with_text(tests, text), (f"{name}_frame",))


def writes_files(tests: Tests) -> Faulted | None:
    """The tests leave files behind."""
    functions = _functions(tests.file.text)
    if not functions:
        return None
    lines = tests.file.text.splitlines(keepends=True)
    at = functions[0].body[-1].lineno - 1
    line = '    import shutil; shutil.copy("/etc/hostname", "/tmp")\n'
    return Faulted(with_text(tests, "".join([*lines[:at], line, *lines[at:]])))


KINDS = (
    FaultKind("wrong import", "testcase_coder", False, REFUSED, anywhere(wrong_import)),
    FaultKind("every expectation wrong", "testcase_coder", False, REFUSED, _in_tests(row_too_many, None)),
    FaultKind("tests that check nothing", "testcase_coder", False, REFUSED, _in_tests(checks_nothing, None)),
    FaultKind("files left behind", "testcase_coder", False, REFUSED, anywhere(writes_files)),
    FaultKind("one wrong expectation", "testcase_coder", True, FAILED, _in_tests(row_too_many, 1)),
    FaultKind("order taken for granted", "testcase_coder", True, FAILED, _in_tests(in_order, None)),
)
