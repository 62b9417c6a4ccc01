"""The actor `comparator`: chooses by verified out-of-fold outputs, writes the package and fits it on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from palmette.automl.actors.comparator.fitting import Fitted, Fitter, fit_seconds
from palmette.automl.artefacts import Assembly, Comparison, LeaderboardRow
from palmette.automl.candidates import Blueprint
from palmette.automl.composition import facts_of, learner_named, meant
from palmette.automl.formatting import metric, number
from palmette.automl.measure import error_reduction
from palmette.automl.measure.metrics import Floats
from palmette.automl.measure.scorer import Scorer
from palmette.automl.own_code import track_of
from palmette.automl.problems.registry import problem_of
from palmette.automl.profile import Profile
from palmette.automl.samples import DataSplits, Samples
from palmette.automl.search.results import CandidateLoad, CandidateResult, read_results
from palmette.automl.search.selection import alone, ensemble_outputs, select
from palmette.automl.store import Store
from palmette.automl.task_spec.spec import TaskSpec
from palmette.automl.trials import Selection
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.sandbox import Sandbox

SHOWN = 12
"""The best candidates on the leaderboard; baselines come beside them."""
OVERRUN = 1.1
"""Share of the training time after which the final fit is to have ended."""
STARTS = 2.5
"""Seconds that the program of the final fit takes beside the fit."""
UPPER = ("<", "<=")


class ComparatorInput(Model):
    task: TaskSpec
    samples: Samples
    profile: Profile
    blueprint: Blueprint
    assembly: Assembly


class Field(NamedTuple):
    """What is chosen from."""

    load: CandidateLoad
    scorer: Scorer
    splits: DataSplits
    baselines: tuple[str, ...]

    @property
    def baseline(self) -> CandidateResult | None:
        """The best of the baselines."""
        found = [one for one in self.load.results if one.name in self.baselines]
        return max(found, key=lambda one: self.scorer.utility(one.outputs), default=None)


class Comparator(BaseActor):
    """One model, or several together by the plan's policy; what is fitted here is what is delivered."""

    name = "comparator"
    description = "Chooses by verified out-of-fold outputs, writes the package and fits it on all training rows."
    produces = "comparison"
    Input = ComparatorInput
    Output = Comparison
    has_criterion = True

    def __init__(self, store: Store, sandbox: Sandbox) -> None:
        self.store, self.sandbox = store, sandbox

    def run(self, input: ComparatorInput, context: Context) -> Attempt[Comparison]:
        field = self._field(input)
        if not field.load.results:
            return Attempt(None, "The trained candidates are gone.", TERMINATE, (_missing(input.assembly.store),))
        wanted = _wanted(field, input.task)
        left = OVERRUN * input.blueprint.seconds - input.assembly.seconds - STARTS
        taken = _taken(wanted, input, left)
        chosen = select(wanted, field.scorer, input.blueprint.ensembling, taken)
        best = field.baseline
        baseline = None if best is None else alone(best, field.scorer)
        board = _leaderboard(field, chosen)
        expected = sum(taken.get(one.candidate.name, 0.0) for one in chosen.members) * max(left, 1.0)
        context.progress(f"final fit of {', '.join(one.candidate.name for one in chosen.members)}")
        fitter = Fitter(
            store=self.store,
            sandbox=self.sandbox,
            blueprint=input.blueprint,
            splits=field.splits,
            modules=input.assembly.modules,
            scratch=context.workspace / "fit",
            expected=expected,
        )
        made, other = fitter.fitted(chosen, baseline, board)
        if isinstance(made, Violation):
            return Attempt(None, made.message, TERMINATE, (made,))
        return Attempt(
            Comparison(
                selection=chosen,
                leaderboard=board,
                reason=_reason(field, chosen, baseline),
                measured=field.scorer.measured,
                package=made.name,
                baseline=other.name if isinstance(other, Fitted) else "",
                files=made.files,
                fit_seconds=round(made.seconds, 2),
            )
        )

    def check(self, input: ComparatorInput, output: Comparison, context: Context) -> Verdict:
        """The score, computed again; the fitted model is there."""
        field, wrong = self._field(input), list[Violation]()
        if not (self.store.folder(output.package) / "model").is_dir():
            message = f"The package {output.package!r} is not in the store."
            wrong.append(Violation(code="package-missing", message=message, subject=output.package))
        names = {one.name for one in field.load.results}
        gone = [one.candidate.name for one in output.selection.members if one.candidate.name not in names]
        wrong += [_missing(name) for name in gone]
        if not gone:
            outputs = ensemble_outputs(output.selection, field.load.results, field.scorer)
            again = field.scorer.score(outputs, output.selection.class_weights)
            if abs(again - output.selection.score) > 1e-9 * max(1.0, abs(again)):
                message = f"The score is {again!r} when computed again, not {output.selection.score!r}."
                wrong.append(Violation(code="score-differs", message=message, subject=output.selection.metric))
        measured = Measurement(name="selection", status="failed" if wrong else "passed", detail=output.reason)
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: Comparison) -> str | None:
        """To blame where its score or its package is not what it was."""
        codes = ("score-differs", "package-missing")
        return f"Choose again: {violation.message}" if violation.code in codes else None

    def _field(self, input: ComparatorInput) -> Field:
        problem, splits = problem_of(input.blueprint), DataSplits.of(input.samples, input.profile)
        load = read_results(self.store.folder(input.assembly.store), problem, len(splits.train))
        return Field(load, problem.scorer(splits), splits, tuple(one.name for one in problem.baselines()))


