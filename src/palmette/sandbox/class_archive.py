"""An archive of Spark's loaded classes, which halves the time that Spark takes to start.

It uses Java's application class-data sharing: a server that only runs trusted code writes the archive when it ends. The
archive is stored with the installation, where programs can read but not change it. Java ignores an archive made by
another Java or from other files.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from palmette.errors import MachineError
from palmette.sandbox.access import Access
from palmette.sandbox.java import find_java, java_environment
from palmette.sandbox.process import Sandbox, python_command
from palmette.sandbox.result import Limits
from palmette.sandbox.temporary import temporary_folder

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""In a JVM that lives for half a minute, the optimising compiler costs more time than it saves."""
FOLDER = Path(sys.prefix, "share", "palmette")
SECONDS = 600.0  # takes up to a minute of processor time, longer on busy machines
_QUIET = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"
_WORK = Path(__file__).with_name("class_work.py")


def quick_options() -> str:
    """Options for a JVM that runs Spark on few rows; they include the archive if it exists."""
    archive = class_archive()
    return f'{QUICK_START} {_QUIET} -XX:SharedArchiveFile="{archive}"' if archive.is_file() else QUICK_START


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
