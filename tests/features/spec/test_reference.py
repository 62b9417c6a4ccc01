"""The reference says what the code does. `python tests/features/spec/test_reference.py` renews the field lists."""

import ast
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel

from palmette.documents import Model, parse_document, read_document
from palmette.features.frame import Frame
from palmette.features.oracle import expected
from palmette.features.spec import dfr, fsc, fsc_steps, run
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import AggregateFunction, FeatureSpec
from palmette.features.spec.literals import to_python
from palmette.features.spec.resolve import resolve

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"
SOURCE = ROOT / "src" / "palmette"
MODULES: dict[str, tuple[ModuleType, ...]] = {"fsc": (fsc, fsc_steps), "dfr": (dfr,), "run": (run,)}
BLOCK = re.compile(r"<!-- fields: (?P<names>[\w ]+) -->\n(?P<table>.*?)<!-- end -->", re.S)


def models_of(name: str) -> dict[str, type[BaseModel]]:
    """The models of a format, by name."""
    return {
        key: value
        for module in MODULES[name]
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Model) and value.__module__ == module.__name__
    }


def field_lists(names: str, models: Mapping[str, type[BaseModel]]) -> str:
    """The fields of some models with type, default and docstring."""
    return "\n".join(_fields(models[name]) for name in names.split())


def _fields(model: type[BaseModel]) -> str:
    lines = (
        [f"### {model.__name__}\n", " ".join((model.__doc__ or "").split()) + "\n"]
        if model.__doc__
        else [f"### {model.__name__}\n"]
    )
    for name, field in model.model_fields.items():
        default = "required" if field.is_required() else _shown(field.get_default(call_default_factory=True))
        kind = _kind(model.model_json_schema()["properties"][name])
        meaning = " ".join((field.description or "").split())
        lines.append(f"- `{name}` ({', '.join(filter(None, (kind, default)))}): {meaning}")
    return "\n".join(lines) + "\n"


def _shown(default: object) -> str:
    if default is None or default in ("", (), {}):
        return ""
    return "" if isinstance(default, Model) else f"default `{json.dumps(default, default=str)}`"


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            kinds = dict.fromkeys(_kind(option) for option in schema[key] if option.get("type") != "null")
            if "number" in kinds:
                kinds.pop("integer", None)
            return " or ".join(kinds)
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_kind(schema['items'])}"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"mapping to {_kind(inner)}" if isinstance(inner, dict) else "mapping"
    return "text" if kind == "string" else str(kind)


def renewed(name: str, text: str) -> str:
    """The page with its field lists as the models have them."""
    return BLOCK.sub(
        lambda found: f"<!-- fields: {found['names']} -->\n{field_lists(found['names'], models_of(name))}<!-- end -->",
        text,
    )


@pytest.mark.parametrize("name", MODULES)
def test_field_lists_are_those_of_the_models(name: str) -> None:
    text = (REFERENCE / f"{name}.md").read_text("utf-8")
    assert renewed(name, text) == text
    shown = {model for found in BLOCK.finditer(text) for model in found["names"].split()}
    assert {model for model in models_of(name) if not model.startswith("_")} <= shown


def codes_in(files: Iterable[Path]) -> set[str]:
    """Texts of the form of a code."""
    return {
        node.value
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (re.fullmatch(r"[a-z]+(-[a-z]+)+", node.value) or node.value == "unreadable")
    }


def test_error_codes_are_those_of_the_code() -> None:
    documents = [SOURCE / "documents.py", SOURCE / "_yaml.py", SOURCE / "_validation.py"]
    formats = [file for part in ("spec", "samples") for file in (SOURCE / "features" / part).glob("*.py")]
    texts = yaml.safe_load((SOURCE / "problems.yaml").read_text("utf-8"))
    of_models = "".join(file.read_text("utf-8") for file in (SOURCE / "automl").rglob("*.py"))
    of_documents = (problem for problem in texts if f'"{problem}"' not in of_models)
    codes = codes_in([*documents, *formats]) | {problem.partition("/")[0] for problem in of_documents}
    text = (REFERENCE / "errors.md").read_text("utf-8")
    listed = {
        code for line in re.findall(r"^\| ([a-z-]+(?:, [a-z-]+)*) \|", text, re.M) for code in line.split(", ")
    } - {"code"}
    parts = ("delivery", "automl", "knowledge")
    elsewhere = codes_in(file for part in parts for file in (SOURCE / part).rglob("*.py"))
    assert listed - codes - elsewhere - {"---"} == set()
    assert codes - listed - NOT_CODES == set()


NOT_CODES = {"utf-8", "utf-8-sig"}


