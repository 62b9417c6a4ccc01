"""The rules' strategies: which candidates a plan trains, whether it tunes them, and how it combines them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from palmette.automl.candidates import Ensembling
from palmette.automl.kinds import Track
from palmette.automl.planning.constraints import Aim
from palmette.automl.problem_traits import learning_task
from palmette.documents import load_plain

SHARES: Mapping[Track, float] = {"traditional": 0.6, "neural": 0.2, "pretrained": 0.4}
"""Share of the training time by track, scaled later to the tracks of a plan."""


class PlanStrategy(NamedTuple):
    """An assumption about the data that leads to a plan, independent of the request."""

    name: str
    idea: str
    learners: tuple[str, ...] = ()  # learners and families in training order; empty for all, by rank
    each: int = 0  # most default configurations per learner; 0 for all
    tuning: bool = True
    ensembling: Ensembling = "best"
    least: int = 1  # number of different learners that the strategy needs


@cache
def _known() -> dict[str, Any]:
    known: dict[str, Any] = load_plain(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return known


def strategies(problem: str, aim: Aim) -> list[PlanStrategy]:
    """Returns the strategies for a problem, the most promising for the aim first."""
    known, task = _known()["strategies"], learning_task(problem)
    own = known.get(problem, known.get(task, []))
    listed = own if task in ("clustering", "forecasting") else [*own, *known["supervised"]]
    found = [PlanStrategy(**{**one, "learners": tuple(one.get("learners", ()))}) for one in listed]
    order = {name: place for place, name in enumerate(_known()["first"][aim])}
    return sorted(found, key=lambda one: order.get(one.name, len(order)))


def shares(tracks: Iterable[Track], asked: Iterable[Track]) -> dict[Track, float]:
    """Returns each track's share of the training time; equal if the request names tracks."""
    weights = {one: 1.0 if list(asked) else SHARES[one] for one in dict.fromkeys(tracks)}
    total = sum(weights.values())
    return {track: round(weight / total, 3) for track, weight in weights.items()}
