"""What a check is: one small class with a code, an owner for routing, and evidence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from palmette.engine.actor import Measurement, Violation
from palmette.features.harness.harness import ScriptHarness
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
"""Who most probably caused a failure of this class."""


@dataclass(frozen=True)
class Subject:
    """A script under check, and all that is known about what it should do."""

    view: View
    script: Path
    """The file, inside `root`."""
    root: Path
    """Folder of the repository (or of the script alone) from which it is imported."""
    entry: str
    """Name of the function that builds the features."""
    harness: ScriptHarness
    tests: Path | None = None
    """The generated test file, if there is one."""
    python_path: tuple[Path, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
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

    def check(self, subject: Subject) -> Outcome: ...


__all__ = ["Check", "Measurement", "Outcome", "Owner", "Subject"]
