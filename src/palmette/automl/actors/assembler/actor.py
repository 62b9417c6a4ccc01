"""The actor `assembler`: binds the code to a project, runs it on a sample, then trains every track in full."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

from palmette.automl.actors.assembler.failures import analysed, failed_in
from palmette.automl.actors.assembler.repair import Draft, Repairer, given_up
from palmette.automl.actors.assembler.repeating import unrepeated
from palmette.automl.artefacts import PREPARATION, Assembly, Code, Settings, Track, TrackCode, TrackRun
from palmette.automl.data import Dataset
from palmette.automl.faults import rules_own
from palmette.automl.material import Material
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.profile import Profile
from palmette.automl.project import Project
from palmette.automl.reach import objections
from palmette.automl.selection import Found
from palmette.automl.store import Store
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, BaseActor, Context, Measurement, TextFile, Verdict, Violation
from palmette.llm import OFFLINE, Models
from palmette.sandbox import ExecutionResult, Sandbox

SAMPLE = 300
SAMPLE_SECONDS = 1.0
"""Of search; baselines and the first candidate are fitted even so."""
FOREIGN_SECONDS = 6.0
"""The same for models that the rules have not written: as many of their starting points as possible are tried."""
START_SECONDS = 2.5
"""What a program takes to import its libraries."""
WEIGHTS = {"traditional": 2.0}
"""Of the time that a track is given, where it is not 1."""


class AssemblerInput(Model):
    dataset: Dataset
    profile: Profile
    blueprint: Blueprint
    preprocessing: Code
    models: tuple[TrackCode, ...]
    settings: Settings = Settings()
    sampled: bool = True
    """False: training begins at once, what fails is nobody's, and what models have written is tried afterwards."""

    @property
    def seconds(self) -> float:
        """Of training, all tracks together: the budget, less where the request allows for less."""
        return min(self.settings.seconds, self.blueprint.seconds or self.settings.seconds)

    @property
    def tracks(self) -> list[Track]:
        """Those that can be had."""
        return [one.track for one in self.models if not one.unavailable]


class Assembler(BaseActor):
    """A failure on the sample is located and repaired, attempt by attempt; what nobody can repair is the planner's."""

    roles = ("error_analyser", "debugger")
    """Who is asked beside it, and may have a model."""

    name = "assembler"
    description = "Binds preprocessing and models to a project, runs it on a sample, then trains every track in full."
    produces = "assembly"
    Input = AssemblerInput
    Output = Assembly
    has_criterion = True

    def __init__(self, sandbox: Sandbox, store: Store, models: Models = OFFLINE) -> None:
        self.sandbox, self.store, self.repairer = sandbox, store, Repairer(models)

    def run(self, input: AssemblerInput, context: Context) -> Attempt[Assembly]:
        if not input.tracks:
            reasons = "; ".join(f"{one.track}: {one.unavailable}" for one in input.models)
            return Attempt(None, violations=(Violation(code="no-track", message=f"No track can run here: {reasons}."),))
        drawn = self._drawn(input, context)
        if isinstance(drawn, Attempt):
            return drawn
        made = Assembly(files=drawn.files, store=_name(drawn.files, input), tracks=(), repairs=drawn.repairs)
        own = rules_own(input.blueprint, input.tracks)
        refused = objections(made.files, own)
        if refused:
            return Attempt(made.model_copy(update={"failures": tuple(refused)}), drawn.reason, drawn.fix)
        project = Project(self.store.fresh(made.store), self.sandbox)
        project.write(made.files)
        material = Material.of(input.dataset, input.profile)
        foreign = {file.path for file in made.files if file not in own}
        models = [code for code in input.models if not code.unavailable]
        wrong = self._tried(project, models, foreign, material, input, context) if input.sampled else None
        runs: list[TrackRun] = []
        if wrong is None:
            runs = self._in_full(project, input.tracks, material, input, context)
        if wrong is None and not input.sampled:  # what was not tried beforehand must be believed no more than the rest
            written = [code for code in models if any(file.path in foreign for file in code.files)]
            wrong = self._tried(project, written, foreign, material, input, context)
        failures = () if wrong is None else (wrong,)
        made = made.model_copy(update={"failures": failures, "tracks": () if failures else tuple(runs)})
        return Attempt(made, drawn.reason, drawn.fix)

    def _tried(
        self,
        project: Project,
        models: Sequence[TrackCode],
        foreign: Collection[str],
        material: Material,
        input: AssemblerInput,
        context: Context,
    ) -> Violation | None:
        """The first failure of tracks on a sample."""
        for code in models:
            context.progress(f"{code.track}: on a sample")
            is_foreign = any(file.path in foreign for file in code.files)
            wrong = self._on_sample(project, code.track, material, input.blueprint, is_foreign)
            if wrong is not None:
                return wrong
        return None

    def _drawn(self, input: AssemblerInput, context: Context) -> Draft | Attempt[Assembly]:
        """The coders' files; after a failure of them, with one mended.

        What was for the planner once, and fails again, is mended no more: the rules write it.
        """
        failed, last = context.attempts[-1:], context.last
        if not input.sampled or context.attempt == 1 or not failed or not isinstance(last, Assembly):
            repairs = [one for code in (input.preprocessing, *input.models) for one in code.repairs]
            return Draft(_bound(input, input.preprocessing, input.models), tuple(repairs))
        if not failed[0].violations:
            return Attempt(None, "Nothing says what is to be mended.", TERMINATE)
        if len(context.attempts) >= context.attempt:  # it failed before, and whoever wrote it has been asked again
            ruled = given_up(last, failed[0].violations[0], rules_own(input.blueprint, input.tracks))
            if ruled is not None:
                return ruled
        changeable = {PREPARATION, *(file.path for one in input.models for file in one.files)}
        return self.repairer.mended(last, failed[0].violations[0], changeable, context)

    def check(self, input: AssemblerInput, output: Assembly, context: Context) -> Verdict:
        """It ran as it is; a track left candidates whose out-of-fold predictions the harness has verified."""
        if output.failures or not output.tracks:
            return Verdict.of(output.failures or (Violation(code="no-track", message="Nothing was trained."),))
        material, folder = Material.of(input.dataset, input.profile), self.store.folder(output.store)
        if strayed := list(_strayed(output, folder)):
            return Verdict.of(strayed)
        wrong: list[Violation] = []
        measured = []
        for run in output.tracks:
            found = modality_of(input.blueprint).candidates(folder / run.folder, material)
            good = bool(found.candidates)
            detail = f"{len(found.candidates)} of {len(found.trials)} candidates verified, {run.seconds:.0f} s"
            status: Literal["passed", "warning"] = "passed" if good else "warning"
            measured.append(Measurement(name=f"{run.track} training", status=status, detail=detail))
            if not good:
                wrong.append(_without(run, found))
        return Verdict.of(wrong if len(wrong) == len(output.tracks) else (), measured)

    def implicated(self, violation: Violation, output: Assembly) -> str | None:
        """To blame where what it had trained is not there."""
        codes = ("model-missing", "member-missing", "assembly-differs")
        return f"Train again: {violation.message}" if violation.code in codes else None

    def _on_sample(
        self, project: Project, track: str, material: Material, blueprint: Blueprint, is_foreign: bool
    ) -> Violation | None:
        """What goes wrong on a few rows; None if nothing does.

        Of models that the rules have written, candidates may fail for the data's sake; of others, that is a mistake,
        and what they predict must not depend on the targets of those rows.
        """
        modality = modality_of(blueprint)
        sample = modality.sample(material, SAMPLE)
        project.lay_out(sample, blueprint, "sample")
        done = project.train(track, blueprint, FOREIGN_SECONDS if is_foreign else SAMPLE_SECONDS, "sample")
        found = modality.candidates(project.folder / "sample" / "tracks" / track, sample)
        if not done.ok or not found.candidates or (is_foreign and failed_in(found)):
            return analysed(project.folder, track, done, found)
        return unrepeated(project, track, found, sample, blueprint) if is_foreign else None

    def _in_full(
        self, project: Project, tracks: Sequence[Track], material: Material, input: AssemblerInput, context: Context
    ) -> list[TrackRun]:
        total = sum(WEIGHTS.get(track, 1.0) for track in tracks)
        project.lay_out(material, input.blueprint)
        modality, runs = modality_of(input.blueprint), []
        for track in tracks:
            share = input.seconds * WEIGHTS.get(track, 1.0) / total
            started, out = time.monotonic(), f"tracks/{track}"
            seconds = max(1.0, share - START_SECONDS)
            done = project.train(track, input.blueprint, seconds, told=context.progress)
            found = modality.candidates(project.folder / out, material)
            runs.append(_told(track, out, time.monotonic() - started, done, found))
        return runs


