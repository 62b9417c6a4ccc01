"""Requests with what a person reads in them, and a understood in the same short form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml

from palmette.automl.data import Kind
from palmette.automl.requirements import ColumnHint, Requirements, Understanding, read_request
from palmette.automl.requirements.model import Sequence, SplitWish

CASES = Path(__file__).with_name("cases")
ALWAYS = (
    "task",
    "modality",
    "metric",
    "constraints",
    "algorithms",
    "n_classes",
    "n_clusters",
    "threshold",
    "files",
    "hub",
    "excluded",
    "split",
    "sequence",
    "deliverables",
    "devices",
    "preferences",
    "question",
    "declined",
)
"""What is compared in every case, empty where the case says nothing of it."""
IF_COLUMNS = ("column",)
UNORDERED = ("constraints", "algorithms", "deliverables", "devices", "preferences", "excluded", "files")


def load(name: str) -> Any:
    return yaml.safe_load((CASES / f"{name}.yaml").read_text("utf-8"))


@cache
def tables() -> dict[str, dict[str, ColumnHint]]:
    raw: dict[str, dict[str, str]] = yaml.safe_load((CASES / "tables.yaml").read_text("utf-8"))
    return {name: {column: hint(words) for column, words in columns.items()} for name, columns in raw.items()}


def hint(words: str) -> ColumnHint:
    """`numeric 40: 1, 12` as a column's hint."""
    match = re.fullmatch(r"(\w+) (\d+): (.*)", words)
    assert match, words
    separator = r"(?<=,),? |, " if match[1] != "text" else r", (?=[A-Zi])"
    return ColumnHint(kind=cast(Kind, match[1]), distinct=int(match[2]), examples=tuple(re.split(separator, match[3])))


def read(case: Mapping[str, Any]) -> Understanding:
    return read_request(case["text"], tables().get(case.get("columns", "")), case.get("files", ()))


def flat(understood: Understanding) -> dict[str, Any]:
    """A understood in the short form of the cases."""
    made = understood.requirements
    return {
        **_said(made),
        "algorithms": [
            f"{one.mood} {one.name}" + (" pretrained" if one.pretrained else "") for one in made.model.algorithms
        ],
        "libraries": list(made.model.libraries),
        "augmentation": bool(made.dataset.augmentation),
        "deliverables": [one.name for one in made.service.deliverables],
        "devices": list(made.service.devices),
        "preferences": [one.name for one in made.knowledge.preferences],
        "expertise": made.user.expertise,
        "question": understood.question.about if understood.question else None,
        "blind": understood.question.blind if understood.question else False,
        "declined": understood.refusal.code if understood.refusal else None,
    }


def _said(made: Requirements) -> dict[str, Any]:
    problem, data = made.problem, made.dataset
    return {
        "task": problem.task,
        "modality": data.modality,
        "metric": problem.metric,
        "target": data.target,
        "column": data.target_column or None,
        "constraints": [
            str(one) if one.value < 1e5 else f"{str(one).rsplit(' ', 1)[0]} {one.value:.0f}"
            for one in problem.constraints
        ],
        "classes": list(problem.classes),
        "n_classes": problem.n_classes,
        "positive": problem.positive,
        "unread": list(made.unread),
        "n_clusters": problem.n_clusters,
        "clusters": [problem.least_clusters, problem.most_clusters] if problem.n_clusters is None else [],
        "threshold": str(problem.threshold) if problem.threshold else None,
        "dataset": data.name,
        "features": list(data.features),
        "excluded": [one.column for one in data.excluded],
        "files": list(data.files),
        "hub": [f"{one.hub} {one.id}" for one in data.hub],
        "split": _split(data.split),
        "sequence": _sequence(data.sequence),
    }


def _split(split: SplitWish | None) -> str | None:
    if split is None:
        return None
    parts = [
        "/".join(split.parts),
        " ".join(f"{part} {share:g}" for part in ("train", "valid", "test") if (share := split.fractions.get(part))),
    ]
    folds = "" if split.folds is None else f"{split.folds} folds" if split.folds else "cross-validation"
    way = " ".join(filter(None, [split.by, split.group]))
    by = [f"by {way}" if way else "", f"from {split.test_from}" if split.test_from else ""]
    return " ".join(filter(None, [*parts, folds, *by, "undivided" if split.undivided else ""]))


def _sequence(one: Sequence | None) -> str | None:
    if one is None:
        return None
    sides = [[one.input_length, one.input_dim], [one.horizon, one.output_dim]]
    return " -> ".join(" x ".join(str(n) for n in side if n) for side in sides).strip()


def differences(case: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """By field: what was expected and what was read, where they differ."""
    got, expect = flat(read(case)), case["expect"]
    if "declined" in expect:
        return {} if got["declined"] == expect["declined"] else {"declined": (expect["declined"], got["declined"])}
    fields = [
        *ALWAYS,
        *(IF_COLUMNS if "columns" in case else ()),
        *(name for name in expect if name not in (*ALWAYS, *IF_COLUMNS)),
    ]
    wrong = {}
    for name in fields:
        want, have = expect.get(name), got[name]
        want, have = (sorted(want or []), sorted(have)) if name in UNORDERED else (want or None, have or None)
        if name == "constraints":
            want, have = [_bare(one) for one in want], [_bare(one) for one in have]
        if (want.casefold() if isinstance(want, str) else want) != (have.casefold() if isinstance(have, str) else have):
            wrong[name] = (want, have)
    return wrong


def _bare(constraint: str) -> str:
    """A constraint with its number in one form."""
    return re.sub(r"\b\d[\d.e+-]*", lambda m: f"{float(m[0]):g}", constraint)
