"""The team's whole test suite, in a checkout that has the new files."""

from __future__ import annotations

import shlex
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import Outcome, Owner, Subject
from palmette.features.checks.cases import EVIDENCE
from palmette.features.checks.tests import FAILED
from palmette.sandbox import Access, ExecutionResult, Limits, Sandbox, told_from

_REPORT = "junit.xml"
NOTHING_COLLECTED = 5
"""Exit code of pytest where there are no tests."""


@dataclass(frozen=True)
class TeamSuiteCheck:
    """The team's own tests pass with the new files in place."""

    code: ClassVar[str] = "team-suite"
    codes: ClassVar[tuple[str, ...]] = ("team-suite", "failed-before")
    """Beside the code of failing generated tests."""
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 50

    sandbox: Sandbox
    environment: Callable[[Path], Mapping[str, str]]
    """What a checkout's commands need, so that each imports its own files."""
    scratch: Path
    """A folder outside the checkout, for the report."""
    command: str | None = None
    """Of the run file; pytest when there is none."""
    seconds: float = 600
    before: Callable[[], Path] | None = None
    """Makes a checkout without the new files; asked for where the suite fails."""

    def check(self, subject: Subject) -> Outcome:
        found = self._run(subject.root, subject)
        codes = {violation.code for violation in found.violations}
        if self.before is None or self.code not in codes:
            return found
        already = {each.subject: each.code for each in self._run(self.before(), subject).violations}
        old = [each for each in found.violations if already.get(each.subject) == each.code]
        names = ", ".join(each.subject or "the suite as a whole" for each in old)
        return Outcome(
            tuple(_as_before(each) if each in old else each for each in found.violations),
            detail=f"fails without the new files, too: {names}" if old else "",
        )

    def _run(self, root: Path, subject: Subject) -> Outcome:
        report = self.scratch.resolve() / _REPORT
        report.unlink(missing_ok=True)  # what an earlier attempt has left proves nothing
        argv = shlex.split(self.command) if self.command else [sys.executable, "-m", "pytest", "-q"]
        if argv[0] in ("python", "python3"):
            argv[0] = sys.executable
        options = f"--junitxml={shlex.quote(str(report))} -p no:cacheprovider"
        result = self.sandbox.run(
            argv,
            cwd=root,
            access=Access(write=(root, report.parent)),
            limits=Limits(seconds=self.seconds),
            env={**self.environment(root), "PYTEST_ADDOPTS": options},
        )
        counted = _read(report, root)
        if counted is not None and counted.failed:
            return Outcome(tuple(_violation(name, trace, subject) for name, trace in counted.failed.items()))
        if counted == _NOTHING and result.exit_code == NOTHING_COLLECTED:
            return Outcome(skipped="the team has no tests")
        without_record = counted is None and "pytest" in {Path(word).name for word in argv}
        if not result.ok or without_record:
            message = f"The team's test suite ends with {_how(result)}{' and no record of a test' * without_record}."
            said = told_from(root, result.stdout[-EVIDENCE:] + result.stderr[-500:])
            return Outcome((_violation("", said, subject, message),))
        if counted is None:
            return Outcome(detail=f"{shlex.join(argv)}: exit code 0")
        if not counted.passed:
            return Outcome(skipped="no test of the team was run")
        return Outcome(detail=f"{counted.passed} tests pass, {counted.skipped} skipped")


@dataclass(frozen=True)
class _Counted:
    passed: int
    skipped: int
    failed: Mapping[str, str]


_NOTHING = _Counted(0, 0, {})


def _read(report: Path, root: Path) -> _Counted | None:
    """The report, or None when the command wrote none."""
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return None
    failed = {}
    for case in cases:
        name = f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")
        for problem in [*case.iter("failure"), *case.iter("error")]:
            failed[name] = told_from(root, problem.text or "")
    skipped = sum(case.find("skipped") is not None for case in cases)
    return _Counted(len(cases) - skipped - len(failed), skipped, failed)


def _how(result: ExecutionResult) -> str:
    return result.note or f"exit code {result.exit_code}"


def _as_before(violation: Violation) -> Violation:
    """A failure that the new files have no part in."""
    what = f"The test {violation.subject}" if violation.subject else "The team's test suite"
    message = f"{what} fails without the new files, too."
    return violation.model_copy(update={"code": "failed-before", "message": message})


def _violation(test: str, evidence: str, subject: Subject, message: str = "") -> Violation:
    """A failure of the generated tests is theirs, not the team's."""
    generated = subject.tests is not None and subject.tests.stem in test.split(".")
    return Violation(
        code=FAILED if generated else TeamSuiteCheck.code,
        subject=test,
        evidence=evidence[-EVIDENCE:],
        message=message or f"The test {test} fails in the team's suite.",
    )
