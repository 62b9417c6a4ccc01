"""The actor `modeling_coder`: writes the models of one track, against the contract of the features."""

from __future__ import annotations

import ast

from palmette.automl.artefacts import Code, Track, TrackCode
from palmette.automl.modalities.tabular import Blueprint
from palmette.automl.modalities.tabular.tracks import available
from palmette.automl.modalities.tabular.writer import track_files
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Measurement, TextFile, Verdict, Violation


class ModelingInput(Model):
    track: Track
    blueprint: Blueprint
    preprocessing: Code


class ModelingCoder(BaseActor):
    """Writes models/<track>.py and what it needs."""

    name = "modeling_coder"
    description = "Writes the models of a track as code that takes the features of the contract."
    produces = "models"
    Input = ModelingInput
    Output = TrackCode
    has_criterion = True

    def run(self, input: ModelingInput, context: Context) -> Attempt[TrackCode]:
        reason = available(input.track)
        if reason:
            return Attempt(TrackCode(track=input.track, files=(), unavailable=reason))
        return Attempt(TrackCode(track=input.track, files=track_files(input.blueprint, input.track)))

    def check(self, input: ModelingInput, output: TrackCode, context: Context) -> Verdict:
        """The track's module is there, and everything is Python."""
        if output.unavailable:
            skipped = Measurement(name=f"{output.track} models", status="skipped", detail=output.unavailable)
            return Verdict(ok=True, measurements=(skipped,))
        wrong = [found for file in output.files for found in syntax_errors(file)]
        if f"models/{output.track}.py" not in {file.path for file in output.files}:
            message = f"There is no models/{output.track}.py."
            wrong.append(Violation(code="module-missing", message=message, subject=output.track))
        detail = f"{len(output.files)} files"
        measured = Measurement(name=f"{output.track} models", status="failed" if wrong else "passed", detail=detail)
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: TrackCode) -> str | None:
        """To blame where a model takes the features for something else than was agreed."""
        if violation.code not in ("contract-misused", "no-candidate"):
            return None
        return f"The models of {output.track} do not keep the contract: {violation.message}"


def syntax_errors(file: TextFile) -> list[Violation]:
    """What keeps a file from being Python, if it is meant to be."""
    try:
        ast.parse(file.text if file.path.endswith(".py") else "")
    except SyntaxError as error:
        message = f"{file.path} line {error.lineno}: {error.msg}."
        return [Violation(code="syntax", message=message, subject=file.path)]
    return []
