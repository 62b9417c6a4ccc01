"""What a check is: one small class with a code, an owner for routing, and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Protocol

from palmette.engine.actor import Measurement, Violation
from palmette.features.checks.examples import Example, examples
from palmette.features.frames import Scenario, scenarios
from palmette.features.harness.connect import CaseResult, ConnectHarness, ScriptCase
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
"""The actor that most probably caused a failure of this class."""


class Outputs(NamedTuple):
    """What the script makes of the frames that several checks look at, in their order."""

    examples: Sequence[CaseResult]
    scenarios: Sequence[CaseResult]
    """The first has its plan, too."""


@dataclass(frozen=True)
class ScriptUnderTest:
    """A script under check, and all that is known about what it should do."""

    view: View
    script: Path
    """The file, inside `root`."""
    root: Path
    """Folder of the repository (or of the script alone) from which it is imported."""
    entry: str
    """Name of the function that builds the features."""
    harness: ConnectHarness
    tests: Path | None = None
    """The generated test file, if there is one."""
    python_path: tuple[Path, ...] = ()
    seed: int = 0

    @cached_property
    def examples(self) -> Sequence[Example]:
        """The unit tests of the specification."""
        return examples(self.view)

    @cached_property
    def scenarios(self) -> Sequence[Scenario]:
        """Frames made to provoke mistakes."""
        return scenarios(self.view, seed=self.seed)

    @cached_property
    def outputs(self) -> Outputs:
        """The script on all examples and scenarios; run once, at first use."""
        given = [ScriptCase(one.name, one.frames, one.as_of) for one in self.examples]
        made = [ScriptCase(one.name, one.frames, one.as_of, plan=not at) for at, one in enumerate(self.scenarios)]
        results = self.run([*given, *made])
        return Outputs(results[: len(given)], results[len(given) :])

    def run(self, cases: Sequence[ScriptCase]) -> list[CaseResult]:
        """Calls the script's entry function once per case."""
        return self.harness.execute(self.script, self.entry, cases, root=self.root, python_path=self.python_path)


@dataclass(frozen=True)
class CheckResult:
    """What one check found."""

    violations: tuple[Violation, ...] = ()
    skipped: str = ""
    """Why nothing was checked; a skipped check is never a passed one."""
    detail: str = ""
    """What was measured, in a few words: `96 frames, 8 features`."""


class Check(Protocol):
    """A check's docstring is its description; its name is `code`."""

    code: ClassVar[str]
    codes: ClassVar[tuple[str, ...]]
    """All codes that its violations carry."""
    owner: ClassVar[Owner]
    cost: ClassVar[int]
    """Checks run by ascending cost; 0 needs no Spark."""

    def check(self, subject: ScriptUnderTest) -> CheckResult: ...


__all__ = ["Check", "CheckResult", "Measurement", "Owner", "ScriptUnderTest"]
