"""The actor `pipeline_coder`: preparation and models by one hand, run at once, and trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from palmette.automl import briefs
from palmette.automl.actors.assembler.actor import Assembler, AssemblerInput
from palmette.automl.actors.modeling_coder.actor import ModelingCoder, ModelingInput, ModelsAnswer, module_of
from palmette.automl.actors.preprocessing_coder.actor import PreprocessAnswer, PreprocessingCoder, PreprocessingInput
from palmette.automl.artefacts import PREPARATION, Assembly, Code, Settings, Track, TrackCode
from palmette.automl.chances import by_rules, used_up
from palmette.automl.data import Dataset
from palmette.automl.faults import AT_WORK
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.profile import Profile
from palmette.automl.store import Store
from palmette.documents import Model
from palmette.engine import Attempt, Context, TextFile, Verdict, Violation
from palmette.llm import NEEDED, OFFLINE, Agent, Answer, Models, Python, Section, section
from palmette.llm.brief import fenced
from palmette.sandbox import Sandbox

TRAINED = ("contract-unfulfilled", "contract-misused", "no-candidate", "model-missing", "member-missing")
"""Codes that it answers for, beside all of a project at work."""


class PipelineInput(Model):
    dataset: Dataset
    profile: Profile
    blueprint: Blueprint
    tracks: tuple[Track, ...]
    settings: Settings = Settings()


class PipelineAnswer(Answer):
    preprocess: Python = ""
    """The whole file preprocess.py, where a draft of it is shown."""
    traditional: Python = ""
    """The whole file models/traditional.py, where a draft of it is shown; the same for the tracks below."""
    neural: Python = ""
    """models/neural.py."""
    pretrained: Python = ""
    """models/pretrained.py."""
    autogluon: Python = ""
    """models/autogluon.py."""


class PipelineCoder(Agent):
    """What modular coders do, and the assembler, as one: a failure is nobody's in particular, and comes back whole."""

    name = "pipeline_coder"
    description = "Writes preparation and models as one, runs them on a sample, then trains them in full."
    produces = "assembly"
    Input = PipelineInput
    Output = Assembly
    Answer = PipelineAnswer
    has_criterion = True

    def __init__(self, sandbox: Sandbox, store: Store, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.preparing, self.modeling = PreprocessingCoder(sandbox), ModelingCoder()
        self.assembler = Assembler(sandbox, store)

    def offline(self, input: PipelineInput, context: Context) -> Attempt[Assembly]:
        return self._made(PipelineAnswer(), input, context)

    def is_settled(self, input: PipelineInput, context: Context) -> bool:
        """Files so long that no answer could hold one, or a model whose chances are used up."""
        return used_up(context) is not None or not _drafts(input)

    def parts(self, input: PipelineInput) -> Mapping[str, str]:
        preparing, modeling = self.preparing.parts(_preparing(input)), self.modeling.parts(_modeling(input)[0])
        return {"preparation": preparing["rules"], "models": modeling["rules"]} | {
            "preparation_example": preparing["example"],
            "models_example": modeling["example"],
        }

    def brief(self, input: PipelineInput, context: Context) -> tuple[Section, ...]:
        """What both coders are shown, once; each draft beside the others."""
        found = {one.name: one for one in self.preparing.brief(_preparing(input), context)}
        drafts = [f"# {file.path}\n\n{file.text}" for file in _drafts(input).values()]
        library: dict[str, None] = {}
        for one in _modeling(input):
            found |= {part.name: part for part in self.modeling.brief(one, context)}
            library |= dict.fromkeys(found["library"].items)
        del found["draft"], found["track"]
        found["library"] = section("library", *library, rank=2)
        return (*found.values(), section("drafts", *drafts, rank=NEEDED, language="python"))

    def objection(self, answer: PipelineAnswer, input: PipelineInput) -> str:
        asked, given = set(_drafts(input)), {name for name in FILES if getattr(answer, name).strip()}
        lacking, strange = sorted(asked - given), sorted(given - asked)
        said = f"There is no block for {', '.join(lacking)}. " if lacking else ""
        return said + (f"There is no draft for {', '.join(strange)}." if strange else "")

    def read(self, answer: PipelineAnswer, input: PipelineInput, context: Context) -> Attempt[Assembly]:
        made = self._made(answer, input, context)
        return dataclasses.replace(made, reason=answer.reason or made.reason, fix=answer.fix or made.fix)

    def recalled(self, output: Assembly) -> str:
        """What it has written itself."""
        paths = {PREPARATION, *(f"models/{name}.py" for name in FILES)}
        files = [file for file in output.files if file.path in paths]
        return "\n\n".join(f"{file.path}:\n{fenced(file.text, 'python')}" for file in files)

    def check(self, input: PipelineInput, output: Assembly, context: Context) -> Verdict:
        """As of the assembler: it ran on a sample, and candidates that the harness has verified."""
        return self.assembler.check(_whole(input, Code(files=()), ()), output, context)

    def implicated(self, violation: Violation, output: Assembly) -> str | None:
        """To blame for whatever is wrong with code or models: nobody else has written any."""
        codes = {*TRAINED, *AT_WORK}
        return f"Write and train the whole again: {violation.message}" if violation.code in codes else None

    def _made(self, answer: PipelineAnswer, input: PipelineInput, context: Context) -> Attempt[Assembly]:
        """The files of the answer, the rules' where it has none, held to what the coders' are held to, and trained."""
        alone = dataclasses.replace(context, attempt=1, attempts=(), last=None, evidence=(), instruction="")
        code, wrong = self._prepared(answer, input, alone)
        models = []
        for asked in _modeling(input):
            text = getattr(answer, asked.track)
            given = self.modeling.read(ModelsAnswer(models=text), asked, alone) if text else None
            made = (given or self.modeling.offline(asked, alone)).output
            assert made is not None
            models.append(made)
            wrong += self.modeling.check(asked, made, alone).violations
        if wrong:
            files = (*code.files, *(file for one in models for file in one.files))
            return Attempt(Assembly(files=files, store="", tracks=(), failures=tuple(wrong)))
        failed = used_up(context) if self.model else None
        repairs = tuple(by_rules(file.path, failed) for file in _drafts(input).values()) if failed else ()
        code = code.model_copy(update={"repairs": repairs})
        return self.assembler.run(_whole(input, code, models), alone)

    def _prepared(self, answer: PipelineAnswer, input: PipelineInput, context: Context) -> tuple[Code, list[Violation]]:
        asked, text = _preparing(input), answer.preprocess
        given = self.preparing.read(PreprocessAnswer(preprocess=text), asked, context) if text else None
        made = (given or self.preparing.offline(asked, context)).output
        assert made is not None
        return made, list(self.preparing.check(asked, made, context).violations)


FILES = tuple(name for name in PipelineAnswer.model_fields if name not in Answer.model_fields)
"""The preparation, then the tracks."""


def _preparing(input: PipelineInput) -> PreprocessingInput:
    return PreprocessingInput(blueprint=input.blueprint, dataset=input.dataset, profile=input.profile)


def _modeling(input: PipelineInput) -> list[ModelingInput]:
    code = Code(files=modality_of(input.blueprint).preparation_files())
    return [ModelingInput(track=track, blueprint=input.blueprint, preprocessing=code) for track in input.tracks]


def _drafts(input: PipelineInput) -> dict[str, TextFile]:
    """By field of the answer: the drafts that a model is asked for, as many as one answer can hold."""
    modality = modality_of(input.blueprint)
    tracks = [track for track in input.tracks if not modality.unavailable(track)]
    own = [*modality.preparation_files(), *(file for track in tracks for file in modality.track_files(track))]
    texts = {file.path: file for file in own}
    found: dict[str, TextFile] = {}
    for name, path in [("preprocess", PREPARATION), *((track, module_of(track)) for track in tracks)]:
        if not briefs.is_too_long("".join(one.text for one in [*found.values(), texts[path]])):
            found[name] = texts[path]
    return found


def _whole(input: PipelineInput, code: Code, models: Sequence[TrackCode]) -> AssemblerInput:
    given = {name: getattr(input, name) for name in ("dataset", "profile", "blueprint", "settings")}
    return AssemblerInput(preprocessing=code, models=tuple(models), **given)
