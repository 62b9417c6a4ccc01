"""The harness over warm Spark: hands job folders to a sandboxed process, and re-reads its answers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from palmette.features.frame import Frame
from palmette.features.harness.binding import bind
from palmette.features.harness.harness import Case, CaseResult, SuiteResult
from palmette.sandbox import ExecutionResult, Limits, Sandbox, WarmSpark, java_environment, python_command

_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from palmette_driver.main import main; del sys.path[0]; main(sys.argv[2])"
_HERE = str(Path(__file__).parent)
_START_SECONDS = 60.0


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


@dataclass(frozen=True)
class ConnectHarness:
    """Runs scripts in sandboxed processes that are clients of one warm Spark; a `ScriptHarness`."""

    sandbox: Sandbox
    spark: WarmSpark
    config_file: Path | None = None
    config_class: str = ""
    case_seconds: float = 60.0
    """Time for one case, probe or variant."""

    def with_config(self, file: Path, class_name: str = "") -> ConnectHarness:
        """A harness that passes the team's config object to entry functions which take one.

        `class_name` is `module:Class` of a Pydantic class; without it, the plain mapping is passed.
        """
        return replace(self, config_file=file.resolve(), config_class=class_name)

    def execute(self, script: Path, entry: str, cases: Sequence[Case], *, root: Path,
                python_path: Sequence[Path] = (), plans: bool = False) -> list[CaseResult]:
        if not cases:
            return []
        bindings = bind(script.read_text(encoding="utf-8"), entry, set(cases[0].frames),
                        has_config=self.config_file is not None)
        if bindings.error:
            return [CaseResult(case.name, error=bindings.error) for case in cases]
        job = {
            "kind": "cases", "script": str(script.resolve()), "entry": entry, "plans": plans,
            "bindings": [{"name": b.name, "meaning": b.meaning, "table": b.table, "as": b.form}
                         for b in bindings.bound],
            "config": {"file": str(self.config_file), "class": self.config_class} if self.config_file else None,
            "items": [{"as_of": case.as_of.isoformat() if case.as_of else None, "zone": case.session_zone,
                       "partitions": case.partitions} for case in cases],
        }
        answers = self._answers(job, [case.frames for case in cases], root, python_path)
        return [CaseResult(case.name, frame=answer.frame, error=answer.error, trace=answer.get("trace", ""),
                           plan=answer.get("plan", ""), nullable=answer.get("nullable", {}))
                for case, answer in zip(cases, answers, strict=True)]

    def probes(self, root: Path, python_path: Sequence[Path], probes: Sequence[Probe]) -> list[ProbeResult]:
        """Runs probes one after the other in one process that has the repository on its path."""
        job = {"kind": "probes", "plans": False,
               "items": [{"code": probe.code, "zone": "UTC", "partitions": 1} for probe in probes]}
        answers = self._answers(job, [probe.frames for probe in probes], root, python_path) if probes else []
        return [ProbeResult(probe.name, answer.frame, answer.get("value"), answer.error, answer.get("trace", ""))
                for probe, answer in zip(probes, answers, strict=True)]

    def probe(self, root: Path, python_path: Sequence[Path], code: str,
              frames: Mapping[str, Frame] | None = None) -> ProbeResult:
        """One probe by itself."""
        return self.probes(root, python_path, [Probe("probe", code, frames or {})])[0]

    def run_tests(self, tests: Path, variants: Mapping[str, str], script: Path, *, root: Path,
                  python_path: Sequence[Path] = (), stop_at_first: bool = True) -> dict[str, SuiteResult]:
        results: dict[str, SuiteResult] = {}
        while left := [name for name in variants if name not in results]:
            job = {"kind": "tests", "script": str(script.resolve()), "tests": str(tests.resolve()),
                   "stop_at_first": stop_at_first, "items": [variants[name] for name in left]}
            answers = self._answers(job, [{} for _ in left], root, python_path)
            for name, answer in zip(left, answers, strict=True):
                if answer.is_missing and name != left[0]:
                    break  # an earlier variant ended the process; this one gets a process of its own
                results[name] = SuiteResult(tuple(answer.get("passed", ())), answer.get("failed", {}), answer.error,
                                            answer.get("seconds", 0.0))
        return results

    def run_main(self, script: Path, argv: Sequence[str], *, root: Path, python_path: Sequence[Path] = (),
                 cwd: Path | None = None, env: Mapping[str, str] | None = None,
                 seconds: float = 300.0) -> MainResult:
        """Runs the script as `__main__`, as spark-submit would; relative paths mean `cwd` (default `root`)."""
        job = {"kind": "main", "script": str(script.resolve()), "argv": list(argv), "seconds": seconds, "items": [{}]}
        with tempfile.TemporaryDirectory(prefix="palmette-job-") as folder:
            execution = self._run(Path(folder), job, [{}], root, python_path, cwd=cwd, env=env)
            answer = _read(Path(folder) / "out", 1, execution)[0]
        return MainResult(answer.error, answer.get("trace", ""), execution)

    def _answers(self, job: dict[str, Any], frames: Sequence[Mapping[str, Frame]], root: Path,
                 python_path: Sequence[Path]) -> list[_Answer]:
        """Runs a job; once more when the server died under it."""
        for last in (False, True):
            with tempfile.TemporaryDirectory(prefix="palmette-job-") as folder:
                execution = self._run(Path(folder), job, frames, root, python_path)
                answers = _read(Path(folder) / "out", len(frames), execution)
            if last or self.spark.alive:
                break
        return answers

    def _run(self, folder: Path, job: dict[str, Any], frames: Sequence[Mapping[str, Frame]], root: Path,
             python_path: Sequence[Path], *, cwd: Path | None = None,
             env: Mapping[str, str] | None = None) -> ExecutionResult:
        (folder / "out").mkdir()
        files = _write_frames(folder, frames)
        root = root.resolve()
        path = [entry.resolve() for entry in python_path] + [entry for entry in (root / "src", root) if entry.is_dir()]
        seconds = job.get("seconds", self.case_seconds)
        whole = {
            "remote": self.spark.remote, "resolve_paths": not self.spark.is_external, "root": str(root),
            "path": list(dict.fromkeys(map(str, path))), "seconds": seconds, **job,
            "items": [{**item, "frames": names} if isinstance(item, dict) else item
                      for item, names in zip(job["items"], files, strict=True)],
        }
        (folder / "job.json").write_text(json.dumps(whole), encoding="utf-8")
        return self.sandbox.run(
            python_command("-c", _BOOT, _HERE, str(folder)), cwd=cwd or root, env={**java_environment(), **(env or {})},
            limits=Limits(seconds=_START_SECONDS + seconds * len(frames)))


@dataclass(frozen=True)
class _Answer:
    """The answer to one item, re-read."""

    fields: Mapping[str, Any]
    frame: Frame | None
    is_missing: bool = False

    @property
    def error(self) -> str:
        return str(self.fields.get("error", ""))

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)


def _write_frames(folder: Path, frames: Sequence[Mapping[str, Frame]]) -> list[dict[str, str]]:
    """Writes each distinct frame once; by item: name to file."""
    import pyarrow as pa

    written: dict[int, str] = {}
    for mapping in frames:
        for frame in mapping.values():
            if id(frame) not in written:
                written[id(frame)] = f"{len(written)}.arrow"
                table = frame.to_arrow()
                with pa.OSFile(str(folder / written[id(frame)]), "wb") as sink, \
                        pa.ipc.new_file(sink, table.schema) as writer:
                    writer.write_table(table)
    return [{name: written[id(frame)] for name, frame in mapping.items()} for mapping in frames]


def _read(folder: Path, count: int, execution: ExecutionResult) -> list[_Answer]:
    answers: list[_Answer] = []
    for index in range(count):
        file = folder / f"{index}.json"
        if not file.exists():
            answers.append(_Answer({"error": _why_missing(execution)}, None, is_missing=True))
            continue
        fields = json.loads(file.read_text(encoding="utf-8"))
        answers.append(_with_frame(fields, folder / f"{index}.arrow"))
    return answers


def _with_frame(fields: dict[str, Any], file: Path) -> _Answer:
    if fields.get("error") or not file.exists():
        return _Answer(fields, None)
    import pyarrow as pa

    with pa.OSFile(str(file)) as source, pa.ipc.open_file(source) as reader:
        table = reader.read_all()
    try:
        return _Answer(fields, Frame.from_arrow(table))
    except ValueError as error:
        return _Answer({**fields, "error": f"UnsupportedType: {error}"}, None)


def _why_missing(execution: ExecutionResult) -> str:
    if execution.exit_code == 3:
        return "NotRun: an earlier one took too long"
    said = execution.stderr.strip()[-1500:]
    how = execution.note or f"exit code {execution.exit_code}"
    return f"ProcessEnded: the process ended before the answer ({how}). {said}".strip()
