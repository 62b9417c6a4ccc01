"""The actor `pipeline_coder`: preparation, models and training by one hand, run for the first time in full."""

from __future__ import annotations

from palmette.automl.actors.assembler.actor import Assembler, AssemblerInput
from palmette.automl.artefacts import Assembly, Code, Settings, Track, TrackCode
from palmette.automl.data import Dataset
from palmette.automl.faults import AT_WORK
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.profile import Profile
from palmette.automl.store import Store
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Verdict, Violation
from palmette.sandbox import Sandbox


class PipelineInput(Model):
    dataset: Dataset
    profile: Profile
    blueprint: Blueprint
    tracks: tuple[Track, ...]
    settings: Settings = Settings()


class PipelineCoder(BaseActor):
    """What modular coders and the assembler do, without anything that is run or told apart in between."""

    name = "pipeline_coder"
    description = "Writes the whole project at once and trains it, with no step in between that is verified."
    produces = "assembly"
    Input = PipelineInput
    Output = Assembly
    has_criterion = True

    def __init__(self, sandbox: Sandbox, store: Store) -> None:
        self._assembler = Assembler(sandbox, store)

    def run(self, input: PipelineInput, context: Context) -> Attempt[Assembly]:
        return self._assembler.run(_whole(input), context)

    def check(self, input: PipelineInput, output: Assembly, context: Context) -> Verdict:
        """As of the assembler: candidates that the harness has verified."""
        return self._assembler.check(_whole(input), output, context)

    def implicated(self, violation: Violation, output: Assembly) -> str | None:
        """To blame for whatever is wrong with code or models: nobody else has written any."""
        trained = ("contract-unfulfilled", "contract-misused", "no-candidate", "model-missing", "member-missing")
        codes = {*trained, *AT_WORK}
        return f"Write and train the whole again: {violation.message}" if violation.code in codes else None


def _whole(input: PipelineInput) -> AssemblerInput:
    modality = modality_of(input.blueprint)
    reasons = {track: modality.unavailable(track) for track in input.tracks}
    models = tuple(
        TrackCode(track=track, files=() if reason else modality.track_files(track), unavailable=reason)
        for track, reason in reasons.items()
    )
    return AssemblerInput(
        dataset=input.dataset,
        profile=input.profile,
        blueprint=input.blueprint,
        preprocessing=Code(files=modality.preparation_files()),
        models=models,
        settings=input.settings,
        sampled=False,
    )
