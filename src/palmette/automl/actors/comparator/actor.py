"""The actor `comparator`: chooses by verified out-of-fold outputs, writes the package and fits it on all rows."""

import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from palmette.automl.actors.shared import PlanningInput, failed, verdict
from palmette.automl.artefacts import Assembly, Comparison, LeaderboardRow, MeasuredRound, Store
from palmette.automl.candidates import Blueprint, Selection, Trial, substance
from palmette.automl.composition import candidate_track, facts_of, learner_named, wished
from palmette.automl.formatting import metric, number
from palmette.automl.measure.metrics import Floats, error_reduction
from palmette.automl.measure.scorer import Scorer
from palmette.automl.own_code import located, sampled, used_modules
from palmette.automl.planning.drafting import LIMIT
from palmette.automl.planning.rounds import EARLIER
from palmette.automl.problems.problem import problem_of
from palmette.automl.project.built import MODEL, BuiltPackage
from palmette.automl.project.writer import write_package
from palmette.automl.search.job import LEAST_ROWS, cores
from palmette.automl.search.results import CandidateResult, comparable, fit_seconds, fitted_rows, read_results
from palmette.automl.search.selection import alone, ensemble_outputs, select
from palmette.automl.search.tuning import MARK
from palmette.automl.search.worker import DUMMY
from palmette.automl.splitting.data_splits import DataSplits
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import Attempt, BaseActor, Context, TextFile, Verdict, Violation
from palmette.sandbox import Sandbox

SHOWN = 12  # the best candidates on the leaderboard; of the others, all but those whose settings were searched
OVERRUN = 1.05  # share of the training time after which the final fit is expected to have ended
SHORTEST = 5.0  # seconds before which no final fit is stopped
STARTS = 2.5  # least seconds that the program of the final fit takes beside the fit
SLACK = 2.0  # multiple of its expected seconds for which a fit is waited for
UPPER = ("<", "<=")
ENSEMBLE = "ensemble"  # name of its row on the leaderboard
Taken = Callable[[Collection[str]], float]
CURVE = 0.3  # exponent by which errors fall with rows (0.07 to 0.35 in Hestness et al., 2017)
MOST_LINES = 510  # of the package's programs; with more, an ensemble has to be measurably better
MOST_SECONDS, PATIENCE = 600.0, 5.0  # limit of a fit that has to end: in seconds, or a multiple of those expected


class ComparatorInput(PlanningInput):
    blueprint: Blueprint
    assembly: Assembly


class FittedPackage(NamedTuple):
    name: str  # of its folder in the store
    files: tuple[TextFile, ...]
    seconds: float


class ComparedResults(NamedTuple):
    """The results of a search on the rows that all of them predicted."""

    results: tuple[CandidateResult, ...]
    scorer: Scorer
    splits: DataSplits
    measured: str
    searched: int  # number of rows that were searched
    starting: float  # seconds that a program takes to start
    baselines: tuple[str, ...]  # the dummy first

    @property
    def baseline(self) -> CandidateResult | None:
        """The best of the baselines."""
        found = [one for one in self.results if one.name in self.baselines]
        return max(found, key=lambda one: self.scorer.utility(one.outputs), default=None)

    def allowed(self, task: TaskSpec) -> list[CandidateResult]:
        """What may be delivered: no dummy, and only learners that the request allows, where there are others."""
        required, forbidden = (wished(task.learners, level) for level in ("required", "forbidden"))
        results = [one for one in self.results if one.trial.candidate.learner != DUMMY] or list(self.results)
        allowed = [one for one in results if one.trial.candidate.learner not in forbidden]
        return [one for one in allowed if not required or one.trial.candidate.learner in required] or results


