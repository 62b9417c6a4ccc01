"""The actor that writes the team's test file from test cases. It never sees the script."""

import re
import textwrap

from palmette.documents import Model
from palmette.engine.actor import Attempt, Context, Measurement, TextFile, Verdict, Violation
from palmette.features import prompt_context
from palmette.features.actors.testcase_coder.offline import PytestWriter, fixture_of
from palmette.features.actors.testcase_coder.placeholders import MARK, filled, marked, ready_made, stand_in
from palmette.features.artefacts import Conventions, Template, TestCases, Tests
from palmette.features.formatting import format_file
from palmette.features.harness.connect import SuiteResult
from palmette.features.import_policy import CODE, FeatureImportPolicy
from palmette.features.repository import Checkout
from palmette.features.script_tree import with_query
from palmette.features.signature import shape_of
from palmette.features.spec.view import View
from palmette.features.workbench import Workbench
from palmette.llm import NEEDED, OFFLINE, Agent, Answer, Models, Python, Section, fenced, section

SHARE = 0.8
"""More than this share of the tests must pass."""
EVIDENCE = 3000


class CaseCoderInput(Model):
    cases: TestCases
    template: Template


class TestsAnswer(Answer):
    __test__ = False

    tests: Python
    """The whole pytest file."""


class TestcaseCoder(Agent):
    """Writes one test per case, and verifies the file on a stub that returns the expected rows."""

    __test__ = False

    name = "testcase_coder"
    description = "Writes the pytest file of the view from its test cases, and runs it."
    produces = "tests"
    Input = CaseCoderInput
    Output = Tests
    Answer = TestsAnswer

    def __init__(self, view: View, workbench: Workbench, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.view, self.workbench = view, workbench

    def offline(self, input: CaseCoderInput, context: Context) -> Attempt[Tests]:
        writer = PytestWriter(self.view, input.template.conventions, input.cases)
        return Attempt(self._tests(input, writer.file(input.template.conventions.module(self.view.name))))

    def sections(self, input: CaseCoderInput, context: Context) -> tuple[Section, ...]:
        """Everything but the script and its specification: the tests must be written independently of them."""
        checkout, conventions = Checkout(self.workbench.repository), input.template.conventions
        return (
            section("call", *_call(self.view, input.template, input.cases, self._path(conventions)), rank=NEEDED),
            section("cases", "\n".join(f"{case.name}: {case.why}" for case in input.cases.cases), rank=NEEDED),
            prompt_context.readme(checkout, self.workbench.run.repository.readme, "tests"),
            prompt_context.neighbour_test(checkout, self.view, conventions),
        )

    def read(self, answer: TestsAnswer, input: CaseCoderInput, context: Context) -> Attempt[Tests]:
        parts = ready_made(self.view, input.cases, input.template.conventions)
        return Attempt(self._tests(input, filled(answer.tests, parts)), answer.reason, answer.fix)

    def recalled(self, output: Tests) -> str:
        return f"{output.file.path}:\n{fenced(marked(output.file.text), 'python')}"

    def _tests(self, input: CaseCoderInput, text: str) -> Tests:
        conventions = input.template.conventions
        file = TextFile(path=self._path(conventions), text=text)
        return Tests(file=format_file(file, conventions, self.workbench.sandbox, self.workbench.repository))

    def _path(self, conventions: Conventions) -> str:
        return conventions.test_path.replace("{view}", self.view.name)

    def check(self, input: CaseCoderInput, output: Tests, context: Context) -> Verdict:
        """The tests run, and more than 80 % of them pass, and not on wrong answers; every failure is reported."""
        bench = self.workbench
        reach = FeatureImportPolicy.of(self.view, bench.run, Checkout(bench.repository), input.template.file.path)
        conventions = input.template.conventions
        runs_query = conventions.is_query or conventions.names_query
        whole = with_query(output.file.text, "SELECT 1") if runs_query else output.file.text
        if refused := reach.objections(tests=TextFile(path=output.file.path, text=whole)):
            return Verdict.of(refused)
        script = conventions.module_path(self.view.name)
        right, wrong = (stand_in(self.view, input.cases, conventions, lies=lies) for lies in (False, True))
        files = [TextFile(path=script, text=right), output.file]
        root = bench.assemble(files, context.workspace / "checkout")
        context.progress("running the tests on a stand-in for the script")
        with bench.attempt() as harness:
            bench.spark.warm_up()  # for the script, which comes next
            builder = "" if conventions.has_builder else shape_of(conventions, "build").name
            variants = {"right": right, "wrong": wrong}
            results = harness.run_tests(root / output.file.path, variants, root / script, root=root, builder=builder)
        return verdict(results["right"], results["wrong"], len(input.cases.cases), output.file.path)

    def implicated(self, violation: Violation, output: Tests) -> str | None:
        if violation.code in ("test-failed", "tests-not-run", "test-cannot-fail"):
            return f"{output.file.path} does not test what the cases demand: {violation.message}"
        if violation.code == CODE and violation.subject == output.file.path:
            return f"{output.file.path} does more than test: {violation.message}"
        return None

    def redacted(self, violation: Violation) -> Violation:
        """The violation without source lines of the script quoted in traces."""
        errors = [line for line in violation.evidence.splitlines() if line.startswith("E ")]
        return violation.model_copy(update={"evidence": "\n".join(errors)})


def verdict(result: SuiteResult, on_wrong: SuiteResult, count: int, path: str) -> Verdict:
    """The published criterion. Every failure is reported, including tests that pass on wrong answers."""
    total = len(result.passed) + len(result.failed)
    idle = [name for name in result.passed if name in on_wrong.passed]
    measurement = Measurement(
        name="tests",
        status="passed" if result.ok and not idle else "failed",
        seconds=result.seconds,
        detail=f"{len(result.passed) - len(idle)} of {total} tests pass on right answers, and not on wrong ones",
    )
    if (error := result.error or on_wrong.error) or total < count:
        reason = error or f"{total} tests ran, but there are {count} cases"
        message = f"{path} cannot be run: {_gist(reason)}"
        violation = Violation(code="tests-not-run", subject=path, evidence=reason[:EVIDENCE], message=message)
        return Verdict(ok=False, violations=(violation,), measurements=(measurement,))
    failures = [
        Violation(
            code="test-failed",
            subject=name,
            evidence=trace[:EVIDENCE],
            message=f"Test {name!r} fails although the script answers what the case expects.",
        )
        for name, trace in result.failed.items()
    ]
    for name in idle:
        message = f"Test {name!r} passes also when the script gives no rows for some, and some for none."
        failures.append(Violation(code="test-cannot-fail", subject=name, message=message))
    ok = len(result.passed) - len(idle) > SHARE * total
    return Verdict(ok=ok, violations=tuple(failures), measurements=(measurement,))


def _gist(reason: str) -> str:
    """The decisive line of a trace or test report: the last error, else the first line."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"E\s|(?:[\w.]+)?(?:Error|Exception)\b", line)]
    return (errors[-1] if errors else lines[0]).removeprefix("E ").strip()[:200]


def _call(view: View, template: Template, cases: TestCases, path: str) -> list[str]:
    """The function under test, and the lines that all tests share."""
    conventions = template.conventions
    entry = shape_of(conventions, "build").name
    home = conventions.module(view.name) if conventions.has_builder else ""
    writer, tests = PytestWriter(view, conventions, cases), dict[str, list[str]]()
    for case in cases.cases:
        tests.setdefault("\n".join(writer.assertion(case)), []).append(case.name)
    whose = "the team's fixture" if conventions.fixture else "a fixture that the helpers define"
    text = [
        f"The file is {path}. Lines have at most {conventions.line_length} characters.",
        f"The function under test: {f'from {home} import {entry}' if home else f'`{entry}`, which the helpers define'}",
        f"Every test takes `{fixture_of(conventions)}`, {whose}, and has these lines:",
    ]
    for lines, names in tests.items():
        text += [f"Of {', '.join(names)}:"] * (len(tests) > 1)
        text.append(textwrap.indent(f"{MARK}<name of the case>\n{lines}", "    "))
    return text
