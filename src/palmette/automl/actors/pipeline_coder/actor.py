"""The actor `pipeline_coder`: own features and candidates in one answer, which the assembler runs as a whole."""

from collections.abc import Mapping
from pathlib import Path

from palmette.automl.actors.coder import Coder, CoderInput, FeaturesAnswer, ModelsAnswer
from palmette.automl.composition import unavailable
from palmette.automl.kinds import Track
from palmette.automl.own_code import SIDES
from palmette.llm.agent import load_prompt


class PipelineInput(CoderInput):
    tracks: tuple[Track, ...]
    executed: bool = False

    @property
    def track(self) -> Track:
        """The first track that can be used here."""
        return next((track for track in self.tracks if not unavailable(track)), self.tracks[0])


class PipelineAnswer(ModelsAnswer, FeaturesAnswer):
    """Both parts."""


class PipelineCoder(Coder):
    """The work of both coders as one: a failure comes back whole."""

    name = "pipeline_coder"
    description = "Writes features and candidates as one."
    produces = "preprocessing"
    Input = PipelineInput
    Answer = PipelineAnswer
    owns = (*SIDES, "reaches-outside")

    def parts(self, input: PipelineInput) -> Mapping[str, str]:
        folders = ("preprocessing_coder", "modeling_coder")
        features, models = (load_prompt(Path(__file__).parents[1] / name / "prompt.md") for name in folders)
        code = features.example[features.example.index("```python") :]
        tasks = {"features": features.system, "models": models.system}
        return {**tasks, "features_example": code, "models_example": models.example}
