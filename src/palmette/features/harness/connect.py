"""The harness on a warm Spark: every call is a job for a sandboxed process, which is a client of the Spark server.

A case binds the entry function's parameters by name and annotation: `spark` (or a SparkSession annotation) to
the warm session; the name of a table of the view to its DataFrame; `sources`, `tables`, `frames` or a dict
annotation to a dict of DataFrames by table name; `as_of`, `cutoff` or a datetime annotation to the cut-off.
Any other parameter without a default is reported as a violation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from palmette.features.frame import Frame
from palmette.features.harness.binding import bind
from palmette.features.harness.jobs import SPARK_DIED, HarnessJob, ItemAnswer, run_job
from palmette.features.signature import form_of
from palmette.sandbox import ExecutionResult, WarmSpark

RUNNER_FAILED = "pytest did not come to its end"
"""Prefix of a suite's error if pytest itself failed."""


@dataclass(frozen=True)
class ScriptCase:
    """One call of the entry function."""

    name: str
    frames: Mapping[str, Frame]
    """By table name; contains every table of the view."""
    as_of: datetime | None
    """The cut-off, aware; None if the spine has the cut-offs."""
    session_zone: str = "UTC"
    partitions: int = 1
    plan: bool = False
    script: Path | None = None
    """Variant of the script to call instead, with the same entry function."""


@dataclass(frozen=True)
class CaseResult:
    """The result of one call or probe: a frame, a JSON value or an error."""

    name: str
    frame: Frame | None = None
    error: str = ""
    """Class and shortened message of the exception; empty if there is none."""
    trace: str = ""
    """The part of the traceback inside the script."""
    plan: str = ""
    """The analysed and optimised plan, if requested."""
    value: Any = None
    """The value that a probe assigned, if it is not a frame."""


@dataclass(frozen=True)
class SuiteResult:
    """The outcome of each test in a file, recorded by pytest rather than read from the tests' output."""

    passed: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0

    @property
    def is_broken(self) -> bool:
        """Whether pytest or Spark failed, so that the result proves nothing about the script or the tests."""
        return self.error.startswith((RUNNER_FAILED, SPARK_DIED))

    @property
    def ok(self) -> bool:
        return not self.failed and not self.error and bool(self.passed)


class OrderOfTests(NamedTuple):
    """Which tests of a variant run first, and how many at most; None for all."""

    hints: Sequence[str] = ()
    """Names of tests to run first, and words of tests to run next."""
    most: int | None = None


@dataclass(frozen=True)
class HarnessProbe:
    """A snippet that calls a function of the team on small frames.

    It can use `spark` and `frames` (name to DataFrame), and must assign `result`: a DataFrame or a JSON value.
    """

    name: str
    code: str
    frames: Mapping[str, Frame] = field(default_factory=dict)


@dataclass(frozen=True)
class MainResult:
    """The outcome of running a script's own main."""

    error: str
    """Class and message of its exception; empty if it succeeded."""
    trace: str
    execution: ExecutionResult
    calls: int = 1
    """How many calls were made; only the last can have failed."""

    @property
    def ok(self) -> bool:
        return not self.error and self.execution.ok


