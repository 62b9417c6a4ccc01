"""Test suites in the sandbox, and what came of each test.

Tests run in one process with the code that they test, which can tell the runner to say anything. Four things stand
against it:

- The outcome of each test leaves the process at once, by a plugin of the harness, in a line with a number and a seal
  made with a key that nobody else was told: what has been said cannot be taken back or changed, not even by who reads
  it on its way, and records of one's own are nothing. The plugin has read the key, and loaded what it needs, before a
  module of the project can stand where one of Python's is looked for.
- In each module two witnesses go along, tests whose names nobody knows beforehand, of which one holds and one fails, as
  expected. Where they are not told so, nothing that passed is believed.
- A test has passed when its function, as it was collected, has come to its end: not one that raised, that was not
  called, or that became another. While it is at work nobody can set a tracer, which might jump, in its thread.
- Its tests are read from its text before it runs. What was known or collected, and is not heard of, counts as skipped,
  by whatever setting or hook; and a function that stands elsewhere than the one that was read has failed.

This catches whoever changes how outcomes come about (replaced hooks and functions, hidden assertions, skipped or
deselected tests, an early exit), also of a single test that it knows. It does not catch code that searches the memory
of its process for the key and speaks for the plugin, or that makes another program of the text of a test, line by line.
So whatever can be computed again from files is, and a verdict rests on that first.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from pydantic import ValidationError

from palmette.documents import Model
from palmette.sandbox.access import Access
from palmette.sandbox.known_tests import known_tests, place_of, unheard
from palmette.sandbox.process import Sandbox
from palmette.sandbox.result import ExecutionResult, Limits

_PLUGIN = Path(__file__).parent / "witness"
_OUTPUT_CHARS = 8_000_000


@dataclass(frozen=True)
class Suite:
    """What came of the tests, by their names."""

    passed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """With those that are expected to fail, and those that are known and were not run."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """With what pytest says of each."""

    @property
    def count(self) -> int:
        return len(self.passed) + len(self.skipped) + len(self.failed)


@dataclass(frozen=True)
class SuiteRun:
    """A finished suite."""

    execution: ExecutionResult
    """Without the lines of the plugin."""
    suite: Suite | None
    """None where nothing was told: pytest was not run, or ended before the first test."""
    doubt: str = ""
    """Why it is not to be believed that what passed did; failures are."""


class _Told(Model):
    """A line of the plugin."""

    line: int
    test: str = ""
    outcome: str = ""
    said: str = ""
    place: str = ""
    """Where the function that was collected stands, as `file:line`; empty where none was held."""
    end: bool = False


def run_suite(
    sandbox: Sandbox,
    argv: Sequence[str],
    *,
    cwd: Path,
    access: Access,
    env: Mapping[str, str],
    limits: Limits,
) -> SuiteRun:
    """Runs a command that runs pytest in `cwd`."""
    nonce, mark = secrets.token_hex(16), secrets.token_hex(8)
    asked = {
        "PYTEST_ADDOPTS": f"{env.get('PYTEST_ADDOPTS', '')} -p no:cacheprovider -p palmette_witness".strip(),
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
    told = {line: text for line in lines if (text := _sealed(line, nonce.encode()))}
    said = [one for line in lines if line in told and (one := _parsed(told[line]))]
    shown = "\n".join(line for line in lines if line not in told)
    execution = execution.model_copy(update={"stdout": shown})
    if not said:
        return SuiteRun(execution, None)
    whole = [one.line for one in said] == list(range(1, len(said) + 1)) and said[-1].end
    suite, doubt = _believed(_suite([one for one in said if one.test], known), mark)
    return SuiteRun(execution, suite, doubt or ("" if whole else "not all that it told has arrived"))


def _sealed(line: str, key: bytes) -> str:
    """What a line says, where the seal that it begins with is the plugin's; empty where it is not."""
    seal, _, text = line.partition(" ")
    own = blake2b(text.encode(), key=key, digest_size=16).hexdigest() if text.startswith("{") else ""
    return text if own and secrets.compare_digest(own.encode(), seal.encode()) else ""


def _parsed(text: str) -> _Told | None:
    """What a line says; None where its end has not arrived, or others have written into it."""
    try:
        return _Told.model_validate_json(text)
    except ValidationError:
        return None


def _suite(told: Sequence[_Told], known: dict[str, str]) -> Suite:
    outcomes: dict[str, str] = {}
    failed: dict[str, str] = {}
    for one in told:
        outcomes[one.test] = one.outcome
        own = place_of(known, one.test)
        if one.outcome == "failed":
            failed.setdefault(one.test, one.said)
        elif one.outcome == "passed" and own and one.place != own:
            failed.setdefault(one.test, f"What was run is not what stands in {own}, but in {one.place or 'no file'}.")
    passed, skipped = (
        tuple(name for name, outcome in outcomes.items() if outcome == wanted and name not in failed)
        for wanted in ("passed", "skipped")
    )
    return Suite(passed, (*skipped, *unheard(known, outcomes)), failed)


def _believed(found: Suite, mark: str) -> tuple[Suite, str]:
    """The suite without the witnesses; why what passed cannot be believed, when it cannot."""

    def is_own(name: str) -> bool:
        return not name.endswith(mark)

    suite = Suite(
        tuple(filter(is_own, found.passed)),
        tuple(filter(is_own, found.skipped)),
        {name: said for name, said in found.failed.items() if is_own(name)},
    )
    holds, breaks = f".test_holds_{mark}", f".test_breaks_{mark}"
    right = {name.removesuffix(holds) for name in found.passed if name.endswith(holds)}
    right &= {name.removesuffix(breaks) for name in found.skipped if name.endswith(breaks)}
    for name in suite.passed:
        if not any(name.startswith(f"{module}.") for module in right):
            return suite, f"of two tests sent along with {name}, one that holds and one that fails, it tells otherwise"
    return suite, ""
