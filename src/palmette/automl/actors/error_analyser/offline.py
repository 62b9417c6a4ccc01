"""A failure of own code, and what the rules make of it: they follow the traceback."""

from __future__ import annotations

from typing import Literal

from palmette.automl.blame import SIDES
from palmette.automl.candidates import OwnCode
from palmette.documents import Model
from palmette.engine import Violation

Side = Literal["contract-unfulfilled", "contract-misused", "other"]
"""unfulfilled: the features are not what was agreed; misused: a learner takes them for something else."""


class AnalysisInput(Model):
    failure: Violation
    """As the traceback alone locates it."""
    modules: tuple[OwnCode, ...]
    """That may be changed."""


class Analysis(Model):
    """Where a failure comes from."""

    kind: Side
    path: str
    """The module that is to be changed."""
    cause: str
    """One sentence."""


def by_trace(input: AnalysisInput) -> Analysis:
    """The module and side that the traceback names."""
    failure = input.failure
    kind = failure.code if failure.code in SIDES else "other"
    return Analysis.model_validate({"kind": kind, "path": failure.subject, "cause": failure.message})
