"""The actor that turns test cases into the team's test file; it never sees the script."""

from __future__ import annotations

from pathlib import PurePosixPath

from palmette.documents import Model
from palmette.engine.actor import (
    Attempt,
    BaseActor,
    Context,
    Measurement,
    TextFile,
    Verdict,
    Violation,
)
from palmette.features.actors.testcase_coder.offline import file_of_tests
from palmette.features.actors.testcase_coder.stand_in import stand_in
from palmette.features.artefacts import Template, TestCases, Tests
from palmette.features.harness.harness import SuiteResult
from palmette.features.spec.view import View
from palmette.features.workbench import Workbench

SHARE = 0.8
"""More than this share of the tests must pass."""
EVIDENCE = 3000


class Inputs(Model):
    cases: TestCases
    template: Template


class TestcaseCoder(BaseActor):
    """Writes one test a case, and proves the file on a stand-in that answers from the expectations."""

    __test__ = False

    name = "testcase_coder"
    description = "Writes the pytest file of the view from its test cases, and runs it."
    produces = "tests"
    Input = Inputs
    Output = Tests
    has_criterion = True

    def __init__(self, view: View, workbench: Workbench) -> None:
        self.view, self.workbench = view, workbench

    def run(self, input: Inputs, context: Context) -> Attempt[Tests]:
        conventions = input.template.conventions
        path = conventions.test_path.replace("{view}", self.view.name)
        text = file_of_tests(self.view, input.cases, conventions, module_of(input.template, self.view))
        return Attempt(Tests(file=self.workbench.formatted(TextFile(path=path, text=text), conventions)))

    def check(self, input: Inputs, output: Tests, context: Context) -> Verdict:
        """The tests run, and more than 80 % of them pass; every failure is reported."""
        script = input.template.file.path
        text = stand_in(self.view, input.cases, input.template.conventions)
        files = [TextFile(path=script, text=text), output.file]
        root = self.workbench.assemble(files, context.workspace / "checkout")
        context.progress("running the tests on a stand-in for the script")
        result = self.workbench.harness.run_tests(
            root / output.file.path,
            {"stand-in": text},
            root / script,
            root=root,
            python_path=self.workbench.python_path(root),
            stop_at_first=False,
        )["stand-in"]
        return verdict(result, len(input.cases.cases), output.file.path)

    def implicated(self, violation: Violation, output: Tests) -> str | None:
        if violation.code in ("test-failed", "tests-not-run"):
            return f"{output.file.path} does not test what the cases say: {violation.message}"
        return None


def module_of(template: Template, view: View) -> str:
    """Import name of the script."""
    stem = PurePosixPath(template.file.path).stem or view.name
    package = template.conventions.package
    return f"{package}.{stem}" if package else stem


def verdict(result: SuiteResult, count: int, path: str) -> Verdict:
    """The published criterion, with every failure."""
    total = len(result.passed) + len(result.failed)
    measurement = Measurement(
        name="tests",
        status="passed" if result.ok else "failed",
        seconds=result.seconds,
        detail=f"{len(result.passed)} of {total} tests pass on the stand-in",
    )
    if result.error or total < count:
        reason = result.error or f"{total} tests ran, but there are {count} cases"
        violation = Violation(
            code="tests-not-run",
            subject=path,
            evidence=reason[:EVIDENCE],
            message=f"{path} cannot be run: {reason.splitlines()[0][:200]}",
        )
        return Verdict(ok=False, violations=(violation,), measurements=(measurement,))
    failures = tuple(
        Violation(
            code="test-failed",
            subject=name,
            evidence=trace[:EVIDENCE],
            message=f"Test {name!r} fails although the script answers what the case expects.",
        )
        for name, trace in result.failed.items()
    )
    return Verdict(ok=len(result.passed) > SHARE * total, violations=failures, measurements=(measurement,))
