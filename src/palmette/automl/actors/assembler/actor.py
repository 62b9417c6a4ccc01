"""The actor `assembler`: binds the code to a project, runs it on a sample, then trains every track in full."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

from palmette.automl.actors.assembler.failures import analysed
from palmette.automl.artefacts import Assembly, Code, Settings, Track, TrackCode, TrackRun
from palmette.automl.data import Dataset
from palmette.automl.material import Material
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.profile import Profile
from palmette.automl.project import Project
from palmette.automl.selection import Found
from palmette.automl.store import Store
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Measurement, TextFile, Verdict, Violation
from palmette.sandbox import ExecutionResult, Sandbox

SAMPLE = 300
SAMPLE_SECONDS = 1.0
"""Of search; baselines and the first candidate are fitted even so."""
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
    """False: training begins at once, and what fails is nobody's."""


class Assembler(BaseActor):
    """A failure on the sample is told apart: preprocessing that breaks the contract, or a model that misreads it."""

    name = "assembler"
    description = "Binds preprocessing and models to a project, runs it on a sample, then trains every track in full."
    produces = "assembly"
    Input = AssemblerInput
    Output = Assembly
    has_criterion = True

    def __init__(self, sandbox: Sandbox, store: Store) -> None:
        self.sandbox, self.store = sandbox, store

    def run(self, input: AssemblerInput, context: Context) -> Attempt[Assembly]:
        files = _bound(input)
        name = _name(files, input)
        project = Project(self.store.fresh(name), self.sandbox)
        project.write(files)
        tracks = [one.track for one in input.models if not one.unavailable]
        if not tracks:
            reasons = "; ".join(f"{one.track}: {one.unavailable}" for one in input.models)
            return Attempt(None, violations=(Violation(code="no-track", message=f"No track can run here: {reasons}."),))
        material = Material.of(input.dataset, input.profile)
        for track in tracks if input.sampled else ():
            wrong = self._on_sample(project, track, material, input.blueprint, context)
            if wrong is not None:
                return Attempt(None, wrong.message, violations=(wrong,))
        runs = self._in_full(project, tracks, material, input, context)
        return Attempt(Assembly(files=files, store=name, tracks=tuple(runs)))

    def check(self, input: AssemblerInput, output: Assembly, context: Context) -> Verdict:
        """Every track left candidates whose out-of-fold predictions the harness has verified."""
        material, folder = Material.of(input.dataset, input.profile), self.store.folder(output.store)
        wrong: list[Violation] = []
        measured = []
        for run in output.tracks:
            found = modality_of(input.blueprint).candidates(folder / run.folder, material)
            good = bool(found.candidates)
            detail = f"{len(found.candidates)} of {len(found.trials)} candidates verified, {run.seconds:.0f} s"
            measured.append(
                Measurement(name=f"{run.track} training", status="passed" if good else "failed", detail=detail)
            )
            if not good:
                wrong += found.violations
        return Verdict.of(wrong, measured)

    def implicated(self, violation: Violation, output: Assembly) -> str | None:
        if violation.code != "model-missing":
            return None
        return f"Train again: {violation.message}"

    def _on_sample(
        self, project: Project, track: str, material: Material, blueprint: Blueprint, context: Context
    ) -> Violation | None:
        """What goes wrong on a few rows; None if nothing does."""
        context.progress(f"{track}: on a sample")
        modality = modality_of(blueprint)
        sample = modality.sample(material, SAMPLE)
        project.lay_out(sample, blueprint, "sample")
        done = project.train(track, blueprint, SAMPLE_SECONDS, "sample")
        found = modality.candidates(project.folder / "sample" / "tracks" / track, sample)
        if done.ok and found.candidates:
            return None
        return analysed(project.folder, track, done, found)

    def _in_full(
        self, project: Project, tracks: Sequence[Track], material: Material, input: AssemblerInput, context: Context
    ) -> list[TrackRun]:
        total = sum(WEIGHTS.get(track, 1.0) for track in tracks)
        project.lay_out(material, input.blueprint)
        modality, runs = modality_of(input.blueprint), []
        for track in tracks:
            share = input.settings.seconds * WEIGHTS.get(track, 1.0) / total
            started, out = time.monotonic(), f"tracks/{track}"
            seconds = max(1.0, share - START_SECONDS)
            done = project.train(track, input.blueprint, seconds, told=context.progress)
            found = modality.candidates(project.folder / out, material)
            runs.append(_told(track, out, time.monotonic() - started, done, found))
        return runs


def _bound(input: AssemblerInput) -> tuple[TextFile, ...]:
    """All files of the project; where a path comes twice, the coder's stands."""
    shared = modality_of(input.blueprint).shared_files([one.track for one in input.models if not one.unavailable])
    parts = [shared, *(one.files for one in input.models), input.preprocessing.files]
    files = {file.path: file for part in parts for file in part}
    return tuple(files[path] for path in sorted(files))


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
