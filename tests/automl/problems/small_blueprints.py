"""A small table with columns of every usual kind, and blueprints for it."""

from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.candidates import Blueprint, Candidate, ColumnUse, Folds, Strategy
from palmette.automl.profile import ColumnProfile, Frequent, NumberFacts, Profile, TargetProfile
from palmette.automl.splitting.data_splits import DataSplits, HoldOut, SplitRequest

COLUMNS = (
    ColumnUse(name="size", kind="number"),
    ColumnUse(name="age", kind="number"),
    ColumnUse(name="city", kind="category", categories=("Oslo", "Paris", "Rome")),
    ColumnUse(name="member", kind="boolean"),
)
HOLDOUT = HoldOut(rows=0, training_rows=0, strategy="none", seed=0, digest="", reasons=())
LINEAR = Candidate(name="linear", learner="linear")
LIGHTGBM = Candidate(name="lightgbm", learner="lightgbm", tuned=True)


def guests(rows: int = 240, seed: int = 0) -> pd.DataFrame:
    """Guests of a hotel: `mood` has two classes, `room` three, `price` and `tribe` follow from size and city."""
    random = np.random.default_rng(seed)
    size, age = random.normal(size=rows), random.uniform(18, 90, rows)
    city = random.choice(["Oslo", "Paris", "Rome"], rows)
    member = random.choice(["yes", "no"], rows)
    signal = size + (city == "Rome") - (member == "no") * 0.5
    noise = random.normal(size=rows)
    table = pd.DataFrame({"size": size, "age": age, "city": city, "member": member})
    table["mood"] = np.where(signal + 0.5 * noise > 0.3, "good", "bad")
    table["room"] = pd.cut(signal + 0.5 * noise, [-np.inf, -0.5, 0.8, np.inf], labels=["large", "mid", "small"]).astype(
        str
    )
    table["price"] = np.exp(3 + 0.5 * signal + 0.1 * noise)
    table["tribe"] = np.where(size > 0, "a", "b")
    table.loc[random.random(rows) < 0.1, "age"] = np.nan
    return table


def blueprint(target: str = "mood", metric: str = "", **changes: Any) -> Blueprint:
    """For a column of `guests`; of none, clusters."""
    fields: dict[str, Any] = {
        "package": "guests_model",
        "title": target or "clusters",
        "target": target,
        "rows": 240,
        "columns": COLUMNS,
        "folds": Folds(count=3, kind="stratified"),
        "candidates": (LIGHTGBM, LINEAR),
        "seconds": 10.0,
    }
    match target:
        case "mood":
            fields |= {"problem": "classification", "classes": ("bad", "good"), "positive": "good", "metric": "roc_auc"}
        case "room":
            fields |= {"problem": "classification", "classes": ("large", "mid", "small"), "metric": "f1_macro"}
        case "price":
            log = Strategy(target_transform="log1p")
            several = tuple(one.model_copy(update={"strategy": log}) for one in (LIGHTGBM, LINEAR))
            fields |= {"problem": "regression", "metric": "rmsle", "bounds": (0.0, 400.0), "candidates": several}
            fields["folds"] = Folds(count=3)
        case _:
            kmeans = Candidate(name="kmeans", learner="kmeans", settings={"n_clusters": 2})
            fields |= {"problem": "clustering", "metric": "silhouette", "clusters": (2, 3), "candidates": (kmeans,)}
            fields["folds"] = Folds(count=2)
    return Blueprint(**{**fields, **({"metric": metric} if metric else {}), **changes})


def splits(train: pd.DataFrame, holdout: pd.DataFrame | None = None) -> DataSplits:
    return DataSplits(train, train.iloc[:0] if holdout is None else holdout, None)


def profile(target: str, problem: str, **facts: Any) -> Profile:
    """Of `guests`, with a target that has these facts."""
    columns = tuple(ColumnProfile(name=one.name, kind=one.kind, missing=0.0, distinct=9) for one in COLUMNS)
    made = TargetProfile(name=target, problem=problem, **facts) if target else None
    request = SplitRequest(target=target, problem=problem)
    holdout = HOLDOUT.model_copy(update={"training_rows": 240})
    return Profile.model_construct(
        split=request, rows=240, holdout=holdout, columns=columns, target=made, leaks=(), decisions=()
    )


def shares(**counts: int) -> tuple[Frequent, ...]:
    """Classes with their rows, the most frequent first."""
    whole = sum(counts.values())
    return tuple(Frequent(value=name, count=count, share=count / whole) for name, count in counts.items())


def numbers(**facts: float) -> NumberFacts:
    """Of a target, with some facts that differ from those of a plain one."""
    usual = {"mean": 1.0, "least": 0.5, "quarter": 0.8, "median": 1.0, "three_quarters": 1.2}
    rest = {"most": 3.0, "skew": 0.0, "outliers": 0.0, "zeros": 0.0, "whole": False}
    return NumberFacts.model_validate({**usual, **rest, **facts})
