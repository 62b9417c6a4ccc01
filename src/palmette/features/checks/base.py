"""The check protocol: a small class with a code, an owner for routing, and evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Protocol

from palmette.engine.actor import Violation
from palmette.features.checks.examples import Example, examples
from palmette.features.frames import Scenario, scenarios
from palmette.features.harness.connect import CaseResult, ConnectHarness, OrderOfTests, ScriptCase, SuiteResult
from palmette.features.mutation.mutants import MutantHistory
from palmette.features.script_tree import with_query
from palmette.features.spec.view import View

Owner = Literal[
    "human",
    "config_generator",
    "utils_retriever",
    "code_template_generator",
    "testcase_generator",
    "testcase_coder",
    "code_generator",
]
"""The actor that most likely caused a failure of a check."""


class Outputs(NamedTuple):
    """The script's output for the frames that several checks use, in their order."""

    examples: Sequence[CaseResult]
    scenarios: Sequence[CaseResult]
    """Only the first includes its query plan."""


@dataclass(frozen=True)
class ScriptUnderTest:
    """A script to check, with everything known about its expected behavior."""

    view: View
    script: Path
    root: Path
    """Folder that the script is imported from: the repository, or the script's own folder."""
    entry: str
    harness: ConnectHarness
    tests: Path | None = None
    query: Path | None = None
    """The file with the query that the script runs, unless it lies beside the script and has its name."""
    has_builder: bool = True
    """Whether the script has the function `entry`; otherwise it was added for the checks, and tests have their own."""
    python_path: tuple[Path, ...] = ()
    seed: int = 0
    history: MutantHistory = field(default_factory=MutantHistory)

    @cached_property
    def text(self) -> str:
        """The text of the script, with that of its query."""
        text, query = self.script.read_text(encoding="utf-8"), self.query or self.script.with_suffix(".sql")
        return with_query(text, query.read_text(encoding="utf-8")) if query.is_file() else text

    @cached_property
    def examples(self) -> Sequence[Example]:
        return examples(self.view)

    @cached_property
    def scenarios(self) -> Sequence[Scenario]:
        return scenarios(self.view, seed=self.seed)

    @cached_property
    def outputs(self) -> Outputs:
        """The script's output for all examples and scenarios; runs once, on first use."""
        given = [ScriptCase(one.name, one.frames, one.as_of) for one in self.examples]
        made = [ScriptCase(one.name, one.frames, one.as_of, plan=not at) for at, one in enumerate(self.scenarios)]
        results = self.run([*given, *made])
        return Outputs(results[: len(given)], results[len(given) :])

    def run(self, cases: Sequence[ScriptCase]) -> list[CaseResult]:
        """Calls the script's entry function once per case."""
        return self.harness.execute(self.script, self.entry, cases, root=self.root, python_path=self.python_path)

    def run_tests(self, variants: Mapping[str, str], orders: Mapping[str, OrderOfTests] = {}) -> dict[str, SuiteResult]:
        """Runs the tests against variants of `text`, by name; see `ConnectHarness.run_tests`."""
        assert self.tests is not None
        return self.harness.run_tests(
            self.tests,
            variants,
            self.script,
            root=self.root,
            python_path=self.python_path,
            orders=orders,
            builder="" if self.has_builder else self.entry,
        )


@dataclass(frozen=True)
class CheckResult:
    violations: tuple[Violation, ...] = ()
    skipped: str = ""
    """Reason for skipping; a skipped check never counts as passed."""
    detail: str = ""
    """A short description of what was measured: `96 frames, 8 features`."""
    evidence: str = ""
    """Details for a reviewer."""


class Check(Protocol):
    """A check's docstring is its description; its name is `code`."""

    code: ClassVar[str]
    codes: ClassVar[tuple[str, ...]]
    """All codes that its violations can have."""
    owner: ClassVar[Owner]
    cost: ClassVar[int]
    """Checks run by ascending cost; 0 needs no Spark."""

    def check(self, subject: ScriptUnderTest) -> CheckResult: ...