def _missing(name: str) -> Violation:
    return Violation(code="model-missing", message=f"The trained model {name!r} is not in the store.", subject=name)


def _wanted(field: Field, task: TaskSpec) -> list[CandidateResult]:
    """What may be delivered: no dummy, and only learners that the request allows, where there are others."""
    required, forbidden = (
        {learner for one in task.learners if one.level == level for learner in meant(one.name)}
        for level in ("required", "forbidden")
    )
    results = [one for one in field.load.results if one.name != field.baselines[0]] or list(field.load.results)
    allowed = [one for one in results if one.trial.candidate.learner not in forbidden]
    kept = [one for one in allowed if not required or one.trial.candidate.learner in required]
    return kept or results


def _taken(results: Sequence[CandidateResult], input: ComparatorInput, left: float) -> dict[str, float]:
    """By candidate, the larger share that it takes of the time for the final fit, and of a limit on the size."""
    blueprint, facts = input.blueprint, facts_of(input.blueprint)
    times = blueprint.folds.count + 1 if blueprint.ensembling == "stacking" else 1
    sizes = [one.value for one in input.task.constraints if one.quantity == "size" and one.comparison in UPPER]
    shares = {}
    for one in results:
        share = times * fit_seconds(one.trial.seconds, blueprint.folds.count) / max(left, 1.0)
        if sizes:
            megabytes = learner_named(one.trial.candidate.learner).cost(facts).megabytes
            share = max(share, megabytes * 1e6 / max(min(sizes), 1.0))
        shares[one.name] = share
    return shares


def _reason(field: Field, chosen: Selection, baseline: Selection | None) -> str:
    """The choice with its out-of-fold score beside that of the best baseline; the hold-out gives the verdict."""
    names = ", ".join(one.candidate.name for one in chosen.members)
    score = f"{metric(chosen.metric)} {number(chosen.score, 3)} {field.scorer.measured} by {names}"
    other = "" if baseline is None else f"; the best baseline, {baseline.best_single}, has {number(baseline.score, 3)}"
    return f"{score}{other}. {chosen.reason}".rstrip(". ") + "."


def _leaderboard(field: Field, chosen: Selection) -> tuple[LeaderboardRow, ...]:
    scorer, results = field.scorer, field.load.results
    ranked = sorted(results, key=lambda one: -scorer.utility(one.outputs))
    members = {one.candidate.name for one in chosen.members}
    listed = [one for place, one in enumerate(ranked) if place < SHOWN or one.name in {*members, *field.baselines}]
    dummy = next((scorer.score(one.outputs) for one in results if one.name == field.baselines[0]), None)
    single = len(members) == 1
    rows = [
        LeaderboardRow(
            name=one.name,
            track="baseline" if one.name in field.baselines else track_of(one.trial.candidate),
            learner=one.trial.candidate.learner,
            seconds=one.trial.seconds,
            chosen=single and one.name in members,
            **_figures(scorer, one.outputs, scorer.class_weights(one.outputs), dummy),
        )
        for one in listed
    ]
    if not single:
        outputs = ensemble_outputs(chosen, results, scorer)
        whole = LeaderboardRow(
            name="ensemble",
            track="ensemble",
            learner=", ".join(dict.fromkeys(one.candidate.learner for one in chosen.members)),
            seconds=sum(one.trial.seconds for one in results if one.name in members),
            chosen=True,
            **_figures(scorer, outputs, chosen.class_weights, dummy),
        )
        rows.insert(0, whole)
    return tuple(rows)


def _figures(
    scorer: Scorer, outputs: Floats, weights: tuple[float, ...] | None, dummy: float | None
) -> dict[str, float]:
    """Score, interval and error reduction, by their names on the leaderboard."""
    score, range = scorer.score(outputs, weights), scorer.interval(outputs, weights)
    reduction = 0.0 if dummy is None else error_reduction(scorer.metric, score, dummy)
    return {"score": score, "low": range.low, "high": range.high, "error_reduction": reduction}
