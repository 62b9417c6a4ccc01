"""Sentences with what is read in them, and a task in the same short form."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from palmette.automl.task_spec.request import ColumnSummary, DataSummary
from palmette.automl.task_spec.spec import TaskSpec

CASES = Path(__file__).with_name("cases")


def load(name: str) -> tuple[list[dict[str, Any]], dict[str, DataSummary]]:
    """The cases of a file, and its tables by name."""
    document = yaml.safe_load((CASES / f"{name}.yaml").read_text("utf-8"))
    return document["cases"], {name: table(columns) for name, columns in document["tables"].items()}


def table(columns: Mapping[str, str]) -> DataSummary:
    """`{"age": "number 60: 31, 44"}` as columns."""
    found = {name: re.fullmatch(r"(\w+) (\d+): (.*)", words) for name, words in columns.items()}
    return DataSummary(
        columns=tuple(
            ColumnSummary.model_validate(
                {"name": name, "kind": one[1], "distinct": int(one[2]), "examples": tuple(one[3].split(", "))}
            )
            for name, one in found.items()
            if one
        )
    )


def flat(task: TaskSpec) -> dict[str, Any]:
    """The fields that a task has a source for, by path."""
    values: dict[str, Any] = {}
    for path in task.sources:
        field, _, part = path.partition(".")
        value = getattr(task, field)
        value = getattr(value, part) if part else value
        values[path] = (
            [str(one) for one in value]
            if isinstance(value, tuple)
            else value
            if isinstance(value, str | bool | int | float)
            else str(value)
        )
    return values
