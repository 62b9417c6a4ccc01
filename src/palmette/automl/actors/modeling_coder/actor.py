"""The actor `modeling_coder`: proposes candidates beside the plan's for one track, and may write a learner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from palmette.automl import context as shown
from palmette.automl.artefacts import Code, TrackCode
from palmette.automl.blame import answers_for
from palmette.automl.candidates import Blueprint, Candidate, OwnCode, Setting, Strategy
from palmette.automl.composition import available_learners, learner_named, unavailable
from palmette.automl.import_policy import objections
from palmette.automl.kinds import Track
from palmette.automl.own_code import ContractCheck, learner_module, module_of, track_of
from palmette.automl.profile import Profile
from palmette.automl.retry_policy import left_out, retries_exhausted
from palmette.automl.samples import DataSplits, Samples
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import OFFLINE, Agent, Answer, Models, Python, Section, section
from palmette.llm.brief import fenced
from palmette.sandbox import Sandbox

OWN = ("contract-misused", "reaches-outside")
"""Codes that it answers for, where the subject is its module."""


class ModelingInput(Model):
    track: Track
    blueprint: Blueprint
    task: TaskSpec = TaskSpec()
    samples: Samples
    profile: Profile
    preprocessing: Code = Code()
    executed: bool = True
    """False: the module is only read, and runs with the search."""


class ProposedCandidate(Model):
    learner: str
    """A learner of the list, or the class that you write."""
    settings: Mapping[str, Setting] = Field(default_factory=dict)
    """Only those that differ from the learner's usual ones."""
    target_transform: Literal["none", "log", "log1p"] = "none"
    """Of a regression."""
    class_weights: Literal["none", "balanced"] = "none"
    own_features: bool = False
    """Whether it is given the own features, where there are any."""
    tuned: bool = False
    """Whether its settings are searched with the time that is left."""
    reason: str
    """Why these data favour it; one sentence."""


class ModelsAnswer(Answer):
    candidates: tuple[ProposedCandidate, ...] = Field(default=(), max_length=4)
    """The most promising first."""
    own_learner: Python = ""
    """The whole module of an own learner; seldom needed."""


class ModelingCoder(Agent):
    """What a model proposes is trained beside the plan's candidates, and out-of-fold scores decide."""

    name = "modeling_coder"
    description = "Proposes candidates of a track beside the plan's, and may write a learner of its own."
    produces = "models"
    Input = ModelingInput
    Output = TrackCode
    Answer = ModelsAnswer
    has_criterion = True

    def __init__(self, sandbox: Sandbox, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.sandbox = sandbox

    def offline(self, input: ModelingInput, context: Context) -> Attempt[TrackCode]:
        failed = retries_exhausted(context) if self.model else None
        repairs = (left_out(learner_module(input.track), failed),) if failed else ()
        return Attempt(TrackCode(track=input.track, unavailable=unavailable(input.track), repairs=repairs))

    def is_settled(self, input: ModelingInput, context: Context) -> bool:
        """A track that is not installed, or that the plan does not use, or a model whose answers were refused."""
        is_planned = any(track_of(one) == input.track for one in input.blueprint.candidates)
        return bool(unavailable(input.track)) or not is_planned or retries_exhausted(context) is not None

    def brief(self, input: ModelingInput, context: Context) -> tuple[Section, ...]:
        own = input.preprocessing.modules
        return (
            shown.task(input.blueprint, input.profile, input.task.sentence),
            shown.columns(input.blueprint, input.profile),
            shown.plan(input.blueprint),
            shown.settings(input.blueprint, input.track),
            section("features", *(one.text for one in own), rank=2, language="python"),
            section("module", learner_module(input.track)),
        )

    def objection(self, answer: ModelsAnswer, input: ModelingInput) -> str:
        return " ".join(objections_to(answer, input))

    def read(self, answer: ModelsAnswer, input: ModelingInput, context: Context) -> Attempt[TrackCode]:
        return Attempt(made_of(answer, input), answer.reason, answer.fix)

    def recalled(self, output: TrackCode) -> str:
        listed = "\n".join(map(shown.described, output.candidates))
        return "\n\n".join([fenced(listed), *(fenced(one.text, "python") for one in output.modules)])

    def check(self, input: ModelingInput, output: TrackCode, context: Context) -> Verdict:
        """Its learner uses what it may, and keeps the estimator contract on a sample of training rows."""
        if output.unavailable:
            skipped = Measurement(name=f"{output.track} models", status="skipped", detail=output.unavailable)
            return Verdict(ok=True, measurements=(skipped,))
        wrong = objections(output.modules)
        tried = [one for one in output.candidates if "." in one.learner]
        if tried and input.executed and not wrong:
            check = ContractCheck(
                input.blueprint,
                DataSplits.of(input.samples, input.profile),
                self.sandbox,
                context.workspace / "trial",
            )
            alone = tried[0].model_copy(update={"features": ""})
            wrong = check.violations(output.modules, alone, learner_module(output.track))
        names = ", ".join(one.name for one in output.candidates)
        status: Literal["passed", "failed"] = "failed" if wrong else "passed"
        measured = Measurement(name=f"{output.track} models", status=status, detail=names or "those of the plan")
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: TrackCode) -> str | None:
        """To blame where its learner takes the features for something else than was agreed, or fails in the package."""
        if not answers_for(violation, {one.path for one in output.modules}, OWN):
            return None
        return f"The own learner of {output.track} fails: {violation.message}"


def objections_to(answer: ModelsAnswer, input: ModelingInput) -> Iterator[str]:
    """What in an answer cannot be used: unknown learners or settings, a module without a learner."""
    kinds = [one.kind for one in input.blueprint.columns]
    found = available_learners(input.blueprint.problem, kinds, (input.track,), input.blueprint.rows)
    known = {name: learner_named(name).settings() for name in found}
    classes = _module(answer, input).classes if answer.own_learner.strip() else ()
    if answer.own_learner.strip() and not classes:
        yield "The module has no public class with a method `fit`."
    for one in answer.candidates:
        if one.learner in classes:
            continue
        if one.learner not in known:
            yield f"{one.learner!r} is not a learner of the list, nor a class of your module."
        elif strange := sorted(set(one.settings) - set(known[one.learner])):
            yield f"{one.learner} does not accept the settings {', '.join(strange)}."


def made_of(answer: ModelsAnswer, input: ModelingInput) -> TrackCode:
    """The candidates and the module of an answer."""
    modules = (_module(answer, input),) if answer.own_learner.strip() else ()
    own = {name: f"{Path(one.path).stem}.{name}" for one in modules for name in one.classes}
    features = next((one.features for one in input.preprocessing.candidates if one.features), "")
    candidates = tuple(
        Candidate(
            name=f"{own[one.learner].partition('.')[0] if one.learner in own else one.learner}-own-{number}",
            learner=own.get(one.learner, one.learner),
            settings=one.settings,
            strategy=Strategy(target_transform=one.target_transform, class_weights=one.class_weights),
            features=features if one.own_features else "",
            tuned=one.tuned and one.learner not in own,
            reason=one.reason,
        )
        for number, one in enumerate(answer.candidates, start=1)
    )
    return TrackCode(track=input.track, modules=modules, candidates=candidates)


def _module(answer: ModelsAnswer, input: ModelingInput) -> OwnCode:
    return module_of(learner_module(input.track), answer.own_learner, "fit")
