"""The planner study: the same tasks, actors, faults, attempts and limits; only who plans differs.

Each run is a run of the engine like any other, with its journal; a person is never there. What an actor gives and what
its criterion says are computed by the real code in the sandbox, once for equal inputs (`memory`).
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from palmette.engine import Actor, Entry, NoHuman, RunBudget, RunResult, Setup, create, fold, read_journal, run_topology
from palmette.errors import PalmetteError
from palmette.features.artefacts import Config, FeatureDelivery, Script, Tests
from palmette.features.checks.mutation import MutationCheck
from palmette.knowledge.memory import MendedFailure, mended_in, remedies
from palmette.sandbox.temporary import temporary_folder
from palmette_bench.featbench.faults import CATALOGUE, FaultKind, FaultPlan, Faulty
from palmette_bench.featbench.open_task import OpenTask
from palmette_bench.featbench.records import ActorTally, Condition, HiddenResult, RunRecord
from palmette_bench.featbench.result_cache import CachedActor, ResultCache, WorkTime, digest
from palmette_bench.record_files import append, read_records

PLANNERS = ("offline", "sequential", "random")
"""The planner-guided one on the built-in rules, and the two baselines."""
WITH_MEMORY = "-with-memory"
"""Ends the name of a planner that knows how the runs on other tasks mended their failures."""
READS = {"code_generator": frozenset({MutationCheck.code})}
"""By actor: codes of past violations that its criterion heeds."""
UNFAULTY = frozenset({"pull_request"})
"""The published study has no such actor: it delivers, and makes no mistakes."""
_KILLED = re.compile(r"(\d+) of (\d+) mutants killed")


class PlannedRun(NamedTuple):
    """One run that is to be made."""

    task: str
    planner: str
    run: int
    condition: Condition

    @property
    def remembers(self) -> bool:
        return self.planner.endswith(WITH_MEMORY)


@dataclass(frozen=True)
class StudyTask:
    """What the study needs of a task."""

    name: str
    open: Callable[[], OpenTask]
    """Opens it; called once, when its first run is made."""
    outcome: Callable[[Mapping[str, str]], HiddenResult]
    """Of delivered files (path to text) on hidden tables."""
    rate: float
    """Probability of a fault at each draw, at factor 1."""


@dataclass(frozen=True)
class Study:
    """Runs cells, and keeps their records; a cell that has one is not run again."""

    tasks: Sequence[StudyTask]
    file: Path
    """The records, one JSON line each."""
    folder: Path
    """Where runs work; Spark may read and write below it."""
    memory: ResultCache | None
    code: str
    """Digest of the code that the records are about."""
    seed: int = 0
    catalogue: tuple[FaultKind, ...] = CATALOGUE
    planner_services: Callable[[OpenTask], dict[str, object]] = lambda opened: dict(opened.services)

    def run(self, cells: Iterable[PlannedRun], done: Callable[[RunRecord], None], workers: int = 2) -> list[RunRecord]:
        """All cells, task by task, several tasks beside each other; the records in the order of the cells."""
        wanted = list(cells)
        guard = threading.Lock()
        found: dict[PlannedRun, RunRecord] = {}
        opened = {task.name: cache(task.open) for task in self.tasks}

        def work(task: StudyTask, mine: list[PlannedRun], others: list[MendedFailure]) -> None:
            for cell, record in self._of_task(replace(task, open=opened[task.name]), mine, others):
                with guard:
                    found[cell] = record
                    done(record)

        for remembers in (False, True):  # a memory holds the runs of the other tasks without one
            by_task = {
                task: [cell for cell in wanted if cell.task == task.name and cell.remembers == remembers]
                for task in self.tasks
            }
            plain = list(found.values()) if remembers else []
            with ThreadPoolExecutor(workers) as pool:
                futures = [
                    pool.submit(work, task, mine, [m for one in plain if one.task != task.name for m in one.mended])
                    for task, mine in by_task.items()
                    if mine
                ]
                for future in futures:
                    future.result()
        return [found[cell] for cell in wanted]

    def _of_task(
        self, task: StudyTask, cells: list[PlannedRun], others: list[MendedFailure]
    ) -> Iterator[tuple[PlannedRun, RunRecord]]:
        opened = task.open()
        code = digest([self.code, opened.digest])
        known = {record.key: record for record in read_records(self.file, RunRecord) if not record.unmeasured}
        for cell in cells:
            rate = min(0.95, task.rate * cell.condition.factor)
            key = (code, task.name, cell.planner, cell.run, self.seed, cell.condition, round(rate, 6))
            if key not in known:
                known[key] = self._run(task, opened, cell, rate, code, others)
                append(self.file, known[key])
            yield cell, known[key]

    def _run(
        self,
        task: StudyTask,
        opened: OpenTask,
        cell: PlannedRun,
        rate: float,
        code: str,
        others: list[MendedFailure],
    ) -> RunRecord:
        begun, work = time.monotonic(), WorkTime()
        plan = FaultPlan(rate, cell.condition.latent, self.seed, task.name, cell.run, self.catalogue)
        actors = self._actors(opened, plan, work)
        opened.forget_deliveries()
        with temporary_folder(within=self.folder) as folder:
            place = folder / "run"
            try:
                setup = replace(self._setup(opened, cell, actors), recall=partial(remedies, mended=others))
                result: RunResult | None = run_topology(setup, place)
                status, reason = (result.status, result.reason) if result else ("", "")
            except PalmetteError as error:
                result, status, reason = None, "failed", f"{error.code}: {error.message}"
            files = _delivered(result) if result else {}
            entries = read_journal(place)
        killed, mutants = _mutants(entries)
        spend = fold(entries).spent.spend
        outcome = task.outcome(files) if files else HiddenResult()
        return RunRecord(
            code=code,
            task=task.name,
            planner=cell.planner,
            run=cell.run,
            seed=self.seed,
            condition=cell.condition,
            rate=round(rate, 6),
            status=status,
            reason=reason[:500],
            steps=sum(entry.event.kind in ("decided", "decision_refused") for entry in entries),
            actors=_tallies(entries),
            faults=tuple(one for actor in actors.values() if isinstance(actor, Faulty) for one in actor.drawn),
            seconds=round(time.monotonic() - begun, 3),
            work=round(work.seconds, 2),
            calls=spend.calls,
            tokens=spend.tokens,
            money=spend.money,
            killed=killed,
            mutants=mutants,
            delivered=bool(files),
            differences=outcome.differences,
            unmeasured=outcome.unmeasured,
            mended=mended_in(entries),
        )

    def _actors(self, opened: OpenTask, plan: FaultPlan, work: WorkTime) -> dict[str, Actor]:
        made: dict[str, Actor] = {}
        for name, actor in opened.actors.items():
            if name in UNFAULTY:
                made[name] = actor
                continue
            cached = CachedActor(actor, opened.digest, self.memory, work, READS.get(name, frozenset()))
            made[name] = Faulty(cached, plan, opened.inputs.view)
        return made

    def _setup(self, opened: OpenTask, cell: PlannedRun, actors: dict[str, Actor]) -> Setup:
        nodes = {
            name: node.model_copy(update={"retries": cell.condition.attempts if name not in UNFAULTY else node.retries})
            for name, node in opened.topology.actors.items()
        }
        limits = opened.inputs.run.budget
        services = {**self.planner_services(opened), "seed": int(digest([self.seed, cell.run])[:8], 16)}
        return Setup(
            topology=opened.topology.model_copy(update={"actors": nodes}),
            actors=actors,
            planner=create("planner", cell.planner.removesuffix(WITH_MEMORY), services),
            given={"request": opened.inputs.request},
            human=NoHuman(),
            budget=RunBudget(steps=limits.steps, attempts=limits.attempts, seconds=limits.minutes * 60),
            seed=opened.inputs.run.seed,
        )


def _delivered(result: RunResult) -> dict[str, str]:
    """The files of the pull request; none where there is no pull request."""
    if result.status != "finished":
        return {}
    made = (result.artefact("config", Config), result.artefact("script", Script), result.artefact("tests", Tests))
    files = {artefact.file.path: artefact.file.text for artefact in made}
    return {path: files[path] for path in result.artefact("pull_request", FeatureDelivery).files}


def _tallies(entries: Iterable[Entry]) -> dict[str, ActorTally]:
    counts: dict[str, dict[str, int]] = {}
    kinds = {"attempt_succeeded": "successes", "attempt_failed": "failures", "invocation_started": "invocations"}
    for entry in entries:
        if field := kinds.get(entry.event.kind):
            mine = counts.setdefault(str(getattr(entry.event, "actor", "")), {})
            mine[field] = mine.get(field, 0) + 1
    return {name: ActorTally(**each) for name, each in counts.items()}


def _mutants(entries: Iterable[Entry]) -> tuple[int | None, int | None]:
    """What the last successful attempt of the code generator measured of the tests."""
    for entry in reversed(list(entries)):
        if entry.event.kind == "attempt_succeeded" and entry.event.actor == "code_generator":
            for one in entry.event.verdict.measurements:
                if one.name == MutationCheck.code and (match := _KILLED.search(one.detail)):
                    return int(match[1]), int(match[2])
    return None, None
