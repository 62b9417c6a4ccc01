"""What the driver reports of a candidate, and what was chosen. Scores of the driver guide the search only."""

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
    """Why it was stopped, or failed."""
    score: float | None = None
    """A guide for the search, greater is better; never a verdict."""
    fold_scores: tuple[float | None, ...] = ()
    rounds: tuple[Rounds | None, ...] = ()
    """By fold: steps that a learner took before it stopped early."""
    seconds: float
    """Of all its fits and the encoding of its features on one worker, whichever candidate has encoded them."""
    encoding: float = 0.0
    """Seconds for features of all rows that are computed once for all fits, and again in the final fit."""


class ChosenMember(Model):
    """A candidate in the delivered model."""

    candidate: Candidate
    rounds: int | None = None
    """Steps of the final fit, by those of the folds."""
    weight: float


class Selection(Model):
    """What is delivered."""

    metric: str
    score: float
    """Out of fold, by the harness; of few rows, cross-fitted: each fold by a choice that is made on the other folds."""
    apparent_score: float
    """Out of fold on the rows that the choice is made on."""
    members: tuple[ChosenMember, ...]
    ensembling: Ensembling = "best"
    """How the members are put together; `single` for one."""
    class_weights: tuple[float, ...] | None = None
    best_single: str
    reason: str = ""
    """Why one model, or why several, with the numbers."""
