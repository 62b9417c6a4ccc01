"""The actor `preprocessing_coder`: adds features that follow from the meaning of the columns, and runs them at once."""

from __future__ import annotations

from palmette.automl.actors.coder import Coder, CoderInput
from palmette.automl.artefacts import WrittenCode
from palmette.automl.candidates import Blueprint
from palmette.automl.own_code import FEATURES, module_of, with_features
from palmette.engine import Attempt, Context
from palmette.llm import Answer, Python


class FeaturesAnswer(Answer):
    own_features: Python = ""
    """The whole module; left out where no feature is worth adding."""


class PreprocessingCoder(Coder):
    """The registered encoders read every column; a model may add features, which are measured as own candidates."""

    name = "preprocessing_coder"
    description = "Writes features that follow from the meaning of the columns, and runs them against the contract."
    produces = "preprocessing"
    Input = CoderInput
    Output = WrittenCode
    Answer = FeaturesAnswer
    owns = ("contract-unfulfilled", "reaches-outside")

    def path(self, input: CoderInput) -> str:
        return FEATURES

    def objection(self, answer: FeaturesAnswer, input: CoderInput) -> str:
        return features_objection(answer.own_features)

    def read(self, answer: FeaturesAnswer, input: CoderInput, context: Context) -> Attempt[WrittenCode]:
        made = written_features(answer.own_features, input.blueprint, answer.reason)
        return Attempt(made, answer.reason, answer.fix)


def features_objection(text: str) -> str:
    """Why a module of features cannot be used at all; empty where it can."""
    if not text.strip() or len(module_of(FEATURES, text, "transform").classes) == 1:
        return ""
    return "The module needs exactly one public class with a method `transform`."


def written_features(text: str, blueprint: Blueprint, reason: str) -> WrittenCode:
    """The module with the candidates that use it; nothing for no text."""
    if not text.strip():
        return WrittenCode()
    module = module_of(FEATURES, text, "transform")
    candidates = with_features(blueprint, module, reason or "features from meaning")
    return WrittenCode(modules=(module,), candidates=candidates)
