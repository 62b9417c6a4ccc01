"""From knowledge to the choice of a plan, by rules: what must hold, and what happens to plans that fail."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pandas", reason="pandas is not installed")

from canned import Canned, models
from small_plans import (
    DEAL,
    Chain,
    Given,
    chain,
    choice_input,
    context,
    data_input,
    faults,
    knowledge_input,
    made,
    model_input,
    plan_input,
)

from palmette.automl.actors.data_planner.actor import DataPlanner
from palmette.automl.actors.execution_verifier.actor import ExecutionVerifier
from palmette.automl.actors.knowledge_retriever.actor import KnowledgeRetriever
from palmette.automl.actors.model_planner.actor import ModelPlanner
from palmette.automl.actors.plan_writer.actor import PlanWriter
from palmette.automl.actors.plan_writer.offline import substance
from palmette.automl.artefacts import Choice, Plans, Settings
from palmette.automl.modalities import clustering
from palmette.automl.planning.facts import folds_of
from palmette.automl.profile.artefacts import Leak, Settled
from palmette.automl.requirements import AlgorithmWish, ModelPart
from palmette.engine import TERMINATE, PastAttempt, Setup, Violation, build_actors, load_topology, run_topology
from palmette.planners.offline import OfflinePlanner

pytestmark = pytest.mark.usefixtures("same_everywhere")


@pytest.mark.parametrize("text", [
    "", "Use XGBoost or LightGBM.", "No neural networks, no boosting.", "Start with a random forest.",
    "It must be explainable.", "Under 6 ms per row and at most 2 MB.", "Training at most 10 seconds.",
])  # fmt: skip
@pytest.mark.parametrize("count", [1, 3, 8])
def test_by_rules_every_step_meets_its_criterion_and_a_plan_is_chosen(deals: Given, text: str, count: int) -> None:
    done = chain(deals.asking(f"{DEAL} The target is result. {text}"), Settings(plans=count))
    assert len(done.plans.plans) == count == len({substance(plan) for plan in done.plans.plans})
    assert len(done.choice.rejected) == count - 1
    assert done.choice.proposal in done.proposals


def test_clustering_is_planned_without_labels_and_without_scores(groups: Given) -> None:
    done = chain(groups)
    actions = {one.column: one.action for one in done.data_plans[0].treatments}
    assert actions == {"x": "number", "y": "number", "kind": "drop"}
    known = {name for plan in done.plans.plans for name in plan.algorithms}
    assert known <= set(clustering.ALGORITHMS) and len(done.plans.plans) == 3
    assert all(one.score is None for proposal in done.proposals for one in proposal.candidates)


def used(done: Chain) -> set[str]:
    return {name for plan in done.plans.plans for name in plan.algorithms}


def test_named_algorithms_bind(deals: Given) -> None:
    must = chain(deals.asking(f"{DEAL} The target is result. Use XGBoost or LightGBM."))
    assert used(must) == {"xgboost", "lightgbm"}
    never = chain(deals.asking(f"{DEAL} The target is result. Do not use gradient boosting or an MLP."))
    assert used(never) and not used(never) & {"xgboost", "lightgbm", "mlp"}
    first = chain(deals.asking(f"{DEAL} The target is result. Preferably a random forest."))
    assert first.choice.proposal.data.plan.algorithms[0] == "random_forest"
    network = chain(deals.asking(f"{DEAL} The target is result. It must be a neural network."))
    assert used(network) == {"mlp"}


def test_one_model_or_several_as_the_request_has_it(deals: Given) -> None:
    for mood in ("must", "not"):
        wish = AlgorithmWish.model_validate({"name": "ensemble", "mood": mood, "words": "?"})
        requirements = deals.requirements.model_copy(update={"model": ModelPart(algorithms=(wish,))})
        plans = made(PlanWriter, plan_input(deals._replace(requirements=requirements))).plans
        assert {plan.ensemble for plan in plans} == {mood == "must"}


def test_what_is_not_installed_is_an_honest_end(deals: Given) -> None:
    given = deals.asking(f"{DEAL} The target is result. Use CatBoost.")
    attempt = PlanWriter().run(plan_input(given), context())
    assert attempt.fix == TERMINATE and [one.code for one in attempt.violations] == ["algorithm-unavailable"]
    assert "catboost" in attempt.violations[0].message and "Install" in attempt.violations[0].message
    alone = plan_input(deals).model_copy(update={"tracks": ("autogluon",)})
    (violation,) = PlanWriter().run(alone, context()).violations
    assert "`pip install autogluon.tabular` brings it" in violation.message
    provider = Canned([])
    assert PlanWriter(models(provider)).run(plan_input(given), context()).output is None
    assert not provider.prompts, "nothing is asked that cannot be answered"


def test_an_explainable_model_is_linear_and_alone(deals: Given) -> None:
    plan = chain(deals.asking(f"{DEAL} The target is result. It must be explainable.")).choice.proposal.data.plan
    assert plan.algorithms == ("linear",) and not plan.ensemble


def test_columns_that_must_not_be_used_are_left_out_with_their_reason(deals: Given) -> None:
    leak = Leak(code="target-copy", severity="high", columns=("calls",), text="It repeats the target.", action="drop")
    settled = Settled(code="target-copy", columns=("calls",), done="dropped", by="rule")
    given = deals.asking(f"{DEAL} The target is result. Do not use region.")
    given = given._replace(profile=given.profile.model_copy(update={"leaks": (leak,), "settled": (settled,)}))
    plan = chain(given).data_plans[0]
    reasons = {one.column: one.reason for one in plan.treatments if one.action == "drop"}
    assert reasons == {
        "number": "another in every row, as a name is",
        "currency": "the same in every row",
        "region": "the request excludes it",
        "calls": "It repeats the target.",
    }
    assert plan.features == 7, "a number, and six parts of a date"


def test_without_a_column_there_is_no_plan(deals: Given) -> None:
    every = " ".join(f"Do not use {name}." for name in ("size", "calls", "region", "opened"))
    given = deals.asking(f"{DEAL} The target is result. {every}")
    plan = made(PlanWriter, plan_input(given)).plans[0]
    attempt = DataPlanner().run(data_input(given, plan), context())
    assert attempt.fix == TERMINATE and faults(DataPlanner, None, attempt) == {"no-columns"}


# What comes back


@pytest.mark.parametrize(("found", "expect"), [
    (Violation(code="constraint-missed", message="prediction time <= 0.005: 31 ms."), "lean"),
    (Violation(code="plan-rejected", message="It is too large.", subject="model size"), "lean"),
    (Violation(code="constraint-missed", message="accuracy >= 0.9: 0.7."), "broad"),
])  # fmt: skip
def test_plans_that_failed_are_followed_by_others_that_answer_the_reason(
    deals: Given, found: Violation, expect: str
) -> None:
    first = made(PlanWriter, plan_input(deals))
    assert PlanWriter().implicated(found, first)
    again = made(PlanWriter, plan_input(deals), evidence=(found,), last=first, instruction="Write other plans.")
    assert not {substance(one) for one in first.plans} & {substance(one) for one in again.plans}
    assert not {one.name for one in first.plans} & {one.name for one in again.plans}
    assert {one.revision for one in again.plans} == {1} and found.message in again.plans[0].reasons[0]
    assert again.plans[0].ensemble == (expect == "broad")


def test_bets_run_out_at_last(deals: Given) -> None:
    given = deals.asking(f"{DEAL} The target is result. Use only linear models.")
    found = Violation(code="plan-rejected", message="No.", subject="score")
    asked = plan_input(given, settings=Settings(plans=5))
    past, rounds = made(PlanWriter, asked), 0
    attempt = PlanWriter().run(asked, context(evidence=(found,), last=past))
    while attempt.output is not None and rounds < 9:
        assert PlanWriter().check(asked, attempt.output, context(evidence=(found,), last=past)).ok
        past, rounds = Plans(plans=(*past.plans, *attempt.output.plans)), rounds + 1
        attempt = PlanWriter().run(asked, context(evidence=(found,), last=past))
    assert attempt.fix == TERMINATE and attempt.violations == (found,) and 0 < rounds < 9


def test_what_cannot_keep_a_limit_goes_back_once_then_the_nearest_is_tried(deals: Given) -> None:
    given = deals.asking(f"{DEAL} The target is result. The model must be at most 50 bytes.")
    knowledge = made(KnowledgeRetriever, knowledge_input(given))
    plans = made(PlanWriter, plan_input(given, knowledge=knowledge))
    data_plans = [made(DataPlanner, data_input(given, one)) for one in plans.plans]
    proposals = [made(ModelPlanner, model_input(given, one)) for one in data_plans]
    asked = choice_input(given, proposals)
    attempt = ExecutionVerifier().run(asked, context())
    assert attempt.output is None and attempt.fix == TERMINATE
    assert {(one.code, one.subject) for one in attempt.violations} == {("plan-rejected", "model size")}
    assert all(PlanWriter().implicated(one, plans) for one in attempt.violations)
    provider = Canned([])
    assert ExecutionVerifier(models(provider)).run(asked, context()).violations == attempt.violations
    past = (PastAttempt(number=1, reason="", fix="", violations=attempt.violations),)
    choice = made(ExecutionVerifier, asked, attempts=past)
    assert "although" in choice.reason
    verdict = ExecutionVerifier().check(asked, choice, context())
    assert [one.status for one in verdict.measurements] == ["passed", "warning"]


PLANNING = """
topology: planning
given: [requirements, dataset, profile, settings, tracks]
start: [knowledge_retriever]
end: [execution_verifier]
actors:
  knowledge_retriever: {use: automl.knowledge_retriever, next: [plan_writer]}
  plan_writer: {use: automl.plan_writer, next: [data_planner]}
  data_planner: {use: automl.data_planner, for_each: plans as plan, next: [model_planner]}
  model_planner: {use: automl.model_planner, for_each: data_plans as data_plan, next: [execution_verifier]}
  execution_verifier: {use: automl.execution_verifier, next: [plan_writer]}
