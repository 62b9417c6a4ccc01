"""The end-stage actor that writes the PySpark script and runs all checks on it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from palmette.documents import Model
from palmette.engine.actor import Attempt, Context, PastAttempt, TextFile, Verdict, Violation
from palmette.features import prompt_context
from palmette.features.adoption.query import query_of
from palmette.features.artefacts import Config, Conventions, RunRequest, Script, Template, Tests, Utilities, Utility
from palmette.features.checks import OWNERS, registered, run_checks
from palmette.features.checks.base import Check, ScriptUnderTest
from palmette.features.checks.kept_tests import KeptTests
from palmette.features.checks.mutation import MutationCheck, TestsCheck
from palmette.features.checks.team import LintCheck, TeamSuiteCheck
from palmette.features.formatting import format_file
from palmette.features.import_policy import FeatureImportPolicy
from palmette.features.mutation.mutants import MutantHistory
from palmette.features.passed import PassedBefore, digest_of
from palmette.features.pyspark.script import build_function, write_script
from palmette.features.repository import Checkout, oldest_spark
from palmette.features.sample_run import SampleRun
from palmette.features.script_tree import with_query
from palmette.features.signature import BoundParameter, form_of, shape_of, signature
from palmette.features.spec.view import View
from palmette.features.team_document import format_of
from palmette.features.workbench import Workbench
from palmette.llm import NEEDED, OFFLINE, Agent, Answer, AnswerError, Models, Python, Section, section
from palmette.sandbox import Sandbox


class ScriptInput(Model):
    request: RunRequest
    config: Config
    template: Template
    utilities: Utilities = Utilities()
    tests: Tests | None = None


class ScriptAnswer(Answer):
    script: Python
    """The whole file of the feature script."""


class CodeGenerator(Agent):
    """Fills the template with the computation of every feature."""

    name = "code_generator"
    description = "Writes the PySpark script of the feature view, runs it on sample data and checks it."
    produces = "script"
    Input = ScriptInput
    Output = Script
    Answer = ScriptAnswer

    def __init__(self, view: View, workbench: Workbench, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.view, self.workbench = view, workbench

    def offline(self, input: ScriptInput, context: Context) -> Attempt[Script]:
        """Writes the script; after a failure of the script itself, without the repository's utilities."""
        failed = context.attempts[-1] if context.attempt > 1 else None
        retried = failed is not None and bool(input.utilities.chosen) and _is_own_fault(failed)
        utilities = Utilities() if retried else input.utilities
        template, view = input.template, self.view
        query = template.file.text + query_of(view, template.conventions) if template.conventions.is_query else ""
        script = self._script(input, query or write_script(view, template, input.config, utilities))
        if failed is None or not retried:
            return Attempt(script)
        names = ", ".join(utility.name for utility in input.utilities.chosen)
        failures = "; ".join(violation.message for violation in failed.violations)
        return Attempt(script, f"The script that uses {names} failed: {failures}", "Use Spark's own functions instead.")

    def is_settled(self, input: ScriptInput, context: Context) -> bool:
        conventions = input.template.conventions
        return bool(conventions.query_path) or not conventions.has_builder  # these follow from the definitions

    def sections(self, input: ScriptInput, context: Context) -> tuple[Section, ...]:
        """Everything but the tests, so that the script is not fitted to them."""
        failed = context.attempts[-1] if context.attempt > 1 else None
        if failed and not _is_own_fault(failed):
            raise AnswerError("Other actors must correct every failure.", code="not-mine", violations=failed.violations)
        checkout = Checkout(self.workbench.repository)
        return (
            prompt_context.meaning(self.view),
            prompt_context.registry_of(self.view),
            section("template", input.template.file.text, rank=NEEDED, language="python"),
            section("places", *_places(self.view, input.config, input.template, oldest_spark(checkout)), rank=NEEDED),
            prompt_context.utilities(input.utilities, _utility),
            prompt_context.readme(checkout, self.workbench.run.repository.readme, "scripts"),
            prompt_context.neighbour(checkout, self.view),
        )

    def read(self, answer: ScriptAnswer, input: ScriptInput, context: Context) -> Attempt[Script]:
        return Attempt(self._script(input, answer.script), answer.reason, answer.fix)

    def _script(self, input: ScriptInput, text: str) -> Script:
        conventions = input.template.conventions
        file = input.template.file.model_copy(update={"text": text})
        file = format_file(file, conventions, self.workbench.sandbox, self.workbench.repository)
        entry, query = ".".join(filter(None, (conventions.owner, shape_of(conventions, "build").name))), None
        if path := conventions.query_path.replace("{view}", self.view.name):
            head = f"-- One row per {' and '.join(self.view.grain)}.\n" if conventions.names_query else ""
            query = TextFile(path=path, text=head + query_of(self.view, conventions))
        return Script(file=file, entry=entry, query=query)

    def check(self, input: ScriptInput, output: Script, context: Context) -> Verdict:
        """The script runs on Spark, writes its data, and every check holds."""
        bench, conventions = self.workbench, input.template.conventions
        files = [input.config.file, *output.files, *([input.tests.file] if input.tests else [])]
        reach = FeatureImportPolicy.of(self.view, bench.run, Checkout(bench.repository), input.template.file.path)
        module = module_with_builder(self.view, conventions, output.file)
        query = output.file if conventions.is_query else output.query
        whole, tests = module, input.tests.file if input.tests else None
        if query is not None:
            whole = TextFile(path=whole.path, text=with_query(whole.text, query.text))
            tests = TextFile(path=tests.path, text=with_query(tests.text, query.text)) if tests else None
        if refused := reach.objections(input.config.file, whole, tests=tests):
            return Verdict.of(refused)
        root = bench.assemble([*files, module], context.workspace / "checkout")
        with ThreadPoolExecutor(1) as beside, bench.attempt() as harness:
            subject = ScriptUnderTest(
                view=self.view,
                script=root / module.path,
                query=root / query.path if query else None,
                root=root,
                entry=output.entry,
                has_builder=conventions.has_builder,
                python_path=tuple(root / part for part in Checkout(bench.repository).python_roots),
                harness=harness,
                tests=root / input.tests.file.path if input.tests else None,
                seed=context.seed,
                history=MutantHistory(PassedBefore(bench.passed_folder, self.view.name)),
            )
            # The team's suite runs with its own Spark, network and checkout, so its tests cannot affect the checks
            # below. Its result is read last.
            apart = Sandbox(bench.sandbox.isolation)
            own = replace(subject, root=bench.assemble(files, context.workspace / "suite"))
            suite = beside.submit(run_checks, own, [self._team_suite(apart, files, context)])
            try:
                verdicts = [*self._measured(input, output, subject, files, context), suite.result()]
            except BaseException:
                apart.interrupt()  # the result of the suite is no longer needed
                raise
        return Verdict.together(verdicts)

    def _measured(
        self, input: ScriptInput, output: Script, subject: ScriptUnderTest, files: list[TextFile], context: Context
    ) -> list[Verdict]:
        """Runs the script on the sample and, if it succeeds, all checks."""
        bench, conventions = self.workbench, input.template.conventions
        samples = [digest_of(one.path) for one in bench.samples.values() if one]
        passed = bench.passed(self.view.spec, self.view.tables, bench.run, samples, input.config, output, context.seed)
        trial = SampleRun(self.view, bench, conventions, input.config, output, files)
        verdicts = [run_checks(subject, [trial], passed=passed, progress=context.progress)]
        if verdicts[0].ok:
            new = [file.path for file in files if file.path.endswith(".py")]
            lint = LintCheck(bench.sandbox, bench.environment, conventions.linters, new)
            # Checks of a script without a build function add one to its file.
            whole = conventions.has_builder
            lint_root = subject.root if whole else bench.assemble(files, context.workspace / "delivered")
            verdicts.append(run_checks(replace(subject, root=lint_root), [lint], progress=context.progress))
            verdicts.append(run_checks(subject, _checks(context), passed=passed, progress=context.progress))
        context.progress("waiting for the team's test suite")
        return verdicts

    def _team_suite(self, sandbox: Sandbox, files: list[TextFile], context: Context) -> TeamSuiteCheck:
        """Runs the team's test suite, including the view's files."""
        command = self.workbench.run.repository.test_command
        new = {file.path: file.text for file in files}
        return TeamSuiteCheck(
            sandbox=sandbox,
            environment=self.workbench.environment,
            command=command,
            before=partial(self.workbench.assemble, [], context.workspace / "before"),
            kept=KeptTests(self.workbench.passed(command), self.workbench.repository, new),
        )

    def implicated(self, violation: Violation, output: Script) -> str | None:
        if OWNERS.get(violation.code) != self.name:
            return None
        return f"{output.file.path} does not do what the specification demands: {violation.message}"


