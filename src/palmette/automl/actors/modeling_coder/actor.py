"""The actor `modeling_coder`: proposes candidates beside the plan's for one track, and may write a learner."""

from __future__ import annotations

from collections.abc import Iterator

from palmette.automl.actors.coder import Coder, CoderInput, ModelsAnswer
from palmette.automl.artefacts import TrackCode, WrittenCode
from palmette.automl.candidates import Candidate
from palmette.automl.composition import unavailable
from palmette.automl.kinds import Track
from palmette.automl.own_code import learner_module, track_of
from palmette.engine import Attempt, Context, Measurement, Verdict
from palmette.llm import Section, section


class ModelingInput(CoderInput):
    track: Track
    preprocessing: WrittenCode = WrittenCode()


class ModelingCoder(Coder):
    """What a model proposes is trained beside the plan's candidates, and out-of-fold scores decide."""

    name = "modeling_coder"
    description = "Proposes candidates of a track beside the plan's, and may write a learner of its own."
    produces = "models"
    Input = ModelingInput
    Output = TrackCode
    Answer = ModelsAnswer
    owns = ("contract-misused", "reaches-outside")

    def track(self, input: ModelingInput) -> Track:
        return input.track

    def path(self, input: ModelingInput) -> str:
        return learner_module(input.track)

    def tried(self, output: TrackCode) -> Iterator[Candidate]:
        return (one.model_copy(update={"features": ""}) for one in output.candidates if "." in one.learner)

    def nothing(self, input: ModelingInput) -> TrackCode:
        return TrackCode(track=input.track, unavailable=unavailable(input.track))

    def is_settled(self, input: ModelingInput, context: Context) -> bool:
        """A track that is not installed, or that the plan does not use, or a model whose answers were refused."""
        is_planned = any(track_of(one) == input.track for one in input.blueprint.candidates)
        return bool(unavailable(input.track)) or not is_planned or super().is_settled(input, context)

    def sections(self, input: ModelingInput, context: Context) -> tuple[Section, ...]:
        own = (one.text for one in input.preprocessing.modules)
        return (*super().sections(input, context), section("features", *own, rank=2, language="python"))

    def read(self, answer: ModelsAnswer, input: ModelingInput, context: Context) -> Attempt[TrackCode]:
        return Attempt(self.models(answer, input, input.preprocessing), answer.reason, answer.fix)

    def check(self, input: ModelingInput, output: TrackCode, context: Context) -> Verdict:
        """Its learner uses what it may, and keeps the estimator contract on a sample of training rows."""
        if output.unavailable:
            skipped = Measurement(name=f"{output.track} models", status="skipped", detail=output.unavailable)
            return Verdict(ok=True, measurements=(skipped,))
        return super().check(input, output, context)
