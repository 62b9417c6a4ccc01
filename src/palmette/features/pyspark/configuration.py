"""Writes code that reads the view's configuration (YAML, JSON or TOML) into an object of the team's class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from palmette.features.artefacts import Config, Construction
from palmette.features.pyspark.code import indent, quoted
from palmette.features.team_document import format_of

_ITEM = {"list": "[{}]", "tuple": "tuple({})", "set": "{{{}}}", "frozenset": "frozenset({})"}
"""Comprehensions for collections."""


def config_lines(config: Config, text: str, names: Mapping[str, str]) -> list[str]:
    """Statements that assign the configuration object to the variable `config`.

    Args:
        text: Code of the document's text.
        names: The name in the script of each class in `config_classes`.
    """
    parsed = parsed_text(config, text)
    top = _root(config)
    if top is None:
        return [f"config = {parsed}"]
    inner = list(_fields(top, "document", names, 0))
    if not inner:
        return [f"config = {_constructed(top, parsed, names, 0)}"]
    return [f"document = {parsed}", *inner, f"config = {_constructed(top, 'document', names, 0)}"]


def parsed_text(config: Config, text: str) -> str:
    """Code that parses the document."""
    parsers = {"json": "json.loads", "toml": "tomllib.loads", "yaml": "yaml.safe_load"}
    return f"{parsers[format_of(config.file.path)]}({text})"


def config_classes(config: Config) -> list[str]:
    """The classes that the statements use, as `module:Class`; the view's own class comes first."""
    top = _root(config)
    return list(dict.fromkeys(_classes(top))) if top is not None else []


def _root(config: Config) -> Construction | None:
    """How to build the configuration object; None if the team has no class for it."""
    if config.construction is None and config.class_name:
        return Construction(kind="model", class_name=config.class_name)
    return config.construction


def _classes(part: Construction) -> Iterator[str]:
    if part.class_name:
        yield part.class_name
    for inner in (*part.fields.values(), *([part.items] if part.items is not None else [])):
        yield from _classes(inner)


def _fields(part: Construction, place: str, names: Mapping[str, str], depth: int) -> Iterator[str]:
    """Statements that replace the parts of the object at `place` by objects of their classes."""
    for name, field in part.fields.items():
        at = f"{place}[{quoted(name)}]"
        lines = [*_fields(field, at, names, depth), f"{at} = {_constructed(field, at, names, depth)}"]
        found = f"{place}.get({quoted(name)})"
        yield from [_if_present(field, found), *indent(lines)] if field.optional else lines
    if part.items is not None:
        each = _variable(depth)
        lines = list(_fields(part.items, each, names, depth + 1))
        if lines:
            yield f"for {each} in {place}{'.values()' if part.kind == 'mapping' else ''}:"
            yield from indent([_if_present(part.items, each), *indent(lines)] if part.items.optional else lines)


def _if_present(part: Construction, code: str) -> str:
    if part.kind == "enum":
        return f"if {code} is not None:"
    return f"if isinstance({code}, {'dict' if part.kind in ('keywords', 'model', 'mapping') else 'list'}):"


def _constructed(part: Construction, code: str, names: Mapping[str, str], depth: int) -> str:
    """The expression that builds an object from the value of `code`, whose parts have already been built."""
    if part.items is None:
        called = {"keywords": "(**{})", "model": ".model_validate({})", "enum": "({})"}[part.kind]
        return names[part.class_name] + called.format(code)
    each = _variable(depth)
    item = _constructed(part.items, each, names, depth + 1)
    if part.items.optional:
        item = f"{item} {_if_present(part.items, each).rstrip(':')} else {each}"
    if part.kind == "mapping":
        return f"{{key: {item} for key, {each} in {code}.items()}}"
    return _ITEM[part.kind].format(f"{item} for {each} in {code}")


def _variable(depth: int) -> str:
    return "item" if depth == 0 else f"item_{depth + 1}"