def rows_of(text: str, header: str) -> list[list[str]]:
    """The cells of the Markdown table that begins with this header."""
    lines = text[text.index(header) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


REGISTRY = """
dfr: 1
tables:
  - name: orders
    kind: event
    path: orders.parquet
    keys: [order_id]
    event_time: ordered_at
    columns:
      - {name: user_id, type: bigint}
      - {name: order_id, type: bigint}
      - {name: ordered_at, type: timestamp}
      - {name: amount, type: bigint}
      - {name: channel, type: string}
      - {name: returned, type: boolean}
      - {name: embedding, type: array<double>}
"""
DTYPES = {"channel": "string", "embedding": "array<double>", "returned": "double"}


def test_worked_examples_of_functions_are_right() -> None:
    text = (REFERENCE / "fsc.md").read_text("utf-8")
    examples = rows_of(text, "| aggregate | gives")
    used = {yaml.safe_load(f"{{{cell[0].strip('`')}}}")["function"] for cell in examples}
    assert used == set(get_args(AggregateFunction))
    registry = parse_document(REGISTRY, Registry, "dfr")
    table = registry.tables[0]
    schema = {column.name: column.type.parsed for column in table.columns}
    names = [cell.strip() for cell in text[text.index("| order_id") :].splitlines()[0].strip("|").split("|")]
    rows = [
        {
            "user_id": 1,
            **{
                name: to_python(yaml.safe_load(f'"{cell}"' if name == "ordered_at" else cell), schema[name])
                for name, cell in zip(names, cells, strict=True)
            },
        }
        for cells in rows_of(text, "| order_id")
    ]
    frame = Frame.of(
        schema,
        [{name: list(value) if isinstance(value, tuple) else value for name, value in row.items()} for row in rows],
    )
    for example in examples:
        aggregate = yaml.safe_load(f"{{{example[0].strip('`')}, source: orders}}")
        spec = {
            "fsc": 1,
            "feature_view": "v",
            "entities": [{"name": "user", "keys": ["user_id"]}],
            "features": [{"name": "x", "dtype": _dtype(aggregate), "aggregate": aggregate}],
        }
        view = resolve(FeatureSpec.model_validate(spec), registry)
        found = expected(view, {"orders": frame}, datetime(2025, 3, 10, tzinfo=UTC))
        assert found.rows[0]["x"] == pytest.approx(json.loads(example[1]), nan_ok=False) or (
            found.rows[0]["x"] == json.loads(example[1])
        ), example[0]


def _dtype(aggregate: dict[str, Any]) -> str:
    match aggregate["function"]:
        case "exists":
            return "boolean"
        case "last_k" | "top_k" | "collect":
            return "array<string>"
        case "count" | "count_distinct" | "approx_count_distinct":
            return "bigint"
    return DTYPES.get(aggregate.get("of", ""), "double")


def test_phrasings_are_understood() -> None:
    registry = read_document(Path(__file__).with_name("cases") / "registry.yaml", Registry)
    text = (REFERENCE / "words.md").read_text("utf-8")
    head = {
        "fsc": 1,
        "feature_view": "v",
        "sources": [{"name": "orders"}],
        "entities": [{"name": "user", "keys": ["user_id"]}, {"name": "shop", "keys": ["shop_id"]}],
    }
    given = [
        {
            "name": f"orders_{days}d",
            "dtype": "bigint",
            "aggregate": {"function": "count", "source": "orders", "window": f"{days}d"},
        }
        for days in (7, 30)
    ]
    for words, kind in rows_of(text, "| words"):
        feature = {"name": "x", "dtype": _dtype_of_words(kind, words), "words": words.strip("`")}
        found = resolve(FeatureSpec.model_validate({**head, "features": [*given, feature]}), registry).feature("x")
        computation = found.computation
        form = "derive" if found.derive else getattr(computation, "function", type(computation).__name__.lower())
        assert form == kind, words


def _dtype_of_words(kind: str, words: str) -> str:
    by_kind = {
        "count": "bigint",
        "count_distinct": "bigint",
        "exists": "boolean",
        "lookup": "string",
        "last_k": "array<string>",
        "top_k": "array<string>",
        "mode": "string",
        "vector_mean": "array<double>",
        "vector_weighted_mean": "array<double>",
    }
    return by_kind.get(kind, "string" if "channel" in words and kind in ("last", "first") else "double")


if __name__ == "__main__":
    for page in MODULES:
        path = REFERENCE / f"{page}.md"
        path.write_text(renewed(page, path.read_text("utf-8")), encoding="utf-8")
