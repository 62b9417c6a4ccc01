"""The published JSON Schemas of the three file formats."""

from typing import Any

from pydantic import BaseModel

from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.run import Run

PUBLISHED = "urn:palmette:schema"
"""Base of the schemas' `$id`, which editors and other schemas refer to."""
FORMATS: dict[str, type[BaseModel]] = {"fsc": FeatureSpec, "dfr": Registry, "run": Run}
"""Format name to model."""


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a format, with the docstrings as descriptions."""
    schema = FORMATS[name].model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{PUBLISHED}:{name}",
        **schema,
        "title": {"fsc": "Feature specification", "dfr": "Data frame registry", "run": "Run"}[name],
    }
