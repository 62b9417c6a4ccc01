"""The actor `comparator`: what is delivered of all that was trained, by the harness's own scores out of fold."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from palmette.automl.actors.implementation_verifier.counting import parameters_of
from palmette.automl.artefacts import Assembly, Choice, Comparison, Standing
from palmette.automl.data import Dataset
from palmette.automl.material import Material
from palmette.automl.measure import skill
from palmette.automl.measure.metrics import Floats
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.profile import Profile
from palmette.automl.project import Project, candidates_of
from palmette.automl.requirements import Requirements
from palmette.automl.selection import Candidate, Scorer, Selection, alone, select
from palmette.automl.store import Store
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.sandbox import Sandbox

SHOWN = 12
"""Of the best candidates, those that get an interval."""
USUAL = ("traditional", "baseline")
"""Tracks of whose algorithms those that the blueprint leaves out are not delivered; a coder's own are."""


BESIDE = 10_000
"""Bytes of a model's folder beside its fitted models, at most."""


class ComparatorInput(Model):
    dataset: Dataset
    profile: Profile
    blueprint: Blueprint
    choice: Choice | None = None
    requirements: Requirements | None = None
    assembly: Assembly


class _Known(NamedTuple):
    track: str
    """`baseline` for what every track has."""
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

    def __init__(self, store: Store, sandbox: Sandbox | None = None) -> None:
        self.store, self.sandbox = store, sandbox

    def run(self, input: ComparatorInput, context: Context) -> Attempt[Comparison]:
        known, judge = self._known(input)
        if not known:
            return Attempt(None, "What was trained is not there.", TERMINATE, (_missing(input.assembly.store),))
        made = compared(known, judge, input, self._taken(known, input, context))
        folder = self.store.folder(input.assembly.store)
        fitted = {one.candidate.name: one.folder for one in known}
        deposit(folder / "model", made.selection, fitted)
        prune(folder / "sample", [])
        kept = [*(one.name for one in made.leaderboard), *(one.name for one in made.selection.members)]
        for run in input.assembly.tracks:
            prune(folder / run.folder / "fold_models", kept)
        best = _baseline(known, judge)
        if best is not None:
            deposit(folder / "baseline", alone(best, judge), fitted)
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

    def _taken(self, known: Sequence[_Known], input: ComparatorInput, context: Context) -> dict[str, float]:
        """By candidate, which share of what the model may be its fitted models take; of several limits the larger."""
        limits = _limits(input.requirements)
        taken = {one.candidate.name: 0.0 for one in known}
        if "model size" in limits:
            room = max(limits["model size"] - BESIDE, 1.0)
            taken = {one.candidate.name: _bytes(one) / room for one in known}
        if "parameters" in limits and self.sandbox is not None:
            project = Project(self.store.folder(input.assembly.store), self.sandbox)
            for run in input.assembly.tracks:
                counts = parameters_of(project, context.workspace, run.folder) or {}
                shares = {name: count / max(limits["parameters"], 1.0) for name, count in counts.items()}
                taken = {name: max(share, shares.get(name, 0.0)) for name, share in taken.items()}
        return taken

    def _known(self, input: ComparatorInput) -> tuple[list[_Known], Scorer]:
        material = Material.of(input.dataset, input.profile)
        modality, folder = modality_of(input.blueprint), self.store.folder(input.assembly.store)
        found = candidates_of(folder, input.assembly.tracks, input.blueprint, material)
        known = [
            _Known("baseline" if name in modality.BASELINES else run.track, folder / run.folder, candidate)
            for name, (run, candidate) in found.items()
        ]
        return known, modality.judge(material)


def _missing(name: str) -> Violation:
    return Violation(code="model-missing", message=f"The fitted models of {name!r} are not there.", subject=name)


def compared(known: list[_Known], judge: Scorer, input: ComparatorInput, taken: Mapping[str, float]) -> Comparison:
    """The choice, of what takes no more than 1 together, and the leaderboard."""
    unwanted = {*modality_of(input.blueprint).ALGORITHMS} - {*input.blueprint.algorithms}
    candidates = [one.candidate for one in known]
    wanted = [one.candidate for one in known if one.track not in USUAL or one.candidate.trial.algorithm not in unwanted]
    allowed = [one for one in wanted if one.name != "dummy"] or candidates
    chosen = select(allowed, judge, taken)
    if len(chosen.members) > 1 and input.choice and not input.choice.proposal.data.plan.ensemble:
        (best,) = [one for one in candidates if one.name == chosen.best_single]
        chosen = alone(best, judge)
    outputs = chosen.outputs(candidates)
    better, reason = _beats(judge, chosen, outputs, _baseline(known, judge))
    board = _leaderboard(known, judge, chosen, outputs)
    return Comparison(selection=chosen, leaderboard=board, better=better, reason=reason, measured=judge.measured)


