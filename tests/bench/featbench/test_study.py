"""Studies of stand-ins: who mends what, what is remembered, what is kept."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from palmette.engine import Entry, read_journal, run_topology
from palmette_bench.featbench.faults import FaultKind
from palmette_bench.featbench.records import Condition, HiddenResult, RunRecord
from palmette_bench.featbench.result_cache import ResultCache
from palmette_bench.featbench.stand_ins import StandIn, catalogue, kind, made, open_stand_in
from palmette_bench.featbench.study import PLANNERS, PlannedRun, Study, StudyTask
from palmette_bench.record_files import read_records

HIDDEN = "hidden"
KINDS = (
    kind("config_generator", latent=True),
    *(kind(actor, latent=False, number=number) for actor in ("testcase_coder", "code_generator") for number in (0, 1)),
)


def study(
    folder: Path,
    *,
    kinds: Sequence[FaultKind] = KINDS,
    rate: float = 0.5,
    memory: ResultCache | None = None,
    outcome: Callable[[Mapping[str, str]], HiddenResult] = lambda files: HiddenResult(),
) -> Study:
    task = StudyTask("small", open_stand_in, outcome, rate)
    return Study([task], folder / "records.jsonl", folder, memory, "code", 0, tuple(kinds))


BASE = Condition()


def cells(runs: int, condition: Condition = BASE, planners: Sequence[str] = PLANNERS) -> list[PlannedRun]:
    return [PlannedRun("small", planner, run, condition) for run in range(runs) for planner in planners]


def run(planned: Study, wanted: Sequence[PlannedRun]) -> list[RunRecord]:
    return planned.run(wanted, lambda record: None)


def test_without_faults_every_planner_delivers(tmp_path: Path) -> None:
    found = run(study(tmp_path), cells(1, Condition(factor=0.0)))
    assert all(record.success and record.failures == 0 and not record.silent_wrong for record in found)
    assert all(not fault.kind for record in found for fault in record.faults)


@pytest.mark.parametrize("planner", PLANNERS)
def test_only_who_sends_a_latent_fault_back_has_it_mended(planner: str, tmp_path: Path) -> None:
    latent = [one for one in KINDS if one.latent]
    (record,) = run(study(tmp_path, kinds=latent, rate=0.94), cells(1, planners=[planner]))
    assert record.faults[0].kind == "config latent 0" and record.actors["config_generator"].failures == 0
    assert record.success == (planner == "offline")
    assert record.actors["code_generator"].failures > 0, "it shows where it does harm"


def test_a_loud_fault_is_mended_by_the_actor_itself_unless_it_has_one_attempt(tmp_path: Path) -> None:
    loud = [one for one in KINDS if one.actor == "testcase_coder"]
    sequential = [PlannedRun("small", "sequential", 1, Condition(attempts=most)) for most in (1, 2, 3)]
    found = run(study(tmp_path, kinds=loud, rate=0.94), sequential)
    assert [record.success for record in found] == [False, False, True], "two faults, then there is none left"
    assert [record.actors["testcase_coder"].failures for record in found] == [1, 2, 2]


def test_every_planner_meets_the_same_faults(tmp_path: Path) -> None:
    found = run(study(tmp_path), cells(3))
    firsts = {(record.run, fault.actor): set[str]() for record in found for fault in record.faults}
    for record in found:
        for fault in record.faults:
            if fault.draw == 0:
                firsts[record.run, fault.actor].add(fault.kind)
    assert all(len(kinds) == 1 for kinds in firsts.values())
    assert len({kind for kinds in firsts.values() for kind in kinds}) > 2


def test_what_only_hidden_tables_show_is_a_silent_wrong(tmp_path: Path) -> None:
    unseen = [kind("code_generator", latent=True, text=HIDDEN)]

    def outcome(files: Mapping[str, str]) -> HiddenResult:
        return HiddenResult(differences=("row 1",) if HIDDEN in files["script"] else ())

    (record,) = run(study(tmp_path, kinds=unseen, rate=0.94, outcome=outcome), cells(1, planners=["offline"]))
    assert record.delivered and record.silent_wrong and not record.success


def test_what_was_not_compared_is_neither_right_nor_wrong_and_is_made_again(tmp_path: Path) -> None:
    late, cell = [True, False], cells(1, planners=["offline"])
    planned = study(
        tmp_path, rate=0.0, outcome=lambda files: HiddenResult(unmeasured="not ended" if late.pop(0) else "")
    )
    (first,), (second,) = run(planned, cell), run(planned, cell)
    assert first.delivered and not first.silent_wrong and not first.success
    assert second.success and run(planned, cell) == [second]


def test_a_run_that_has_a_record_is_not_made_again(tmp_path: Path) -> None:
    first = run(study(tmp_path), cells(1))
    file = tmp_path / "records.jsonl"
    file.write_text(file.read_text() + '\n{"cut": "off"', encoding="utf-8")
    before = len(file.read_text().splitlines())
    again = run(study(tmp_path), cells(2))
    assert again[: len(first)] == first
    assert len(file.read_text().splitlines()) - before == 3, "the other three, and none is swallowed"
    assert read_records(file, RunRecord) == again
    other = run(study(tmp_path, rate=0.25), cells(1))
    assert {record.rate for record in other} == {0.25}, "another rate is another run"


def decided(entries: Sequence[Entry]) -> list[object]:
    """All that happened, but for times and what this run's folder is called."""
    told = []
    for entry in entries:
        event = json.loads(entry.event.model_dump_json())
        event.pop("seconds", None)
        told.append(event)
    return told


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_remembered_run_equals_one_that_is_not(planner: str, tmp_path: Path) -> None:
    from palmette_bench.featbench.faults import FaultPlan
    from palmette_bench.featbench.result_cache import WorkTime

    journals = []
    for number, memory in enumerate(
        (None, ResultCache(tmp_path / "memory", "c"), ResultCache(tmp_path / "memory", "c"))
    ):
        planned, here = study(tmp_path, memory=memory), open_stand_in()
        actors = planned._actors(here, FaultPlan(0.6, 0.4, 3, "small", 1, KINDS), WorkTime())
        setup = planned._setup(here, PlannedRun("small", planner, 1, Condition()), actors)
        run_topology(setup, tmp_path / f"run{number}")
        journals.append(decided(read_journal(tmp_path / f"run{number}")))
        workers = [worker for worker in here.actors.values() if isinstance(worker, StandIn)]
        computed = sum(worker.computed for worker in workers if worker.name != "pull_request")
        assert (computed == 0) == (number == 2), "what is remembered is not computed"
    assert journals[0] == journals[1] == journals[2]
    assert any(event["kind"] == "attempt_failed" for event in journals[0])


