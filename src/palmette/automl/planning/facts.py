"""What plans rest on, from requirements and profile: sizes, folds, what must be done with columns, words for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from palmette.automl.artefacts import DataPlan
from palmette.automl.goal import folds_wanted, goal_of
from palmette.automl.measure import Metric
from palmette.automl.modalities import modality_for
from palmette.automl.planning.costs import Size
from palmette.automl.profile import Profile
from palmette.automl.profile.meta import NAMES
from palmette.automl.requirements import Requirements

SHOWN = 4
"""Columns that a sentence names."""

STEPS: Mapping[str, str] = {
    "drop-constant": "Leave out {columns}: the same in every row.",
    "drop-identifier": "Leave out {columns}: names of rows.",
    "mostly-missing": "Tell models whether {columns} is there, which may say most.",
    "missing": "Impute {columns} from training rows, with a flag where a value was missing.",
    "many-categories": "Encode {columns} by the target, out of fold, because the categories are many.",
    "text-column": "Take the words of {columns}.",
    "date-column": "Take parts and distances of {columns}.",
    "skewed": "Give models that are not trees {columns} on a scale without long tails.",
    "log-target": "Learn {columns} on the log.",
    "count-target": "Never predict {columns} below 0.",
    "bounded-target": "Keep predictions of {columns} within its bounds.",
    "outlying-target": "Consider a robust loss for {columns}.",
    "imbalanced": "Keep the share of the classes of {columns} in every fold, and set the threshold on validation rows.",
    "repeated-rows": "Keep rows that repeat another in one fold.",
}
"""By code of a suggestion: the step that it calls for."""
LINEAR_ONLY = frozenset({"skewed"})
"""Steps that trees do not need."""


def figures_of(profile: Profile) -> dict[str, float]:
    """The meta-features by name."""
    found = {one.name: one.value for one in profile.meta}
    return {name: found.get(name, 0.0) for name in NAMES}


def shown_figures(profile: Profile) -> str:
    """The meta-features that are not 0, a line each."""
    return "\n".join(f"{name}: {value:g}" for name, value in figures_of(profile).items() if value)


def metric_of_run(requirements: Requirements, profile: Profile) -> Metric | None:
    """What candidates are compared by; None for clustering, of which no score can be told beforehand."""
    return None if profile.aim.task == "clustering" else goal_of(requirements, profile).measure


def training_rows(profile: Profile) -> int:
    return profile.holdout.training_rows


def folds_of(profile: Profile, requirements: Requirements) -> int:
    """How many folds candidates are compared in."""
    return folds_wanted(requirements, modality_for(profile.aim.task).usual_folds(profile))


def size_of(profile: Profile, requirements: Requirements, features: int) -> Size:
    """What the cost of a candidate depends on."""
    classes = profile.target.class_count if profile.target is not None else 0
    return Size(training_rows(profile), features, classes if classes > 2 else 1, folds_of(profile, requirements))


def size_of_plan(plan: DataPlan, profile: Profile, requirements: Requirements) -> Size:
    return size_of(profile, requirements, plan.features)._replace(rows=plan.rows)


def preparation(profile: Profile, only_trees: bool = False) -> Iterator[str]:
    """The steps on the data that the profile calls for, each once, with the columns that it is about."""
    about: dict[str, list[str]] = {}
    for fact in profile.suggestions:
        about.setdefault(fact.code, []).append(fact.subject)
    gone = list(profile.dropped)
    if gone:
        yield f"Leave out {listed(gone)}: they tell the target in a way that use will not."
    for code, step in STEPS.items():
        if code in about and not (only_trees and code in LINEAR_ONLY):
            left = [name for name in about[code] if name not in gone]
            if left or code == "repeated-rows":
                yield step.format(columns=listed(left))


def validation(profile: Profile, requirements: Requirements) -> str:
    """How candidates are compared, and why so."""
    holdout, folds = profile.holdout, folds_of(profile, requirements)
    how = {
        "stratified": f"{folds} folds with equal shares of the classes",
        "grouped": f"{folds} folds that keep together what belongs together ({listed(holdout.grouped_by)})",
        "time": f"{folds} blocks of time, the same for all candidates, each told by what the others teach, later ones "
        "too",
    }.get("grouped" if holdout.grouped_by else holdout.strategy, f"{folds} folds by chance")
    apart = "the hold-out is not touched" if holdout.rows else "there is no hold-out"
    told = f"Out-of-fold predictions in {how}, on {training_rows(profile)} training rows; {apart}."
    return modality_for(profile.aim.task).COMPARED or told


def listed(names: Sequence[str]) -> str:
    """Names for a sentence: the first few, and how many more.

    >>> listed(["a", "b", "c", "d", "e", "f"])
    "'a', 'b', 'c', 'd' and 2 more"
    """
    shown = ", ".join(map(repr, names[:SHOWN]))
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