class Comparator(BaseActor):
    """One model, or several together by the plan's policy; what is fitted here is what is delivered."""

    name = "comparator"
    description = "Chooses by verified out-of-fold outputs, writes the package and fits it on all training rows."
    produces = "comparison"
    Input = ComparatorInput
    Output = Comparison
    is_measured = True
    codes = (EARLIER,)

    def __init__(self, store: Store, sandbox: Sandbox) -> None:
        self.store, self.sandbox = store, sandbox

    def run(self, input: ComparatorInput, context: Context) -> Attempt[Comparison]:
        started = time.monotonic()
        sent_back = next((one for one in context.evidence if one.code == EARLIER), None)
        earlier = MeasuredRound.model_validate_json(sent_back.evidence) if sent_back else None
        compared = self._compared(input, earlier.store if earlier else "")
        if not compared.results:
            return failed([_missing(input.assembly.store)])
        is_limited = any(one.quantity == "training_time" for one in input.task.constraints)
        left = OVERRUN * input.blueprint.seconds - input.assembly.seconds
        left = (left if is_limited else max(left, SHORTEST)) - compared.starting
        allowed = compared.allowed(input.task)
        taken = _taken(compared.results, input, left)
        chosen = earlier.selection if earlier else _selected(input, compared, allowed, taken)
        problem, rows = problem_of(input.blueprint), len(input.splits.train)
        if problem.draws_rows and not earlier:
            chosen = _on_fewer_rows(input, compared, allowed, chosen, max(left, 1.0))
        trials = [one.trial for one in compared.results if one.name in chosen.names]
        kept = fitted_rows(trials, problem, compared.searched, rows, max(left, 1.0))
        chosen = chosen.model_copy(update={"rows": kept})
        context.progress(f"final fit of {', '.join(chosen.names)}")
        limit = LIMIT * input.blueprint.seconds - input.assembly.seconds - (time.monotonic() - started)
        slack = 0.0 if is_limited else SLACK
        made = self._final_fit(input, compared, chosen, context.workspace / "fit", max(limit, SHORTEST), slack)
        if isinstance(made, Violation):
            return failed([made])
        reason = f"{made.reason}{_passed_over(compared, made, allowed, taken)}"
        if chosen.rows:
            reason += f" It is fitted on {chosen.rows} of {rows} rows, as the time allows no more."
        return Attempt(made.model_copy(update={"store": earlier.store if earlier else "", "reason": reason}))

    def check(self, input: ComparatorInput, output: Comparison, context: Context) -> Verdict:
        """The package with its fitted model is in the store."""
        there = (self.store.folder(output.package) / MODEL).is_dir()
        wrong = () if there else (_missing(output.package),)
        return verdict("scores", wrong, f"{len(output.leaderboard)} lines of the leaderboard")

    def fitted(
        self, input: ComparatorInput, selection: Selection, files: tuple[TextFile, ...], scratch: Path, limit: float
    ) -> FittedPackage | Violation | None:
        """The package of a selection, fitted on all training rows; None where the time limit stops the fit."""
        kind, digest = scratch.name, hashlib.sha256("\0".join(one.text for one in files).encode()).hexdigest()
        package = BuiltPackage(self.store.fresh(f"{kind}-{digest[:12]}"), self.sandbox, input.blueprint)
        package.write(files)
        started = time.monotonic()
        splits = sampled(input.blueprint, input.splits, selection.rows) if selection.rows else input.splits
        done = package.fit(splits.visible, scratch, limit)
        if done.ok:
            return FittedPackage(package.folder.name, files, time.monotonic() - started)
        if done.ended == "timeout":
            return None
        message = f"The final fit of the {kind} fails: {done.error_line[:300]}"
        wrong = Violation(code="fit-failed", message=message, evidence=done.stderr[-4000:], subject="train.py")
        return located([wrong], package.folder, input.assembly.modules)[0]

    def _final_fit(
        self,
        input: ComparatorInput,
        compared: ComparedResults,
        chosen: Selection,
        place: Path,
        left: float,
        slack: float,
    ) -> Comparison | Violation:
        """Fits the choice and the best baseline, side by side where there are several cores.

        What does not end in time gives way to the next: an ensemble to its best member, for which time is kept, and any
        model to the baseline, unless that is the dummy. The fits may take `left` seconds together; however little that
        is, each has `slack` times its expected time.
        """
        late = f"as the final fit of {', '.join(chosen.names)} did not end in time"
        share = (chosen.rows or len(input.splits.train)) / compared.searched

        def due(names: Collection[str]) -> float:
            trials = [one.trial for one in compared.results if one.name in names]
            return compared.starting + fit_seconds(trials, input.blueprint, share)

        def instead(one: CandidateResult, who: str) -> Selection:
            facts = {"rows": chosen.rows, "reason": f"{who}, {late}"}
            return alone(one, compared.scorer).model_copy(update=facts)

        files, best = partial(_files, input, compared.measured), compared.baseline
        baseline = None if best is None else instead(best, best.name)
        beside = baseline if baseline and baseline.members != chosen.members else None
        choices, last = [("package", chosen, left)], max(MOST_SECONDS, PATIENCE * due(chosen.names))
        if len(chosen.members) > 1:
            single = next(one for one in compared.results if one.name == chosen.best_single)
            kept = min(SLACK * due([single.name]), left / 2)
            member = instead(single, f"{single.name} alone")
            choices = [("package", chosen, left - kept), ("member", member, max(kept, SHORTEST))]
        choices = [(kind, one, max(seconds, slack * due(one.names))) for kind, one, seconds in choices]
        if beside and beside.members[0].candidate.learner != DUMMY:
            choices.append(("baseline", beside, last))
        choices[-1] = (*choices[-1][:2], last)
        with ThreadPoolExecutor(1) as pool:
            fit = None
            if beside and cores() > 1:
                fit = pool.submit(self.fitted, input, beside, files(beside, ()), place / "baseline", left)
            for kind, chosen, seconds in choices:
                board = leaderboard(compared, chosen)
                done = fit.result() if fit and kind == "baseline" else None
                is_done = isinstance(done, FittedPackage)
                if made := done if is_done else self.fitted(input, chosen, files(chosen, board), place / kind, seconds):
                    break
        if not isinstance(made, FittedPackage):
            message = f"The final fit did not end within {last:.0f} s."
            return made or Violation(code="fit-failed", message=message, subject="train.py")
        other: FittedPackage | Violation | None = made
        if beside and chosen is not beside:
            other = fit.result() if fit else self.fitted(input, beside, files(beside, ()), place / "baseline", left)
        return Comparison(
            selection=chosen,
            leaderboard=board,
            reason=_reason(compared, chosen, baseline),
            measured=compared.measured,
            package=made.name,
            baseline=other.name if baseline and isinstance(other, FittedPackage) else "",
            files=made.files,
            fit_seconds=round(made.seconds, 2),
        )

    def _compared(self, input: ComparatorInput, store: str) -> ComparedResults:
        problem, splits = problem_of(input.blueprint), input.splits
        load = read_results(self.store.folder(store or input.assembly.store), problem, len(splits.train))
        dummy, *others = problem.baselines()
        lines = {*map(substance, others)}
        baselines = (dummy.name, *(one.name for one in load.results if substance(one.trial.candidate) in lines))
        results, rows = comparable(load.results, splits)
        scorer = problem.scorer(rows)
        part = "" if len(rows.train) == len(splits.train) else f" on {len(rows.train)} of {len(splits.train)} rows"
        return ComparedResults(
            results=results,
            scorer=scorer,
            splits=rows,
            measured=f"{scorer.measured}{part}",
            searched=load.rows or len(splits.train),
            starting=max(STARTS, load.starting),
            baselines=baselines,
        )


