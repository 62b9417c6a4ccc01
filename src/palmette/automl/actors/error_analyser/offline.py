"""What is analysed, and what the rules say of it: they follow the trace."""

from __future__ import annotations

from typing import Literal

from palmette.documents import Model
from palmette.engine import TextFile, Violation

Kind = Literal["contract-unfulfilled", "contract-misused", "other"]
"""unfulfilled: what preparation gives is not what was agreed; misused: a model takes it for something else."""


class AnalysisInput(Model):
    failure: Violation
    """As the trace alone tells it."""
    contract: str
    """JSON."""
    files: tuple[TextFile, ...]
    """Those that were written for this project, and may be changed."""


class Analysis(Model):
    """Where a failure is from."""

    kind: Kind
    path: str
    """The file that is to be changed."""
    cause: str
    """One sentence."""


def by_trace(input: AnalysisInput) -> Analysis:
    """What the trace tells: the file that it names, of the kind that it has."""
    failure = input.failure
    kind: Kind = "other"
    if failure.code == "contract-unfulfilled":
        kind = "contract-unfulfilled"
    elif failure.code == "contract-misused":
        kind = "contract-misused"
    return Analysis(kind=kind, path=failure.subject, cause=failure.message)
