"""From a blueprint of clusters to the files of a project; what is read and served alike is written as for any table."""

from __future__ import annotations

import functools
import json
from typing import Any

from palmette.automl.modalities.clustering.blueprint import Blueprint
from palmette.automl.modalities.tabular import tables
from palmette.automl.modalities.tabular.rendering import rendered, templates_of
from palmette.engine.actor import TextFile

OUTPUTS = ("cluster", "other")
"""Of a candidate, for each row: its cluster, and the one that a model says which was made without the row's half."""
SHARED = (
    "preprocess.py", "tests/test_project.py", "Dockerfile", "requirements.txt", "pyproject.toml",
)  # fmt: skip
"""Files of the same template as those of other tables."""
PREPARATION = {"preprocess.py", "contract.py", "contract.json", "tests/rows.json"}
OF_TRACK = {"models/traditional.py", "models/clustering.py"}


@functools.lru_cache(maxsize=4)
def write_project(blueprint: Blueprint) -> tuple[TextFile, ...]:
    """The project's files, in order of their paths; formatted where ruff is installed."""
    contract = {"task": blueprint.task, **tables.contract_of(blueprint), "predictions": {"shape": ["rows"], "least": 0}}
    texts = {
        "contract.json": json.dumps(contract, indent=2, ensure_ascii=False) + "\n",
        "tests/rows.json": tables.example_rows(blueprint),
    }
    shared = {path: name for path, name in templates_of("tabular").items() if path in SHARED}
    return rendered(shared | templates_of("clustering"), _facts(blueprint), texts)


def preparation_files(blueprint: Blueprint) -> tuple[TextFile, ...]:
    """The project's files about rows and features."""
    return tuple(file for file in write_project(blueprint) if file.path in PREPARATION)


def track_files(blueprint: Blueprint) -> tuple[TextFile, ...]:
    """The project's files about algorithms."""
    return tuple(file for file in write_project(blueprint) if file.path in OF_TRACK)


def shared_files(blueprint: Blueprint) -> tuple[TextFile, ...]:
    """All other files."""
    return tuple(file for file in write_project(blueprint) if file.path not in PREPARATION | OF_TRACK)


def _facts(blueprint: Blueprint) -> dict[str, Any]:
    """What the templates know: the blueprint, and what follows from it."""
    names = blueprint.feature_names
    of_kind = {kind: [names[one.name] for one in blueprint.columns if one.kind == kind] for kind in tables.ORDER}
    return tables.facts_of(blueprint) | {
        "classification": False,
        "libraries": [],
        "numbers": [*of_kind["numeric"], *(f"{name}__days" for name in of_kind["datetime"]), *_derived(blueprint)],
        "flags": of_kind["boolean"],
        "categories": of_kind["categorical"],
    }


def _derived(blueprint: Blueprint) -> list[str]:
    return [one.name for one in blueprint.derived]
