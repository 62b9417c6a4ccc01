"""The actor `implementation_verifier`: measures what is delivered, once, and judges each constraint of the request."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from palmette.automl import formatting
from palmette.automl.actors.implementation_verifier.evaluation import Evaluator, ImplementationInput, endpoint_measured
from palmette.automl.actors.shared import failed
from palmette.automl.artefacts import Assessment, ConstraintResult, Score, Status, Store
from palmette.automl.candidates import Selection
from palmette.automl.composition import wished
from palmette.automl.endpoint.service import Service
from palmette.automl.formatting import seconds
from palmette.automl.own_code import located
from palmette.automl.planning.constraints import HOLDS
from palmette.automl.planning.drafting import LIMIT
from palmette.automl.planning.rounds import EARLIER, better_before, can_revise, measured_round
from palmette.automl.problems.problem import problem_of
from palmette.automl.project.built import MODEL, BuiltPackage, run_program
from palmette.automl.task_spec.spec import Constraint, LearnerWish, TaskSpec
from palmette.engine import Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.sandbox import ExecutionResult, Sandbox
from palmette.sandbox.reading import read_json

SECONDS = 120.0
MOST = 1 << 10  # bytes of the answer
PROGRAM = """
import gzip, json, pathlib, pickle, sys
import numpy as np

WEIGHTS = ("coef_", "intercept_", "coefs_", "intercepts_")
model, out = map(pathlib.Path, sys.argv[1:])
todo, seen, count = [pickle.load(gzip.open(model))], {}, 0
while todo:
    one = todo.pop()
    if id(one) in seen or isinstance(one, (str, bytes, type)):
        continue
    seen[id(one)] = one
    if hasattr(one, "named_parameters"):
        todo += one.parameters()
    elif hasattr(one, "numel"):
        count += one.numel()
    elif isinstance(one, (list, tuple, dict)):
        todo += one.values() if isinstance(one, dict) else one
    else:
        own = dict(getattr(one, "__dict__", {}))
        parts = [own.pop(name) for name in WEIGHTS if name in own]
        count += sum(int(np.size(some)) for part in parts for some in (part if isinstance(part, list) else [part]))
        todo += own.values()
