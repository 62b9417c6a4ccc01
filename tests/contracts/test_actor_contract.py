"""What every actor must keep to: every registered one, and those of the examples."""

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from actor_cases import CASES, ActorCase
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from small_team import SmallTeam

from palmette.engine import (
    TERMINATE,
    Actor,
    ArtefactStore,
    Attempt,
    Context,
    PastAttempt,
    Verdict,
    Violation,
    load,
    names,
)
from palmette.features.actors.code_generator import actor as code_generator
from palmette.features.checks import OWNERS, registered

UNKNOWN = Violation(code="of-another-world", message="?", subject="nobody")
CHEAP = 5
"""Checks below this cost need no Spark."""

by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., Context]:
    """Contexts of invocations, each with an empty workspace."""
    folders = iter(range(100))

    def make(case: ActorCase, **fields: Any) -> Context:
        workspace = tmp_path / str(next(folders))
        workspace.mkdir()
        return Context(actor=case.name, workspace=workspace, seed=3, **fields)

    return make


OUTPUTS: dict[str, Any] = {}


def output_of(case: ActorCase, team: SmallTeam, context: Callable[..., Context]) -> Any:
    """What an actor makes of its input, made once."""
    if case.name not in OUTPUTS:
        OUTPUTS[case.name] = (
            case.made(team) if case.made else case.make(team).run(case.input(team), context(case)).output
        )
    return OUTPUTS[case.name]


def said(verdict: Verdict) -> Verdict:
    """A verdict without its times."""
    found = [item.model_copy(update={"seconds": 0.0}) for item in verdict.measurements]
    return verdict.model_copy(update={"measurements": tuple(found)})


def test_every_installed_actor_has_a_case() -> None:
    installed = {point.name for point in entry_points(group="palmette.actors")}
    assert installed <= {case.name for case in CASES}


@by_name
def test_a_class_says_what_it_is_without_an_instance(case: ActorCase, team: SmallTeam) -> None:
    cls = load("actor", case.name) if case.name in names("actor") else type(case.make(team))
    assert isinstance(cls, type)
    assert case.name.rpartition(".")[2] == cls.name, "an actor is registered under its own name"
    assert cls.description and "\n" not in cls.description
    assert cls.produces.isidentifier() and cls.name.isidentifier()
    assert isinstance(cls.has_criterion, bool)
    for model in (cls.Input, cls.Output):
        assert issubclass(model, BaseModel)
        assert model.model_config.get("frozen"), f"{model.__name__} is not frozen"
    assert not cls.has_criterion or (cls.check.__doc__ or "").strip(), (
        "the docstring of check is the criterion in words"
    )


@by_name
def test_the_same_input_gives_the_same_output_and_survives_the_store(
    case: ActorCase, team: SmallTeam, context: Callable[..., Context], tmp_path: Path
) -> None:
    store = ArtefactStore(tmp_path)
    actor, asked = case.make(team), case.input(team)
    first = output_of(case, team, context)
    second = case.make(team).run(asked, context(case)).output if case.repeats else first
    assert isinstance(actor, Actor) and isinstance(first, actor.Output)
    digest = store.put(first)
    assert digest == store.put(second)
    assert actor.Output.model_validate(store.get(digest)) == first
    assert actor.Output.model_validate_json(first.model_dump_json()) == first


@by_name
def test_its_criterion_measures_repeats_itself_and_changes_nothing(
    case: ActorCase, team: SmallTeam, context: Callable[..., Context], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The checks of a script have a contract of their own.
    monkeypatch.setattr(code_generator, "registered", lambda: [check for check in registered() if check.cost < CHEAP])
    actor, asked = case.make(team), case.input(team)
    output = output_of(case, team, context)
    before = asked.model_dump_json(), output.model_dump_json(), team.files()
    verdict = actor.check(asked, output, context(case))
    assert isinstance(verdict, Verdict) and verdict.ok, verdict.violations
    assert said(case.make(team).check(asked, output, context(case))) == said(verdict)
    assert before == (asked.model_dump_json(), output.model_dump_json(), team.files())


@by_name
def test_it_answers_for_what_it_knows_and_never_raises(
    case: ActorCase, team: SmallTeam, context: Callable[..., Context]
) -> None:
    actor = case.make(team)
    output = output_of(case, team, context)
    assert actor.implicated(UNKNOWN, output) is None
    codes = st.sampled_from([*sorted(OWNERS), UNKNOWN.code]) | st.text(max_size=20)

    @settings(max_examples=50, deadline=None)
    @given(codes, st.text(), st.text(), st.text())
    def answers(code: str, message: str, evidence: str, subject: str) -> None:
        advice = actor.implicated(Violation(code=code, message=message, evidence=evidence, subject=subject), output)
        assert advice is None or advice.strip(), "what to do differently is said in words"

    answers()


@by_name
@pytest.mark.parametrize("attempt", [1, 2], ids=["come back to", "tried again"])
def test_it_mends_what_it_answers_for_or_hands_over_with_evidence(
    case: ActorCase, attempt: int, team: SmallTeam, context: Callable[..., Context]
) -> None:
    if attempt > 1 and not case.repeats:
        pytest.skip("what changes something outside the run is tried again once: that takes long")
    actor, asked = case.make(team), case.input(team)
    found = case.answers_for or UNKNOWN
    advice = actor.implicated(found, output_of(case, team, context))
    assert (advice is None) == (case.answers_for is None)
    past = (PastAttempt(number=1, reason="", fix="", violations=(found,)),)
    before = asked.model_dump_json()
    again = actor.run(asked, context(case, instruction=advice or "", evidence=(found,), attempts=past, attempt=attempt))
    assert isinstance(again, Attempt)
    assert asked.model_dump_json() == before, "an input is not changed"
    assert again.output is None or isinstance(again.output, actor.Output)
    hands_over = again.output is None or again.fix.strip() == TERMINATE
    assert not hands_over or again.violations, "nothing to decide on is handed over"
