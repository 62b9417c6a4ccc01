"""The actor `modeling_coder`: proposes candidates beside the plan's for one track, and may write a learner."""

import ast

from palmette.automl.actors.coder import Coder, CoderInput, ModelsAnswer
from palmette.automl.artefacts import WrittenCode
from palmette.automl.composition import candidate_track, facts_of, unavailable
from palmette.automl.kinds import Track
from palmette.engine import Context, Measurement, Verdict
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
    Answer = ModelsAnswer
    owns = ("contract-misused", "reaches-outside")

    def is_settled(self, input: ModelingInput, context: Context) -> bool:
        """The same holds for a track that the plan does not use."""
        is_planned = any(candidate_track(one) == input.track for one in input.blueprint.candidates)
        return not is_planned or super().is_settled(input, context)

    def sections(self, input: ModelingInput, context: Context) -> tuple[Section, ...]:
        own = (ast.get_docstring(ast.parse(one.text)) or one.path for one in input.preprocessing.modules)
        return (*super().sections(input, context), section("features", *own, rank=2))

    def check(self, input: ModelingInput, output: WrittenCode, context: Context) -> Verdict:
        """Its learner uses what it may, and keeps the estimator contract on a sample of training rows."""
        facts = facts_of(input.blueprint)
        if reason := unavailable(input.track, facts.problem, facts.kinds):
            skipped = Measurement(name=f"{input.track} models", status="skipped", detail=reason)
            return Verdict(ok=True, measurements=(skipped,))
        return super().check(input, output, context)