def _selected(
    input: ComparatorInput, compared: ComparedResults, results: Sequence[CandidateResult], taken: Taken
) -> Selection:
    """The choice, without a learner whose code makes the package long, unless it is measurably better with it."""
    scorer, folds = compared.scorer, problem_of(input.blueprint).folds(compared.splits)

    def choice(out: str = "") -> Selection:
        left = [one for one in results if one.trial.candidate.learner != out]
        return select(left, scorer, input.blueprint.ensembling, taken, folds)

    def is_short(one: Selection) -> bool:
        programs = (file.text for file in _files(input, compared.measured, one, ()) if file.path.endswith(".py"))
        return sum(text.count("\n") for text in programs) <= MOST_LINES

    whole = choice()
    learners = sorted({one.candidate.learner for one in whole.members})
    if len(learners) == 1 or is_short(whole):
        return whole
    outputs = partial(ensemble_outputs, results=results, scorer=scorer)
    short = [one for one in map(choice, learners) if is_short(one)]
    best = max(short, key=lambda one: scorer.utility(outputs(one)), default=whole)
    if scorer.gain(outputs(whole), outputs(best)).low > 0:
        why = f"its package is longer than {MOST_LINES} lines, as {', '.join(best.names)} would be measurably worse"
        return whole.model_copy(update={"reason": f"{whole.reason}; {why}"})
    names = ", ".join(whole.names)
    why = f"{names} would make a package longer than {MOST_LINES} lines, and not a measurably better one"
    return best if best is whole else best.model_copy(update={"reason": f"{best.reason}; {why}"})


def _on_fewer_rows(
    input: ComparatorInput,
    compared: ComparedResults,
    results: Sequence[CandidateResult],
    chosen: Selection,
    left: float,
) -> Selection:
    """The choice, or the best candidate if it is expected to be better although there is no time for all rows."""
    scorer = compared.scorer
    best = max(results, key=lambda one: scorer.utility(one.outputs))
    late = fit_seconds([best.trial], input.blueprint) / left
    if late <= 1 or compared.searched / late < LEAST_ROWS or _of_size([best.trial], input) > 1:
        return chosen
    if scorer.metric.error(scorer.score(best.outputs)) * late**CURVE >= scorer.metric.error(chosen.score):
        return chosen
    reason = f"{best.name} alone, as it is expected to be better even on fewer rows than the others"
    return alone(best, scorer).model_copy(update={"reason": reason})


def _files(
    input: ComparatorInput, measured: str, selection: Selection, board: Sequence[LeaderboardRow]
) -> tuple[TextFile, ...]:
    used = used_modules([one.candidate for one in selection.members], input.assembly.modules)
    return write_package(input.blueprint, selection, used, board, measured)


