"""The actor `comparator`: chooses by verified out-of-fold outputs, writes the package and fits it on all rows."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from palmette.automl.actors import failed
from palmette.automl.actors.rules import PlanningInput
from palmette.automl.artefacts import Assembly, Comparison, LeaderboardRow, MeasuredRound
from palmette.automl.candidates import Blueprint, Selection, Trial, substance
from palmette.automl.composition import facts_of, learner_named, meant
from palmette.automl.formatting import metric, number
from palmette.automl.measure import error_reduction
from palmette.automl.measure.metrics import Floats
from palmette.automl.measure.scorer import Scorer
from palmette.automl.own_code import located, track_of, used_modules
from palmette.automl.planning.rounds import EARLIER
from palmette.automl.problems.registry import problem_of
from palmette.automl.project import BuiltPackage, write_package
from palmette.automl.search.results import CandidateLoad, CandidateResult, read_results
from palmette.automl.search.selection import alone, ensemble_outputs, select
from palmette.automl.search.tuning import is_tuned
from palmette.automl.splitting import DataSplits
from palmette.automl.store import Store
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import Attempt, BaseActor, Context, TextFile, Violation
from palmette.sandbox import Sandbox

SHOWN = 12  # the best candidates on the leaderboard; of the others, all but those whose settings were searched
OVERRUN = 1.1  # share of the training time after which the final fit is to have ended
STARTS = 2.5  # seconds that the program of the final fit takes beside the fit
UPPER = ("<", "<=")
MOST_SECONDS = 600.0  # for a fit, at least; a longer one may take some times what is expected
PATIENCE = 5.0


class ComparatorInput(PlanningInput):
    blueprint: Blueprint
    assembly: Assembly


class FittedPackage(NamedTuple):
    """A package with its fitted model."""

    name: str  # of its folder in the store
    files: tuple[TextFile, ...]
    seconds: float


class ChoiceField(NamedTuple):
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

    def __init__(self, store: Store, sandbox: Sandbox) -> None:
        self.store, self.sandbox = store, sandbox

    def run(self, input: ComparatorInput, context: Context) -> Attempt[Comparison]:
        earlier = _earlier(context)
        field = self._field(input, earlier.store if earlier else "")
        if not field.load.results:
            return failed([_missing(input.assembly.store)])
        wanted = _wanted(field, input.task)
        left = OVERRUN * input.blueprint.seconds - input.assembly.seconds - STARTS
        taken = _taken(wanted, input, left)
        folds = problem_of(input.blueprint).folds(field.splits)
        chosen = select(wanted, field.scorer, input.blueprint.ensembling, taken, folds)
        if earlier and earlier.selection:
            chosen = earlier.selection
        best = field.baseline
        baseline = None if best is None else alone(best, field.scorer)
        board = _leaderboard(field, chosen)
        expected = sum(taken.get(one.candidate.name, 0.0) for one in chosen.members) * max(left, 1.0)
        context.progress(f"final fit of {', '.join(one.candidate.name for one in chosen.members)}")
        fit = partial(self._fit, input, field.splits, limit=max(MOST_SECONDS, PATIENCE * expected))
        same, scratch = baseline is not None and baseline.members == chosen.members, context.workspace / "fit"
        with ThreadPoolExecutor(2) as beside:
            waiting = beside.submit(fit, scratch / "baseline", baseline, ()) if baseline and not same else None
            made = fit(scratch / "package", chosen, board)
            other = waiting.result() if waiting else made if same else None
        if isinstance(made, Violation):
            return failed([made])
        return Attempt(
            Comparison(
                selection=chosen,
                leaderboard=board,
                reason=_reason(field, chosen, baseline),
                measured=field.scorer.measured,
                package=made.name,
                store=earlier.store if earlier else "",
                baseline=other.name if isinstance(other, FittedPackage) else "",
                files=made.files,
                fit_seconds=round(made.seconds, 2),
            )
        )

    def implicated(self, violation: Violation, output: Comparison) -> str | None:
        """An earlier round was better."""
        return f"Choose again: {violation.message}" if violation.code == EARLIER else None

    def _fit(
        self,
        input: ComparatorInput,
        splits: DataSplits,
        scratch: Path,
        selection: Selection,
        leaderboard: Sequence[LeaderboardRow],
        limit: float,
    ) -> FittedPackage | Violation:
        """The package of a selection, fitted on all training rows within the limit; why it could not be."""
        kind = scratch.name
        modules = input.assembly.modules
        used = used_modules([one.candidate for one in selection.members], modules)
        files = write_package(input.blueprint, selection, used, leaderboard)
        name = f"{kind}-{hashlib.sha256(chr(0).join(one.text for one in files).encode()).hexdigest()[:12]}"
        package = BuiltPackage(self.store.fresh(name), self.sandbox, input.blueprint)
        package.write(files)
        started = time.monotonic()
        done = package.fit(splits.visible, scratch, limit)
        if done.ok:
            return FittedPackage(name, files, time.monotonic() - started)
        message = f"The final fit of the {kind} fails: {done.last_line[:300]}"
        wrong = Violation(code="fit-failed", message=message, evidence=done.stderr[-4000:], subject="train.py")
        return located([wrong], package.folder, modules)[0]

    def _field(self, input: ComparatorInput, store: str = "") -> ChoiceField:
        problem, splits = problem_of(input.blueprint), input.splits
        load = read_results(self.store.folder(store or input.assembly.store), problem, len(splits.train))
        dummy, *others = problem.baselines()
        same = {*map(substance, others)}
        names = (one.name for one in load.results if substance(one.trial.candidate) in same)
        return ChoiceField(load, problem.scorer(splits), splits, (dummy.name, *names))


def _earlier(context: Context) -> MeasuredRound | None:
    """The round whose model is delivered after all, where the planner sends that back."""
    found = next((one for one in context.evidence if one.code == EARLIER), None)
    return MeasuredRound.model_validate_json(found.evidence) if found else None


def _missing(name: str) -> Violation:
    return Violation(code="model-missing", message=f"The trained model {name!r} is not in the store.", subject=name)


def _wanted(field: ChoiceField, task: TaskSpec) -> list[CandidateResult]:
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
        share = times * fit_seconds(one.trial, blueprint.folds.count) / max(left, 1.0)
        if sizes:
            megabytes = learner_named(one.trial.candidate.learner).cost(facts).megabytes
            share = max(share, megabytes * 1e6 / max(min(sizes), 1.0))
        shares[one.name] = share
    return shares


def _reason(field: ChoiceField, chosen: Selection, baseline: Selection | None) -> str:
    """The choice with its out-of-fold score beside that of the best baseline; the hold-out gives the verdict."""
    names = ", ".join(one.candidate.name for one in chosen.members)
    score = f"{metric(chosen.metric)} {number(chosen.score, 3)} {field.scorer.measured} by {names}"
    other = "" if baseline is None else f"; the best baseline, {baseline.best_single}, has {number(baseline.score, 3)}"
    return f"{score}{other}. {chosen.reason}".rstrip(". ") + "."


def _leaderboard(field: ChoiceField, chosen: Selection) -> tuple[LeaderboardRow, ...]:
    scorer, results = field.scorer, field.load.results
    ranked = sorted(results, key=lambda one: -scorer.utility(one.outputs))
    members = {one.candidate.name for one in chosen.members}
    kept = {*members, *field.baselines}
    dummy = next((scorer.score(one.outputs) for one in results if one.name == field.baselines[0]), None)

    def row(outputs: Floats, weights: tuple[float, ...] | None, **facts: Any) -> LeaderboardRow:
        score, range = scorer.score(outputs, weights), scorer.interval(outputs, weights)
        reduction = 0.0 if dummy is None else error_reduction(scorer.metric, score, dummy)
        return LeaderboardRow(score=score, low=range.low, high=range.high, error_reduction=reduction, **facts)

    rows = [
        row(
            one.outputs,
            scorer.class_weights(one.outputs),
            name=one.name,
            track="baseline" if one.name in field.baselines else track_of(one.trial.candidate),
            learner=one.trial.candidate.learner,
            seconds=one.trial.seconds,
            chosen=members == {one.name},
            candidate=one.trial.candidate,
        )
        for place, one in enumerate(ranked)
        if place < SHOWN or one.name in kept or not is_tuned(one.trial.candidate)
    ]
    if len(members) == 1:
        return tuple(rows)
    whole = row(
        ensemble_outputs(chosen, results, scorer),
        chosen.class_weights,
        name="ensemble",
        track="ensemble",
        learner=", ".join(dict.fromkeys(one.candidate.learner for one in chosen.members)),
        seconds=sum(one.trial.seconds for one in results if one.name in members),
        chosen=True,
    )
    return (whole, *rows)


def fit_seconds(trial: Trial, folds: int) -> float:
    """What a candidate's fit on all rows is expected to take, by what its folds took."""
    return trial.seconds / (folds - 1) + trial.encoding