out.write_text(json.dumps(count), encoding="utf-8")
"""
CHECKED: Mapping[Status, Literal["passed", "warning", "failed"]] = {
    "pass": "passed", "partly": "warning", "fail": "failed",
}  # fmt: skip


class MeasuredQuantity(NamedTuple):
    """A measured number in the unit of its constraint, with the ends of its spread if it has one."""

    value: float
    words: str
    ends: tuple[float, ...] = ()


def judged(
    task: TaskSpec, assessment: Assessment, scored: str, learners: tuple[str, ...]
) -> Iterator[ConstraintResult]:
    """The result of every constraint, of the learners and the number of models that were asked for, and of wishes that
    cannot be met.

    `scored` are the rows of the scores, in words; `learners` are those of the members.
    """
    for constraint in task.constraints:
        yield of_constraint(constraint, assessment, scored)
    yield from _of_learners(task.learners, learners)
    if task.ensemble is not None:
        count = len(learners)
        wish = "several models together" if task.ensemble else "a single model"
        words = f"{count} model{'s' * (count != 1)}"
        yield ConstraintResult(wish=wish, measured=words, status="pass" if (count > 1) == task.ensemble else "fail")
    for wish in task.unmet:
        yield ConstraintResult(wish=wish, measured="not supported", status="fail")


def missed_by(results: Sequence[ConstraintResult], selection: Selection) -> Iterator[ConstraintResult]:
    """The constraints that another plan may keep. A score counts out of fold: the hold-out never causes a revision."""
    for one in results:
        limit = one.constraint
        if limit is None:
            continue
        if limit.quantity != "score" and one.status == "fail":
            yield one
        if limit.quantity == "score" and limit.metric in ("", selection.metric):
            words = f"{selection.metric} {selection.score:.4f} out of fold"
            if not HOLDS[limit.comparison](selection.score, limit.value):
                yield one.model_copy(update={"measured": words, "status": "fail"})


def overall(results: Sequence[ConstraintResult]) -> Status:
    """pass where everything passes, fail where nothing does."""
    statuses = {one.status for one in results}
    return "pass" if statuses <= {"pass"} else "fail" if statuses == {"fail"} else "partly"


def of_constraint(constraint: Constraint, assessment: Assessment, scored: str) -> ConstraintResult:
    """partly where the limit lies within the spread of the measurement, else by the value."""
    found, wish = _quantity(constraint, assessment, scored), formatting.constraint(constraint)
    if isinstance(found, str):
        return ConstraintResult(constraint=constraint, wish=wish, measured=f"not measured: {found}", status="fail")
    holds = HOLDS[constraint.comparison]
    status: Status = "pass" if holds(found.value, constraint.value) else "fail"
    words = found.words
    if len({holds(end, constraint.value) for end in found.ends}) > 1:
        words += f"; {'kept' if status == 'pass' else 'missed'}, but not by more than the spread"
        status = "partly"
    return ConstraintResult(constraint=constraint, wish=wish, measured=words, status=status)


def _quantity(constraint: Constraint, found: Assessment, scored: str) -> MeasuredQuantity | str:
    """The number that a constraint is about; why there is none."""
    match constraint.quantity:
        case "score":
            return _score(constraint, found.scores, scored)
        case "training_time":
            return MeasuredQuantity(found.training_seconds, seconds(found.training_seconds))
        case "size":
            return MeasuredQuantity(found.megabytes * 1e6, formatting.size(found.megabytes))
        case "parameters" if found.parameters is None:
            return "the model has none that can be counted"
        case "parameters":
            words = f"{formatting.number(found.parameters)} parameters"
            return MeasuredQuantity(float(found.parameters or 0), words)
    latency = found.latency
    if latency is None:
        return "the endpoint did not start"
    if constraint.quantity == "latency":
        middle, low, high = latency.p50 / 1000, latency.low / 1000, latency.high / 1000
        return MeasuredQuantity(middle, f"{seconds(middle)} ({seconds(low)} to {seconds(high)})", (low, high))
    if latency.batch_seconds is None:
        return "the endpoint refuses that many rows"
    return MeasuredQuantity(latency.batch_seconds, f"{seconds(latency.batch_seconds)} for all held-out rows")


def _score(constraint: Constraint, scores: Sequence[Score], scored: str) -> MeasuredQuantity | str:
    score = next((one for one in scores if constraint.metric in ("", one.metric)), None)
    if score is None:
        return f"{constraint.metric or 'the metric'} cannot be computed on these rows"
    value, interval, _ = formatting.measured(score.value, score.low, score.high)
    words = f"{formatting.metric(score.metric)} {value} {scored} (95 % interval {interval})"
    return MeasuredQuantity(score.value, words, (score.low, score.high))


def _of_learners(wishes: Sequence[LearnerWish], used: Sequence[str]) -> Iterator[ConstraintResult]:
    """Whether the members are of the learners or families that were required, and of none that is forbidden."""
    words = ", ".join(dict.fromkeys(used))
    for level, only in (("required", "only"), ("forbidden", "no")):
        names = sorted(one.name for one in wishes if one.level == level)
        family = wished(wishes, level)
        holds = set(used) <= family if level == "required" else not set(used) & family
        if names:
            wish = f"{only} {' or '.join(names)}"
            yield ConstraintResult(wish=wish, measured=words, status="pass" if holds else "fail")


def parameters_of(package: BuiltPackage, scratch: Path) -> int | None:
    """The parameters of the fitted model of a package; None where it has none that can be counted."""
    scratch.mkdir(parents=True, exist_ok=True)
    out, model = scratch / "parameters.json", package.folder / MODEL / "model.pkl.gz"
    given = ("-c", PROGRAM, str(model), str(out))
    done = run_program(package.sandbox, package.folder, *given, seconds=SECONDS, write=scratch)
    try:
        count = read_json(scratch, out.name, MOST) if done.ok else None
    except (OSError, ValueError):  # whatever the package has left there
        return None
    return count if isinstance(count, int) and count > 0 else None


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
                message, log = f"Prediction of the hold-out fails: {found.error_line}", found.stderr[-4000:]
                why = Violation(code="prediction-failed", message=message, evidence=log, subject="predict.py")
                return failed(located([why], package.folder, modules))
            batch = any(one.quantity == "batch_time" for one in input.task.constraints)
            facts, predictions = found
            asked = input.comparison.selection.in_use(input.blueprint)
            latency, wrong = endpoint_measured(service, asked, splits.judged, predictions, batch)
        if wrong:
            return failed(located(wrong, package.folder, modules))
        counted = any(one.quantity == "parameters" for one in input.task.constraints)
        earlier = sum(one.seconds for one in input.plans.rounds) if input.plans else 0.0
        size = sum(file.stat().st_size for file in (package.folder / MODEL).rglob("*") if file.is_file())
        made = Assessment(
            **facts,
            rows=len(splits.holdout),
            status="pass",
            training_seconds=round(earlier + input.assembly.seconds + input.comparison.fit_seconds, 1),
            megabytes=round(size / 1e6, 3),
            latency=latency,
            parameters=parameters_of(package, context.workspace / "parameters") if counted else None,
        )
        scored = "on the hold-out" if made.answers else input.comparison.measured
        learners = tuple(one.candidate.learner for one in input.comparison.selection.members)
        results = tuple(judged(input.task, made, scored, learners))
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
        results = ((one.wish, CHECKED[one.status], one.measured) for one in output.results)
        measured += [Measurement(name=wish, status=status, detail=detail) for wish, status, detail in results]
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