def _limits(requirements: Requirements | None) -> dict[str, float]:
    """What the model may be at most, by quantity."""
    wanted = requirements.problem.constraints if requirements else ()
    upper = [one for one in wanted if one.quantity in ("model size", "parameters") and one.comparison in ("<", "<=")]
    return {one.quantity: min(other.value for other in upper if other.quantity == one.quantity) for one in upper}


def _bytes(one: _Known) -> float:
    """Of its fitted models; what is not there fits nowhere."""
    folder = one.folder / "fold_models" / one.candidate.name
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) or math.inf


def _beats(judge: Scorer, chosen: Selection, outputs: Floats, baseline: Candidate | None) -> tuple[bool, str]:
    names = ", ".join(f"{member.weight:.0%} {member.name}" for member in chosen.members)
    said = f"{chosen.metric} {chosen.score:.4f} {judge.measured} by {names}"
    if baseline is None:
        return True, f"{said}; no baseline finished."
    if [member.name for member in chosen.members] == [baseline.name]:
        return False, f"{said}; that is a baseline, and nothing is better."
    other = judge.score(baseline.outputs, judge.class_weights(baseline.outputs))
    if judge.gain(outputs, baseline.outputs).low > 0:
        return True, f"{said}; the best baseline, {baseline.name}, has {other:.4f}."
    return False, f"{said}; that is not better than the baseline {baseline.name} ({other:.4f}) by more than noise."


def _leaderboard(known: list[_Known], judge: Scorer, chosen: Selection, outputs: Floats) -> tuple[Standing, ...]:
    ranked = sorted(known, key=lambda one: -judge.worth(one.candidate.outputs))
    shown = [*ranked[:SHOWN], *(one for one in ranked[SHOWN:] if one.track == "baseline")]
    dummy = next((judge.score(one.candidate.outputs) for one in known if one.candidate.name == "dummy"), None)
    members = {member.name for member in chosen.members}
    single = len(members) == 1
    lines = [
        Standing(
            name=one.candidate.name,
            track=one.track,
            algorithm=one.candidate.trial.algorithm,
            seconds=one.candidate.trial.seconds,
            chosen=single and one.candidate.name in members,
            **_figures(judge, one.candidate.outputs, judge.class_weights(one.candidate.outputs), dummy),
        )
        for one in shown
    ]
    if not single:
        whole = Standing(
            name="ensemble",
            track="ensemble",
            algorithm=", ".join(dict.fromkeys(member.algorithm for member in chosen.members)),
            seconds=sum(one.candidate.trial.seconds for one in known if one.candidate.name in members),
            chosen=True,
            **_figures(judge, outputs, chosen.class_weights, dummy),
        )
        lines.insert(0, whole)
    return tuple(lines)


def _figures(
    judge: Scorer, outputs: Floats, weights: tuple[float, ...] | None, dummy: float | None
) -> dict[str, float]:
    """Score, interval and skill, by their names on the leaderboard."""
    score, range = judge.score(outputs, weights), judge.interval(outputs, weights)
    gained = 0.0 if dummy is None else skill(judge.metric, score, dummy)
    return {"score": score, "low": range.low, "high": range.high, "skill": gained}


def _baseline(known: list[_Known], judge: Scorer) -> Candidate | None:
    """The best of the baselines."""
    found = [one.candidate for one in known if one.track == "baseline"]
    return max(found, key=lambda one: judge.worth(one.outputs), default=None)


def deposit(folder: Path, chosen: Selection, fitted: dict[str, Path]) -> None:
    """A model folder with the chosen members only."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "fold_models").mkdir(parents=True)
    for member in chosen.members:
        source = fitted[member.name] / "fold_models" / member.name
        shutil.copytree(source, folder / "fold_models" / member.name, copy_function=os.link)
    (folder / "members.json").write_text(chosen.model_dump_json(indent=1), encoding="utf-8")


def prune(folder: Path, kept: Sequence[str]) -> None:
    """Removes what nobody needs any more: fitted models take hundreds of megabytes."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
