"""What every actor must keep to. Classes of all registered actors; behaviour of those in `actor_cases`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from actor_cases import CASES, ActorCase
from pydantic import BaseModel

from palmette.engine import Actor, ArtefactStore, Attempt, Context, Verdict, Violation, load, names

CLASSES = [(case.name, case.make) for case in CASES] + [(name, None) for name in names("actor")]


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> ActorCase:
    found = request.param
    assert isinstance(found, ActorCase)
    return found


@pytest.fixture
def context(case: ActorCase, tmp_path: Path) -> Context:
    return Context(actor=case.name, workspace=tmp_path, seed=3)


@pytest.mark.parametrize(("name", "cls"), CLASSES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_class_says_what_it_is_without_an_instance(name: str, cls: Any) -> None:
    cls = cls or load("actor", name)
    assert isinstance(cls, type)
    assert cls.description and "\n" not in cls.description
    assert cls.produces.isidentifier() and cls.name.isidentifier()
    assert isinstance(cls.has_criterion, bool)
    for model in (cls.Input, cls.Output):
        assert issubclass(model, BaseModel)
        assert model.model_config.get("frozen"), f"{model.__name__} is not frozen"
    assert not cls.has_criterion or (cls.check.__doc__ or "").strip(), (
        "the docstring of check is the criterion in words"
    )


def test_it_is_an_actor(case: ActorCase) -> None:
    assert isinstance(case.make(), Actor)


def test_the_same_input_gives_the_same_output_and_survives_the_store(
    case: ActorCase, context: Context, tmp_path: Path
) -> None:
    store = ArtefactStore(tmp_path / "store")
    actor = case.make()
    given = case.input(actor.Input)
    before = given.model_dump_json()
    first, second = actor.run(given, context), case.make().run(given, context)
    assert isinstance(first, Attempt) and isinstance(first.output, actor.Output)
    assert given.model_dump_json() == before, "an input is not changed"
    digest = store.put(first.output)
    assert digest == store.put(second.output)
    assert actor.Output.model_validate(store.get(digest)) == first.output


def test_its_criterion_measures_and_repeats_itself(case: ActorCase, context: Context) -> None:
    actor = case.make()
    given = case.input(actor.Input)
    output = actor.run(given, context).output
    verdict = actor.check(given, output, context)
    assert isinstance(verdict, Verdict) and verdict.ok, "the case's input is one that the actor can do"
    assert actor.check(given, output, context).violations == verdict.violations


def test_it_does_not_answer_for_what_it_does_not_know(case: ActorCase, context: Context) -> None:
    actor = case.make()
    output = actor.run(case.input(actor.Input), context).output
    assert actor.implicated(Violation(code="of-another-world", message="?", subject="nobody"), output) is None