def test_what_a_criterion_may_heed_is_part_of_what_it_is_remembered_by(tmp_path: Path) -> None:
    from palmette.engine import Context, PastAttempt, Violation
    from palmette_bench.featbench.result_cache import CachedActor, WorkTime

    worker = open_stand_in().actors["config_generator"]
    assert isinstance(worker, StandIn)
    actor = CachedActor(worker, "g", ResultCache(tmp_path, "c"), WorkTime(), frozenset({"heeded"}))
    for code, computed in (("", 1), ("other", 1), ("heeded", 2), ("heeded", 2)):
        past = (PastAttempt(number=1, reason="", fix="", violations=(Violation(code=code, message="m"),)),)
        context = Context("a", tmp_path, attempts=past if code else ())
        actor.check(open_stand_in().inputs.request, made("config"), context)
        assert worker.computed == computed


def test_at_any_rate_planner_guided_runs_succeed_where_the_others_do_not(tmp_path: Path) -> None:
    """The study's claim in small: every violation of an actor's faults looks alike, the worst that can be."""
    planned = study(tmp_path, kinds=catalogue(), rate=0.6)
    found = run(planned, cells(3))
    share = {planner: sum(one.success for one in found if one.planner == planner) for planner in PLANNERS}
    assert share["offline"] == 3 > max(share["sequential"], share["random"])
    assert all(record.failure_rate > 0.25 for record in found)
