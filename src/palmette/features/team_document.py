"""Configuration files of a team as plain values: JSON by file name, else YAML."""

from __future__ import annotations

import json
from typing import Any

import yaml

from palmette.documents import load_plain

SUFFIXES = (".yaml", ".yml", ".json")
"""Of files that may be configurations."""


def is_json(path: str) -> bool:
    return path.endswith(".json")


def parse_text(path: str, text: str) -> Any:
    """What a file of this name and text holds; `yaml.YAMLError` where it cannot be read."""
    if not is_json(path):
        return load_plain(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise yaml.YAMLError(str(error)) from error


def json_text(value: Any, indent: int | str = 2) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
