"""What every registered planner must keep to."""

import json
import re
import tempfile
from pathlib import Path
from random import Random

import pytest
from canned import models
from hypothesis import given
from hypothesis import strategies as st
from shapes import Shape, shapes, some
from toys import Toy, chain

from palmette.engine import (
    END,
    STOP,
    Decision,
    Planner,
    RunBudget,
    Setup,
    Situation,
    create,
    fold,
    names,
    read_journal,
    run_topology,
)
from palmette.llm import Prompt, Reply, Settings

PLANNERS = names("planner")


class Dice:
    """A model that throws dice for what is permitted, END first; or for anything at all."""

    name = "dice"

    def __init__(self, *, legal: bool = True) -> None:
        self._legal = legal

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return None

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        text = prompt.messages[1].text
        permitted = text.rstrip("`\n").splitlines()[-1].split(", ")
        chance = Random(text)
        if self._legal:
            answer = {"route": [END if END in permitted else chance.choice(permitted)]}
        else:
            anything = [*re.findall(r"^(a\d): ", text, flags=re.MULTILINE), *permitted, END, "nobody", ""]
            target, instruction = chance.choice([("", ""), (chance.choice(anything), "mend it")])
            route = [chance.choice(anything) for _ in range(chance.randint(0, 4))]
            answer = {"route": route, "target": target, "instruction": instruction, "errors": [chance.randint(0, 3)]}
        return Reply(text=json.dumps(answer), model=self.name)


def made(name: str) -> Planner:
    planner: Planner = create("planner", name, {"seed": 5, "models": models(Dice())})
    return planner


class Twice:
    """Asks a planner everything twice, once anew, holds it to the rules, and remembers what it decided."""

    def __init__(self, name: str) -> None:
        self._name, self._planner = name, made(name)
        self.decisions: list[Decision] = []

    def decide(self, situation: Situation) -> Decision:
        decision = self._planner.decide(situation)
        assert made(self._name).decide(situation) == decision, "a decision follows from the situation alone"
        if not decision.question:
            assert decision.next in {*situation.permitted, STOP}
            assert decision.next != STOP or decision.diagnosis, "who stops says why"
        if decision.next == END:
            invoked = {name for name, actor in situation.state.actors.items() if actor.invocations}
            assert invoked <= situation.fresh, "every actor that was invoked meets its criterion"
            assert situation.fresh.intersection(situation.topology.end)
        assert not decision.target or decision.target in situation.topology.actors
        self.decisions.append(decision)
        return decision


class Wanderer:
    """Follows the planner only now and then, so that it is asked in states into which it would not come."""

    def __init__(self, planner: Twice, seed: int) -> None:
        self._planner, self._seed = planner, seed

    def decide(self, situation: Situation) -> Decision:
        decision = self._planner.decide(situation)
        chance = Random(f"{self._seed}:{situation.state.decisions}")
        others = [name for name in situation.permitted if name != END]
        follows = decision.question or (decision.next != STOP and chance.random() < 0.5)
        return decision if follows or not others else Decision(chance.choice(others))


@pytest.fixture(params=PLANNERS)
def planner(request: pytest.FixtureRequest) -> Twice:
    return Twice(request.param)


def straight(planner: Planner) -> Setup:
    return chain(Toy("a"), Toy("b", ["a"]), Toy("c", ["b"], strict=True), planner=planner, budget=RunBudget(steps=200))


def test_it_reaches_the_end_of_a_chain_in_which_nothing_fails(planner: Twice, tmp_path: Path) -> None:
    assert run_topology(straight(planner), tmp_path / "run").status == "finished"
    assert planner.decisions[-1].next == END


def test_it_ends_when_an_actor_cannot_succeed(planner: Twice, tmp_path: Path) -> None:
    class Hopeless(Toy):
        def implicated(self, violation: object, output: object) -> None:
            return None

    toys = [Hopeless("a", faulty=True), Hopeless("b", ["a"], strict=True)]
    assert run_topology(chain(*toys, planner=planner, budget=RunBudget(steps=30)), tmp_path / "run").status == "stopped"


def test_it_decides_the_same_in_a_second_run(planner: Twice, tmp_path: Path) -> None:
    run_topology(straight(planner), tmp_path / "one")
    first, planner.decisions = planner.decisions, []
    run_topology(straight(planner), tmp_path / "two")
    assert planner.decisions == first


@some
@given(shapes(), st.sampled_from(PLANNERS), st.integers(0, 99))
def test_it_keeps_to_the_rules_in_any_state(shape: Shape, name: str, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        planner = Twice(name)
        run_topology(shape.setup(Wanderer(planner, seed)), Path(folder) / "run")
        assert planner.decisions


@some
@given(shapes(), st.sampled_from(PLANNERS))
def test_its_runs_end_permitted_and_their_state_is_the_fold_of_the_journal(shape: Shape, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = run_topology(shape.setup(Twice(name)), Path(folder) / "run")
        entries = read_journal(Path(folder) / "run")
        assert fold(entries) == result.state
        assert entries[-1].event.kind == "run_ended"
        assert not any(entry.event.kind == "decision_refused" for entry in entries)
        for entry in entries:
            if entry.event.kind == "actor_succeeded":
                assert entry.event.verdict.ok


@some
@given(shapes())
def test_nothing_that_a_model_chooses_against_the_topology_is_followed(shape: Shape) -> None:
    class Watch:
        planner: Planner = create("planner", "model", {"models": models(Dice(legal=False))})

        def decide(self, situation: Situation) -> Decision:
            decision = self.planner.decide(situation)
            targets = {"", *situation.topology.actors}
            legal.append(decision.next in {*situation.permitted, STOP} and decision.target in targets)
            return decision

    legal: list[bool] = []
    with tempfile.TemporaryDirectory() as folder:
        result = run_topology(shape.setup(Watch()), Path(folder) / "run")
        kinds = [entry.event.kind for entry in read_journal(Path(folder) / "run")]
        decided = [kind == "decided" for kind in kinds if kind in ("decided", "decision_refused")]
        by_budget = decided[len(legal) :]  # a used-up budget ends a run that may end, and asks nobody
        assert decided[: len(legal)] == legal and by_budget in ([], [True])
        assert result.status == "stopped" or all(
            actor.status == "succeeded" for actor in result.state.actors.values() if actor.invocations
        )
