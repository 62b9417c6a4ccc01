"""From knowledge to the blueprint, by rules: what must hold, and what happens to plans that fail."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas", reason="pandas is not installed")

from canned import Canned, models
from small_plans import Chain, Given, chain, context, faults, known, made, round_of

from palmette.automl.actors.data_planner.actor import DataPlanner
from palmette.automl.actors.execution_verifier.actor import ExecutionVerifier
from palmette.automl.actors.guideline_writer.actor import GuidelineWriter
from palmette.automl.actors.plan_writer.actor import PlanWriter
from palmette.automl.artefacts import Choice, MeasuredRound, Plan, Plans
from palmette.automl.candidates import Blueprint
from palmette.automl.planning.constraints import digest
from palmette.automl.planning.drafting import PlanContext
from palmette.automl.planning.rounds import can_revise
from palmette.automl.profile import Leak, LeakDecision
from palmette.engine import TERMINATE, PastAttempt, Setup, Violation, build_actors, load_topology, run_topology
from palmette.errors import UserError
from palmette.planners.offline import OfflinePlanner

pytestmark = pytest.mark.usefixtures("same_everywhere")


def limit(quantity: str, value: float, comparison: str = "<=") -> dict[str, Any]:
    return {"quantity": quantity, "comparison": comparison, "value": value}


def wish(name: str, level: str = "required") -> dict[str, str]:
    return {"name": name, "level": level}


@pytest.mark.parametrize("fields", [
    {}, {"learners": [wish("xgboost"), wish("lightgbm")]}, {"learners": [wish("neural_network", "forbidden")]},
    {"learners": [wish("random_forest", "preferred")]}, {"prefer": ["explainable"]}, {"prefer": ["speed"]},
    {"constraints": [limit("latency", 0.006), limit("size", 2e6)]}, {"constraints": [limit("training_time", 10.0)]},
])  # fmt: skip
@pytest.mark.parametrize("count", [1, 3, 8])
def test_by_rules_every_step_meets_its_criterion_and_a_plan_is_chosen(
    deals: Given, fields: dict[str, Any], count: int
) -> None:
    done = chain(deals.asking(plans=count, **fields))
    assert len(done.plans.plans) == count == len({digest(plan) for plan in done.plans.plans})
    assert len(done.choice.rejected) == count - 1
    assert done.choice.proposal in done.proposals.proposals


def test_the_first_plan_trains_every_learner_the_strongest_first(deals: Given) -> None:
    done = chain(deals)
    names = [one.name for one in done.plans.plans[0].candidates]
    order = [
        "lightgbm", "xgboost", "linear-curves", "extra_trees", "lightgbm-random", "mlp", "random_forest",
        "lightgbm-careful", "knn", "lightgbm-deep",
    ]  # fmt: skip
    assert [name for name in names if name in order] == order
    assert done.choice.proposal.plan == done.plans.plans[0]


def test_what_is_trained_follows_from_the_plan(deals: Given) -> None:
    done = chain(deals)
    blueprints: list[Blueprint] = []
    for one in done.proposals.proposals:
        choice = Choice(proposal=one, reason="It is tried.")
        blueprints.append(made(GuidelineWriter, known(deals, GuidelineWriter, **{**done._asdict(), "choice": choice})))
        assert blueprints[-1].candidates == tuple(each.candidate for each in one.estimates)
        plan = one.plan
        assert (blueprints[-1].ensembling, blueprints[-1].tuning) == (plan.ensembling, plan.tuning)
    sets = {frozenset(one.name for one in made.candidates) for made in blueprints}
    assert len(sets) == len(done.plans.plans) == 3


def test_clustering_is_planned_without_labels_and_without_scores(groups: Given) -> None:
    done = chain(groups)
    kinds = {one.column: one.kind for one in done.data_plan.treatments}
    assert kinds == {"x": "number", "y": "number", "kind": "drop"}
    assert {one.learner for plan in done.plans.plans for one in plan.candidates} <= {"kmeans", "gmm"}
    assert done.blueprint.ensembling == "single" and done.blueprint.labels == "kind"


def used(done: Chain) -> set[str]:
    return {one.learner for plan in done.plans.plans for one in plan.candidates}


def test_learners_of_the_request_bind(deals: Given) -> None:
    assert used(chain(deals.asking(learners=[wish("xgboost"), wish("lightgbm")]))) == {"xgboost", "lightgbm"}
    never = [wish("gradient_boosting", "forbidden"), wish("mlp", "forbidden")]
    assert not used(chain(deals.asking(learners=never))) & {"xgboost", "lightgbm", "mlp"}
    first = chain(deals.asking(learners=[wish("random_forest", "preferred")]))
    assert first.blueprint.candidates[0].learner == "random_forest"
    assert used(chain(deals.asking(learners=[wish("neural_network")]))) == {"mlp"}
    compared = chain(deals.asking(learners=[wish("knn", "baseline")]))
    assert all("knn" in {one.learner for one in plan.candidates} for plan in compared.plans.plans)


@pytest.mark.parametrize(("wanted", "allowed"), [(True, {"weighted"}), (False, {"single"})])
def test_one_model_or_several_as_the_request_has_it(deals: Given, wanted: bool, allowed: set[str]) -> None:
    done = chain(deals.asking(ensemble=wanted))
    assert {plan.ensembling for plan in done.plans.plans} == allowed == {done.blueprint.ensembling}


def test_tracks_have_shares_of_the_time(deals: Given) -> None:
    plan = chain(deals).plans.plans[0]
    assert plan.shares == {"traditional": 1.0}
    assert chain(deals.asking(tracks=["traditional"])).blueprint.shares == {"traditional": 1.0}


def test_a_learner_that_is_not_installed_is_an_honest_end(deals: Given) -> None:
    given = deals.asking(learners=[wish("catboost")])
    attempt = PlanWriter().run(known(given, PlanWriter), context())
    assert attempt.fix == TERMINATE and [one.code for one in attempt.violations] == ["learner-unavailable"]
    assert "catboost" in attempt.violations[0].message and "Install" in attempt.violations[0].message
    provider = Canned([])
    assert PlanWriter(models(provider)).run(known(given, PlanWriter), context()).output is None
    assert not provider.prompts, "nothing is asked that cannot be answered"


def test_an_explainable_model_is_linear_and_alone(deals: Given) -> None:
    blueprint = chain(deals.asking(prefer=["explainable"])).blueprint
    assert {one.learner for one in blueprint.candidates} == {"linear"} and blueprint.ensembling == "single"


def test_columns_that_must_not_be_used_are_dropped_with_their_reason(deals: Given) -> None:
    leak = Leak(code="target-copy", severity="high", columns=("calls",), text="It repeats the target.", action="drop")
    decision = LeakDecision(code="target-copy", columns=("calls",), done="dropped", by="rule")
    given = deals.asking(exclude=["region"])
    given = given._replace(profile=given.profile.model_copy(update={"leaks": (leak,), "decisions": (decision,)}))
    done = chain(given)
    assert done.blueprint.dropped == {
        "number": "nearly every row has a different value",
        "currency": "every row has the same value",
        "region": "the request excludes it",
        "calls": "It repeats the target.",
    }
    assert [one.name for one in done.blueprint.columns] == ["size", "opened"]
    assert done.blueprint.column("opened").parts and done.blueprint.package == "result_model"


def test_only_the_columns_of_the_request_are_used(deals: Given) -> None:
    blueprint = chain(deals.asking(include=["size", "region"], known_after=["region"])).blueprint
    assert [one.name for one in blueprint.columns] == ["size"]
    assert blueprint.dropped["region"] == "it is known only after the outcome"


def test_without_a_column_there_is_no_plan(deals: Given) -> None:
    given = deals.asking(exclude=["size", "calls", "region", "opened"])
    with pytest.raises(UserError, match="No column is left"):
        PlanWriter().run(known(given, PlanWriter), context())


# Topologies without some of the actors


def test_without_planners_the_rules_plan_and_unguided_nothing_is_profiled(deals: Given) -> None:
    done = chain(deals)
    alone = made(GuidelineWriter, known(deals, GuidelineWriter))
    assert [one.name for one in alone.candidates] == [one.name for one in done.plans.plans[0].candidates]
    undivided = made(GuidelineWriter, known(deals, GuidelineWriter, plans=done.plans))
    assert undivided.candidates == done.plans.plans[0].candidates
    reactive = made(GuidelineWriter, known(deals, GuidelineWriter, plans=done.plans, guided=False))
    assert not reactive.tuning and not reactive.remarks and not reactive.derived
    assert len({one.learner for one in reactive.candidates}) == len(reactive.candidates)


# Revision


def measured(
    plan: Plan, missed: list[dict[str, Any]], seconds: float = 10.0, milliseconds: float = 31.0, members: int = 3
) -> Violation:
    """What `implementation_verifier` sends back: the first candidates scored downwards, some delivered together."""
    done = round_of(plan.candidates[:3], members, plan, milliseconds=milliseconds, seconds=seconds, missed=missed)
    code = "score-missed" if missed[0]["quantity"] == "score" else "constraint-missed"
    return Violation(code=code, message=f"{missed[0]['quantity']} was missed.", evidence=done.model_dump_json())


def revisable(given: Given, plans: Plans, found: Violation) -> bool:
    """Whether other plans may follow what was sent back."""
    done = MeasuredRound.model_validate_json(found.evidence)
    return can_revise(PlanContext.of(*given, rounds=(*plans.rounds, done)), plans)


def test_a_missed_limit_narrows_the_plan_by_what_was_measured(deals: Given) -> None:
    wanted = [limit("latency", 0.02)]
    given = deals.asking(constraints=wanted)
    first = made(PlanWriter, known(given, PlanWriter))
    found = measured(first.plans[0], wanted)
    assert PlanWriter().implicated(found, first)
    again = made(PlanWriter, known(given, PlanWriter), evidence=(found,), last=first, instruction="Write other plans.")
    assert again.plans[0].name == "narrowed" and again.plans[0].ensembling == "single"
    assert again.plans[0].candidates == first.plans[0].candidates[:1] + tuple(
        one for one in first.plans[0].candidates[1:3] if one in again.plans[0].candidates
    )
    assert {one.revision for one in again.plans} == {1} and found.message in again.plans[0].reasons[0]
    assert digest(first.plans[0]) in again.tried and again.rounds[0].milliseconds == 31.0
    before = chain(given)
    asked, provider = known(given, DataPlanner, plans=again), Canned([])
    kept = DataPlanner(models(provider)).run(asked, context(last=before.data_plan)).output
    assert [*kept.encoders] == [one.name for one in again.plans] and not provider.prompts
    done = chain(given, knowledge=before.knowledge, plans=again)
    assert done.choice.proposal.plan == again.plans[0]
    estimates = {one.candidate.name: one for one in done.choice.proposal.estimates}
    leader = again.plans[0].candidates[0].name
    assert (estimates[leader].score, estimates[leader].cost.seconds) == (0.9, 1.0), "as measured"
    assert done.blueprint.seconds == given.task.budget - 10


@pytest.mark.parametrize(
    ("limits", "seconds"), [([("latency", 0.012)], 60), ([("size", 1e3)], 60), ([("training_time", 20)], 18)]
)
def test_the_first_round_has_the_whole_budget(limits: list[tuple[str, float]], seconds: float, deals: Given) -> None:
    given = deals.asking(budget=60, constraints=[limit(*one) for one in limits])
    assert chain(given).blueprint.seconds == seconds == PlanContext.of(*given).blueprint.seconds


@pytest.mark.parametrize(("spent", "due"), [(20.0, 40.0), (60.0, 6.0)])
def test_a_revision_has_what_is_left_and_a_reserve(spent: float, due: float, deals: Given) -> None:
    given = deals.asking(budget=60)
    done = round_of(seconds=spent)
    assert PlanContext.of(*given, rounds=(done,)).blueprint.seconds == due


@pytest.mark.parametrize(("quantity", "spent", "due"), [
    ("score", 58.0, True), ("score", 62.0, False), ("latency", 62.0, True), ("latency", 66.0, False),
])  # fmt: skip
def test_training_with_revisions_ends_within_1_15_of_the_budget(
    quantity: str, spent: float, due: bool, deals: Given
) -> None:
    """A final fit takes 4 s and a search 5 s at least; a single model of those that are trained needs no search."""
    wanted = [limit(quantity, 0.95, ">=") if quantity == "score" else limit(quantity, 0.02)]
    given = deals.asking(constraints=wanted, learners=[], budget=60)
    plans = made(PlanWriter, known(given, PlanWriter))
    plan = plans.plans[0]
    done = round_of(plan.candidates[:3], 3, plan, milliseconds=31.0, seconds=spent, fit_seconds=4.0, missed=wanted)
    assert can_revise(PlanContext.of(*given, rounds=(done,)), plans) == due


def test_a_missed_score_widens_the_plan(deals: Given) -> None:
    wanted = [limit("score", 0.95, ">=")]
    given = deals.asking(constraints=wanted, learners=[])
    first = made(PlanWriter, known(given, PlanWriter))
    found = measured(first.plans[1], wanted)
    again = made(PlanWriter, known(given, PlanWriter), evidence=(found,), last=first)
    widened = again.plans[0]
    assert widened.name == "widened" and widened.tuning
    assert [one.name for one in widened.candidates[:3]] == [one.name for one in first.plans[1].candidates[:3]]
    assert {one.name for one in widened.candidates} > {one.name for one in first.plans[1].candidates}


def test_revision_ends_with_the_time_and_with_the_plans(deals: Given) -> None:
    wanted = [limit("score", 2.0, ">=")]
    given = deals.asking(constraints=wanted, learners=[wish("linear")], plans=2)
    plans: Plans = made(PlanWriter, known(given, PlanWriter))
    assert not revisable(given, plans, measured(plans.plans[0], wanted)), "nothing new can be trained"
    given = deals.asking(constraints=wanted, learners=[], plans=2)
    plans = made(PlanWriter, known(given, PlanWriter))
    assert not revisable(given, plans, measured(plans.plans[0], wanted, seconds=1000.0))
    for rounds in range(9):
        found = measured(plans.plans[0], wanted, seconds=1.0)
        if not revisable(given, plans, found):
            assert 0 < rounds <= 3
            break
        plans = made(PlanWriter, known(given, PlanWriter), evidence=(found,), last=plans)
    else:
        pytest.fail("plans are revised without end")


COSTS = {"linear": 9.0, "linear-curves": 11.0, "lightgbm": 14.0}
"""Milliseconds of a request that each candidate takes in truth; others take 20."""


@pytest.mark.parametrize(("milliseconds", "rounds"), [(20.0, 2), (9.5, 3), (8.0, 3), (3.0, 1)])
def test_plans_are_revised_until_the_limit_is_kept_or_nothing_is_left(
    deals: Given, milliseconds: float, rounds: int
) -> None:
    wanted = [limit("latency", milliseconds / 1000)]
    given = deals.asking(constraints=wanted)
    done, latencies = chain(given), list[float]()
    while len(latencies) < 9:
        plan = done.choice.proposal.plan
        alone = done.blueprint.ensembling == "single"
        members = [one.name for one in done.blueprint.candidates[: 1 if alone else 3]]
        latencies.append(sum(COSTS.get(name, 20.0) for name in members))
        if latencies[-1] <= milliseconds:
            break
        found = measured(plan, wanted, milliseconds=latencies[-1], members=len(members))
        if not revisable(given, done.plans, found):
            break
        plans = made(PlanWriter, known(given, PlanWriter), evidence=(found,), last=done.plans)
        done = chain(given, knowledge=done.knowledge, plans=plans)
    assert (latencies[-1] <= milliseconds) == (milliseconds > 9) and len(latencies) == rounds
    assert latencies == sorted(latencies, reverse=True), "each round is cheaper than the one before"


def test_what_cannot_keep_a_limit_goes_back_once_then_the_nearest_is_tried(deals: Given) -> None:
    done, given = chain(deals), deals.asking(constraints=[limit("size", 2e5)])
    first = done.proposals.proposals[0]
    heavy = tuple(one for one in first.estimates if one.candidate.learner in ("extra_trees", "random_forest"))
    proposal = first.model_copy(update={"estimates": heavy})
    proposals = done.proposals.model_copy(update={"proposals": (proposal,)})
    asked = known(given, ExecutionVerifier, plans=done.plans, proposals=proposals)
    attempt = ExecutionVerifier().run(asked, context())
    assert attempt.output is None and attempt.fix == TERMINATE
    assert {(one.code, one.evidence) for one in attempt.violations} == {("plan-rejected", "size")}
    assert all(PlanWriter().implicated(one, done.plans) for one in attempt.violations)
    provider = Canned([])
    assert ExecutionVerifier(models(provider)).run(asked, context()).violations == attempt.violations
    past = (PastAttempt(number=1, reason="", fix="", violations=attempt.violations),)
    choice = made(ExecutionVerifier, asked, attempts=past)
    assert "although" in choice.reason
    verdict = ExecutionVerifier().check(asked, choice, context())
    assert [one.status for one in verdict.measurements] == ["passed", "warning"]


def test_a_limit_out_of_reach_is_measured_with_the_nearest_candidate(deals: Given) -> None:
    done = chain(deals.asking(constraints=[limit("size", 50.0)]))
    assert {one.learner for one in done.blueprint.candidates} == {"linear"} and "although" in done.choice.reason


def test_one_option_costs_no_call(deals: Given) -> None:
    given = deals.asking(plans=1)
    done = chain(given)
    provider = Canned([])
    asked = known(given, ExecutionVerifier, **done._asdict())
    assert ExecutionVerifier(models(provider)).run(asked, context()).output == done.choice
    assert not provider.prompts and faults(ExecutionVerifier, asked, ExecutionVerifier().run(asked, context())) == set()


PLANNING = """
topology: planning
given: [task, samples, profile]
start: [knowledge_retriever]
end: [execution_verifier]
actors:
  knowledge_retriever: {use: automl.knowledge_retriever, next: [plan_writer]}
  plan_writer: {use: automl.plan_writer, next: [data_planner]}
  data_planner: {use: automl.data_planner, next: [model_planner]}
  model_planner: {use: automl.model_planner, next: [execution_verifier]}
  execution_verifier: {use: automl.execution_verifier, next: [plan_writer]}
"""


@pytest.mark.parametrize("fields", [{}, {"constraints": [limit("size", 50.0)]}])
def test_the_actors_form_a_topology(deals: Given, tmp_path: Path, fields: dict[str, Any]) -> None:
    given = deals.asking(plans=2, **fields)
    (tmp_path / "planning.yaml").write_text(PLANNING, "utf-8")
    topology = load_topology(tmp_path / "planning.yaml").value
    setup = Setup(
        topology=topology,
        actors=build_actors(topology, {}),
        planner=OfflinePlanner(),
        given={name: value.model_dump(mode="json") for name, value in given._asdict().items()},
    )
    result = run_topology(setup, tmp_path / "run")
    assert result.status == "finished", result.reason
    assert len(result.artefact("choice", Choice).rejected) == 1
