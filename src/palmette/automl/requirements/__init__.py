"""Requests in plain words, and what is understood of them."""

from palmette.automl.requirements.model import (
    AlgorithmWish,
    Assumption,
    ColumnHint,
    Constraint,
    DatasetPart,
    KnowledgePart,
    Metric,
    Modality,
    ModelPart,
    ProblemPart,
    Question,
    Reading,
    Refusal,
    Requirements,
    ServicePart,
    Task,
    UserPart,
)
from palmette.automl.requirements.reader import read_request

__all__ = [
    "AlgorithmWish",
    "Assumption",
    "ColumnHint",
    "Constraint",
    "DatasetPart",
    "KnowledgePart",
    "Metric",
    "Modality",
    "ModelPart",
    "ProblemPart",
    "Question",
    "Reading",
    "Refusal",
    "Requirements",
    "ServicePart",
    "Task",
    "UserPart",
    "read_request",
]
