"""Runs the team's own linters on the files that a run adds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.sandbox import Access, Limits, Sandbox, python_command, relative_to_root

_SHOWN = 2000


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
            [*python_command("-m", *command), *self.files],
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
