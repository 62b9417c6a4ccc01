"""The actor `implementation_verifier`: measures what is delivered, once, and judges the request by it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from palmette.automl import formatting
from palmette.automl.actors.implementation_verifier.curve import learning_curve
from palmette.automl.actors.implementation_verifier.endpoint import measured
from palmette.automl.actors.implementation_verifier.evaluation import Evaluation, Evaluator
from palmette.automl.actors.implementation_verifier.judging import Measured, judged, missed_by, overall
from palmette.automl.actors.implementation_verifier.parameters import parameters_of
from palmette.automl.artefacts import Assembly, Assessment, Choice, Comparison, ConstraintResult, Latency, Plans, Score
from palmette.automl.blame import located
from palmette.automl.candidates import Blueprint
from palmette.automl.endpoint import Service
from palmette.automl.planning.rounds import can_revise, measured_round
from palmette.automl.profile import Profile
from palmette.automl.project import MODEL, BuiltPackage
from palmette.automl.samples import DataSplits, Samples
from palmette.automl.search.runs import Search
from palmette.automl.store import Store
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.sandbox import ExecutionResult, Sandbox


class ImplementationInput(Model):
    task: TaskSpec
    samples: Samples
    profile: Profile
    blueprint: Blueprint
    plans: Plans | None = None
    choice: Choice | None = None
    assembly: Assembly
    comparison: Comparison
    revises: bool = True
    """False: what is missed is reported, and no plan is revised."""


class ImplementationVerifier(BaseActor):
    """The hold-out is used here for the first time, and only to report: a missed score counts out of fold."""

    name = "implementation_verifier"
    description = "Measures the delivered model on the hold-out and at its endpoint, and judges every constraint."
    produces = "assessment"
    Input = ImplementationInput
    Output = Assessment
    has_criterion = True

    def __init__(self, sandbox: Sandbox, store: Store) -> None:
        self.sandbox, self.store = sandbox, store

    def run(self, input: ImplementationInput, context: Context) -> Attempt[Assessment]:
        if context.attempt > 1 and isinstance(context.last, Assessment):
            return Attempt(context.last)  # measured once: another try would measure until something passes
        evaluator = self._evaluator(input, context.workspace / "evaluation")
        package, splits, modules = evaluator.package, evaluator.splits, input.assembly.modules
        context.progress(f"{len(splits.holdout)} rows that no training saw")
        with Service(self.sandbox, package.folder) as service:  # it starts while the hold-out is predicted
            found = evaluator.evaluated()
            if isinstance(found, ExecutionResult):
                return _failed(located([_violation(found)], package.folder, modules))
            search = Search(context.workspace / "curve", input.blueprint, splits, self.sandbox)
            curve = learning_curve(search, input.comparison)
            batch = any(one.quantity == "batch_time" for one in input.task.constraints)
            latency, wrong = measured(service, input.blueprint, splits.judged.holdout, found.predictions, batch)
        if wrong:
            return _failed(located(wrong, package.folder, modules))
        numbers = self._numbers(input, package, found, latency, context.workspace)
        results = tuple(judged(input.task, numbers))
        return Attempt(
            Assessment(
                rows=len(splits.holdout),
                scores=found.scores,
                unmeasured=found.unmeasured,
                better=found.better,
                better_reason=found.better_reason,
                results=results,
                status=overall(results),
                training_seconds=numbers.training_seconds,
                megabytes=numbers.megabytes,
                latency=latency,
                parameters=numbers.parameters,
                importances=found.importances,
                curve=curve,
                answers=found.answers,
            )
        )

    def check(self, input: ImplementationInput, output: Assessment, context: Context) -> Verdict:
        """Every constraint has its result; one that another plan may keep goes back while time is left."""
        where = f"{output.rows} held-out rows" if output.rows else input.comparison.measured
        measured = [_of_score(one, where, output.better) for one in output.scores[: not output.unmeasured]]
        if output.unmeasured:
            measured.append(Measurement(name=where, status="warning", detail=output.unmeasured))
        measured += [
            Measurement(name=one.wish, status="passed" if one.status == "pass" else "warning", detail=one.measured)
            for one in output.results
        ]
        return Verdict.of(self._revisions(input, output), measured)

    def _revisions(self, input: ImplementationInput, output: Assessment) -> list[Violation]:
        """What sends the run back to the plans, with the measured numbers."""
        missed = list(missed_by(output.results, input.comparison.selection))
        if not missed or not input.revises or input.plans is None or input.choice is None:
            return []
        limits = [one.constraint for one in missed if one.constraint]
        plan = input.choice.proposal.plan.name
        done = measured_round(plan, input.blueprint, input.comparison, output, limits)
        if not can_revise(input.task, input.samples, input.profile, input.plans, done):
            return []
        return [_revision(one, done.model_dump_json()) for one in missed]

    def _evaluator(self, input: ImplementationInput, scratch: Path) -> Evaluator:
        return Evaluator(
            task=input.task,
            blueprint=input.blueprint,
            assembly=input.assembly,
            comparison=input.comparison,
            splits=DataSplits.of(input.samples, input.profile),
            store=self.store,
            sandbox=self.sandbox,
            scratch=scratch,
        )

    def _numbers(
        self,
        input: ImplementationInput,
        package: BuiltPackage,
        found: Evaluation,
        latency: Latency | None,
        scratch: Path,
    ) -> Measured:
        counted = any(one.quantity == "parameters" for one in input.task.constraints)
        size = sum(file.stat().st_size for file in (package.folder / MODEL).rglob("*") if file.is_file())
        return Measured(
            scores={one.metric: one for one in found.scores},
            scored="on the hold-out" if found.answers else input.comparison.measured,
            training_seconds=round(input.assembly.seconds + input.comparison.fit_seconds, 1),
            megabytes=round(size / 1e6, 3),
            latency=latency,
            learners=tuple(one.candidate.learner for one in input.comparison.selection.members),
            parameters=parameters_of(package, scratch / "parameters") if counted else None,
        )


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
    last = (done.stderr.strip().splitlines() or [done.note])[-1]
    message = f"Prediction of the hold-out fails: {last}"
    return Violation(code="prediction-failed", message=message, evidence=done.stderr[-4000:], subject="predict.py")


def _failed(wrong: Sequence[Violation]) -> Attempt[Assessment]:
    return Attempt(None, wrong[0].message, TERMINATE, tuple(wrong))