"""


@pytest.mark.parametrize(("wish", "revision"), [("", 0), ("The model must be at most 50 bytes.", 1)])
def test_a_run_sends_plans_back_once_and_then_carries_on(
    deals: Given, tmp_path: Path, wish: str, revision: int
) -> None:
    given = deals.asking(f"{DEAL} The target is result. {wish}")
    (tmp_path / "planning.yaml").write_text(PLANNING, "utf-8")
    topology = load_topology(tmp_path / "planning.yaml").value
    values = {name: value.model_dump(mode="json") for name, value in given._asdict().items()}
    setup = Setup(
        topology=topology,
        actors=build_actors(topology, {}),
        planner=OfflinePlanner(),
        given={**values, "settings": {"plans": 2}, "tracks": ["traditional"]},
    )
    result = run_topology(setup, tmp_path / "run")
    assert result.status == "finished", result.reason
    choice = result.artefact("choice", Choice)
    assert choice.proposal.data.plan.revision == revision and len(choice.rejected) == 1


@pytest.mark.parametrize(("rows", "times", "folds"), [(2_900, 1, 8), (2_900, 40, 5), (25_000, 1, 5), (25_000, 40, 3)])
def test_folds_are_planned_as_the_blueprint_will_have_them(deals: Given, rows: int, times: int, folds: int) -> None:
    profile = deals.profile
    assert profile.target is not None
    classes = tuple(one.model_copy(update={"count": 100}) for one in profile.target.classes)
    wider = profile.model_copy(
        update={
            "columns": profile.columns * times,
            "holdout": profile.holdout.model_copy(update={"training_rows": rows}),
            "target": profile.target.model_copy(update={"classes": classes}),
        }
    )
    assert folds_of(wider, deals.requirements) == folds