@dataclass(frozen=True)
class ConnectHarness:
    """Runs scripts in sandboxed processes that are clients of one warm Spark, in Spark's sandbox."""

    spark: WarmSpark
    case_seconds: float = 30.0
    """Processor time per case or probe. The wall-clock limit is five times as much, because Spark works elsewhere."""
    variant_seconds: float = 20.0

    def execute(
        self,
        script: Path,
        entry: str,
        cases: Sequence[ScriptCase],
        *,
        root: Path,
        python_path: Sequence[Path] = (),
    ) -> list[CaseResult]:
        """Calls `entry` of `script` once per case, in order. Failures of the script are returned, not raised."""
        if not cases:
            return []
        text = script.read_text(encoding="utf-8")
        bindings = bind(text, entry, cases[0].frames.keys())
        if bindings.error:
            return [CaseResult(case.name, error=bindings.error) for case in cases]
        shared = {
            "script": str(script.resolve()),
            "entry": entry,
            "bindings": [{**bound._asdict(), "form": form_of(bound)} for bound in bindings.bound],
        }
        items = [_item(case) for case in cases]
        frames = [case.frames for case in cases]
        job = HarnessJob("cases", items, root, python_path, self.case_seconds, shared, frames)
        answers = run_job(self.spark, job).answers
        pairs = zip(cases, answers, strict=True)
        return [_case_result(case.name, answer, "ProcessEnded: the script gave no frame") for case, answer in pairs]

    def run_tests(
        self,
        tests: Path,
        variants: Mapping[str, str],
        script: Path,
        *,
        root: Path,
        python_path: Sequence[Path] = (),
        orders: Mapping[str, OrderOfTests] = {},
        builder: str = "",
    ) -> dict[str, SuiteResult]:
        """Runs the test file against each variant of the script's text (by name), in one warm process.

        With `orders` (by variant), a variant ends at its first failure. `builder`: A function of the test file that
        each variant replaces by its own.
        """
        files = {"script": str(script.resolve()), "tests": str(tests.resolve())}
        shared = {**files, "stop_at_first": bool(orders), "builder": builder}
        results: dict[str, SuiteResult] = {}
        while left := [name for name in variants if name not in results]:
            items = [{"text": variants[name], **orders.get(name, OrderOfTests())._asdict()} for name in left]
            job = HarnessJob("tests", items, root, python_path, self.variant_seconds, shared)
            answers = run_job(self.spark, job).answers
            for name, answer in zip(left, answers, strict=True):
                if answer.is_missing and name != left[0]:
                    break  # an earlier variant ended the process; this one runs in a new process
                results[name] = SuiteResult(answer.passed, answer.failed, answer.error, answer.seconds)
        return results

    def run_main(
        self,
        script: Path,
        argv: Sequence[str],
        *,
        then: Sequence[Sequence[str]] = (),
        function: str = "",
        few_rows: bool = False,
        root: Path,
        seconds: float = 120.0,
    ) -> MainResult:
        """Runs the script as `__main__`, as spark-submit would. Relative paths are relative to `root`.

        The script gets a new session for each call; the master and JVM options that it sets are ignored.

        Args:
            then: The arguments of further calls, which are made while the calls succeed.
            function: The function of the script to call with the arguments instead.
            few_rows: Whether Spark's settings are those for a few rows.
            seconds: The processor time of a call.
        """
        shared = {"script": str(script.resolve()), "function": function, "few_rows": few_rows}
        items = [{"argv": list(each)} for each in (argv, *then)]
        answers, execution = run_job(self.spark, HarnessJob("main", items, root, (), seconds, shared))
        last = next((at for at, answer in enumerate(answers) if answer.error), len(items) - 1)
        return MainResult(answers[last].error, answers[last].trace, execution, last + 1)

    def probes(self, root: Path, python_path: Sequence[Path], probes: Sequence[HarnessProbe]) -> list[CaseResult]:
        """Runs probes one after another in one process with the repository on its path."""
        if not probes:
            return []
        items = [{"code": probe.code, "session_zone": "UTC", "partitions": 1} for probe in probes]
        frames = [probe.frames for probe in probes]
        job = HarnessJob("probes", items, root, python_path, self.case_seconds, {}, frames)
        answers = run_job(self.spark, job).answers
        return [_case_result(probe.name, answer) for probe, answer in zip(probes, answers, strict=True)]


def _item(case: ScriptCase) -> dict[str, Any]:
    return {
        "as_of": case.as_of.isoformat() if case.as_of else None,
        "session_zone": case.session_zone,
        "partitions": case.partitions,
        "plan": case.plan,
        "script": str(case.script.resolve()) if case.script else None,
    }


def _case_result(name: str, answer: ItemAnswer, otherwise: str = "") -> CaseResult:
    """The result of a call; `otherwise` is the error if there is neither a frame nor an error."""
    error = answer.error or ("" if answer.frame else otherwise)
    return CaseResult(name, answer.frame, error, answer.trace, answer.plan, answer.value)
