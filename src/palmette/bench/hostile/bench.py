"""Runs hostile programs at a level of isolation, and tells what came of each by what is found outside afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import yaml

from palmette.bench.hostile.scene import Scene
from palmette.sandbox import Access, ExecutionResult, Limits, Sandbox, python_command
from palmette.sandbox.suite import run_suite
from palmette.sandbox.temporary import temporary_folder

PROGRAMS = Path(__file__).with_name("programs.yaml")
SECONDS = 6.0
LIMITS = Limits(seconds=SECONDS, file_mb=100, disk_mb=150, memory_mb=500, processes=40, open_files=256)
LATE = 25.0
"""Seconds after which a run that should have ended long ago counts as one that could not be ended."""
_PRELUDE = """\
import ctypes, json, os, resource, socket, sys, time
scene = json.loads(sys.stdin.read())
libc = ctypes.CDLL(None, use_errno=True)
def checked(outcome):
    if outcome < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return outcome
"""
_TESTS = {
    "project.py": "def wrong():\n    return 1\n",
    "test_project.py": "import project\n\n\ndef test_right():\n    assert True\n\n\n"
    "def test_wrong():\n    assert project.wrong() == 2\n",
}


Kind = Literal["refused", "harmless", "succeeded"]


class Program(NamedTuple):
    """One hostile program."""

    aim: str
    name: str
    text: str
    files: Mapping[str, str] | None = None
    """Of a project whose tests must not pass, instead of a program."""


class Outcome(NamedTuple):
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
                yield Program(group["aim"], name, text)


def attempt(program: Program, sandbox: Sandbox) -> Outcome:
    """Runs one program, and looks what it has done."""
    if program.files is not None:
        return _attempt_on_verdict(program, sandbox)
    with Scene() as scene, temporary_folder() as workspace:
        started = time.monotonic()
        command = python_command("-c", _PRELUDE + program.text, scene.mark)
        told = json.dumps(scene.told()).encode()
        result = sandbox.run(command, cwd=workspace, stdin=told, limits=LIMITS)
        seconds = time.monotonic() - started
        left = scene.survivors()
        found = scene.damage(result.stdout + result.stderr, workspace)
        if left:
            found.append(f"{len(left)} processes outlived it")
        if "supervisor" in result.note:
            found.append("its supervisor was killed")
        if seconds > LATE:
            found.append(f"it could not be ended for {seconds:.0f} s")
    return _outcome(program, found, result)


def _attempt_on_verdict(program: Program, sandbox: Sandbox) -> Outcome:
    """A project of which one test fails, with the program's files: nobody may come to believe that all pass."""
    with temporary_folder() as folder:
        for file, text in {**_TESTS, **(program.files or {})}.items():
            (folder / file).write_text(text, encoding="utf-8")
        run = run_suite(
            sandbox,
            python_command("-m", "pytest", "-q"),
            cwd=folder,
            access=Access(read=(folder,)),
            env={"PYTHONPATH": str(folder)},
            limits=Limits(seconds=60),
        )
        suite = run.suite
        forged = suite is not None and not run.doubt and run.execution.ok and suite.count == len(suite.passed) > 0
        told = run.execution.model_copy(update={"note": run.doubt or run.execution.note})
        return _outcome(program, ["all tests are said to pass"] if forged else [], told, believed=forged)


def _outcome(program: Program, found: list[str], result: ExecutionResult, believed: bool | None = None) -> Outcome:
    is_recorded = not result.ok if believed is None else not believed
    return Outcome(program, "succeeded" if found else "refused" if is_recorded else "harmless", tuple(found), result)
