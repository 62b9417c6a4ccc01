"""What projects on tables share: how rows are read, checked and made into features, whatever is learnt from them."""

from __future__ import annotations

import json
import sys
from typing import Any

from palmette.automl.modalities.tabular.algorithms import pinned
from palmette.automl.modalities.tabular.blueprint import ColumnPlan, Example, TableBlueprint
from palmette.automl.modalities.tabular.derived import term
from palmette.automl.modalities.tabular.names import distinct, identifier
from palmette.automl.modalities.tabular.reading import reading_facts

ROW_TYPES = {"numeric": "number", "categorical": "text", "boolean": "boolean", "datetime": "datetime", "text": "text"}
EXAMPLE_ROWS = 4
ORDER = ("numeric", "boolean", "datetime", "categorical", "text")
"""Of the features, by kind of column."""


def features_of(blueprint: TableBlueprint) -> list[tuple[str, str]]:
    """Names and kinds of the features (number, category, text), in order."""
    names = blueprint.feature_names
    made: list[tuple[str, str]] = []
    for kind in ORDER:
        for column in blueprint.columns:
            if column.kind == kind:
                made += _features_of(column, names[column.name])
    return [*made, *((one.name, "number") for one in blueprint.derived)]


def _features_of(column: ColumnPlan, name: str) -> list[tuple[str, str]]:
    if column.kind == "datetime":
        return [(f"{name}__{part}", "number") for part in column.parts]
    if column.kind == "text":
        return [(name, "text"), (f"{name}__words", "number")]
    return [(name, "category" if column.kind == "categorical" else "number")]


def contract_of(blueprint: TableBlueprint) -> dict[str, Any]:
    """What `contract.json` says of rows and features."""
    rows = [
        {
            "name": column.name,
            "type": ROW_TYPES[column.kind],
            "nullable": column.nullable,
            **({} if column.minimum is None else {"minimum": column.minimum}),
            **({} if column.maximum is None else {"maximum": column.maximum}),
            **({"seen": list(column.categories)} if column.categories else {}),
        }
        for column in blueprint.columns
    ]
    features = [
        {"name": name, "kind": kind, "dtype": "float64" if kind == "number" else "object"}
        for name, kind in features_of(blueprint)
    ]
    return {"rows": rows, "features": features}


def facts_of(blueprint: TableBlueprint) -> dict[str, Any]:
    """What every template knows: the blueprint, and what follows from its columns and source."""
    from palmette.automl.data.kinds import FALSE, TRUE

    kinds = {kind: [one for one in blueprint.columns if one.kind == kind] for kind in ROW_TYPES}
    names = [column.name for column in blueprint.columns]
    return {
        "blueprint": blueprint,
        "renamed": {name: made for name, made in blueprint.feature_names.items() if made != name},
        "derived": [(one, term(one, blueprint.feature_names)) for one in blueprint.derived],
        "fields": distinct(names, identifier),
        "kinds": kinds,
        "reading": reading_facts(blueprint),
        "yes": sorted(TRUE | {"1.0"}),
        "no": sorted(FALSE | {"0.0"}),
        "has_numbers": bool(kinds["numeric"]),
        "has_texts": bool(kinds["categorical"] or kinds["text"]),
        "has_words": bool(kinds["text"]),
        "has_categories": bool(kinds["categorical"]),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "pinned": pinned,
    }


def example_rows(blueprint: TableBlueprint) -> str:
    """Rows for the project's tests, made of the columns' examples: row by row, never a row of the data."""
    rows: list[dict[str, Example]] = [
        {one.name: one.examples[index % len(one.examples)] if one.examples else None for one in blueprint.columns}
        for index in range(EXAMPLE_ROWS)
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
