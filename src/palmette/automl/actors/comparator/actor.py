"""The actor `comparator`: what is delivered of all that was trained, by the harness's own scores out of fold."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from palmette.automl.artefacts import Assembly, Choice, Comparison, Standing
from palmette.automl.data import Dataset
from palmette.automl.measure import difference, interval, skill
from palmette.automl.measure.metrics import Floats
from palmette.automl.modalities.tabular import Blueprint
from palmette.automl.profile import Profile
from palmette.automl.project import Material, expected_of, judge_of
from palmette.automl.selection import Candidate, Judge, Member, Selection, read_candidates, select
from palmette.automl.store import Store
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Measurement, Verdict, Violation

BASELINES = ("dummy", "linear")
"""Names of the candidates that every track is compared with."""
SHOWN = 12
"""Of the best candidates, those that get an interval."""
ROUNDS = 100


class ComparatorInput(Model):
    dataset: Dataset
    profile: Profile
    blueprint: Blueprint
    choice: Choice | None = None
    assembly: Assembly


class _Known(NamedTuple):
    track: str
    folder: Path
    candidate: Candidate


class Comparator(BaseActor):
    """Best single candidate, or a weighted mean of several if that is measurably better."""

    name = "comparator"
    description = "Chooses what is delivered from all tracks by verified out-of-fold predictions, and says by how much."
    produces = "comparison"
    Input = ComparatorInput
    Output = Comparison
    has_criterion = True

    def __init__(self, store: Store) -> None:
        self.store = store

    def run(self, input: ComparatorInput, context: Context) -> Attempt[Comparison]:
        known, judge = self._known(input)
        made = compared(known, judge, input)
        folder = self.store.folder(input.assembly.store)
        fitted = {one.candidate.name: one.folder for one in known}
        deposit(folder / "model", made.selection, fitted)
        best = max(_of(known, BASELINES), key=lambda one: judge.worth(one.candidate.outputs), default=None)
        if best is not None:
            deposit(folder / "baseline", _alone(best.candidate, judge), fitted)
        return Attempt(made)

    def check(self, input: ComparatorInput, output: Comparison, context: Context) -> Verdict:
        """The score of what was chosen, computed again; its fitted models are there."""
        known, judge = self._known(input)
        candidates = {one.candidate.name: one.candidate for one in known}
        folder = self.store.folder(input.assembly.store) / "model"
        wrong = [
            _missing(member.name)
            for member in output.selection.members
            if member.name not in candidates or not any((folder / "fold_models" / member.name).glob("*"))
        ]
        if not wrong:
            outputs = output.selection.outputs(candidates.values())
            again = judge.score(outputs, output.selection.class_weights)
            if abs(again - output.selection.score) > 1e-9 * max(1.0, abs(again)):
                message = f"The score is {again!r} when computed again, not {output.selection.score!r}."
                wrong.append(Violation(code="score-differs", message=message, subject=output.selection.metric))
        measured = Measurement(name="selection", status="failed" if wrong else "passed", detail=output.reason)
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: Comparison) -> str | None:
        return f"Choose again: {violation.message}" if violation.code == "score-differs" else None

    def _known(self, input: ComparatorInput) -> tuple[list[_Known], Judge]:
        material = Material.of(input.dataset, input.profile)
        expected = expected_of(input.blueprint, material.folds(input.blueprint))
        folders = [(run.track, self.store.folder(input.assembly.store) / run.folder) for run in input.assembly.tracks]
        found: dict[str, _Known] = {}
        for track, folder in folders:
            for candidate in read_candidates(folder, expected).candidates:
                found.setdefault(candidate.name, _Known(track, folder, candidate))
        return list(found.values()), judge_of(input.blueprint, material.train)


def _missing(name: str) -> Violation:
    return Violation(code="model-missing", message=f"The fitted models of {name!r} are not there.", subject=name)


def compared(known: list[_Known], judge: Judge, input: ComparatorInput) -> Comparison:
    """The choice and the leaderboard."""
    own = {*input.blueprint.algorithms, *(one.candidate.trial.algorithm for one in known if one.track != "traditional")}
    candidates = [one.candidate for one in known]
    allowed = [one for one in candidates if one.trial.algorithm in own and one.name != "dummy"] or candidates
    chosen = select(allowed, judge)
    if len(chosen.members) > 1 and input.choice and not input.choice.proposal.data.plan.ensemble:
        (best,) = [one for one in candidates if one.name == chosen.best_single]
        chosen = _alone(best, judge)
    outputs = chosen.outputs(candidates)
    baseline = max(_of(known, BASELINES), key=lambda one: judge.worth(one.candidate.outputs), default=None)
    better, reason = _beats(judge, chosen, outputs, baseline.candidate if baseline else None)
    board = _leaderboard(known, judge, chosen, outputs)
    return Comparison(selection=chosen, leaderboard=board, better=better, reason=reason)


def _beats(judge: Judge, chosen: Selection, outputs: Floats, baseline: Candidate | None) -> tuple[bool, str]:
    names = ", ".join(f"{member.weight:.0%} {member.name}" for member in chosen.members)
    said = f"{chosen.metric} {chosen.score:.4f} out of fold by {names}"
    if baseline is None:
        return True, f"{said}; no baseline finished."
    weights = judge.class_weights(baseline.outputs)
    first, second = judge.predictions(outputs, chosen.class_weights), judge.predictions(baseline.outputs, weights)
    gain = difference(judge.metric, judge.truth, first, second, judge.positive, rounds=ROUNDS)
    other = judge.score(baseline.outputs, weights)
    if gain.low > 0:
        return True, f"{said}; the best baseline, {baseline.name}, has {other:.4f}."
    return False, f"{said}; that is not better than the baseline {baseline.name} ({other:.4f}) by more than noise."


def _leaderboard(known: list[_Known], judge: Judge, chosen: Selection, outputs: Floats) -> tuple[Standing, ...]:
    ranked = sorted(known, key=lambda one: -judge.worth(one.candidate.outputs))
    shown = [*ranked[:SHOWN], *(one for one in ranked[SHOWN:] if one.candidate.name in BASELINES)]
    dummy = next((judge.score(one.candidate.outputs) for one in known if one.candidate.name == "dummy"), None)
    members = {member.name for member in chosen.members}
    alone = len(members) == 1
    lines = [
        _standing(
            judge, one.candidate.name, _track(one), one.candidate.trial.algorithm, one.candidate.outputs,
            judge.class_weights(one.candidate.outputs), dummy, one.candidate.trial.seconds,
        ).model_copy(update={"chosen": alone and one.candidate.name in members})
        for one in shown
    ]  # fmt: skip
    if not alone:
        seconds = sum(one.candidate.trial.seconds for one in known if one.candidate.name in members)
        algorithms = ", ".join(dict.fromkeys(member.algorithm for member in chosen.members))
        whole = _standing(judge, "ensemble", "ensemble", algorithms, outputs, chosen.class_weights, dummy, seconds)
        lines.insert(0, whole.model_copy(update={"chosen": True}))
    return tuple(lines)


def _standing(  # noqa: PLR0913 - a line has so many columns
    judge: Judge,
    name: str,
    track: str,
    algorithm: str,
    outputs: Floats,
    weights: tuple[float, ...] | None,
    dummy: float | None,
    seconds: float,
) -> Standing:
    score = judge.score(outputs, weights)
    range = interval(judge.metric, judge.truth, judge.predictions(outputs, weights), judge.positive, rounds=ROUNDS)
    return Standing(
        name=name,
        track=track,
        algorithm=algorithm,
        score=score,
        low=range.low,
        high=range.high,
        skill=0.0 if dummy is None else skill(judge.metric, score, dummy),
        seconds=seconds,
    )


def _track(one: _Known) -> str:
    return "baseline" if one.candidate.name in BASELINES else one.track


def _of(known: list[_Known], names: tuple[str, ...]) -> list[_Known]:
    return [one for one in known if one.candidate.name in names]


def _alone(candidate: Candidate, judge: Judge) -> Selection:
    """A candidate by itself, at its own decision."""
    weights = judge.class_weights(candidate.outputs)
    score = judge.score(candidate.outputs, weights)
    trial = candidate.trial
    member = Member(
        name=trial.name, algorithm=trial.algorithm, settings=trial.settings, rounds=trial.rounds, weight=1.0
    )
    return Selection(
        metric=judge.metric.name,
        score=score,
        members=(member,),
        class_weights=weights,
        best_single=trial.name,
        single_score=score,
    )


def deposit(folder: Path, chosen: Selection, fitted: dict[str, Path]) -> None:
    """A model folder with the chosen members only."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "fold_models").mkdir(parents=True)
    for member in chosen.members:
        shutil.copytree(fitted[member.name] / "fold_models" / member.name, folder / "fold_models" / member.name)
    (folder / "members.json").write_text(chosen.model_dump_json(indent=1), encoding="utf-8")
