"""Requests for a set in three wordings, with and without a constraint."""

from typing import Literal

from palmette_bench.automl.sets import BenchSet

Wording = Literal["full", "terse", "rambling"]
Setting = Literal["free", "aware"]
PROMPTS: tuple[tuple[Setting, Wording], ...] = (
    ("free", "full"), ("free", "terse"), ("free", "rambling"), ("aware", "full"), ("aware", "rambling"),
)  # fmt: skip
"""Five for each set."""
METRICS = {"f1": "F1", "f1_macro": "macro F1", "roc_auc": "ROC AUC", "rmsle": "RMSLE", "rmse_log": "RMSLE",
           "rand": "silhouette", "accuracy": "accuracy"}  # fmt: skip
"""How a request names a metric; the Rand index needs labels, which no run sees."""
LIMITS = {
    "latency": "answers within {} a row", "size": "a model below {}", "training_time": "train in under {}",
    "accuracy": "at least {} accuracy", "f1": "F1 of at least {}", "rmsle": "RMSLE below {}",
}  # fmt: skip


def prompt(one: BenchSet, setting: Setting, wording: Wording) -> str:
    """The request in words."""
    goal, metric = _goal(one), METRICS[one.metric]
    limit = _limit(one) if setting == "aware" else ""
    if wording == "terse":
        return f"{goal}; metric: {metric}" + (f"; {limit}" if limit else "")
    if wording == "full":
        asked = f"{goal}. Optimise {metric}."
        return f"I have data about {one.about}. {asked}" + (f" The constraint is: {limit}." if limit else "")
    ending = f" One more thing, and that one is a must: {limit}." if limit else ""
    return (
        f"Hi, we have been collecting data about {one.about} for a while, and my colleagues keep asking me for "
        f"{one.wish}. I am no expert, so please build something that works. {goal}, I think, evaluated by {metric}."
        f"{ending} Thanks a lot!"
    )


def stripped(one: BenchSet) -> str:
    """The shortest description that still names the goal."""
    return _goal(one)


def _goal(one: BenchSet) -> str:
    if one.problem == "clustering":
        return f"Cluster the rows into {one.clusters} groups"
    if one.problem == "forecasting":
        return f"Forecast {one.target} for the next {one.horizon} steps"
    return f"Predict {one.target}"


def _limit(one: BenchSet) -> str:
    name, sign, value = one.limit.partition(">=" if ">=" in one.limit else "<=")
    assert sign, one.limit
    return LIMITS[name].format(value)
