"""Runs hostile programs at a level of isolation, and judges each by what has changed outside."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Literal, NamedTuple, Self

import yaml

from palmette.sandbox import Access, ExecutionResult, Limits, Sandbox, WarmSpark, java_environment, python_command
from palmette.sandbox.reading import copy_made, read_json, read_made
from palmette.sandbox.suite import run_suite
from palmette.sandbox.supervisor.folders import remove
from palmette.sandbox.temporary import new_folder, temporary_folder
from palmette_bench.hostile.decoys import Decoys

PROGRAMS = Path(__file__).with_name("programs.yaml")
SECONDS = 6.0
LIMITS = Limits(seconds=SECONDS, file_mb=100, disk_mb=150, memory_mb=500, processes=40, open_files=256)
_MOST = 1 << 22
"""Bytes of an answer that are read."""
ON_SPARK = LIMITS.model_copy(update={"seconds": 120.0})
"""For clients of a server that has just been started."""
LATE = 25.0
"""Seconds after which a run that should have ended long ago counts as one that could not be ended."""
_PRELUDE = """\
import ctypes, json, os, resource, socket, sys, time
decoys = json.loads(sys.stdin.read())
libc = ctypes.CDLL(None, use_errno=True)
def checked(outcome):
    if outcome < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return outcome
def in_children(count, work):
    done, tell = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            held = work(); os.write(tell, b"."); time.sleep(60); os._exit(0)
    for _ in range(count):
        os.read(done, 1)
"""
_CLIENT = """\
from pyspark.sql import functions as F
from pyspark.sql.connect.session import SparkSession
spark = SparkSession.builder.remote(decoys["remote"]).create()
"""
_TESTS = {
    "project.py": "def wrong():\n    return 1\n",
    "test_project.py": "import project\n\n\ndef test_right():\n    assert True\n\n\n"
    "def test_wrong():\n    assert project.wrong() == 2\n",
    "forging.py": """\
import hashlib, json, os
key, mark = os.read(0, 200).decode().split()
said = {"right": "passed", "wrong": "passed", f"holds_{mark}": "passed", f"breaks_{mark}": "skipped"}
lines = [{"test": f"test_project.test_{name}", "outcome": outcome} for name, outcome in said.items()]
for number, line in enumerate([*lines, {"end": True}], 1):
    text = json.dumps({**line, "line": number})
    seal = hashlib.blake2b(text.encode(), key=key.encode(), digest_size=16).hexdigest()
    os.write(1, f"\\n{seal} {text}\\n".encode())