def _bound(input: AssemblerInput, preprocessing: Code, models: Sequence[TrackCode]) -> tuple[TextFile, ...]:
    """All files of the project; where a path comes twice, the coder's stands."""
    shared = modality_of(input.blueprint).shared_files(input.tracks)
    parts = [shared, *(one.files for one in models), preprocessing.files]
    files = {file.path: file for part in parts for file in part}
    return tuple(files[path] for path in sorted(files))


def _strayed(made: Assembly, folder: Path) -> Iterator[Violation]:
    """Files that are others than those that were trained in the folder."""
    for file in made.files:
        there = folder / file.path
        if there.is_file() and there.read_text("utf-8") != file.text:
            message = (
                f"{file.path} is not what was trained. Edit code in artefacts/preprocessing or artefacts/models, "
                "and it is trained anew; what only serves or tests, where it is delivered."
            )
            yield Violation(code="assembly-differs", message=message, subject=file.path)


def _without(run: TrackRun, found: Found) -> Violation:
    """That a track left nothing that can be delivered."""
    said = "; ".join(violation.message for violation in found.violations)
    evidence = "\n".join([run.note, *run.failed])[-4000:]
    subject = f"models/{run.track}.py"
    return Violation(code="no-candidate", message=f"{run.track}: {said}", evidence=evidence, subject=subject)


def _name(files: tuple[TextFile, ...], input: AssemblerInput) -> str:
    """Of the folder: equal for equal code, data and time."""
    told = [*(f"{file.path}\0{file.text}" for file in files), input.dataset.model_dump_json(), str(input.settings)]
    return f"project-{hashlib.sha256(chr(0).join(told).encode()).hexdigest()[:12]}"


def _told(track: Track, out: str, seconds: float, done: ExecutionResult, found: Found) -> TrackRun:
    failed = [f"{trial.name}: {trial.note}" for trial in found.trials if trial.status == "failed"]
    return TrackRun(
        track=track,
        folder=out,
        seconds=round(seconds, 1),
        candidates=len(found.candidates),
        failed=tuple([*failed, *(violation.message for violation in found.violations)]),
        note="" if done.ok else f"training {done.ended} {done.note}".strip(),
    )
