"""The actor `pipeline_coder`: own features and candidates in one answer, which the assembler runs as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from palmette.automl.actors.coder import Coder, CoderInput
from palmette.automl.actors.modeling_coder.actor import ModelsAnswer, models_objections, track_sections, written_models
from palmette.automl.actors.preprocessing_coder.actor import FeaturesAnswer, features_objection, written_features
from palmette.automl.artefacts import WrittenCode
from palmette.automl.composition import unavailable
from palmette.automl.kinds import Track
from palmette.automl.own_code import FEATURES, SIDES
from palmette.engine import Attempt, Context
from palmette.llm import Section
from palmette.llm.prompt import load_prompt


class PipelineInput(CoderInput):
    tracks: tuple[Track, ...]
    executed: bool = False

    @property
    def track(self) -> Track | None:
        """The first track that can be used here: the one that candidates are proposed for."""
        return next((track for track in self.tracks if not unavailable(track)), None)


class PipelineAnswer(ModelsAnswer, FeaturesAnswer):
    """Both parts."""


class PipelineCoder(Coder):
    """The work of both coders as one: a failure comes back whole."""

    name = "pipeline_coder"
    description = "Writes features and candidates as one."
    produces = "preprocessing"
    Input = PipelineInput
    Output = WrittenCode
    Answer = PipelineAnswer
    owns = (*SIDES, "reaches-outside")

    def path(self, input: PipelineInput) -> str:
        return FEATURES

    def is_settled(self, input: PipelineInput, context: Context) -> bool:
        return not input.track or super().is_settled(input, context)

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

    def sections(self, input: PipelineInput, context: Context) -> tuple[Section, ...]:
        return (*super().sections(input, context), *track_sections(input.blueprint, input.track or "traditional"))

    def objection(self, answer: PipelineAnswer, input: PipelineInput) -> str:
        found = models_objections(answer, input.blueprint, input.track or "traditional")
        return " ".join(filter(None, (features_objection(answer.own_features), *found)))

    def read(self, answer: PipelineAnswer, input: PipelineInput, context: Context) -> Attempt[WrittenCode]:
        features = written_features(answer.own_features, input.blueprint, answer.reason)
        models = written_models(answer, input.track or "traditional", features)
        made = WrittenCode(
            modules=(*features.modules, *models.modules), candidates=(*features.candidates, *models.candidates)
        )
        return Attempt(made, answer.reason, answer.fix)
