"""Each kind of fault in the artefacts of a view: refused or let pass by the real criteria, as the catalogue says."""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from palmette.engine import Actor, Attempt, BaseActor, Context, TextFile, Violation
from palmette.features.artefacts import Script, Tests, Utilities, Utility
from palmette.sandbox import Sandbox, WarmSpark
from palmette_bench import scripts
from palmette_bench.featbench import suite
from palmette_bench.featbench.faults import CATALOGUE, FaultKind, FaultPlan, FaultSite, Faulty
from palmette_bench.featbench.faults.rates import MEAN, PASS, PUBLISHED, probability
from palmette_bench.featbench.open_task import OpenTask

MEASURED = ("config_generator", "code_template_generator", "testcase_generator")
"""Actors whose criterion needs no Spark."""


class Made(NamedTuple):
    actor: Actor
    input: Any
    output: Any
    context: Context


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Made]]:
    """The first three of a task's artefacts that need no Spark, by actor."""
    folder = tmp_path_factory.mktemp("task")
    run_file = suite.prepare(suite.task("usr_ofr_rdm_ftrs"), folder / "task", rows=60)
    sandbox = Sandbox()
    here = OpenTask.open("small", run_file, folder / "scratch", sandbox, WarmSpark(sandbox))
    artefacts: dict[str, Any] = {"request": here.inputs.request}
    found = {}
    for name in MEASURED:
        actor = here.actors[name]
        workspace = folder / name
        workspace.mkdir()
        there = {key: artefacts[key] for key in actor.Input.model_fields if key in artefacts}
        given = actor.Input.model_validate(there)
        context = Context(name, workspace)
        output = actor.run(given, context).output
        assert output is not None
        artefacts[actor.produces] = output
        found[name] = Made(actor, given, output, context)
    yield found


@pytest.mark.parametrize("kind", [one for one in CATALOGUE if one.actor in MEASURED], ids=lambda kind: kind.name)
def test_the_criterion_sees_loud_faults_and_no_latent_ones(kind: FaultKind, made: dict[str, Made]) -> None:
    one = made[kind.actor]

    def verdict(output: Any) -> Any:
        return one.actor.check(one.input, output, one.context)

    struck = kind.mutate(one.output, FaultSite(getattr(one.actor, "view", None), lambda output: verdict(output).ok))
    if struck is None:
        pytest.skip("this view has no place for it")
    assert struck.output != one.output
    found = verdict(struck.output)
    assert found.ok == kind.latent
    if not kind.latent:
        assert any(kind.betrayed_by(violation, struck.tells) for violation in found.violations), found.violations


def test_most_kinds_have_a_place_in_a_small_view(made: dict[str, Made]) -> None:
    for name in MEASURED:
        site = FaultSite(VIEW, lambda output: True)
        kinds = [kind for kind in CATALOGUE if kind.actor == name]
        assert sum(kind.mutate(made[name].output, site) is not None for kind in kinds) >= len(kinds) - 2


VIEW, SMALL = (suite.task(name).view for name in ("card_txn", "usr_ofr_rdm_ftrs"))


@cache
def right_script() -> Script:
    return Script(file=TextFile(path="s.py", text=scripts.script_of(VIEW)), entry="build")


FIELDS = ("need", "name", "module", "call")
USED = ("read_table", "read", "team.io", "read({spark}, {path})"), ("divide", "ratio", "team.math", "ratio({a}, {b})")
UTILITIES = Utilities(chosen=tuple(Utility.model_validate(dict(zip(FIELDS, one, strict=True))) for one in USED))
OTHERS: dict[str, Callable[[], Any]] = {
    "code_generator": right_script,
    "testcase_coder": lambda: Tests(file=TextFile(path="t.py", text=scripts.tests_of(SMALL))),
    "utils_retriever": lambda: UTILITIES,
}


@pytest.mark.parametrize("actor", OTHERS)
def test_a_faulty_file_is_still_python_and_another_one(actor: str) -> None:
    right = OTHERS[actor]()
    site = FaultSite(SMALL if actor == "testcase_coder" else VIEW, lambda output: True)
    found = [kind.mutate(right, site) for kind in CATALOGUE if kind.actor == actor]
    outputs = [struck.output for struck in found if struck]
    assert len(outputs) >= 4 and all(outputs.count(output) == 1 for output in outputs)
    for output in outputs:
        assert output != right
        if not isinstance(output, Utilities):
            ast.parse(output.file.text)


class Plain(BaseActor):
    """Gives the script as it is, and remembers what it was told."""

    name, description, produces, Input, Output = "code_generator", "", "script", Script, Script

    def __init__(self) -> None:
        self.told: list[Context] = []

    def run(self, input: Any, context: Context) -> Attempt[Script]:
        self.told.append(context)
        return Attempt(right_script())


def own(kind: str = "differential") -> Violation:
    return Violation(code=kind, message=f"A row differs: {kind}.")


def faulty(rate: float = 0.94) -> tuple[Faulty, Plain]:
    actor = Plain()
    return Faulty(actor, FaultPlan(rate, 0.4, 0, "t", 0, CATALOGUE), VIEW), actor


def test_a_fault_stays_until_the_right_thing_is_said() -> None:
    actor, real = faulty()
    first = actor.run(right_script(), Context("code_generator", Path())).output
    assert first != right_script()
    again = actor.run(right_script(), Context("code_generator", Path())).output
    elsewhere = actor.run(right_script(), Context("code_generator", Path(), evidence=(own("mutation"),))).output
    assert first == again == elsewhere, "nobody said what is wrong with it"
    told = actor.run(right_script(), Context("code_generator", Path(), evidence=(own(),))).output
    assert told != first
    assert not real.told[-1].evidence and real.told[2].evidence, "the real actor hears of what is not its fault's"
    kinds = [draw.kind for draw in actor.drawn]
    assert [draw.draw for draw in actor.drawn] == [0, 1] and len(set(kinds)) == 2


def test_no_mistake_is_made_twice_and_the_last_attempt_may_be_told() -> None:
    from palmette.engine import PastAttempt

    actor, real = faulty()
    past: tuple[PastAttempt, ...] = ()
    outputs = []
    for attempt in range(1, 9):
        outputs.append(
            actor.run(right_script(), Context("code_generator", Path(), attempt=attempt, attempts=past)).output
        )
        past = (*past, PastAttempt(number=attempt, reason="", fix="", violations=(own(str(attempt)), own())))
    kinds = [draw.kind for draw in actor.drawn if draw.kind]
    assert len(kinds) == len(set(kinds)) <= 4 and outputs[-1] == right_script()
    assert all(context.attempt == 1 and not context.attempts for context in real.told)


def test_without_a_rate_nothing_is_changed() -> None:
    actor, _ = faulty(rate=0.0)
    assert actor.run(right_script(), Context("code_generator", Path())).output == right_script()


def test_published_rates_are_those_of_the_paper() -> None:
    assert len(PUBLISHED) == 10 and min(one.rate for one in PUBLISHED.values()) == 0.2788
    assert round(MEAN, 4) == 0.4179
    assert all(abs((share * (1 - share)) ** 0.5 - deviation) < 0.001 for share, deviation in PASS.values())
    assert probability("of nobody") == MEAN
