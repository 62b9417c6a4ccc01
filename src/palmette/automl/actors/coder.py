"""Base of the coders: their answers and prompt sections, and the contract that their modules are held to."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from palmette.automl import context as shown
from palmette.automl import own_code
from palmette.automl.actors.shared import PlanningInput, verdict
from palmette.automl.artefacts import Plans, WrittenCode
from palmette.automl.candidates import Balance, Blueprint, Candidate, OwnCode, Setting, Strategy
from palmette.automl.composition import facts_of, unavailable, usable_learners
from palmette.automl.kinds import Track
from palmette.automl.planning.insights import setting_objections
from palmette.automl.search.job import uses_own_code
from palmette.documents import Model
from palmette.engine import Attempt, Context, Verdict, Violation
from palmette.llm import OFFLINE, Agent, Answer, Models, Python, Section, fenced, section
from palmette.sandbox import Sandbox


class FeaturesAnswer(Answer):
    own_features: Python = ""
    """The whole module; left out where no feature is worth adding."""


class ProposedCandidate(Model):
    learner: str
    """A learner of the list, or the class that you write."""
    settings: Mapping[str, Setting] = Field(default_factory=dict)
    """Those that differ from the learner's defaults."""
    target_transform: Literal["none", "log", "log1p"] = "none"
    """Of a regression."""
    balance: Balance = "none"
    """How a classification balances the classes: by weights of rows, or by drawing rows."""
    reason: str
    """What in these data favours it; one sentence."""

    own_features: bool = False
    """Whether it is given the own features, where there are any."""
    tuned: bool = False
    """Whether its settings are searched with the time that is left."""


class ModelsAnswer(Answer):
    candidates: tuple[ProposedCandidate, ...] = Field(default=(), max_length=4)
    """The most promising first."""
    own_learner: Python = ""
    """The whole module of an own learner; seldom needed."""


class CoderInput(PlanningInput):
    blueprint: Blueprint
    plans: Plans | None = None
    executed: bool = True
    """If false, the module is only read, and first runs during the search."""


