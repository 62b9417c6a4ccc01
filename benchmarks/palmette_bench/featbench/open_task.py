"""An open task, which all its runs share: Inputs, actors, the team's files, one warm Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from palmette.delivery.git import Git
from palmette.delivery.worktree import export_base
from palmette.engine import Actor, Topology, build_actors, load_topology
from palmette.features.environment import TOPOLOGY, services_of
from palmette.features.harness.connect import ConnectHarness
from palmette.features.inputs import RunInputs, read_inputs
from palmette.features.workbench import Workbench
from palmette.llm import OFFLINE, Models
from palmette.sandbox import Sandbox, WarmSpark
from palmette_bench.featbench.cached_harness import CachedHarness
from palmette_bench.featbench.result_cache import ResultCache, digest, files_digest


@dataclass(frozen=True)
class SharedWorkbench(Workbench):
    """A workbench on a Spark that many runs share, with a memory of what was executed on it."""

    memory: ResultCache | None = None

    @cached_property
    def harness(self) -> ConnectHarness:
        return CachedHarness(self.spark, memory=self.memory)

    @contextmanager
    def attempt(self) -> Iterator[ConnectHarness]:
        """All runs have one Spark."""
        yield self.harness

    def close(self) -> None:
        """The caller opened Spark and closes it."""


@dataclass(frozen=True)
class OpenTask:
    """One task, opened."""

    inputs: RunInputs
    topology: Topology
    services: Mapping[str, object]
    actors: Mapping[str, Actor]
    digest: str
    """Of everything that the actors were made from, their code aside."""

    @classmethod
    def open(
        cls,
        name: str,
        run_file: Path,
        scratch: Path,
        sandbox: Sandbox,
        spark: WarmSpark,
        memory: ResultCache | None = None,
        models: Models = OFFLINE,
    ) -> OpenTask:
        """Reads a prepared task; `scratch` is a folder that does not exist yet, `models` answer the agents' tasks."""
        inputs = read_inputs(run_file)
        base = export_base(inputs.repository, inputs.run.repository.base, scratch / "base")
        bench = SharedWorkbench(
            run=inputs.run,
            repository=base,
            checkout=inputs.repository,
            sandbox=sandbox,
            spark=spark,
            tables=inputs.view.tables,
            memory=memory,
        )
        topology = load_topology(TOPOLOGY).value
        services = services_of(inputs.view, bench, models)
        return cls(inputs, topology, services, build_actors(topology, services), _digest(name, inputs, bench))

    def forget_deliveries(self) -> None:
        """Takes the branches of earlier runs away, so that each run starts from the team's base."""
        git = Git(self.inputs.repository)
        found = git.attempt("for-each-ref", "--format=%(refname:short)", "refs/heads/features").out.split()
        for branch in found:
            git("branch", "-q", "-D", branch)


def _digest(name: str, inputs: RunInputs, bench: Workbench) -> str:
    samples = [sample.path for sample in bench.samples.values() if sample]
    tables = [file for path in samples for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    base = [path for path in bench.repository.rglob("*") if path.is_file()]
    request = inputs.request.model_dump(mode="json")
    return digest([name, request, files_digest(path for path in tables if path.is_file()), files_digest(base)])
