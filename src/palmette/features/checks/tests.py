"""Runs the generated tests on the script."""

from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.examples import EVIDENCE

NO_TESTS = "no test file was given"
FAILED = "test-failed"


class TestsCheck:
    """The tests pass on the script; where they do not although the oracle agrees, the tests are wrong."""

    __test__ = False

    code: ClassVar[str] = "tests"
    codes: ClassVar[tuple[str, ...]] = (FAILED,)
    owner: ClassVar[Owner] = "testcase_coder"
    cost: ClassVar[int] = 25
    """Runs after the differential check: if that fails, the tests are not to blame."""

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        if subject.tests is None:
            return CheckResult(skipped=NO_TESTS)
        result = subject.run_tests({"script": subject.text})["script"]
        name = subject.tests.name
        if result.error or not (result.passed or result.failed):
            reason = result.error or "it has no tests"
            message = f"{name} cannot be run: {reason.splitlines()[0][:200]}"
            return CheckResult((Violation(code=FAILED, subject=name, evidence=reason[:EVIDENCE], message=message),))
        failed = tuple(
            Violation(code=FAILED, subject=test, evidence=trace[:EVIDENCE], message=f"Test {test!r} of {name} fails.")
            for test, trace in result.failed.items()
        )
        count = len(result.passed) + len(result.failed)
        return CheckResult(failed, detail=f"{len(result.passed)} of {count} tests pass")