def module_with_builder(view: View, conventions: Conventions, script: TextFile) -> TextFile:
    """The script with a build function; of a query, a Python module beside the repository's that runs it."""
    if conventions.has_builder:
        return script
    path = conventions.module_path(view.name)
    made = build_function(view, conventions, path)
    text = "" if conventions.is_query else script.text
    return TextFile(path=path, text="\n".join([text, *made.imports, "", made.code, ""]))


def _is_own_fault(failed: PastAttempt) -> bool:
    """Whether the failure may be the script's own; this includes failures without an owner."""
    owners = {OWNERS.get(violation.code, "code_generator") for violation in failed.violations}
    return not owners or "code_generator" in owners


def _checks(context: Context) -> list[Check]:
    """All checks but the separate run of the generated tests, which are part of the team's suite.

    Once the test cases have been sent back for surviving mutants, the remaining ones are left to the reviewer.
    """
    sent_back = any(found.code == MutationCheck.code for attempt in context.attempts for found in attempt.violations)
    replaced: dict[str, Check] = {MutationCheck.code: MutationCheck(required=0.0)} if sent_back else {}
    return [replaced.get(check.code, check) for check in registered() if check.code != TestsCheck.code]


def _utility(utility: Utility) -> str:
    """The purpose of a utility, and how to import and call it."""
    doc = f"\n{utility.doc.strip()}" if utility.doc.strip() else ""
    return f"{utility.need}: from {utility.module} import {utility.name}\ncall: {utility.call}{doc}"


