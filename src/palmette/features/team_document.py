"""Reads and writes a team's configuration files as plain values: JSON or TOML by file name, otherwise YAML."""

import json
import tomllib
from collections.abc import Iterator
from typing import Any, Literal

import yaml

from palmette.documents import load_plain

SUFFIXES = (".yaml", ".yml", ".json", ".toml")

Format = Literal["yaml", "json", "toml"]


def format_of(path: str) -> Format:
    return "json" if path.endswith(".json") else "toml" if path.endswith(".toml") else "yaml"


def parse_text(path: str, text: str) -> Any:
    """Parses a text in the format given by its path; `yaml.YAMLError` if it is malformed."""
    try:
        match format_of(path):
            case "json":
                return json.loads(text)
            case "toml":
                return tomllib.loads(text)
            case _:
                return load_plain(text)
    except (ValueError, RecursionError) as error:
        raise yaml.YAMLError(str(error)) from error


def toml_text(value: dict[str, Any]) -> str:
    """Writes a document as TOML with mappings as sections. TOML has no null, so keys with None are left out.

    >>> print(toml_text({"view": "a", "inputs": {"sales": "data/sales"}}), end="")
    view = "a"
    <BLANKLINE>
    [inputs]
    sales = "data/sales"
    """
    return "\n".join(_toml_lines(value, ())).strip("\n") + "\n"


def _toml_lines(value: dict[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    inner = {key: item for key, item in value.items() if isinstance(item, dict)}
    plain = {key: item for key, item in value.items() if key not in inner and item is not None}
    if above and (plain or not inner):
        yield from ("", f"[{'.'.join(map(_toml_key, above))}]")
    for key, item in plain.items():
        yield f"{_toml_key(key)} = {_toml_value(item)}"
    for key, item in inner.items():
        yield from _toml_lines(item, (*above, key))


def _toml_key(key: str) -> str:
    return key if key.replace("-", "_").isidentifier() and key.isascii() else json.dumps(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml_key(key)} = {_toml_value(item)}" for key, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool | int | float) else str(value)


def document_text(path: str, value: Any, indent: int | str = 2) -> str:
    """Writes a document in the format given by its path, with a default layout; `indent` is that of JSON."""
    match format_of(path):
        case "json":
            return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
        case "toml":
            return toml_text(value)
        case _:
            return yaml.safe_dump(value, sort_keys=False)
