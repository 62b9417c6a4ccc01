"""Program run in the sandbox with the team's code: describes the configuration class, or parses a document with it.

Reads `request.json` from the working directory and writes `answer.json` there. Does not import palmette.
"""

import dataclasses
import inspect
import json
import tomllib
import traceback
import typing
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import yaml
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, RootModel, TypeAdapter, ValidationError
from pydantic.dataclasses import is_pydantic_dataclass
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python
from typing_extensions import is_typeddict


class _Lenient(GenerateJsonSchema):
    """Describes types that JSON Schema cannot express as anything."""

    def handle_invalid_for_json_schema(self, *_: Any) -> dict[str, Any]:
        return {}


def adapter(cls: Any) -> TypeAdapter[Any]:
    """Parses documents into a class: a Pydantic class by its own rules, any other class by the types of its fields.

    A dataclass accepts only the names of its fields.
    """
    if dataclasses.is_dataclass(cls) and not hasattr(cls, "__pydantic_config__"):
        setattr(cls, "__pydantic_config__", ConfigDict(extra="forbid"))  # noqa: B010 - Pydantic's own name for it
    return TypeAdapter(cls)


def describe(name: str, documents: dict[str, str]) -> dict[str, Any]:
    """Returns the JSON Schema by attribute name, the names used in documents, and how many documents it refuses."""
    cls = resolve_name(name)
    models = models_within(cls)
    return {
        "schema": adapter(cls).json_schema(by_alias=False, schema_generator=_Lenient),
        "built_by": built_by(cls),
        "aliases": {model.__name__: aliases_of(model) for model in models if issubclass(model, BaseModel)},
        "roots": [model.__name__ for model in models if issubclass(model, RootModel)],
        "mappings": [model.__name__ for model in models if is_typeddict(model)],
        "refused": sum(refuses(cls, path, text) for path, text in documents.items()),
    }


def models_within(cls: Any) -> list[Any]:
    """The class and every model reachable through its fields."""
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
    """Maps attributes to the keys used in documents, where they differ."""
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


def parsed(path: str, text: str) -> Any:
    """Parses the text of a file, in the format given by its name."""
    if path.endswith(".toml"):
        return tomllib.loads(text)
    return json.loads(text) if path.endswith(".json") else yaml.safe_load(text)


def refuses(cls: Any, path: str, text: str) -> bool:
    """Whether a document does not parse into the class."""
    try:
        document = parsed(path, text)
        cls(**document) if converts_itself(cls) else adapter(cls).validate_python(document)
    except Exception:  # noqa: BLE001 - a validator may raise anything
        return True
    return False


def built_by(cls: Any) -> str:
    """How scripts create an object; a constructor converts no values unless the class does so itself."""
    if issubclass(cls, BaseModel):
        return "model_validate"
    is_flat = "$defs" not in adapter(cls).json_schema(schema_generator=_Lenient)
    return "keywords" if is_flat or is_pydantic_dataclass(cls) or converts_itself(cls) else "type_adapter"


def converts_itself(cls: Any) -> bool:
    """Whether `__post_init__` creates objects from parts of the document, as in `self.sink = Sink(**self.sink)`."""
    return hasattr(cls, "__post_init__") and "(**" in inspect.getsource(cls.__post_init__)


def parse(request: dict[str, Any]) -> dict[str, Any]:
    """Evaluates each accessor on the parsed document, as scripts do; returns the values or the errors."""
    text = request["text"]
    names: dict[str, Any] = {"yaml": yaml, "json": json, "tomllib": tomllib, "TypeAdapter": TypeAdapter, "text": text}
    try:
        names["team_class"] = resolve_name(request["class"]) if request["class"] else None
        names["config"] = eval(request["code"], names)
        values = {fact: eval(expression, names) for fact, expression in request["accessors"].items()}
        facts = to_jsonable_python(values, fallback=str)
    except Exception as error:  # noqa: BLE001 - the team's class may raise anything; its message is the answer
        whole = {"field": "", "message": f"{type(error).__name__}: {error}"[:2000], "value": ""}
        return {"errors": refusals(request["class"], request["path"], text) or [whole]}
    errors = refusals(request["class"], request["path"], text)
    return {"errors": errors} if errors else {"facts": facts}


def refusals(name: str, path: str, text: str) -> list[dict[str, str]]:
    """Values that do not have the types that the class declares, as far as the types are known."""
    try:
        adapter(resolve_name(name) if name else Any).validate_python(parsed(path, text))
    except ValidationError as error:
        return [
            {"field": ".".join(map(str, item["loc"])), "message": item["msg"], "value": repr(item["input"])[:200]}
            for item in error.errors()
        ]
    except Exception:  # noqa: BLE001 - a class that converts its own fields may reject values converted here
        return []
    return []


def main() -> None:
    request = json.loads(Path("request.json").read_text(encoding="utf-8"))
    try:
        answer = describe(request["class"], request["documents"]) if request["ask"] == "describe" else parse(request)
    except Exception as error:  # noqa: BLE001 - the team's code may raise anything; it becomes the answer
        answer = {"failure": f"{type(error).__name__}: {error}"[:2000], "trace": traceback.format_exc()[-3000:]}
    Path("answer.json").write_text(json.dumps(answer, default=str), encoding="utf-8")


if __name__ == "__main__":
    main()
