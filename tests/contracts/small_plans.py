"""Planning on a small table: what it begins with, what the rules make of it, and what becomes of a model's answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from canned import Canned, models

from palmette.automl.actors.data_planner.actor import DataPlanner
from palmette.automl.actors.data_profiler.actor import DataProfiler
from palmette.automl.actors.execution_verifier.actor import ExecutionVerifier
from palmette.automl.actors.guideline_writer.actor import GuidelineWriter
from palmette.automl.actors.knowledge_retriever.actor import KnowledgeRetriever
from palmette.automl.actors.model_planner.actor import ModelPlanner
from palmette.automl.actors.plan_writer.actor import PlanWriter
from palmette.automl.artefacts import (
    Choice,
    DataPlan,
    Knowledge,
    MeasuredCandidate,
    MeasuredRound,
    Plan,
    Plans,
    Proposals,
)
from palmette.automl.candidates import Blueprint, Candidate, ChosenMember, Selection
from palmette.automl.profile import Profile
from palmette.automl.samples import Samples
from palmette.automl.samples.load import load
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import Attempt, Context
from palmette.llm import Agent

HERE = frozenset(
    {"dummy", "lightgbm", "xgboost", "extra_trees", "random_forest", "linear", "knn", "mlp", "kmeans", "gmm"}
)
"""The learners that are taken for installed."""


def context(**fields: Any) -> Context:
    return Context("planning", Path("/nowhere"), **fields)


class Given(NamedTuple):
    """What planning begins with."""

    task: TaskSpec
    samples: Samples
    profile: Profile

    def asking(self, **fields: Any) -> Given:
        """The same data, with another request."""
        return given_of(TaskSpec.model_validate({**self.task.model_dump(), **fields}), self.samples)


class Chain(NamedTuple):
    """All artefacts of planning."""

    knowledge: Knowledge
    plans: Plans
    data_plan: DataPlan
    proposals: Proposals
    choice: Choice
    blueprint: Blueprint


def given_of(task: TaskSpec, samples: Samples) -> Given:
    profile = DataProfiler().run(DataProfiler.Input(task=task, samples=samples), context()).output
    assert profile is not None
    return Given(task, samples, profile)


def deals_in(folder: Path) -> Given:
    """Rows with a name, two numbers, a category, a date and a constant, of which some are missing; two classes."""
    path = folder / "deals.csv"
    rows = [
        f"D{n:04},{n % 7 + n / 50},{'NA' if n % 9 == 0 else n % 5},{('north', 'south', 'east', 'west')[n * n % 4]},"
        f"2024-0{1 + n % 9}-1{n % 8},EUR,{'won' if n % 7 + n % 3 > 4 else 'lost'}"
        for n in range(160)
    ]
    path.write_text("\n".join(["number,size,calls,region,opened,currency,result", *rows, ""]), "utf-8")
    return given_of(TaskSpec(target="result", problem="classification"), load([path]).samples)


def groups_in(folder: Path) -> Given:
    """Rows of three groups, with a column that names them."""
    path = folder / "groups.csv"
    rows = [f"{n % 3 * 10 + n % 7 / 9},{n % 3 * 5 - n % 11 / 7},{'abc'[n % 3]}" for n in range(90)]
    path.write_text("\n".join(["x,y,kind", *rows, ""]), "utf-8")
    task = TaskSpec.model_validate({"problem": "clustering", "labels": "kind", "clusters": {"count": 3}})
    return given_of(task, load([path]).samples)


def known(given: Given, cls: type[Agent], **fields: Any) -> Any:
    """The input of an actor."""
    return cls.Input(
        **{name: value for name, value in {**given._asdict(), **fields}.items() if name in cls.Input.model_fields}
    )


def made(cls: type[Agent], input: Any, **fields: Any) -> Any:
    """What the rules make; it meets the criterion."""
    output = cls().run(input, context(**fields)).output
    assert output is not None
    verdict = cls().check(input, output, context(**fields))
    assert verdict.ok, verdict.violations
    return output


STAGES: tuple[tuple[type[Agent], str], ...] = (
    (KnowledgeRetriever, "knowledge"),
    (PlanWriter, "plans"),
    (DataPlanner, "data_plan"),
    (ModelPlanner, "proposals"),
    (ExecutionVerifier, "choice"),
    (GuidelineWriter, "blueprint"),
)


def chain(given: Given, **before: Any) -> Chain:
    """What the rules make of a request, from artefacts that are there `before`."""
    found: dict[str, Any] = dict(before)
    for cls, name in STAGES:
        if name not in before:
            found[name] = made(cls, known(given, cls, **found))
    return Chain(**found)


LINEAR = Candidate(name="linear", learner="linear")


def round_of(
    trained: Sequence[Candidate] = (), members: int = 1, plan: Plan | None = None, score: float = 0.9, **fields: Any
) -> MeasuredRound:
    """An executed plan whose candidates were scored downwards; the first of them are delivered together."""
    chosen = tuple(ChosenMember(candidate=one, weight=1.0) for one in trained[:members])
    return MeasuredRound.model_validate(
        {
            "plan": plan or Plan(name="p", idea="?", candidates=tuple(trained) or (LINEAR,)),
            "candidates": [
                MeasuredCandidate(candidate=one, score=score - number / 100, seconds=1.0)
                for number, one in enumerate(trained)
            ],
            "selection": Selection(
                metric="rmse", score=score, apparent_score=score, members=chosen, best_single="linear"
            ),
            "store": "search-a-1",
            "megabytes": 1.0,
            "seconds": 1.0,
            **fields,
        }
    )


def answered(cls: type[Agent], input: Any, answer: Mapping[str, Any], **fields: Any) -> Attempt[Any]:
    """What becomes of a model's answer, given three times where it is refused."""
    return cls(models(Canned([f"```json\n{json.dumps(answer)}\n```"] * 3))).run(input, context(**fields))


def faults(cls: type[Agent], input: Any, attempt: Attempt[Any], **fields: Any) -> set[str]:
    """The codes of what is wrong with an attempt."""
    found = attempt.violations
    if attempt.output is not None:
        found = cls().check(input, attempt.output, context(**fields)).violations
    assert all(violation.message.endswith((".", "?")) for violation in found)
    return {violation.code for violation in found}
