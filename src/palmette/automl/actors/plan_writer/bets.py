"""What a plan can bet on: the ideas that the rules know, for supervised tables and for clustering."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

Mood = Literal["usual", "lean", "explain", "score"]
"""What plans are for: nothing special; little time or size; a model that says why; a score that was missed."""


class Bet(NamedTuple):
    """An idea, before it meets the wishes and the data."""

    name: str
    idea: str
    algorithms: tuple[str, ...]
    """In the order in which they are to be tried; empty for all."""
    tuning: str
    ensemble: bool = True
    least: int = 1
    """Algorithms without which the idea means nothing."""


NO_TUNING = "Nothing is searched: the starting points are the result."
DEEP = "After one starting point each, all the time goes into searching the settings of the leading ones."
BROAD = "All starting points first, then a search around the best while there is time."
LIGHT = "A short search among small models only."

SUPERVISED = (
    Bet("broad-boosting", "Boosted trees lead, everything else that differs from them joins in.", (), BROAD, least=2),
    Bet(
        "few-tuned-deeply",
        "A few sturdy models, tuned well, beat many that are not.",
        ("lightgbm", "xgboost", "catboost", "extra_trees"),
        DEEP,
    ),
    Bet(
        "unlike-each-other",
        "Models that err differently correct one another: lines, distances, forests, networks.",
        ("tabm", "resnet", "mlp", "linear", "knn", "extra_trees", "lightgbm"),
        BROAD,
        least=3,
    ),
    Bet("one-light-model", "One small quick model is enough, and easy to run.", ("lightgbm", "linear"), LIGHT, False),
    Bet(
        "sturdy-forests",
        "Averages of random trees need hardly any tuning and seldom fail.",
        ("extra_trees", "random_forest", "linear"),
        NO_TUNING,
        least=2,
    ),
    Bet(
        "smooth-functions",
        "The target changes smoothly with the columns, which trees only approximate in steps.",
        ("tabm", "resnet", "mlp", "linear"),
        BROAD,
    ),
    Bet("plain-linear", "A weighted sum says why, and is as good where effects add up.", ("linear",), NO_TUNING, False),
    Bet("everything-once", "Every algorithm once, and what is best together.", (), NO_TUNING),
    Bet("one-tuned-well", "One strong model, tuned deeply.", ("lightgbm", "xgboost", "catboost"), DEEP, False),
)
CLUSTERING = (
    Bet(
        "round-groups",
        "Groups lie around centres, in all columns or in a few directions that hold most of the spread.",
        ("kmeans", "gmm"),
        "The number of groups, with and without reduction.",
        False,
    ),
    Bet(
        "nested-groups",
        "Groups are made of smaller ones that lie close together.",
        ("agglomerative", "spectral"),
        "The number of groups, and what closeness is.",
        False,
    ),
    Bet(
        "dense-groups",
        "Groups are dense places of any form, and rows between them belong nowhere.",
        ("hdbscan", "gmm"),
        "The smallest group, with and without reduction.",
        False,
    ),
    Bet("every-form", "Nobody knows the form of the groups: all are tried.", (), "Form, number and reduction.", False),
    Bet("centres-only", "Centres are easy to explain and quick to find.", ("kmeans",), "The number of groups.", False),
)
FIRST: Mapping[Mood, tuple[str, ...]] = {
    "usual": ("broad-boosting", "every-form"),
    "lean": ("one-light-model", "plain-linear", "one-tuned-well", "few-tuned-deeply", "centres-only", "round-groups"),
    "explain": ("plain-linear", "one-light-model", "one-tuned-well", "sturdy-forests", "centres-only", "nested-groups"),
    "score": ("everything-once", "smooth-functions", "unlike-each-other", "sturdy-forests", "dense-groups"),
}
"""By what plans are for: the bets that come first."""
TUNINGS = (DEEP, BROAD, LIGHT, NO_TUNING)
"""What bets are varied by where there are fewer than plans."""


def bets(task: str, mood: Mood) -> list[Bet]:
    """The bets on a task, the most promising first for what plans are for."""
    known: Iterable[Bet] = CLUSTERING if task == "clustering" else SUPERVISED
    order = {name: place for place, name in enumerate(FIRST[mood])}
    return sorted(known, key=lambda one: order.get(one.name, len(order)))