class Coder(Agent):
    """An agent whose model may write own code, to be trained beside the plan's candidates; its rules write none."""

    Output = WrittenCode
    owns: ClassVar[tuple[str, ...]]
    """Codes of the violations that it answers for if the subject is its module."""

    def __init__(self, sandbox: Sandbox, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.sandbox = sandbox

    def offline(self, input: Any, context: Context) -> Attempt[WrittenCode]:
        failed = own_code.retries_exhausted(context) if self.model else None
        return Attempt(WrittenCode(repairs=(own_code.left_out(self._path(input), failed),) if failed else ()))

    def is_settled(self, input: Any, context: Context) -> bool:
        """Returns whether the track is not installed, or the model's answers were refused as often as allowed."""
        lacking = issubclass(self.Answer, ModelsAnswer) and bool(unavailable(input.track))
        return lacking or own_code.retries_exhausted(context) is not None

    def sections(self, input: Any, context: Context) -> tuple[Section, ...]:
        found = [
            shown.task(input.blueprint, input.profile, input.task),
            shown.columns(input.blueprint, input.profile),
            shown.plan(input.blueprint),
            shown.measured(input.plans),
        ]
        if issubclass(self.Answer, ModelsAnswer):
            usable = usable_learners(input.blueprint, input.track)
            found += [shown.learners(usable), section("module", own_code.learner_module(input.track))]
        return tuple(found)

    def objection(self, answer: Answer, input: Any) -> str:
        found = list[str]()
        text = answer.own_features if isinstance(answer, FeaturesAnswer) else ""
        if text.strip() and len(own_code.module_of(own_code.FEATURES, text, "transform").classes) != 1:
            found.append("The module needs exactly one public class with a method `transform`.")
        if isinstance(answer, ModelsAnswer):
            found += _models_objections(answer, input.blueprint, input.track)
        return " ".join(found)

    def read(self, answer: Answer, input: Any, context: Context) -> Attempt[WrittenCode]:
        written = [_features(answer, input.blueprint)] if isinstance(answer, FeaturesAnswer) else []
        if isinstance(answer, ModelsAnswer):
            written.append(_models(answer, input.track, written[0] if written else input.preprocessing))
        return Attempt(WrittenCode.joined(written), answer.reason, answer.fix)

    def recalled(self, output: WrittenCode) -> str:
        listed = [fenced("\n".join(map(shown.described, output.candidates)))] if output.candidates else []
        return "\n\n".join([*listed, *(f"{one.path}:\n{fenced(one.text, 'python')}" for one in output.modules)])

    def check(self, input: Any, output: WrittenCode, context: Context) -> Verdict:
        """Modules use what they may, and keep the estimator contract on a sample of training rows."""
        if not output.modules and not output.candidates:
            return Verdict(ok=True)  # nothing was written, so nothing is shown as checked
        wrong = own_code.objections(output.modules)
        has_features = own_code.FEATURES in {one.path for one in output.modules}
        alone = (one if has_features else one.model_copy(update={"features": ""}) for one in output.candidates)
        candidate = next((one for one in alone if uses_own_code(one)), None)
        if output.modules and candidate and input.executed and not wrong:
            rows, folder = own_code.sampled(input.blueprint, input.splits).train, context.workspace / "trial"
            given = (input.blueprint, rows, self.sandbox, folder, output.modules)
            wrong = own_code.contract_violations(*given, candidate, self._path(input))
        return verdict("own candidates", wrong, ", ".join(one.name for one in output.candidates))

    def implicated(self, violation: Violation, output: WrittenCode) -> str | None:
        """Its module breaks the contract, or fails in the package."""
        if not own_code.answers_for(violation, {one.path for one in output.modules}, self.owns):
            return None
        return f"Own code fails: {violation.message}"

    def _path(self, input: Any) -> str:
        return own_code.FEATURES if issubclass(self.Answer, FeaturesAnswer) else own_code.learner_module(input.track)


def _features(answer: FeaturesAnswer, blueprint: Blueprint) -> WrittenCode:
    """Returns the module of features with the candidates that use it; nothing for no text."""
    if not answer.own_features.strip():
        return WrittenCode()
    module = own_code.module_of(own_code.FEATURES, answer.own_features, "transform")
    candidates = own_code.with_features(blueprint, module, answer.reason or "features from meaning")
    return WrittenCode(modules=(module,), candidates=candidates)


def _models(answer: ModelsAnswer, track: Track, features: WrittenCode) -> WrittenCode:
    """Returns the proposed candidates, and the module of an own learner."""
    modules = _modules(answer, track)
    own = {name: f"{Path(one.path).stem}.{name}" for one in modules for name in one.classes}
    with_own = next((one.features for one in features.candidates if one.features), "")
    candidates = tuple(
        Candidate(
            name=f"{own[one.learner].partition('.')[0] if one.learner in own else one.learner}-own-{number}",
            learner=own.get(one.learner, one.learner),
            settings=one.settings,
            strategy=Strategy(target_transform=one.target_transform, balance=one.balance),
            features=with_own if one.own_features else "",
            tuned=one.tuned and one.learner not in own,
            reason=one.reason,
        )
        for number, one in enumerate(answer.candidates, start=1)
    )
    return WrittenCode(modules=modules, candidates=candidates)


def _modules(answer: ModelsAnswer, track: Track) -> tuple[OwnCode, ...]:
    path, text = own_code.learner_module(track), answer.own_learner
    return (own_code.module_of(path, text, "fit"),) if text.strip() else ()


def _models_objections(answer: ModelsAnswer, blueprint: Blueprint, track: Track) -> Iterator[str]:
    """What in an answer cannot be used: unknown learners or settings, a module without a learner."""
    classes = [name for one in _modules(answer, track) for name in one.classes]
    if answer.own_learner.strip() and not classes:
        yield "The module has no public class with a method `fit`."
    for one in answer.candidates:
        if one.learner in classes:
            continue
        if one.learner not in usable_learners(blueprint, track):
            yield f"{one.learner!r} is not a listed learner."
            continue
        yield from setting_objections(one.learner, one.settings, facts_of(blueprint))
        if blueprint.classes and one.target_transform != "none":
            yield f"{one.learner}: only numbers are transformed, and the target has classes."
        if not blueprint.classes and one.balance != "none":
            yield f"{one.learner}: there are no classes to balance."
