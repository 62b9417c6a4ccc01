"""The actor `preprocessing_coder`: adds features that follow from the meaning of the columns, and runs them at once."""

from __future__ import annotations

from palmette.automl import context as shown
from palmette.automl.artefacts import Code
from palmette.automl.blame import answers_for
from palmette.automl.candidates import Blueprint
from palmette.automl.import_policy import objections
from palmette.automl.own_code import FEATURES, ContractCheck, module_of, with_features
from palmette.automl.profile import Profile
from palmette.automl.retry_policy import left_out, retries_exhausted
from palmette.automl.samples import DataSplits, Samples
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import OFFLINE, Agent, Answer, Models, Python, Section
from palmette.llm.brief import fenced
from palmette.sandbox import Sandbox

OWN = ("contract-unfulfilled", "reaches-outside")
"""Codes that it answers for, where the subject is its module."""


class PreprocessingInput(Model):
    blueprint: Blueprint
    task: TaskSpec = TaskSpec()
    samples: Samples
    profile: Profile
    executed: bool = True
    """False: the module is only read, and runs with the search."""


class FeaturesAnswer(Answer):
    own_features: Python = ""
    """The whole module; left out where no feature is worth adding."""


class PreprocessingCoder(Agent):
    """The registered encoders read every column; a model may add features, which are measured as own candidates."""

    name = "preprocessing_coder"
    description = "Writes features that follow from the meaning of the columns, and runs them against the contract."
    produces = "preprocessing"
    Input = PreprocessingInput
    Output = Code
    Answer = FeaturesAnswer
    has_criterion = True

    def __init__(self, sandbox: Sandbox, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.sandbox = sandbox

    def offline(self, input: PreprocessingInput, context: Context) -> Attempt[Code]:
        failed = retries_exhausted(context) if self.model else None
        return Attempt(Code(repairs=(left_out(FEATURES, failed),) if failed else ()))

    def is_settled(self, input: PreprocessingInput, context: Context) -> bool:
        return retries_exhausted(context) is not None

    def brief(self, input: PreprocessingInput, context: Context) -> tuple[Section, ...]:
        return (
            shown.task(input.blueprint, input.profile, input.task.sentence),
            shown.columns(input.blueprint, input.profile),
            shown.plan(input.blueprint),
        )

    def objection(self, answer: FeaturesAnswer, input: PreprocessingInput) -> str:
        return objection_to(answer.own_features)

    def read(self, answer: FeaturesAnswer, input: PreprocessingInput, context: Context) -> Attempt[Code]:
        return Attempt(made_of(answer.own_features, input.blueprint, answer.reason), answer.reason, answer.fix)

    def recalled(self, output: Code) -> str:
        return "\n\n".join(fenced(one.text, "python") for one in output.modules)

    def check(self, input: PreprocessingInput, output: Code, context: Context) -> Verdict:
        """The module uses what it may, and keeps the estimator contract on a sample of training rows."""
        wrong = objections(output.modules)
        if wrong or not output.modules:
            detail = wrong[0].message if wrong else "none; the registered encoders read every column"
            measured = Measurement(name="own features", status="failed" if wrong else "passed", detail=detail)
            return Verdict.of(wrong, [measured])
        if input.executed:
            splits = DataSplits.of(input.samples, input.profile)
            check = ContractCheck(input.blueprint, splits, self.sandbox, context.workspace / "trial")
            wrong = check.violations(output.modules, output.candidates[0], FEATURES)
        names = ", ".join(one.name for one in output.candidates)
        measured = Measurement(name="own features", status="failed" if wrong else "passed", detail=f"used by {names}")
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: Code) -> str | None:
        """To blame where its module breaks the contract, or fails in the package."""
        if not answers_for(violation, {one.path for one in output.modules}, OWN):
            return None
        return f"The own features fail: {violation.message}"


def objection_to(text: str) -> str:
    """Why a module cannot be used at all; empty where it can."""
    if not text.strip() or len(module_of(FEATURES, text, "transform").classes) == 1:
        return ""
    return "The module needs exactly one public class with a method `transform`."


def made_of(text: str, blueprint: Blueprint, reason: str) -> Code:
    """The module with the candidates that use it; nothing for no text."""
    if not text.strip():
        return Code()
    module = module_of(FEATURES, text, "transform")
    return Code(modules=(module,), candidates=with_features(blueprint, module, reason or "features from meaning"))