def _missing(name: str) -> Violation:
    return Violation(code="model-missing", message=f"The trained model {name!r} is not in the store.", subject=name)


def _taken(results: Sequence[CandidateResult], input: ComparatorInput, left: float) -> Taken:
    """The larger share that candidates take together of the time for the final fit, and of a limit on the size."""
    trials = {one.name: one.trial for one in results}

    def taken(names: Collection[str]) -> float:
        some = [trials[name] for name in names]
        return max(fit_seconds(some, input.blueprint) / max(left, 1.0), _of_size(some, input))

    return taken


def _of_size(trials: Iterable[Trial], input: ComparatorInput) -> float:
    """The share of a limit on the size that candidates take together; 0 without a limit."""
    facts = facts_of(input.blueprint)
    limits = [one.value for one in input.task.constraints if one.quantity == "size" and one.comparison in UPPER]
    megabytes = sum(learner_named(one.candidate.learner).cost(facts).megabytes for one in trials)
    return megabytes * 1e6 / max(min(limits), 1.0) if limits else 0.0


def _reason(compared: ComparedResults, chosen: Selection, baseline: Selection | None) -> str:
    """The choice with its out-of-fold score beside that of the best baseline; the hold-out gives the verdict."""
    crossed, apparent = number(chosen.score, 3), number(chosen.apparent_score, 3)
    aside = f" ({crossed} with each fold scored by a choice made on the others)" if crossed != apparent else ""
    score = f"{metric(chosen.metric)} {apparent} {compared.measured} by {', '.join(chosen.names)}{aside}"
    other = "" if baseline is None else f"; the best baseline, {baseline.best_single}, has {number(baseline.score, 3)}"
    return f"{score}{other}. {chosen.reason}".rstrip(". ") + "."


def _passed_over(compared: ComparedResults, made: Comparison, allowed: Sequence[CandidateResult], taken: Taken) -> str:
    """Why the candidate with the best score is not delivered, in a sentence; empty if it is, or if `made` states it."""
    scorer = compared.scorer
    best = max(made.leaderboard, key=lambda one: one.score if scorer.metric.greater_is_better else -one.score)
    chosen = next(one for one in made.leaderboard if one.chosen)
    reasons = {
        "it is a member of the ensemble that the plan asks for": best.name in made.selection.names,
        "it gives every row the same answer": best.learner == DUMMY,
        "the request does not allow its learner": best.name not in {one.name for one in allowed},
        "its final fit would exceed the time or the size that is left": best.candidate is not None
        and taken([best.name]) > 1,
    }
    why = next((reason for reason, holds in reasons.items() if holds), "")
    is_better = bool(why) and scorer.metric.better(best.score, chosen.score)
    return f" {best.name} has a better score and is not delivered: {why}." if is_better else ""


def leaderboard(compared: ComparedResults, chosen: Selection) -> tuple[LeaderboardRow, ...]:
    """The best candidates, the baselines and the members; an ensemble first."""
    scorer, results = compared.scorer, compared.results
    ranked = sorted(results, key=lambda one: -scorer.utility(one.outputs))
    members = chosen.names
    kept = {*members, *compared.baselines}
    dummy = next((scorer.score(one.outputs) for one in results if one.name == compared.baselines[0]), None)

    def row(outputs: Floats, weights: tuple[float, ...] | None, **facts: Any) -> LeaderboardRow:
        score, range = scorer.score(outputs, weights), scorer.interval(outputs, weights)
        reduction = 0.0 if dummy is None else error_reduction(scorer.metric, score, dummy)
        return LeaderboardRow(score=score, low=range.low, high=range.high, error_reduction=reduction, **facts)

    rows = [
        row(
            one.outputs,
            scorer.class_weights(one.outputs),
            name=one.name,
            track="baseline" if one.name in compared.baselines else candidate_track(one.trial.candidate),
            learner=one.trial.candidate.learner,
            seconds=one.trial.seconds,
            chosen=members == (one.name,),
            candidate=one.trial.candidate,
        )
        for place, one in enumerate(ranked)
        if place < SHOWN or one.name in kept or MARK not in one.name
    ]
    if len(members) == 1:
        return tuple(rows)
    whole = row(
        ensemble_outputs(chosen, results, scorer),
        chosen.class_weights,
        name=ENSEMBLE,
        track="ensemble",
        learner=", ".join(dict.fromkeys(one.candidate.learner for one in chosen.members)),
        seconds=sum(one.trial.seconds for one in results if one.name in members),
        chosen=True,
    )
    return (whole, *rows)
