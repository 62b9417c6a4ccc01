"""The actor `modeling_coder`: proposes candidates beside the plan's for one track, and may write a learner."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from palmette.automl import context as shown
from palmette.automl.actors.coder import Coder, CoderInput
from palmette.automl.artefacts import TrackCode, WrittenCode
from palmette.automl.candidates import Blueprint, Candidate, OwnCode, Setting, Strategy
from palmette.automl.composition import facts_of, unavailable, usable_learners
from palmette.automl.kinds import Track
from palmette.automl.own_code import learner_module, module_of, track_of
from palmette.automl.planning.insights import setting_objections
from palmette.documents import Model
from palmette.engine import Attempt, Context, Measurement, Verdict
from palmette.llm import Answer, Python, Section, section


class ModelingInput(CoderInput):
    track: Track
    preprocessing: WrittenCode = WrittenCode()


class ProposedCandidate(Model):
    learner: str
    """A learner of the list, or the class that you write."""
    settings: Mapping[str, Setting] = Field(default_factory=dict)
    """Those that differ from the learner's defaults."""
    target_transform: Literal["none", "log", "log1p"] = "none"
    """Of a regression."""
    class_weights: Literal["none", "balanced"] = "none"
    """Of a classification."""
    reason: str
    """What in these data favours it; one sentence."""

    own_features: bool = False
    """Whether it is given the own features, where there are any."""
    tuned: bool = False
    """Whether its settings are searched with the time that is left."""

    @property
    def strategy(self) -> Strategy:
        return Strategy(target_transform=self.target_transform, class_weights=self.class_weights)


class ModelsAnswer(Answer):
    candidates: tuple[ProposedCandidate, ...] = Field(default=(), max_length=4)
    """The most promising first."""
    own_learner: Python = ""
    """The whole module of an own learner; seldom needed."""


class ModelingCoder(Coder):
    """What a model proposes is trained beside the plan's candidates, and out-of-fold scores decide."""

    name = "modeling_coder"
    description = "Proposes candidates of a track beside the plan's, and may write a learner of its own."
    produces = "models"
    Input = ModelingInput
    Output = TrackCode
    Answer = ModelsAnswer
    owns = ("contract-misused", "reaches-outside")

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
        own = input.preprocessing.modules
        return (
            *super().sections(input, context),
            *track_sections(input.blueprint, input.track),
            section("features", *(one.text for one in own), rank=2, language="python"),
        )

    def objection(self, answer: ModelsAnswer, input: ModelingInput) -> str:
        return " ".join(models_objections(answer, input.blueprint, input.track))

    def read(self, answer: ModelsAnswer, input: ModelingInput, context: Context) -> Attempt[TrackCode]:
        return Attempt(written_models(answer, input.track, input.preprocessing), answer.reason, answer.fix)

    def check(self, input: ModelingInput, output: TrackCode, context: Context) -> Verdict:
        """Its learner uses what it may, and keeps the estimator contract on a sample of training rows."""
        if output.unavailable:
            skipped = Measurement(name=f"{output.track} models", status="skipped", detail=output.unavailable)
            return Verdict(ok=True, measurements=(skipped,))
        return super().check(input, output, context)


def track_sections(blueprint: Blueprint, track: Track) -> tuple[Section, ...]:
    """The learners of a track with their settings, and the module of an own one."""
    learners = usable_learners(blueprint, track)
    return shown.learners(learners), section("module", learner_module(track))


def models_objections(answer: ModelsAnswer, blueprint: Blueprint, track: Track) -> Iterator[str]:
    """What in an answer cannot be used: unknown learners or settings, a module without a learner."""
    classes = [name for one in _modules(answer, track) for name in one.classes]
    if answer.own_learner.strip() and not classes:
        yield "The module has no public class with a method `fit`."
    registered = [one for one in answer.candidates if one.learner not in classes]
    yield from _candidate_objections(registered, usable_learners(blueprint, track), blueprint)


def written_models(answer: ModelsAnswer, track: Track, features: WrittenCode) -> TrackCode:
    """The candidates and the module of an answer."""
    modules = _modules(answer, track)
    own = {name: f"{Path(one.path).stem}.{name}" for one in modules for name in one.classes}
    with_features = next((one.features for one in features.candidates if one.features), "")
    candidates = tuple(
        Candidate(
            name=f"{own[one.learner].partition('.')[0] if one.learner in own else one.learner}-own-{number}",
            learner=own.get(one.learner, one.learner),
            settings=one.settings,
            strategy=one.strategy,
            features=with_features if one.own_features else "",
            tuned=one.tuned and one.learner not in own,
            reason=one.reason,
        )
        for number, one in enumerate(answer.candidates, start=1)
    )
    return TrackCode(track=track, modules=modules, candidates=candidates)


def _modules(answer: ModelsAnswer, track: Track) -> tuple[OwnCode, ...]:
    return (module_of(learner_module(track), answer.own_learner, "fit"),) if answer.own_learner.strip() else ()


def _candidate_objections(
    proposed: Iterable[ProposedCandidate], learners: Collection[str], blueprint: Blueprint
) -> Iterator[str]:
    """Why candidates cannot be trained, in sentences; `learners` are allowed."""
    for one in proposed:
        if one.learner not in learners:
            yield f"{one.learner!r} is not a listed learner."
            continue
        yield from setting_objections(one.learner, one.settings, facts_of(blueprint))
        if blueprint.classes and one.target_transform != "none":
            yield f"{one.learner}: only numbers are transformed, and the target has classes."
        if not blueprint.classes and one.class_weights != "none":
            yield f"{one.learner}: there are no classes to weigh."
