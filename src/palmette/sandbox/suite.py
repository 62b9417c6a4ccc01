"""Runs test suites in the sandbox, and determines the outcome of each test.

Tests share a process with the code under test, and that code can make the runner report anything. Four measures
counter this:

- A plugin of the harness writes each outcome at once, as a numbered line sealed with a secret key: written outcomes
  cannot be changed or removed, and forged lines are ignored. The plugin reads the key, and loads what it needs, before
  a module of the project can shadow Python's.
- Each module gets two sentinel tests with random names: one that passes, and one that is expected to fail. Unless both
  are reported accordingly, no passed test counts.
- A test passes if its collected function runs to its end: not if it raises, is not called, or is replaced. While
  it runs, no tracer, which could jump over code, can be set in its thread.
- The tests are read from the source before it runs. A known or collected test without a report counts as skipped,
  whatever setting or hook hides it; a function at another location than the one read fails.

This detects changes to the way outcomes are made (replaced hooks and functions, hidden assertions, an early exit, tests
that are skipped or deselected), even of a single test. It does not detect code that searches its process's memory
for the key and writes in the plugin's place, or that rewrites the source of a test line by line. So everything that can
be recomputed from files is, and a verdict rests on that first.
"""

import ast
import os
import secrets
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from pydantic import ValidationError

from palmette.documents import Model
from palmette.sandbox.access import Access, ExecutionResult, Limits
from palmette.sandbox.process import Sandbox
from palmette.sandbox.reading import read_made

_FILE_BYTES = 1 << 20
_MOST_FILES = 5000
_LEFT_OUT = frozenset({"build", "dist", "node_modules", "site-packages", "venv", "__pycache__"})
"""Folders without tests, in addition to hidden ones."""


def known_tests(folder: Path) -> dict[str, str]:
    """`file:line` by test name (`tests.test_it.TestClass.test_one`); empty if another definition may replace it.

    Only what every runner treats as a test counts: functions and methods with the prefix `test`, in test files, not
    defined under a condition.
    """
    found: dict[str, str] = {}
    for path in _files(folder):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(read_made(folder, path, _FILE_BYTES))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):  # reported by its runner
            continue
        module = path.removesuffix(".py").replace("/", ".")
        found |= {f"{module}.{name}": place for name, place in _in(tree.body, Path(path).name)}
    return found


def unreported(known: Iterable[str], reported: Iterable[str]) -> list[str]:
    """Known tests without a report; reported names may be relative to a folder above or below."""
    ends = {end for name in reported for end in _ends(name.partition("[")[0])}
    return [name for name in known if not ends & {*_ends(name)}]


def _ends(name: str) -> list[str]:
    """The suffixes of a dotted name that keep at least the file and the test."""
    parts = name.split(".")
    first = next((number for number, part in enumerate(parts) if _is_test_file(f"{part}.py")), 0)
    return [".".join(parts[number:]) for number in range(first + 1)]


def _files(folder: Path) -> Iterator[str]:
    left = _MOST_FILES
    for root, folders, names in os.walk(folder):
        is_environment = "pyvenv.cfg" in names
        folders[:] = [] if is_environment else [one for one in folders if one not in _LEFT_OUT and one[0] != "."]
        for name in names if not is_environment else ():
            if _is_test_file(name) and left:
                left -= 1
                yield os.path.relpath(Path(root) / name, folder)


def _is_test_file(name: str) -> bool:
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))