def _parameter(bound: BoundParameter, view: View) -> str:
    """The argument passed for a parameter."""
    names = ", ".join(sorted(view.tables))
    forms = {"str": "as ISO 8601 text", "date": "a date", "": "an aware datetime, of any zone"}
    passed = {
        "spark": "the Spark session",
        "config": "None: it must not be needed here",
        "tables": f"a dict from table name to data frame: {names}",
        "table": f"the data frame of {bound.table or names}",
        "frame": f"the data frame of {names}",
        "as_of": f"the cut-off T, {forms[form_of(bound)]}",
        "argv": "nothing",
        "other": "nothing",
    }
    return f"- {bound.name}: {passed[bound.meaning]}"


def _places(view: View, config: Config, template: Template, spark: tuple[int, int] | None) -> list[str]:
    """Where the script runs and finds its configuration."""
    conventions = template.conventions
    parser = {"json": "json.loads", "toml": "tomllib.loads", "yaml": "yaml.safe_load"}[format_of(config.file.path)]
    read = f"the document, as {parser}"
    kind = config.class_name.replace(":", ".") or f"{read} gives it"
    formats = {
        f"source:{name}": "a catalogue table" if table.table else table.format for name, table in view.tables.items()
    }
    facts = [
        f"{fact}: `{code}`{f' ({formats[fact]})' if fact in formats else ''}" for fact, code in config.accessors.items()
    ]
    cutoff = "" if view.cutoff == "spine" else f", `{conventions.as_of_option}` (ISO 8601)"
    entry = shape_of(conventions, "build").name
    given = (_parameter(one, view) for one in signature(view, conventions, "build"))
    oldest = f" Call only what Spark {spark[0]}.{spark[1]} has." if spark else ""
    return [
        f"The file is {template.file.path}. Lines have at most {conventions.line_length} characters.{oldest}",
        "\n".join([f"`{entry}` is called with:", *given]),
        f"`config` is {kind}. Expressions on it:",
        "\n".join(facts) or "(none: use constants of the script for places)",
        f"Options of `main`: `{conventions.config_option}` (path of the configuration){cutoff}.",
    ]
