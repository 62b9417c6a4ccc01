"""Shared resources of a run's actors: the team's code at the base commit, sandbox, warm Spark, and samples."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from palmette.delivery.worktree import file_on
from palmette.engine.actor import TextFile
from palmette.features.harness.connect import ConnectHarness
from palmette.features.passed import PassedBefore, digest_of
from palmette.features.samples import Sample, sample_of
from palmette.features.spec import Run, Table
from palmette.sandbox import Sandbox, WarmSpark, java_environment
from palmette.sandbox.java import quick_options
from palmette.sandbox.spark import QUICK_PLANS


@dataclass(frozen=True)
class Workbench:
    """The resources of one run. Closing it stops Spark."""

    run: Run
    repository: Path
    """The team's files at the base commit, read-only."""
    checkout: Path
    """The team's own checkout. The pull request's branch is made there through a worktree, and relative paths of tables
    are relative to it.
    """
    sandbox: Sandbox
    spark: WarmSpark
    tables: Mapping[str, Table]
    is_offline: bool = False
    """Whether the rules write every program, so that attempts may share a Spark server."""
    passed_folder: Path | None = None
    """A folder that keeps what has passed, for later runs."""

    @cached_property
    def harness(self) -> ConnectHarness:
        """The harness for running the team's own code."""
        return ConnectHarness(self.spark)

    @contextmanager
    def attempt(self) -> Iterator[ConnectHarness]:
        """A harness for one attempt. What a model writes shares no Spark state with other attempts."""
        server: AbstractContextManager[WarmSpark]
        server = nullcontext(self.spark) if self.is_offline else self.spark.handed_over()
        with server as spark:
            yield replace(self.harness, spark=spark)

    @cached_property
    def samples(self) -> dict[str, Sample | None]:
        """By table name; None if there is no sample on this machine."""
        return {name: sample_of(table, self.checkout) for name, table in self.tables.items()}

    def passed(self, *content: object) -> PassedBefore:
        """What has passed with the team's files and this content before."""
        return PassedBefore(self.passed_folder, self._digest, *content)

    @cached_property
    def _digest(self) -> str:
        return digest_of(self.repository)

    def assemble(self, files: Iterable[TextFile], destination: Path) -> Path:
        """Copies the repository to `destination`, writes `files` on top, and returns it."""
        ignored = shutil.ignore_patterns(".git", "__pycache__", ".venv", ".pytest_cache", ".ruff_cache")
        shutil.copytree(self.repository, destination, symlinks=True, ignore=ignored, dirs_exist_ok=True)
        for file in files:
            target = destination / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.text, encoding="utf-8")
        return destination

    def environment(self, root: Path) -> dict[str, str]:
        """Environment variables with which the team's commands find Python packages, Java and Spark.

        Their Spark sessions get settings for a few rows and record no lines of calls, unless they set others.
        """
        path = ":".join(str(folder) for folder in (root / "src", root) if folder.is_dir())
        quick = {**QUICK_PLANS, "spark.python.sql.dataFrameDebugging.enabled": "false"}
        settings = " ".join(f"--conf {name}={value}" for name, value in quick.items())
        return {
            **java_environment(),
            "JAVA_TOOL_OPTIONS": quick_options(),
            "PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell",
            "PYTHONPATH": path,
        }

    def file_on(self, branch: str, path: str) -> str | None:
        """The text of a file of the team's repository on a branch; None if it does not exist."""
        return file_on(self.checkout, branch, path)

    def close(self) -> None:
        self.spark.stop()
