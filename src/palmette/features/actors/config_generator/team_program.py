"""Runs in the sandbox beside the team's code: describes its configuration class, or parses with it.

Reads `request.json` in the working directory and leaves `answer.json` there. Imports nothing of palmette.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import traceback
import typing
from enum import Enum
from pathlib import Path
from typing import Any

import yaml
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, RootModel, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import is_typeddict


class _Lenient(GenerateJsonSchema):
    """A type that JSON Schema has no word for is described as anything."""

    def handle_invalid_for_json_schema(self, *_: Any) -> dict[str, Any]:
        return {}


def load(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def adapter(cls: Any) -> TypeAdapter[Any]:
    """What reads documents into a class: a Pydantic one as it says itself, any other one by the types of its fields.

    A dataclass takes the names of its fields and no others.
    """
    if dataclasses.is_dataclass(cls) and not hasattr(cls, "__pydantic_config__"):
        setattr(cls, "__pydantic_config__", ConfigDict(extra="forbid"))  # noqa: B010 - Pydantic's own name for it
    return TypeAdapter(cls)


def describe(name: str, documents: dict[str, str]) -> dict[str, Any]:
    """JSON Schema by attribute names, the names used in documents, and which documents parse."""
    cls = load(name)
    models = models_within(cls)
    return {
        "schema": adapter(cls).json_schema(by_alias=False, schema_generator=_Lenient),
        "by_keywords": not issubclass(cls, BaseModel),
        "aliases": {model.__name__: aliases_of(model) for model in models if issubclass(model, BaseModel)},
        "roots": [model.__name__ for model in models if issubclass(model, RootModel)],
        "mappings": [model.__name__ for model in models if is_typeddict(model)],
        "refused": {path: error for path, text in documents.items() if (error := refusal(cls, text))},
    }


def models_within(cls: Any) -> list[Any]:
    """The class and all models that its fields hold, at any depth."""
    found: list[Any] = []
    waiting = [cls]
    while waiting:
        kind = waiting.pop()
        waiting += typing.get_args(kind)
        if not isinstance(kind, type) or kind in found:
            continue
        if issubclass(kind, BaseModel):
            found.append(kind)
            waiting += [field.annotation for field in kind.model_fields.values()]
        elif is_typeddict(kind) or dataclasses.is_dataclass(kind):
            found.append(kind)
            waiting += list(typing.get_type_hints(kind).values())
    return found


def aliases_of(model: Any) -> dict[str, str]:
    """Attribute to the key that documents use, where the two differ."""
    if model.model_config.get("validate_by_alias") is False:
        return {}
    found = {}
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        if isinstance(alias, AliasChoices):
            alias = next((choice for choice in alias.choices if isinstance(choice, str)), None)
        if isinstance(alias, str) and not isinstance(alias, AliasPath) and alias != name:
            found[name] = alias
    return found


def refusal(cls: Any, text: str) -> str:
    try:
        adapter(cls).validate_python(yaml.safe_load(text))
    except Exception as error:  # noqa: BLE001 - a validator may raise anything; what it says is the answer
        return f"{type(error).__name__}: {error}"[:2000]
    return ""


def parse(name: str, text: str, accessors: dict[str, str]) -> dict[str, Any]:
    """What the class makes of a document: its dump and the value of each accessor, or its errors."""
    cls = load(name) if name else None
    data = yaml.safe_load(text)
    try:
        config = adapter(cls).validate_python(data) if cls else data
    except ValidationError as error:
        return {
            "errors": [
                {
                    "field": ".".join(map(str, item["loc"])),
                    "message": item["msg"],
                    "value": repr(item["input"])[:200],
                }
                for item in error.errors()
            ]
        }
    dump = adapter(cls).dump_python(config, mode="json") if cls else config
    facts = {fact: plain(eval(expression, {"config": config})) for fact, expression in accessors.items()}
    return {"value": json.loads(json.dumps(dump, default=str)), "facts": facts}


def plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def main() -> None:
    request = json.loads(Path("request.json").read_text(encoding="utf-8"))
    try:
        if request["ask"] == "describe":
            answer = describe(request["class"], request["documents"])
        else:
            answer = parse(request["class"], request["text"], request["accessors"])
    except Exception as error:  # noqa: BLE001 - the team's code may raise anything; it becomes the answer
        answer = {
            "failure": f"{type(error).__name__}: {error}"[:2000],
            "trace": traceback.format_exc()[-3000:],
        }
    Path("answer.json").write_text(json.dumps(answer, default=str), encoding="utf-8")


if __name__ == "__main__":
    main()
