"""The rules' strategies: which candidates a plan trains, whether it tunes them, and how it combines them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from palmette.automl.candidates import Ensembling
from palmette.automl.kinds import Track
from palmette.automl.planning.constraints import Aim


class PlanStrategy(NamedTuple):
    """An assumption about the data that leads to a plan, independent of the request."""

    name: str
    idea: str
    learners: tuple[str, ...] = ()  # learners and families in training order; empty for all, by rank
    each: int = 0  # most default configurations per learner; 0 for all
    tuning: bool = True
    ensembling: Ensembling = "best"
    least: int = 1  # number of different learners that the strategy needs


BOOSTING = "gradient_boosting"
SUPERVISED = (
    PlanStrategy("broad-boosting", "Boosted trees lead, and every model that differs from them joins in.", least=2),
    PlanStrategy(
        "few-tuned-deeply",
        "A few sturdy models that are tuned well beat many that are not.",
        (BOOSTING, "extra_trees"),
        each=1,
    ),
    PlanStrategy(
        "unlike-each-other",
        "Models that err differently correct one another: lines, distances, forests and networks.",
        ("neural_network", "linear_model", "knn", "extra_trees", "lightgbm"),
        each=2,
        ensembling="stacking",
        least=3,
    ),
    PlanStrategy(
        "best-alone",
        "Every model that keeps the limits is tried, and the best one is delivered alone.",
        ensembling="single",
    ),
    PlanStrategy(
        "one-light-model",
        "One small model is enough, answers fast and is easy to run.",
        ("lightgbm", "linear_model"),
        ensembling="single",
    ),
    PlanStrategy(
        "sturdy-forests",
        "Averages of random trees need little tuning and seldom fail.",
        ("forest", "linear_model"),
        tuning=False,
        ensembling="mean",
        least=2,
    ),
    PlanStrategy(
        "smooth-functions",
        "The target changes smoothly with the columns, which trees only approximate in steps.",
        ("neural_network", "linear_model"),
    ),
    PlanStrategy(
        "plain-linear",
        "A weighted sum can be read, and is as good where effects add up.",
        ("linear",),
        tuning=False,
        ensembling="single",
    ),
    PlanStrategy("everything-once", "Every model once, and the best of them together.", each=1, tuning=False),
    PlanStrategy("one-tuned-well", "One strong model, tuned deeply.", (BOOSTING,), each=1, ensembling="single"),
)
CLUSTERING = (
    PlanStrategy(
        "round-groups",
        "Groups lie around centres, in all columns or in a few directions that hold most of the spread.",
        ("kmeans", "gmm"),
        ensembling="single",
    ),
    PlanStrategy(
        "nested-groups",
        "Groups consist of smaller ones that lie close together.",
        ("agglomerative", "spectral"),
        ensembling="single",
    ),
    PlanStrategy(
        "dense-groups",
        "Groups are dense regions of any form, and rows between them are outliers.",
        ("hdbscan", "gmm"),
        ensembling="single",
    ),
    PlanStrategy("every-form", "The form of the groups is unknown: all are tried.", ensembling="single"),
    PlanStrategy("centres-only", "Centres are easy to explain and quick to find.", ("kmeans",), ensembling="single"),
)
FORECASTING = (
    PlanStrategy("every-forecast", "Simple, linear and boosted forecasts err differently: their mean errs less."),
    PlanStrategy("linear-forecasts", "The next values are sums of the last ones.", ("linear_forecast", "naive")),
    PlanStrategy("statistical-forecasts", "Trend and season of each series by itself.", ("statistical", "naive")),
    PlanStrategy("one-forecast", "One forecaster is easier to explain.", tuning=False, ensembling="single"),
)
NODES = (
    PlanStrategy(
        "neighbours-together",
        "Few nodes are labelled, so choosing one model is chance: several models together err less.",
        ensembling="weighted",
        least=2,
    ),
    *SUPERVISED,
)
STRATEGIES: Mapping[str, tuple[PlanStrategy, ...]] = {
    "clustering": CLUSTERING, "forecasting": FORECASTING, "node_classification": NODES
}  # fmt: skip
"""Strategies by problem; other problems use `SUPERVISED`."""
FIRST: Mapping[Aim, tuple[str, ...]] = {
    "usual": ("neighbours-together", "broad-boosting", "every-form", "every-forecast"),
    "limited": ("best-alone", "one-light-model", "one-tuned-well", "few-tuned-deeply", "plain-linear", "centres-only"),
    "lean": ("one-light-model", "plain-linear", "one-tuned-well", "few-tuned-deeply", "centres-only", "round-groups"),
    "explain": ("plain-linear", "one-light-model", "one-tuned-well", "sturdy-forests", "centres-only", "nested-groups"),
    "score": ("everything-once", "smooth-functions", "unlike-each-other", "sturdy-forests", "dense-groups"),
}
"""Names of the strategies that come first, by aim."""
SHARES: Mapping[Track, float] = {"traditional": 0.6, "neural": 0.2, "pretrained": 0.4, "autogluon": 0.3}
"""Share of the training time by track, scaled later to the tracks of a plan."""


def strategies(problem: str, aim: Aim) -> list[PlanStrategy]:
    """Returns the strategies for a problem, the most promising for the aim first."""
    known: Iterable[PlanStrategy] = STRATEGIES.get(problem, SUPERVISED)
    order = {name: place for place, name in enumerate(FIRST[aim])}
    return sorted(known, key=lambda one: order.get(one.name, len(order)))


def shares(tracks: Iterable[Track], asked: Iterable[Track]) -> dict[Track, float]:
    """Returns each track's share of the training time; equal if the request names tracks."""
    weights = {one: 1.0 if list(asked) else SHARES[one] for one in dict.fromkeys(tracks)}
    total = sum(weights.values())
    return {track: round(weight / total, 3) for track, weight in weights.items()}