def _in(body: list[ast.stmt], file: str) -> Iterator[tuple[str, str]]:
    """Tests of a module or class; the last definition of a name counts."""
    plain = [one for one in body if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    names = [node for one in plain for node in ast.walk(one) if isinstance(node, ast.Name)]
    bound = {name.id for name in names if isinstance(name.ctx, ast.Store | ast.Del)}
    if "__test__" in bound:
        return
    for one in body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name.startswith("test"):
            decorators = [ast.unparse(decorator) for decorator in one.decorator_list]
            if not any("fixture" in decorator for decorator in decorators):
                line = min([one.lineno, *(decorator.lineno for decorator in one.decorator_list)])
                is_own = isinstance(one, ast.FunctionDef) and all(
                    word.startswith("pytest.mark.") for word in decorators
                )
                yield one.name, f"{file}:{line}" if is_own and one.name not in bound else ""
        elif isinstance(one, ast.ClassDef) and _has_tests(one):
            yield from ((f"{one.name}.{name}", place) for name, place in _in(one.body, file))


def _has_tests(one: ast.ClassDef) -> bool:
    return one.name.startswith("Test") or any(ast.unparse(base).endswith("TestCase") for base in one.bases)


_PLUGIN = Path(__file__).parent / "sentinel"
_OUTPUT_CHARS = 8_000_000


@dataclass(frozen=True)
class Suite:
    """The outcomes of the tests, by name."""

    passed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()  # includes expected failures, and known tests that did not run
    failed: Mapping[str, str] = field(default_factory=dict)  # Pytest's report by test

    @property
    def count(self) -> int:
        return len(self.passed) + len(self.skipped) + len(self.failed)


@dataclass(frozen=True)
class SuiteRun:
    execution: ExecutionResult  # the execution, without the plugin's lines
    suite: Suite | None  # None if nothing was reported: pytest did not run, or ended before the first test
    doubt: str = ""  # why passed tests do not count; failures always do


class _ReportLine(Model):
    """A line written by the plugin."""

    line: int
    test: str = ""
    outcome: str = ""
    detail: str = ""
    place: str = ""
    """Location of the collected function as `file:line`; empty if none was held."""
    end: bool = False


def run_suite(
    sandbox: Sandbox, argv: Sequence[str], *, cwd: Path, access: Access, env: Mapping[str, str], limits: Limits
) -> SuiteRun:
    """Runs a command that runs pytest in `cwd`."""
    nonce, mark = secrets.token_hex(16), secrets.token_hex(8)
    asked = {
        "PYTEST_ADDOPTS": f"{env.get('PYTEST_ADDOPTS', '')} -p no:cacheprovider -p palmette_sentinel".strip(),
        "PYTHONPATH": ":".join(part for part in (str(_PLUGIN), env.get("PYTHONPATH", "")) if part),
    }
    known = known_tests(cwd)
    execution = sandbox.run(
        argv,
        cwd=cwd,
        access=access.model_copy(update={"read": (*access.read, _PLUGIN)}),
        env={**env, **asked},
        limits=limits.model_copy(update={"output_chars": _OUTPUT_CHARS}),
        stdin=f"{nonce} {mark}\n".encode(),
    )
    lines = execution.stdout.splitlines()
    sealed = {line: text for line in lines if (text := _sealed(line, nonce.encode()))}
    reports = [one for line in lines if line in sealed and (one := _parsed(sealed[line]))]
    shown = "\n".join(line for line in lines if line not in sealed)
    execution = execution.model_copy(update={"stdout": shown})
    if not reports:
        return SuiteRun(execution, None)
    whole = [one.line for one in reports] == list(range(1, len(reports) + 1)) and reports[-1].end
    suite = _suite([one for one in reports if one.test and not one.test.endswith(mark)], known)
    doubt = _doubt(suite, _suite([one for one in reports if one.test.endswith(mark)], {}), mark)
    return SuiteRun(execution, suite, doubt or ("" if whole else "some of its reports are missing"))


def _sealed(line: str, key: bytes) -> str:
    """The text of a line with the plugin's seal; empty for other lines."""
    seal, _, text = line.partition(" ")
    own = blake2b(text.encode(), key=key, digest_size=16).hexdigest() if text.startswith("{") else ""
    return text if own and secrets.compare_digest(own.encode(), seal.encode()) else ""


def _parsed(text: str) -> _ReportLine | None:
    """The report in a line; None if it is truncated or mixed with other output."""
    try:
        return _ReportLine.model_validate_json(text)
    except ValidationError:
        return None


def _suite(reports: Sequence[_ReportLine], known: dict[str, str]) -> Suite:
    outcomes: dict[str, str] = {}
    failed: dict[str, str] = {}
    for one in reports:
        outcomes[one.test] = one.outcome
        own = known.get(one.test.partition("[")[0], "")  # where the test is defined; empty if unknown
        if one.outcome == "failed":
            failed.setdefault(one.test, one.detail)
        elif one.outcome == "passed" and own and one.place != own:
            failed.setdefault(one.test, f"What was run is not what stands in {own}, but in {one.place or 'no file'}.")
    passed, skipped = (
        tuple(name for name, outcome in outcomes.items() if outcome == wanted and name not in failed)
        for wanted in ("passed", "skipped")
    )
    return Suite(passed, (*skipped, *unreported(known, outcomes)), failed)


def _doubt(suite: Suite, sentinels: Suite, mark: str) -> str:
    """Why passed tests do not count; empty if the sentinel tests beside each have the expected outcome."""
    holds, breaks = f".test_holds_{mark}", f".test_breaks_{mark}"
    right = {name.removesuffix(holds) for name in sentinels.passed if name.endswith(holds)}
    right &= {name.removesuffix(breaks) for name in sentinels.skipped if name.endswith(breaks)}
    for name in suite.passed:
        if not any(name.startswith(f"{module}.") for module in right):
            return f"of the two sentinel tests beside {name}, not both have the expected outcome"
    return ""
