"""The trusted side: hands cases to a sandboxed process that loads the script, and re-reads its results.

A case binds the entry function's parameters by name and annotation: `spark` (or a SparkSession annotation) to
the warm session; the name of a table of the view to its DataFrame; `sources`, `tables`, `frames` or a dict
annotation to a dict of DataFrames by table name; `as_of`, `cutoff` or a datetime annotation to the cut-off;
`config` to the config object. A parameter that fits nothing and has no default is a violation that names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from palmette.features.frame import Frame

RUNNER_FAILED = "pytest did not come to its end"
"""How the error of a suite begins when the runner itself failed."""
SPARK_DIED = "SparkDied"
"""How an error begins when there was no Spark any more."""


@dataclass(frozen=True)
class Case:
    """One call of the entry function."""

    name: str
    frames: Mapping[str, Frame]
    """By table name of the registry; every table of the view is there."""
    as_of: datetime | None
    """Aware; None when the spine carries the cut-offs."""
    session_zone: str = "UTC"
    partitions: int = 1
    """Number of partitions that every input frame is spread over."""
    plan: bool = False
    """Whether the plan is asked for."""
    script: Path | None = None
    """Called instead of the script at hand: a variant of it, with the same entry function."""


@dataclass(frozen=True)
class CaseResult:
    """What came out of one call: a frame, or an error."""

    name: str
    frame: Frame | None = None
    error: str = ""
    """Class and message of the exception, shortened; empty when there is none."""
    trace: str = ""
    """The script's part of the traceback."""
    plan: str = ""
    """The analysed and optimised plan, when asked for."""
    nullable: Mapping[str, bool] = field(default_factory=dict)


class ScriptHarness(Protocol):
    """Runs scripts; one warm Spark behind it."""

    def execute(
        self,
        script: Path,
        entry: str,
        cases: Sequence[Case],
        *,
        root: Path,
        python_path: Sequence[Path] = (),
    ) -> list[CaseResult]:
        """Calls `entry` of `script` once per case, in order; never raises for what the script does."""
        ...

    def run_tests(
        self,
        tests: Path,
        variants: Mapping[str, str],
        script: Path,
        *,
        root: Path,
        python_path: Sequence[Path] = (),
        stop_at_first: bool = True,
    ) -> dict[str, SuiteResult]:
        """Runs the test file against each variant of the script's text (by name), in one warm process."""
        ...


@dataclass(frozen=True)
class SuiteResult:
    """The outcome of a test file, per test, measured by the runner and not by what the tests print."""

    passed: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    """Test name to the shortened failure."""
    error: str = ""
    """Why the suite could not run at all."""
    seconds: float = 0.0

    @property
    def is_broken(self) -> bool:
        """Whether the runner itself failed, which says nothing about the script or the tests."""
        return self.error.startswith((RUNNER_FAILED, SPARK_DIED))

    @property
    def ok(self) -> bool:
        return not self.failed and not self.error and bool(self.passed)
