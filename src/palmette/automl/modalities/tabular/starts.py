"""Where the search begins: settings that are good for data of this size, each with its reason."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from palmette.automl.modalities.facts import MOST_PAIRED
from palmette.automl.modalities.tabular.algorithms import Algorithm
from palmette.automl.modalities.tabular.blueprint import Blueprint

SMALL = 2_000
"""Rows below which leaves of a few rows are worth a try."""
MEDIUM, LARGE = 200_000, 2_000_000
"""Work from which a step of learning must be larger to end in a minute, or in minutes."""
CURVES = 3_000_000
"""Work above which a curve for each number takes too long."""
FOREST_LEAVES = 5_000
"""Leaves of a tree of a forest at most: more make files of gigabytes, and little else."""
CONTEXT = 10_000
"""Rows above which a network that reads all of them for each prediction was not made."""

Settings = dict[str, float | int | str | bool]


class Start(NamedTuple):
    """A candidate that is tried before anything is searched."""

    name: str
    algorithm: Algorithm
    settings: Settings
    reason: str


ANYWHERE = (
    Start("tabm", "tabm", {}, "several networks in one, on numbers spread over waves"),
    Start("tabm-plain", "tabm", {"spread": 0.02, "dropout": 0.2, "width": 96}, "nearly straight in each number"),
    Start("resnet", "resnet", {}, "deeper, each block mends what those before it say"),
    Start("tabpfn", "tabpfn", {}, "strong where rows are few, without any tuning"),
    Start("autogluon", "autogluon", {}, "a stack of many models, combined by AutoGluon"),
)
"""The same for data of any size."""


def starts(blueprint: Blueprint, wanted: Collection[Algorithm]) -> list[Start]:
    """The starting points of the algorithms that are wanted: the strongest first, then the most unlike those before."""
    work = work_of(blueprint)
    step = 0.05 if work < MEDIUM else 0.08 if work < LARGE else 0.12
    larger = {"learning_rate": round(1.6 * step, 3)}
    leaf = {"min_samples_leaf": max(1, blueprint.rows // FOREST_LEAVES)}
    random: Settings = {"learning_rate": step, "extra_trees": True, "feature_fraction": 0.8}
    careful: Settings = {
        "learning_rate": step,
        "num_leaves": 15,
        "min_data_in_leaf": 5 if blueprint.rows < SMALL else 40,
        "feature_fraction": 0.6,
        "bagging_fraction": 0.8,
        "lambda_l2": 3.0,
    }
    deep: Settings = {
        "learning_rate": round(0.6 * step, 3),
        "num_leaves": 127,
        "min_data_in_leaf": 10,
        "feature_fraction": 0.7,
        "lambda_l2": 1.0,
    }
    found = [
        Start("lightgbm", "lightgbm", {"learning_rate": step}, "the library's defaults, with early stopping"),
        Start("xgboost", "xgboost", {**larger}, "limited depth, on samples of rows and columns"),
        Start("catboost", "catboost", {**larger}, "symmetric trees, strong on categories"),
        Start("linear-curves", "linear", {"curves": True}, "a curve for each number, all added up"),
        Start("extra_trees", "extra_trees", {**leaf}, "random splits: unlike the boosted trees"),
        Start("lightgbm-random", "lightgbm", random, "random thresholds vary more, and so average better"),
        Start("mlp", "mlp", {}, "smooth where trees are steps"),
        Start("random_forest", "random_forest", {**leaf}, "sturdy, hardly needs tuning"),
        Start("lightgbm-careful", "lightgbm", careful, "small trees on part of the columns, for noisy data"),
        Start("knn", "knn", {"neighbours": 15}, "near rows say much where rows are few"),
        Start("lightgbm-deep", "lightgbm", deep, "large trees in small steps, where columns act together"),
        *ANYWHERE,
    ]
    slow = {"knn": blueprint.rows > MOST_PAIRED, "linear-curves": work > CURVES, "tabpfn": blueprint.rows > CONTEXT}
    return [one for one in found if one.algorithm in wanted and not slow.get(one.name)]


def work_of(blueprint: Blueprint) -> int:
    """What a fit has to do, roughly: rows times columns, times classes where there are several."""
    classes = len(blueprint.classes) if len(blueprint.classes) > 2 else 1
    return blueprint.rows * len(blueprint.columns) * classes
