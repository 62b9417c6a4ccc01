"""The offline rules on the published shape: two starts, loops, a fault that shows two actors later."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "engine"))

from toys import ScriptedHuman, Toy, chain

from palmette.engine import (
    Attempt,
    Context,
    Node,
    Remedy,
    Setup,
    Topology,
    Verdict,
    Violation,
    read_journal,
    run_topology,
)
from palmette.planners.offline import OfflinePlanner

EDGES = {
    "config": ("utils", "template"),
    "utils": ("template",),
    "template": ("utils", "cases"),
    "cases": ("tests", "code"),
    "tests": ("code",),
    "code": ("cases", "template", "deliver"),
    "deliver": (),
}
NEEDS = {
    "config": [],
    "utils": [],
    "template": ["config"],
    "cases": [],
    "tests": ["cases"],
    "code": ["template", "utils", "config", "tests"],
    "deliver": ["code", "tests"],
}


def published(faulty: str = "", human: ScriptedHuman | None = None) -> Setup:
    toys: dict[str, Toy] = {
        name: Toy(name, needs, faulty=name == faulty, strict=name in {"code", "deliver"})
        for name, needs in NEEDS.items()
    }
    topology = Topology(
        topology="published",
        start=("config", "tests"),
        end=("deliver",),
        actors={name: Node(next=following) for name, following in EDGES.items()},
    )
    return Setup(topology=topology, actors=toys, planner=OfflinePlanner(), human=human or ScriptedHuman())


def walked(folder: Path) -> list[str]:
    return [entry.event.next for entry in read_journal(folder) if entry.event.kind == "decided"]


def test_without_a_fault_everyone_runs_once(tmp_path: Path) -> None:
    run_topology(published(), tmp_path)
    assert walked(tmp_path) == ["config", "utils", "template", "cases", "tests", "code", "deliver", "END"]


@pytest.mark.parametrize(
    ("faulty", "again", "way"),
    [
        ("config", {"config", "template", "code"}, ["config", "template", "code"]),
        ("utils", {"utils", "code"}, ["utils", "code"]),
        ("template", {"template", "code"}, ["template", "code"]),
        ("cases", {"cases", "tests", "code"}, ["cases", "tests", "code"]),
        ("tests", {"tests", "code"}, ["tests", "code"]),
        ("code", {"code"}, ["code"]),
    ],
)
def test_a_fault_is_mended_where_it_lies_along_permitted_edges(
    tmp_path: Path, faulty: str, again: set[str], way: list[str]
) -> None:
    setup = published(faulty)
    result = run_topology(setup, tmp_path)
    assert result.status == "finished"
    assert {name for name in NEEDS if result.state.actor(name).invocations > 1} == again
    steps = walked(tmp_path)
    first_failure = steps.index("code")
    assert steps[first_failure + 1 :] == [*way, "deliver", "END"]


@pytest.mark.parametrize(("blamed", "first"), [((), "a"), (("b",), "b"), (("nobody", "c", "b"), "b")])
def test_who_mended_such_failures_before_is_asked_first(tmp_path: Path, blamed: tuple[str, ...], first: str) -> None:
    class Suspect(Toy):
        def implicated(self, violation: Violation, output: Any) -> str | None:
            return f"maybe {self.name}"

    class Judge(Toy):
        def check(self, input: Any, output: Any, context: Context) -> Verdict:
            return Verdict.of([] if self.runs[1:] else [Violation(code="wrong", message="It is wrong.")])

        def implicated(self, violation: Violation, output: Any) -> str | None:
            return None

    toys = {"a": Suspect("a"), "b": Suspect("b", ["a"]), "c": Judge("c", ["b"], strict=True)}
    nodes = {"a": Node(next=("b",)), "b": Node(next=("c",)), "c": Node(next=("b",), retries=1)}
    topology = Topology(topology="suspects", start=("a",), end=("c",), actors=nodes)
    remedies = [Remedy(actor="c", fault=name, fix="Again.") for name in blamed]
    setup = Setup(topology=topology, actors=toys, planner=OfflinePlanner(), recall=lambda _: remedies)
    run_topology(setup, tmp_path)
    sent = [e.event.target for e in read_journal(tmp_path) if e.event.kind == "decided" and e.event.evidence]
    assert sent[0] == first


@pytest.mark.parametrize("faulty", ["config", "template", "tests"])
def test_a_misleading_memory_changes_no_verdict(tmp_path: Path, faulty: str) -> None:
    remedies = [Remedy(actor="code", fault=name, fix="END") for name in ("code", "utils", "no such actor", "deliver")]
    result = run_topology(replace(published(faulty), recall=lambda _: remedies), tmp_path)
    assert result.status == "finished" and walked(tmp_path)[-1] == "END"
    assert all(actor.verdict and actor.verdict.ok for actor in result.state.actors.values())


def test_a_violation_that_comes_back_goes_to_the_next_suspect(tmp_path: Path) -> None:
    class Suspect(Toy):
        def implicated(self, violation: Violation, output: Any) -> str | None:
            return f"maybe {self.name}"

    class Judge(Toy):
        def check(self, input: Any, output: Any, context: Context) -> Verdict:
            return Verdict.of([Violation(code="wrong", message="It is wrong.", subject="x")])

    toys = {"a": Suspect("a"), "b": Suspect("b", ["a"]), "c": Judge("c", ["b"], strict=True)}
    topology = Topology(
        topology="suspects",
        start=("a",),
        end=("c",),
        actors={"a": Node(next=("b",)), "b": Node(next=("c",)), "c": Node(next=("b",))},
    )
    human = ScriptedHuman()
    result = run_topology(Setup(topology=topology, actors=toys, planner=OfflinePlanner(), human=human), tmp_path)
    back = [
        entry.event.target
        for entry in read_journal(tmp_path)
        if entry.event.kind == "decided" and entry.event.instruction
    ]
    assert back == ["a", "b"] and result.status == "stopped"
    assert "c failed: It is wrong. [wrong] Sent back without success: a, b." in human.questions[0]
    assert "Sent back without success: a, b." in result.reason


class Clumsy(Toy):
    """Makes another mistake each time that it is told of one, and in the end none."""

    slips = 2

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        attempt = super().run(input, context)
        number = len(self.runs)
        faults = (self.name,) if number <= self.slips else ()
        file = attempt.output.file.model_copy(update={"text": f"{number}\n"})
        return Attempt(attempt.output.model_copy(update={"file": file, "faults": faults}))


class Incorrigible(Clumsy):
    slips = 99


@pytest.mark.parametrize(("first", "strict", "runs", "status"), [
    (Clumsy, False, 3, "finished"),
    (Clumsy, True, 3, "finished"),
    (Incorrigible, False, 6, "stopped"),
    (Toy, False, 2, "finished"),
])  # fmt: skip
def test_who_gives_something_new_is_sent_back_again_and_not_for_ever(
    first: type[Toy], strict: bool, runs: int, status: str, tmp_path: Path
) -> None:
    toys = [first("a", faulty=True, strict=strict), Toy("b", ["a"], strict=True)]
    nodes = {"a": Node(next=("b",), retries=1)}
    result = run_topology(chain(*toys, nodes=nodes), tmp_path)
    assert len(toys[0].runs) == runs and result.status == status
    assert all(toys[0].runs[1:]), "with an instruction each time"
