"""Planning on a small table: what it begins with, what the rules make of it, what becomes of a model's answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from canned import Canned, models

from palmette.automl.actors.data_planner.actor import DataPlanner
from palmette.automl.actors.data_profiler.actor import DataProfiler
from palmette.automl.actors.execution_verifier.actor import ExecutionVerifier
from palmette.automl.actors.knowledge_retriever.actor import KnowledgeRetriever
from palmette.automl.actors.model_planner.actor import ModelPlanner
from palmette.automl.actors.plan_writer.actor import PlanWriter
from palmette.automl.artefacts import Choice, DataPlan, Knowledge, Plans, Proposal, Settings
from palmette.automl.data import Dataset
from palmette.automl.data.load import load
from palmette.automl.profile import Profile
from palmette.automl.requirements import DataSummary, Requirements, read_request
from palmette.engine import Attempt, Context
from palmette.llm import Agent

HERE = ("lightgbm", "xgboost", "extra_trees", "random_forest", "linear", "knn", "mlp")
"""The algorithms that are taken for installed."""
DEAL = "Predict whether a deal is won."
USUAL = Settings()


def context(**fields: Any) -> Context:
    return Context("planning", Path("/nowhere"), **fields)


class Given(NamedTuple):
    """What planning begins with."""

    dataset: Dataset
    requirements: Requirements
    profile: Profile

    def asking(self, text: str) -> Given:
        """The same data, with another request."""
        hints = DataSummary.model_validate(self.dataset.model_dump()).hints
        requirements = read_request(text, hints).requirements
        return self._replace(requirements=requirements, profile=profiled(self.dataset, requirements))


def profiled(dataset: Dataset, requirements: Requirements) -> Profile:
    made = DataProfiler().run(DataProfiler.Input(dataset=dataset, requirements=requirements), context()).output
    assert made is not None
    return made


def deals_in(folder: Path) -> Given:
    """Rows with a name, two numbers, a category, a date and a constant, of which some are missing; two classes."""
    path = folder / "deals.csv"
    rows = [
        f"D{n:04},{n % 7 + n / 50},{'NA' if n % 9 == 0 else n % 5},{('north', 'south', 'east', 'west')[n * n % 4]},"
        f"2024-0{1 + n % 9}-1{n % 8},EUR,{'won' if n % 7 + n % 3 > 4 else 'lost'}"
        for n in range(160)
    ]
    path.write_text("\n".join(["number,size,calls,region,opened,currency,result", *rows, ""]), "utf-8")
    return of_file(path, f"{DEAL} The target is result.")


def groups_in(folder: Path) -> Given:
    """Rows of three groups, with the column that knows them."""
    path = folder / "groups.csv"
    rows = [f"{n % 3 * 10 + n % 7 / 9},{n % 3 * 5 - n % 11 / 7},{'abc'[n % 3]}" for n in range(90)]
    path.write_text("\n".join(["x,y,kind", *rows, ""]), "utf-8")
    given = of_file(path, "Cluster the rows into 3 groups; compare them with kind by the adjusted Rand index.")
    labelled = given.requirements.dataset.model_copy(update={"target_column": "kind"})
    return given._replace(requirements=given.requirements.model_copy(update={"dataset": labelled}))


def of_file(path: Path, text: str) -> Given:
    dataset = load([path]).dataset
    requirements = read_request(text, DataSummary.model_validate(dataset.model_dump()).hints).requirements
    return Given(dataset, requirements, profiled(dataset, requirements))


def made(cls: type[Agent], input: Any, **fields: Any) -> Any:
    """What the rules make, which meets the criterion."""
    output = cls().run(input, context(**fields)).output
    assert output is not None
    verdict = cls().check(input, output, context(**fields))
    assert verdict.ok, verdict.violations
    return output


class Chain(NamedTuple):
    """All that the rules make of what is given."""

    knowledge: Knowledge
    plans: Plans
    data_plans: list[DataPlan]
    proposals: list[Proposal]
    choice: Choice


def chain(given: Given, settings: Settings = USUAL) -> Chain:
    knowledge = made(KnowledgeRetriever, knowledge_input(given))
    plans = made(PlanWriter, plan_input(given, knowledge=knowledge, settings=settings))
    data_plans = [made(DataPlanner, data_input(given, plan)) for plan in plans.plans]
    proposals = [made(ModelPlanner, model_input(given, one, settings)) for one in data_plans]
    choice = made(ExecutionVerifier, choice_input(given, proposals, settings))
    return Chain(knowledge, plans, data_plans, proposals, choice)


def knowledge_input(given: Given) -> Any:
    return KnowledgeRetriever.Input(requirements=given.requirements, profile=given.profile)


def plan_input(given: Given, **fields: Any) -> Any:
    return PlanWriter.Input(requirements=given.requirements, profile=given.profile, **fields)


def data_input(given: Given, plan: Any) -> Any:
    return DataPlanner.Input(plan=plan, **given._asdict())


def model_input(given: Given, data_plan: DataPlan, settings: Settings = USUAL) -> Any:
    return ModelPlanner.Input(
        data_plan=data_plan, requirements=given.requirements, profile=given.profile, settings=settings
    )


def choice_input(given: Given, proposals: list[Proposal], settings: Settings = USUAL) -> Any:
    return ExecutionVerifier.Input(
        requirements=given.requirements, profile=given.profile, proposals=tuple(proposals), settings=settings
    )


def said(cls: type[Agent], input: Any, answer: Mapping[str, Any], **fields: Any) -> Attempt[Any]:
    """What becomes of a model's answer."""
    return cls(models(Canned([f"```json\n{json.dumps(answer)}\n```"] * 3))).run(input, context(**fields))


def faults(cls: type[Agent], input: Any, attempt: Attempt[Any], **fields: Any) -> set[str]:
    """The codes of what is wrong with an attempt."""
    found = attempt.violations
    if attempt.output is not None:
        found = cls().check(input, attempt.output, context(**fields)).violations
    assert all(violation.message.endswith((".", "?")) for violation in found)
    return {violation.code for violation in found}