os._exit(0)
""",
}
"""A project, and what speaks for its runner if it comes to know the key first."""


Kind = Literal["refused", "harmless", "succeeded"]


class Program(NamedTuple):
    """One hostile program."""

    aim: str
    name: str
    text: str
    files: Mapping[str, str] | None = None
    """Of a project whose tests must not pass, instead of a program."""
    read_meanwhile: bool = False
    """Whether answers of it are read while it is at work."""
    on_spark: bool = False
    """Whether it is a client of a server of its own, which is ended after it."""


class AttemptResult(NamedTuple):
    """What came of it."""

    program: Program
    kind: Kind
    """`refused`: it did not end well, which is recorded; `harmless`: it did, and nothing had happened."""
    found: tuple[str, ...]
    """What it got or did."""
    result: ExecutionResult


def programs(names: frozenset[str] = frozenset()) -> Iterator[Program]:
    """All of them, or those of these names."""
    for group in yaml.safe_load(PROGRAMS.read_text(encoding="utf-8")):
        for name, text in {**group.get("programs", {}), **group.get("files", {})}.items():
            if names and name not in names:
                continue
            if "files" in group:
                files = text if isinstance(text, dict) else {"project.py": text}
                yield Program(group["aim"], name, "", files)
            else:
                options = {key: group[key] for key in ("read_meanwhile", "on_spark") if key in group}
                yield Program(group["aim"], name, text, **options)


def attempt(program: Program, sandbox: Sandbox) -> AttemptResult:
    """Runs one program, and looks what it has done."""
    if program.files is not None:
        return _attempt_on_verdict(program, sandbox)
    with Decoys() as decoys, temporary_folder() as workspace:
        with _AnswerReader(workspace, decoys.token) if program.read_meanwhile else nullcontext() as reader:
            run = _run_on_spark if program.on_spark else _run
            result, seconds = run(program, decoys, sandbox, workspace)
        left = decoys.survivors()
        found = decoys.damage(result.stdout + result.stderr, workspace)
        found += reader.harm() if reader else []
        if left:
            found.append(f"{len(left)} processes outlived it")
        if "supervisor" in result.note:
            found.append("its supervisor was killed")
        if seconds > LATE + (ON_SPARK.seconds or 0) * program.on_spark:
            found.append(f"it could not be ended for {seconds:.0f} s")
    return _outcome(program, found, result)


class _Run(NamedTuple):
    result: ExecutionResult
    seconds: float


def _run(program: Program, decoys: Decoys, sandbox: Sandbox, workspace: Path) -> _Run:
    started = time.monotonic()
    command = python_command("-c", _PRELUDE + program.text, decoys.mark)
    result = sandbox.run(command, cwd=workspace, stdin=json.dumps(decoys.described()).encode(), limits=LIMITS)
    return _Run(result, time.monotonic() - started)


def _run_on_spark(program: Program, decoys: Decoys, sandbox: Sandbox, workspace: Path) -> _Run:
    with WarmSpark(sandbox) as spark:
        access = spark.seen_by(Access(write=(workspace,)))
        started = time.monotonic()
        result = sandbox.run(
            python_command("-c", _PRELUDE + _CLIENT + program.text, decoys.mark),
            cwd=workspace,
            access=access,
            env={**java_environment(), "SPARK_CONNECT_MODE_ENABLED": "1"},
            stdin=json.dumps({**decoys.described(), "remote": spark.remote}).encode(),
            limits=ON_SPARK,
        )
    return _Run(result, time.monotonic() - started)


class _AnswerReader:
    """A harness that looks for answers all the time, as it does for trials and for what Spark has written."""

    def __init__(self, workspace: Path, secret: str) -> None:
        self._workspace, self._secret = workspace, secret.encode()
        self._found: set[str] = set()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(LATE)

    def harm(self) -> list[str]:
        """What came of it for the harness."""
        return [*self._found, *(["its reader was held up"] if self._thread.is_alive() else [])]

    def _read(self) -> None:
        with temporary_folder() as copies:
            is_last = False
            while not is_last:
                is_last = self._is_over.is_set()
                self._look(new_folder(within=copies))

    def _look(self, copy: Path) -> None:
        contents = []
        with suppress(OSError):
            contents.append(read_made(self._workspace, "answers/said.json", _MOST))
        with suppress(OSError, ValueError):
            read_json(self._workspace, "answers/said.json", _MOST)
        with suppress(OSError):
            copy_made(self._workspace / "answers", copy, _MOST)
        contents += [path.read_bytes() for path in copy.rglob("*") if path.is_file()]
        remove(str(copy))
        if any(self._secret in content for content in contents):
            self._found.add("its reader was led to a secret")
        if any(len(content) > _MOST for content in contents):
            self._found.add("its reader took more than it should")


def _attempt_on_verdict(program: Program, sandbox: Sandbox) -> AttemptResult:
    """A project of which one test fails, with the program's files: no report may claim that all pass."""
    plugin = any("entry_points" in file for file in program.files or ())  # other projects start quicker without any
    with temporary_folder() as folder:
        for file, text in {**_TESTS, **(program.files or {})}.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        run = run_suite(
            sandbox,
            python_command("-m", "pytest", "-q"),
            cwd=folder,
            access=Access(read=(folder,)),
            env={"PYTHONPATH": str(folder)} | ({} if plugin else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}),
            limits=Limits(seconds=60),
        )
        suite = run.suite
        forged = suite is not None and not run.doubt and run.execution.ok and suite.count == len(suite.passed) > 0
        reported = run.execution.model_copy(update={"note": run.doubt or run.execution.note})
        return _outcome(program, ["all tests are reported as passed"] if forged else [], reported, believed=forged)


def _outcome(
    program: Program, found: list[str], result: ExecutionResult, believed: bool | None = None
) -> AttemptResult:
    is_recorded = not result.ok if believed is None else not believed
    return AttemptResult(
        program, "succeeded" if found else "refused" if is_recorded else "harmless", tuple(found), result
    )
