"""Spark's classes as Java lays them out in memory, kept in a file: a start that maps it costs half.

The mechanism is Java's own, application class data sharing: a server that sees no program of anybody else writes the
archive as it ends. It lies with the installation whose classes it holds, where programs can read it and none can change
it. Java leaves one aside that was made by another Java or of other files.
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
"""A Java that lives for half a minute does not repay the time of its optimising compiler."""
FOLDER = Path(sys.prefix, "share", "palmette")
SECONDS = 600.0
"""A minute of processor time at most, on machines that are much used."""
_QUIET = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"
_WORK = Path(__file__).with_name("class_work.py")


def quick_options() -> str:
    """Options for a Java that runs Spark on few rows; with the archive, where there is one."""
    archive = class_archive()
    return f'{QUICK_START} {_QUIET} -XX:SharedArchiveFile="{archive}"' if archive.is_file() else QUICK_START


def make_archive(sandbox: Sandbox, command: Callable[[str], Sequence[str]], started: str) -> Path:
    """The archive, which is made unless it is there, in the place of those of other versions.

    `command` is that of a Spark Connect server, by its options for Java; `started` a pattern for the line that tells
    its port.

    Raises:
        MachineError: this Java makes none, or it cannot be kept.
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
            os.fsync(kept.fileno())  # Java would believe one that a crash of the machine has left half empty
        for other in target.parent.glob("spark-*.jsa"):
            other.unlink()
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _error(message: str) -> MachineError:
    return MachineError(message, "Spark works without it, and starts more slowly.", code="no-class-archive")


def class_archive() -> Path:
    """Where the archive of this Java and these files of Spark is, or would be."""
    java, spark = find_java(), importlib.util.find_spec("pyspark")
    jars = sorted(Path(spark.origin).parent.glob("jars/*")) if spark and spark.origin else []
    files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in (java.home / "bin" / "java", *jars)]
    known = hashlib.sha256(repr((java.version, files, QUICK_START)).encode()).hexdigest()[:16]
    return FOLDER / f"spark-{known}.jsa"
