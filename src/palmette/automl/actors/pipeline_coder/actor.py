"""The actor `pipeline_coder`: own features and candidates in one answer, run on a sample, then trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from palmette.automl.actors.assembler.actor import Assembler, AssemblerInput
from palmette.automl.actors.modeling_coder import actor as modeling
from palmette.automl.actors.preprocessing_coder import actor as preprocessing
from palmette.automl.artefacts import Assembly, Code, TrackCode
from palmette.automl.blame import AT_WORK
from palmette.automl.candidates import Blueprint
from palmette.automl.composition import unavailable
from palmette.automl.kinds import Track
from palmette.automl.own_code import FEATURES
from palmette.automl.profile import Profile
from palmette.automl.retry_policy import left_out, retries_exhausted
from palmette.automl.samples import Samples
from palmette.automl.store import Store
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import Attempt, Context, Verdict, Violation
from palmette.llm import OFFLINE, Agent, Models, Python, Section
from palmette.llm.brief import fenced
from palmette.llm.prompt import load_prompt
from palmette.sandbox import Sandbox

OWN = {*preprocessing.OWN, *modeling.OWN, "model-missing", *AT_WORK}
"""Codes that it answers for: nobody else has written or trained anything."""


class PipelineInput(Model):
    task: TaskSpec = TaskSpec()
    samples: Samples
    profile: Profile
    blueprint: Blueprint
    tracks: tuple[Track, ...]


class PipelineAnswer(modeling.ModelsAnswer):
    own_features: Python = ""
    """The whole module of own features; left out where no feature is worth adding."""


class PipelineCoder(Agent):
    """What the coders do, and the assembler, as one: a failure comes back whole, and no module is repaired apart."""

    name = "pipeline_coder"
    description = "Writes features and candidates as one, runs them on a sample, then trains all candidates."
    produces = "assembly"
    Input = PipelineInput
    Output = Assembly
    Answer = PipelineAnswer
    has_criterion = True

    def __init__(self, sandbox: Sandbox, store: Store, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.assembler, self.modeling = Assembler(sandbox, store), modeling.ModelingCoder(sandbox)

    def offline(self, input: PipelineInput, context: Context) -> Attempt[Assembly]:
        failed = retries_exhausted(context) if self.model else None
        repairs = (left_out(FEATURES, failed),) if failed else ()
        return self._assembled(input, context, Code(repairs=repairs), ())

    def is_settled(self, input: PipelineInput, context: Context) -> bool:
        return retries_exhausted(context) is not None or not _track(input)

    def parts(self, input: PipelineInput) -> Mapping[str, str]:
        folders = ("preprocessing_coder", "modeling_coder")
        features, models = (load_prompt(Path(__file__).parents[1] / name / "prompt.md") for name in folders)
        code = features.example[features.example.index("```python") :]
        return {
            "features": features.system,
            "models": models.system,
            "features_example": code,
            "models_example": models.example,
        }

    def brief(self, input: PipelineInput, context: Context) -> tuple[Section, ...]:
        found = self.modeling.brief(_modeling(input, Code()), context)
        return tuple(one for one in found if one.name != "features")

    def objection(self, answer: PipelineAnswer, input: PipelineInput) -> str:
        found = modeling.objections_to(answer, _modeling(input, Code()))
        return " ".join(filter(None, (preprocessing.objection_to(answer.own_features), *found)))

    def read(self, answer: PipelineAnswer, input: PipelineInput, context: Context) -> Attempt[Assembly]:
        code = preprocessing.made_of(answer.own_features, input.blueprint, answer.reason)
        made = self._assembled(input, context, code, (modeling.made_of(answer, _modeling(input, code)),))
        return dataclasses.replace(made, reason=answer.reason or made.reason, fix=answer.fix or made.fix)

    def recalled(self, output: Assembly) -> str:
        return "\n\n".join(f"{one.path}:\n{fenced(one.text, 'python')}" for one in output.modules)

    def check(self, input: PipelineInput, output: Assembly, context: Context) -> Verdict:
        """As of the assembler: candidates have finished, with sound outputs."""
        return self.assembler.check(_assembling(input, Code(), ()), output, context)

    def implicated(self, violation: Violation, output: Assembly) -> str | None:
        """To blame for whatever is wrong with code or models."""
        return f"Write and train the whole again: {violation.message}" if violation.code in OWN else None

    def _assembled(
        self, input: PipelineInput, context: Context, code: Code, models: Sequence[TrackCode]
    ) -> Attempt[Assembly]:
        alone = dataclasses.replace(context, attempt=1, attempts=(), last=None, evidence=(), instruction="")
        return self.assembler.run(_assembling(input, code, models), alone)


def _track(input: PipelineInput) -> Track | None:
    """The first track that can be used here: the one that candidates are proposed for."""
    return next((track for track in input.tracks if not unavailable(track)), None)


def _modeling(input: PipelineInput, code: Code) -> modeling.ModelingInput:
    return modeling.ModelingInput(
        track=_track(input) or "traditional",
        task=input.task,
        blueprint=input.blueprint,
        samples=input.samples,
        profile=input.profile,
        preprocessing=code,
    )


def _assembling(input: PipelineInput, code: Code, models: Sequence[TrackCode]) -> AssemblerInput:
    return AssemblerInput(
        samples=input.samples,
        profile=input.profile,
        blueprint=input.blueprint,
        preprocessing=code,
        models=tuple(models),
    )
