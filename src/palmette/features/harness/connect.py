"""The harness over warm Spark: every call is a job for a sandboxed process that is a client of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from palmette.features.frame import Frame
from palmette.features.harness.binding import bind
from palmette.features.harness.harness import Case, CaseResult, SuiteResult
from palmette.features.harness.jobs import TOO_LATE, Answer, Job, run_items, run_job
from palmette.sandbox import ExecutionResult, WarmSpark


@dataclass(frozen=True)
class Probe:
    """A snippet of the harness that calls a function of the team on small frames.

    It sees `spark` and `frames` (name to DataFrame), and assigns `result`: a DataFrame, or a JSON value.
    """

    name: str
    code: str
    frames: Mapping[str, Frame] = field(default_factory=dict)


@dataclass(frozen=True)
class ProbeResult:
    """What a probe assigned, or the error that it met."""

    name: str
    frame: Frame | None = None
    value: Any = None
    error: str = ""
    trace: str = ""


@dataclass(frozen=True)
class MainResult:
    """How a script's own main ended."""

    error: str
    """Class and message of what it raised; empty when it came to its end."""
    trace: str
    execution: ExecutionResult

    @property
    def ok(self) -> bool:
        return not self.error and self.execution.ok

    @property
    def is_late(self) -> bool:
        """Whether it was ended because it took too long."""
        return self.execution.ended == "timeout" or self.execution.exit_code == TOO_LATE


@dataclass(frozen=True)
class ConnectHarness:
    """Runs scripts in sandboxed processes that are clients of one warm Spark, in its sandbox; a `ScriptHarness`."""

    spark: WarmSpark
    config_file: Path | None = None
    config_class: str = ""
    case_seconds: float = 30.0
    """Processor time for one case or probe; five times as much on the clock, most of which is Spark's."""
    variant_seconds: float = 20.0
    """The same for the tests of one variant."""

    def with_config(self, file: Path, class_name: str = "") -> ConnectHarness:
        """A harness that passes the team's config object to entry functions which take one.

        `class_name` is `module:Class` of a Pydantic class or a dataclass; without it, the plain mapping is passed.
        """
        return replace(self, config_file=file.resolve(), config_class=class_name)

    def execute(
        self,
        script: Path,
        entry: str,
        cases: Sequence[Case],
        *,
        root: Path,
        python_path: Sequence[Path] = (),
    ) -> list[CaseResult]:
        if not cases:
            return []
        text = script.read_text(encoding="utf-8")
        bindings = bind(text, entry, cases[0].frames.keys(), has_config=self.config_file is not None)
        if bindings.error:
            return [CaseResult(case.name, error=bindings.error) for case in cases]
        shared = {
            "script": str(script.resolve()),
            "entry": entry,
            "bindings": [binding._asdict() for binding in bindings.bound],
            "config": {"file": str(self.config_file), "class": self.config_class} if self.config_file else None,
        }
        items = [_item(case) for case in cases]
        frames = [case.frames for case in cases]
        answers = self._run(Job("cases", items, root, python_path, self.case_seconds, shared, frames))
        return [_case_result(case.name, answer) for case, answer in zip(cases, answers, strict=True)]

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
        shared = {
            "script": str(script.resolve()),
            "tests": str(tests.resolve()),
            "stop_at_first": stop_at_first,
        }
        results: dict[str, SuiteResult] = {}
        while left := [name for name in variants if name not in results]:
            items = [{"text": variants[name]} for name in left]
            answers = self._run(Job("tests", items, root, python_path, self.variant_seconds, shared))
            for name, answer in zip(left, answers, strict=True):
                if answer.is_missing and name != left[0]:
                    break  # an earlier variant ended the process; this one gets a process of its own
                results[name] = _suite_result(answer)
        return results

    def run_main(
        self,
        script: Path,
        argv: Sequence[str],
        *,
        root: Path,
        python_path: Sequence[Path] = (),
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        seconds: float = 120.0,
    ) -> MainResult:
        """Runs the script as `__main__`, as spark-submit would; relative paths mean `cwd` (default `root`).

        The session that it builds is the warm one; its own master and JVM options are ignored.
        """
        shared = {"script": str(script.resolve()), "argv": list(argv)}
        job = Job("main", [{}], root, python_path, seconds, shared, cwd=cwd, env=env)
        answers, execution = run_job(self.spark, job)
        return MainResult(answers[0].fields.error, answers[0].fields.trace, execution)

    def probes(self, root: Path, python_path: Sequence[Path], probes: Sequence[Probe]) -> list[ProbeResult]:
        """Runs probes one after the other in one process that has the repository on its path."""
        if not probes:
            return []
        items = [{"code": probe.code, "session_zone": "UTC", "partitions": 1} for probe in probes]
        frames = [probe.frames for probe in probes]
        answers = self._run(Job("probes", items, root, python_path, self.case_seconds, {}, frames))
        return [
            ProbeResult(probe.name, answer.frame, answer.fields.value, answer.fields.error, answer.fields.trace)
            for probe, answer in zip(probes, answers, strict=True)
        ]

    def probe(
        self, root: Path, python_path: Sequence[Path], code: str, frames: Mapping[str, Frame] | None = None
    ) -> ProbeResult:
        """One probe by itself."""
        return self.probes(root, python_path, [Probe("probe", code, frames or {})])[0]

    def _run(self, job: Job) -> list[Answer]:
        return run_items(self.spark, job)


def _item(case: Case) -> dict[str, Any]:
    return {
        "as_of": case.as_of.isoformat() if case.as_of else None,
        "session_zone": case.session_zone,
        "partitions": case.partitions,
        "plan": case.plan,
        "script": str(case.script.resolve()) if case.script else None,
    }


def _case_result(name: str, answer: Answer) -> CaseResult:
    fields = answer.fields
    error = fields.error or ("" if answer.frame else "ProcessEnded: the script gave no frame")
    return CaseResult(name, answer.frame, error, fields.trace, fields.plan, fields.nullable)


def _suite_result(answer: Answer) -> SuiteResult:
    fields = answer.fields
    return SuiteResult(fields.passed, fields.failed, fields.error, fields.seconds)
