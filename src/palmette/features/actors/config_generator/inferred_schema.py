"""Schemas for teams without a configuration class: plain mappings, with the shape of neighbouring files."""

from collections.abc import Sequence
from typing import Any

from palmette.documents import Model
from palmette.engine.actor import TextFile
from palmette.features.actors.config_generator.names import STRONG, best_similarity
from palmette.features.actors.config_generator.neighbour_configs import NeighbourConfigs
from palmette.features.actors.config_generator.schema import TeamSchema

_SCALARS = {bool: "boolean", int: "integer", float: "number", str: "string"}


class PlainSource(Model):
    location: str
    """A path, or a name in the catalogue where there is no format."""
    format: str = ""


class PlainOutput(PlainSource):
    partition_by: str = ""


class PlainConfig(Model):
    """The configuration used when the team has no class and no neighbouring file."""

    feature_view: str
    description: str = ""
    owner: str = ""
    entity_keys: list[str]
    timezone: str = "UTC"
    sources: dict[str, PlainSource]
    output: PlainOutput


_COLLECTIONS = ("sources", "inputs", "input_tables", "tables", "datasets", "features", "columns", "dependencies")
"""Sections whose keys are names of items."""


def plain_schema(files: Sequence[TextFile]) -> TeamSchema:
    """The shape that the files have in common, or that of `PlainConfig` if there are no files."""
    documents = list(NeighbourConfigs.read(files).documents)
    return TeamSchema("", _shape(documents) if documents else PlainConfig.model_json_schema())


def _shape(values: list[Any], name: str = "") -> dict[str, Any]:
    """A JSON Schema that fits all values; empty if they have nothing in common."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, dict) for value in present):
        return _mapping(present, name)
    if present and all(isinstance(value, list) for value in present):
        return {"type": "array", "items": _shape([item for value in present for item in value])}
    kinds = {_SCALARS.get(type(value), "") for value in present}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    return {"type": kinds.pop()} if len(kinds) == 1 and "" not in kinds else {}


def _mapping(values: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Treats keys as item names if the section's name suggests it, or if keys differ and values are alike."""
    items = [item for value in values for item in value.values()]
    alike = len({type(item) for item in items}) == 1 and isinstance(items[0], str)
    nested = bool(items) and all(isinstance(item, dict) for item in items)
    keys = list(dict.fromkeys(key for value in values for key in value))
    shared = [key for key in keys if all(key in value for value in values)]
    if (nested or alike) and best_similarity(name, _COLLECTIONS) >= STRONG:
        return {"type": "object", "additionalProperties": _shape(items)}
    if len(values) > 1 and len(shared) < len(keys) and (nested or (alike and not shared)):
        return {"type": "object", "additionalProperties": _shape(items)}
    return {
        "type": "object",
        "required": shared,
        "properties": {key: _shape([value[key] for value in values if key in value], key) for key in keys},
    }
