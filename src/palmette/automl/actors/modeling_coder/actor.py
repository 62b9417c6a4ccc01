"""The actor `modeling_coder`: writes the models of one track, against the contract of the features."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from palmette.automl import briefs
from palmette.automl.artefacts import Code, Track, TrackCode
from palmette.automl.chances import by_rules, used_up
from palmette.automl.faults import answers_for
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.reach import objections
from palmette.documents import Model
from palmette.engine import Attempt, Context, Measurement, TextFile, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Python, Section, section
from palmette.llm.brief import fenced

OWN = (
    "contract-misused", "module-missing", "names-missing", "no-candidate", "project-failed", "reaches-outside", "syntax"
)  # fmt: skip
"""Codes that it answers for, where the subject is one of its files, or its track."""


class ModelingInput(Model):
    track: Track
    blueprint: Blueprint
    preprocessing: Code


class ModelsAnswer(Answer):
    models: Python
    """The whole file of the track."""


class ModelingCoder(Agent):
    """Writes models/<track>.py; what that may build on is the project's own."""

    name = "modeling_coder"
    description = "Writes the models of a track as code that takes the features of the contract."
    produces = "models"
    Input = ModelingInput
    Output = TrackCode
    Answer = ModelsAnswer
    has_criterion = True

    def offline(self, input: ModelingInput, context: Context) -> Attempt[TrackCode]:
        modality = modality_of(input.blueprint)
        reason = modality.unavailable(input.track)
        if reason:
            return Attempt(TrackCode(track=input.track, files=(), unavailable=reason))
        failed = used_up(context) if self.model else None
        repairs = (by_rules(module_of(input.track), failed),) if failed else ()
        return Attempt(TrackCode(track=input.track, files=modality.track_files(input.track), repairs=repairs))

    def is_settled(self, input: ModelingInput, context: Context) -> bool:
        """A track that cannot be had here, whose file no answer could hold, or a model whose chances are used up."""
        modality, path = modality_of(input.blueprint), module_of(input.track)
        if modality.unavailable(input.track) or used_up(context) is not None:
            return True
        (draft,) = [file.text for file in modality.track_files(input.track) if file.path == path]
        return briefs.is_too_long(draft)

    def parts(self, input: ModelingInput) -> Mapping[str, str]:
        return modality_of(input.blueprint).MODELS.model_dump()

    def brief(self, input: ModelingInput, context: Context) -> tuple[Section, ...]:
        modality = modality_of(input.blueprint)
        own = {file.path: file for file in modality.track_files(input.track)}
        written = own.pop(module_of(input.track))
        shared = [file for file in modality.shared_files((input.track,)) if file.path.startswith("models/")]
        protocol = [file.text for file in shared if file.path == "models/__init__.py"]
        library = [*own.values(), *(file for file in shared if file.path != "models/__init__.py")]
        return (
            section("track", input.track, rank=NEEDED),
            briefs.part(input.blueprint, "model"),
            briefs.part(input.blueprint, "train"),
            briefs.part(input.blueprint, "eval"),
            briefs.agreed(briefs.contract(input.preprocessing.files)),
            section("protocol", *protocol, rank=NEEDED, language="python"),
            section("library", *map(briefs.outlined, library), rank=2),
            section("draft", written.text, rank=NEEDED, language="python"),
        )

    def read(self, answer: ModelsAnswer, input: ModelingInput, context: Context) -> Attempt[TrackCode]:
        own, text = modality_of(input.blueprint).track_files(input.track), f"{answer.models.rstrip()}\n"
        written = module_of(input.track)
        files = tuple(file.model_copy(update={"text": text}) if file.path == written else file for file in own)
        return Attempt(TrackCode(track=input.track, files=files), answer.reason, answer.fix)

    def recalled(self, output: TrackCode) -> str:
        """What it has written itself."""
        written = module_of(output.track)
        return "\n\n".join(fenced(file.text, "python") for file in output.files if file.path == written)

    def check(self, input: ModelingInput, output: TrackCode, context: Context) -> Verdict:
        """The track's module is there, has what training asks it for, and reaches nothing outside."""
        if output.unavailable:
            skipped = Measurement(name=f"{output.track} models", status="skipped", detail=output.unavailable)
            return Verdict(ok=True, measurements=(skipped,))
        own = modality_of(input.blueprint).track_files(input.track)
        wrong = [found for file in output.files for found in briefs.syntax_errors(file)]
        wrong += [] if wrong else [*_missing(output, own), *objections(output.files, own)]
        detail = f"{len(output.files)} files"
        measured = Measurement(name=f"{output.track} models", status="failed" if wrong else "passed", detail=detail)
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: TrackCode) -> str | None:
        """To blame where a model takes the features for something else than was agreed."""
        if not answers_for(violation, {output.track, *(file.path for file in output.files)}, OWN, "contract-misused"):
            return None
        said = "do not keep the contract" if violation.code in OWN else "fail at work"
        return f"The models of {output.track} {said}: {violation.message}"


def module_of(track: Track) -> str:
    """Path of the file that a track is found in."""
    return f"models/{track}.py"


def _missing(output: TrackCode, own: Iterable[TextFile]) -> list[Violation]:
    """What the module of the track lacks of what the rules' own exports."""
    path = module_of(output.track)
    texts = {file.path: file.text for file in output.files}
    if path not in texts:
        return [Violation(code="module-missing", message=f"There is no {path}.", subject=output.track)]
    wanted = next((_exported(file.text) for file in own if file.path == path), frozenset[str]())
    lacking = sorted(wanted - _bound(texts[path]))
    message = f"{path} does not have {', '.join(lacking)}."
    return [Violation(code="names-missing", message=message, subject=path)] if lacking else []


def _exported(text: str) -> frozenset[str]:
    """The names in `__all__`."""
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names) | ast.Tuple(elts=names)):
                return frozenset(str(one.value) for one in names if isinstance(one, ast.Constant))
    return frozenset()


def _bound(text: str) -> frozenset[str]:
    """Names that the module itself binds: by assignment, definition or import."""
    names: set[str] = set()
    for node in ast.parse(text).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=found) | ast.ImportFrom(names=found):
                names |= {one.asname or one.name.partition(".")[0] for one in found}
            case _:
                stored = [one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
                names |= {one.id for one in stored}
    return frozenset(names)
