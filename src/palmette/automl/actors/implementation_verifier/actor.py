"""The actor `implementation_verifier`: measures what is delivered, once, and judges the request by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from palmette.automl import formatting
from palmette.automl.actors.implementation_verifier.evaluation import Evaluator, ImplementationInput, endpoint_measured
from palmette.automl.actors.implementation_verifier.judging import (
    MeasuredModel,
    judged,
    missed_by,
    overall,
    parameters_of,
)
from palmette.automl.actors.shared import failed
from palmette.automl.artefacts import Assessment, ConstraintResult, Score, Status
from palmette.automl.endpoint.service import Service
from palmette.automl.own_code import located
from palmette.automl.planning.drafting import LIMIT
from palmette.automl.planning.rounds import EARLIER, better_before, can_revise, measured_round
from palmette.automl.problems.registry import problem_of
from palmette.automl.project import MODEL
from palmette.automl.store import Store
from palmette.engine import Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.sandbox import ExecutionResult, Sandbox

CHECKED: Mapping[Status, Literal["passed", "warning", "failed"]] = {
    "pass": "passed", "partly": "warning", "fail": "failed",
}  # fmt: skip


class ImplementationVerifier(BaseActor):
    """The hold-out is used here for the first time, and only to report: a missed score counts out of fold."""

    name = "implementation_verifier"
    description = "Measures the delivered model on the hold-out and at its endpoint, and judges every constraint."
    produces = "assessment"
    Input = ImplementationInput
    Output = Assessment
    is_measured = True

    def __init__(self, sandbox: Sandbox, store: Store) -> None:
        self.sandbox, self.store = sandbox, store

    def run(self, input: ImplementationInput, context: Context) -> Attempt[Assessment]:
        if context.attempt > 1 and isinstance(context.last, Assessment):
            return Attempt(context.last)  # measured once: another try would measure until something passes
        splits, modules = input.splits, input.assembly.modules
        evaluator = Evaluator(input, splits, self.store, self.sandbox, context.workspace / "evaluation")
        package = evaluator.package
        context.progress(f"{len(splits.holdout)} rows that no training saw")
        with Service(self.sandbox, package.folder) as service:  # it starts while the hold-out is predicted
            found = evaluator.evaluated()
            if isinstance(found, ExecutionResult):
                return failed(located([_violation(found)], package.folder, modules))
            batch = any(one.quantity == "batch_time" for one in input.task.constraints)
            latency, wrong = endpoint_measured(service, input.blueprint, splits.judged, found.predictions, batch)
        if wrong:
            return failed(located(wrong, package.folder, modules))
        counted = any(one.quantity == "parameters" for one in input.task.constraints)
        size = sum(file.stat().st_size for file in (package.folder / MODEL).rglob("*") if file.is_file())
        made = found.assessment.model_copy(
            update={
                "training_seconds": round(_training_seconds(input), 1),
                "megabytes": round(size / 1e6, 3),
                "latency": latency,
                "parameters": parameters_of(package, context.workspace / "parameters") if counted else None,
            }
        )
        scored = "on the hold-out" if made.answers else input.comparison.measured
        learners = tuple(one.candidate.learner for one in input.comparison.selection.members)
        results = tuple(judged(input.task, MeasuredModel(made, scored, learners)))
        return Attempt(made.model_copy(update={"results": results, "status": overall(results)}))

    def check(self, input: ImplementationInput, output: Assessment, context: Context) -> Verdict:
        """Every constraint has its result; one that another plan may keep goes back while time is left."""
        where = f"{output.rows} held-out rows" if output.rows else input.comparison.measured
        measured = [_of_score(one, where, output.better) for one in output.scores[: not output.unmeasured]]
        if output.unmeasured:
            measured.append(Measurement(name=where, status="warning", detail=output.unmeasured))
        if output.training_seconds > LIMIT * input.task.budget:
            detail = f"{output.training_seconds:.0f} s of training, with a budget of {input.task.budget:.0f} s"
            measured.append(Measurement(name="budget", status="warning", detail=detail))
        measured += [
            Measurement(name=one.wish, status=CHECKED[one.status], detail=one.measured)
            for one in output.results
        ]
        return Verdict.of(self._revisions(input, output), measured)

    def _revisions(self, input: ImplementationInput, output: Assessment) -> list[Violation]:
        """What sends the run back to the plans, with the measured numbers."""
        missed = list(missed_by(output.results, input.comparison.selection))
        if not missed or not input.revises or input.plans is None or input.choice is None:
            return []
        limits = [one.constraint for one in missed if one.constraint]
        plan = input.choice.proposal.plan
        done = measured_round(plan, input.assembly, input.comparison, output, limits)
        if can_revise(input.known(rounds=(*input.plans.rounds, done)), input.plans):
            return [_revision(one, done.model_dump_json()) for one in missed]
        greater = problem_of(input.blueprint).metric.greater_is_better
        best = better_before(input.plans.rounds, done, greater)
        if best is None or input.comparison.store:
            return []
        name = best.plan.name
        message = f"The plan {name!r} of an earlier round misses less, or scores better, than {plan.name!r}."
        return [Violation(code=EARLIER, message=message, evidence=best.model_dump_json(), subject=name)]


def _training_seconds(input: ImplementationInput) -> float:
    """The time of this round and of those that it revises."""
    earlier = sum(one.seconds for one in input.plans.rounds) if input.plans else 0.0
    return input.assembly.seconds + input.comparison.fit_seconds + earlier


def _of_score(score: Score, where: str, better: bool) -> Measurement:
    value, interval, places = formatting.measured(score.value, score.low, score.high)
    beside = "" if score.baseline is None else f"; best baseline {formatting.fixed(score.baseline, places)}"
    name, detail = f"{formatting.metric(score.metric)} on {where}", f"{value} (95 % interval {interval}){beside}"
    return Measurement(name=name, status="passed" if better else "warning", detail=detail)


def _revision(missed: ConstraintResult, evidence: str) -> Violation:
    is_score = missed.constraint is not None and missed.constraint.quantity == "score"
    return Violation(
        code="score-missed" if is_score else "constraint-missed",
        message=f"{missed.wish}: {missed.measured}.",
        evidence=evidence,
        subject=missed.wish,
    )


def _violation(done: ExecutionResult) -> Violation:
    message = f"Prediction of the hold-out fails: {done.last_line}"
    return Violation(code="prediction-failed", message=message, evidence=done.stderr[-4000:], subject="predict.py")
