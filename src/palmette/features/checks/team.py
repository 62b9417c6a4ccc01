"""Runs the team's own tools on a checkout with the new files: its whole test suite, and its linters."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.errors import counted
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.examples import EVIDENCE
from palmette.features.checks.kept_tests import KeptTests, without
from palmette.features.checks.mutation import FAILED
from palmette.sandbox import Access, Limits, Sandbox, python_command, relative_to_root
from palmette.sandbox.suite import Suite, run_suite

_SHOWN = 2000
"""Characters of a linter's output."""
_SHORT = {"ruff": ["--output-format=concise"]}
"""Options with which a linter reports each finding in one line, without source."""
NOTHING_COLLECTED = 5
"""Exit code of pytest if there are no tests."""


@dataclass(frozen=True)
class TeamSuiteCheck:
    """The team's own tests pass with the new files in place."""

    code: ClassVar[str] = "team-suite"
    codes: ClassVar[tuple[str, ...]] = ("team-suite", "failed-before")
    """In addition to the code of failing generated tests."""
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 50

    sandbox: Sandbox
    environment: Callable[[Path], Mapping[str, str]]
    """Environment variables for a checkout, so that its commands import its own files."""
    command: str | None = None
    """The run file's test command; None for pytest."""
    seconds: float = 600
    before: Callable[[], Path] | None = None
    """Creates a checkout without the new files; called only if the suite fails."""
    kept: KeptTests | None = None
    """What need not run again."""

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        found = self._run(subject.root, subject, self.kept.found() if self.kept else ())
        codes = {violation.code for violation in found.violations}
        if self.before is None or self.code not in codes:
            return found
        already = {each.subject: each.code for each in self._run(self.before(), subject).violations}
        old = [each for each in found.violations if already.get(each.subject) == each.code]
        names = ", ".join(each.subject or "the suite as a whole" for each in old)
        return CheckResult(
            tuple(_preexisting(each) if each in old else each for each in found.violations),
            detail=f"fails without the new files, too: {names}" if old else "",
        )

    def _run(self, root: Path, subject: ScriptUnderTest, kept: Sequence[str] = ()) -> CheckResult:
        """Runs the suite without the tests that are kept."""
        argv = shlex.split(self.command) if self.command else [sys.executable, "-m", "pytest", "-q"]
        if argv[0] in ("python", "python3"):
            argv[0] = sys.executable
        done = run_suite(
            self.sandbox,
            argv,
            cwd=root,
            access=Access(write=(root,)),
            limits=Limits(seconds=self.seconds),
            env={**self.environment(root), "PYTEST_ADDOPTS": shlex.join(f"--deselect={unit}" for unit in kept)},
        )
        result, suite, doubt = done.execution, done.suite and without(kept, done.suite), done.doubt
        is_all_kept = bool(kept) and suite == Suite() and result.exit_code == NOTHING_COLLECTED
        is_good = (result.ok or is_all_kept) and not doubt
        if kept and not is_good and result.ended == "exited":  # tests may need others that ran before them
            return self._run(root, subject)
        if suite is not None and suite.failed:
            traces = {name: relative_to_root(root, output) for name, output in suite.failed.items()}
            return CheckResult(tuple(_violation(name, trace, subject) for name, trace in traces.items()))
        if not kept and suite == Suite() and not doubt and result.exit_code in (0, NOTHING_COLLECTED):
            return CheckResult(skipped="the team has no tests")
        is_recorded = suite is not None or "pytest" not in {Path(word).name for word in argv}
        if not is_good or not is_recorded:
            record = f" and a record that is not to be believed: {doubt}" if doubt else " and no record of a test"
            how = result.note or f"exit code {result.exit_code}"
            message = f"The team's test suite ends with {how}{record * (bool(doubt) or not is_recorded)}."
            output = relative_to_root(root, result.stdout[-EVIDENCE:] + result.stderr[-500:])
            return CheckResult((_violation("", output, subject, message),))
        if suite is None:
            return CheckResult(detail=f"{shlex.join(argv)}: exit code 0")
        if not suite.passed and not kept:
            return CheckResult(skipped="no test of the team was run")
        if self.kept and root == subject.root:  # not for the suite without the new files
            self.kept.keep(suite)
        detail = f"{counted(len(suite.passed), 'test')} passed, {len(suite.skipped)} skipped"
        return CheckResult(detail=f"{detail}; kept: {counted(len(kept), 'file')}" if kept else detail)


def _preexisting(violation: Violation) -> Violation:
    """Marks a failure that also occurs without the new files."""
    what = f"The test {violation.subject}" if violation.subject else "The team's test suite"
    message = f"{what} fails without the new files, too."
    return violation.model_copy(update={"code": "failed-before", "message": message})


def _violation(test: str, evidence: str, subject: ScriptUnderTest, message: str = "") -> Violation:
    """The violation for a failing test; failures of generated tests have their own code."""
    generated = subject.tests is not None and subject.tests.stem in test.split(".")
    return Violation(
        code=FAILED if generated else TeamSuiteCheck.code,
        subject=test,
        evidence=evidence[-EVIDENCE:],
        message=message or f"The test {test} fails in the team's suite.",
    )


@dataclass(frozen=True)
class LintCheck:
    """The team's linters find nothing in the new files. What they find is for the reviewer and fails nothing."""

    code: ClassVar[str] = "team-lint"
    codes: ClassVar[tuple[str, ...]] = ("team-lint",)
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 1

    sandbox: Sandbox
    environment: Callable[[Path], Mapping[str, str]]
    linters: Sequence[Sequence[str]]
    """Commands; the files are appended."""
    files: Sequence[str]

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        if not self.linters:
            return CheckResult(skipped="the repository sets up no linter")
        installed = [command for command in self.linters if find_spec(command[0]) is not None]
        missing = [command[0] for command in self.linters if command not in installed]
        found = [violation for command in installed if (violation := self._run(command, subject.root)) is not None]
        done = [f"{command[0]} on {len(self.files)} files" for command in installed]
        notes = [*done, *(f"{name} is not installed here" for name in missing)]
        if not installed:
            return CheckResult(skipped="; ".join(notes))
        return CheckResult(tuple(found), detail="; ".join(notes))

    def _run(self, command: Sequence[str], root: Path) -> Violation | None:
        result = self.sandbox.run(
            [*python_command("-m", *command), *_SHORT.get(command[0], ()), *self.files],
            cwd=root,
            access=Access(write=(root,)),
            limits=Limits(seconds=60),
            env=self.environment(root),
        )
        if result.ok:
            return None
        output = relative_to_root(root, f"{result.stdout}\n{result.stderr}".strip())
        return Violation(
            code=self.code,
            subject=command[0],
            evidence=output[:_SHOWN],
            message=f"`{' '.join(command)}` objects to the new files.",
        )
