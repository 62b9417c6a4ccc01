"""The driver's report on candidates, and the selection. Scores of the driver only guide the search."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from palmette.automl.candidates import Candidate, Ensembling
from palmette.documents import Model

Rounds = Annotated[int, Field(ge=0, le=1_000_000)]


class Trial(Model):
    """A candidate that was tried."""

    candidate: Candidate
    status: Literal["finished", "stopped", "failed"]
    note: str = ""
    """Why it stopped or failed."""
    score: float | None = None
    """Guides the search, greater is better; not used for the verdict."""
    fold_scores: tuple[float | None, ...] = ()
    rounds: tuple[Rounds | None, ...] = ()
    """Steps of early-stopping learners, by fold."""
    seconds: float
    """Time of its fits and of encoding its features on one worker, even if another candidate encoded them."""
    encoding: float = 0.0
    """Time to encode all rows with stateless encoders, which the final fit repeats."""


class ChosenMember(Model):
    """A candidate in the delivered model."""

    candidate: Candidate
    rounds: int | None = None
    """Steps of the final fit, derived from the folds."""
    weight: float


class Selection(Model):
    """The model to deliver."""

    metric: str
    score: float
    """Out-of-fold score by the harness; with few rows, each fold is scored by a selection made on the others."""
    apparent_score: float
    """Out-of-fold score on the rows that the selection was made on."""
    members: tuple[ChosenMember, ...]
    ensembling: Ensembling = "best"
    """How the members are combined; `single` for one."""
    class_weights: tuple[float, ...] | None = None
    best_single: str
    reason: str = ""
    """Why one model or an ensemble was selected, with numbers."""
