"""Finds the team's configuration class, and describes and tests it in the sandbox.

For teams without one, the schema is the shape that neighbouring files have in common.
"""

import ast
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue, TypeAdapter

from palmette.documents import Model
from palmette.engine.actor import TextFile
from palmette.engine.wiring import closure
from palmette.features.actors.config_generator.convert import STRONG, best_similarity
from palmette.features.actors.config_generator.neighbour_configs import NeighbourConfigs
from palmette.features.actors.config_generator.schema import TeamSchema
from palmette.features.artefacts import Config, Conventions
from palmette.features.pyspark.io import config_object
from palmette.features.repository.checkout import Checkout, Module, dotted_name
from palmette.features.repository.neighbours import find_neighbours
from palmette.features.repository.spelling import mentions, respelt
from palmette.features.signature import source_of
from palmette.sandbox import Access, Limits, Sandbox, python_command
from palmette.sandbox.reading import read_json

_READS = re.compile(r"(from|load|parse|read|model_validate)(_|$)")
"""Methods that build an object from a file, a text or a mapping."""
_PYDANTIC = re.compile(r"pydantic.*\.(BaseModel|BaseSettings|RootModel)")
_PROGRAM = Path(__file__).with_name("team_program.py")
_SECONDS = 60.0
_MOST_CANDIDATES = 5
_ANSWER = TypeAdapter(dict[str, JsonValue])
_ANSWER_BYTES = 1 << 26


class TeamAnswer(NamedTuple):
    """The answer of the sandboxed program."""

    answer: Mapping[str, Any]
    failure: str = ""
    """Why there is no answer; empty if there is one."""
    trace: str = ""


class TeamCode:
    """The team's package, which is imported only in the sandbox."""

    def __init__(self, sandbox: Sandbox, root: Path, workspace: Path) -> None:
        self._sandbox = sandbox
        self._root = root
        self._workspace = workspace

    def describe(self, class_name: str, documents: Sequence[TextFile]) -> TeamAnswer:
        return self._ask({"ask": "describe", "class": class_name, "documents": {f.path: f.text for f in documents}})

    def parse(self, config: Config) -> TeamAnswer:
        """Parses the document as scripts do: returns `facts` (the values of the accessors) or `errors`."""
        return self._ask(
            {
                "ask": "parse",
                "class": config.class_name,
                "path": config.file.path,
                "text": config.file.text,
                "code": config_object(config, "text", "team_class"),
                "accessors": config.accessors,
            }
        )

    def _ask(self, request: Mapping[str, Any]) -> TeamAnswer:
        folder = self._workspace / "team"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        shutil.copyfile(_PROGRAM, folder / "program.py")
        roots = [str(self._root / part) for part in Checkout(self._root).python_roots]
        result = self._sandbox.run(
            python_command("program.py"),
            cwd=folder,
            access=Access(read=(self._root,), write=(folder,)),
            limits=Limits(seconds=_SECONDS),
            env={"PYTHONPATH": ":".join(roots)},
        )
        try:
            answer = _ANSWER.validate_python(read_json(folder, "answer.json", _ANSWER_BYTES))
        except (OSError, ValueError):
            return TeamAnswer(
                {}, f"the team's code ended without an answer (exit status {result.exit_code})", result.stderr[-3000:]
            )
        return TeamAnswer(answer, str(answer.get("failure", "")), str(answer.get("trace", "")))


def neighbouring_configs(checkout: Checkout, conventions: Conventions, own: str) -> tuple[TextFile, ...]:
    """The other files that match the path pattern of configurations; `own` is the path of the new one."""
    first, *rest = map(re.escape, conventions.config_path.split("{view}"))
    pattern = re.compile(f"{first}(?P<view>[^/]+){'(?P=view)'.join(rest)}")
    found = [path for path in checkout.paths if path != own and rest and pattern.fullmatch(path)]
    return tuple(TextFile(path=path, text=checkout.text(path)) for path in found)


def find_schema(
    code: TeamCode, checkout: Checkout, configured: str | None, documents: Sequence[TextFile]
) -> tuple[TeamSchema | None, TeamAnswer | None]:
    """Finds and describes the configuration class; None if there is none.

    A class named in the run file always wins. Otherwise, it is the first class that parses most of the neighbouring
    documents. If a named class cannot be described, the sandbox's answer is returned.
    """
    names = [configured] if configured else candidates(checkout)[:_MOST_CANDIDATES]
    described: list[tuple[int, TeamSchema]] = []
    for name in names:
        reply = code.describe(name, documents)
        if reply.failure:
            if configured:
                return None, reply
            continue
        schema = dict(reply.answer)
        refused = schema.pop("refused")
        if configured or not documents or refused < len(documents):
            described.append((refused, TeamSchema(name, **schema)))
    return min(described, key=lambda item: item[0])[1] if described else None, None


def candidates(checkout: Checkout) -> list[str]:
    """Pydantic classes and dataclasses that could configure a view, as `module:Class`, most likely first.

    In order: classes that scripts annotate their `config` with, classes that parse documents, and telling names.
    """
    models = _models(checkout)
    fields = (item for _, node in models.values() for item in node.body if isinstance(item, ast.AnnAssign))
    held = {name for field in fields for name in re.findall(r"\w+", source_of(field.annotation))}
    votes: Counter[str] = Counter()
    for neighbour in find_neighbours(checkout):
        for function in neighbour.module.functions:
            for parameter in function.parameters:
                target = _resolve(checkout, neighbour.module, parameter.annotation)
                votes[target] += 10 * (target in models)
    for module in checkout.modules:
        for call in (node for node in ast.walk(module.tree) if isinstance(node, ast.Call)):
            owner, _, method = dotted_name(call.func).rpartition(".")
            if _READS.match(method):
                votes[_resolve(checkout, module, owner)] += 5
            if any(keyword.arg is None for keyword in call.keywords):
                votes[_resolve(checkout, module, dotted_name(call.func))] += 5
    for name, (_, node) in models.items():
        votes[name] += 2 * any(word in node.name for word in ("Config", "Settings", "Spec")) + 2 * (
            node.name not in held
        )
        votes[name] += 2 * any(word in node.name for word in ("View", "Feature", "Job"))
    likely = [(count, name) for name, count in votes.items() if name in models and count >= 4]
    return [
        name.rpartition(".")[0] + ":" + models[name][1].name
        for _, name in sorted(likely, key=lambda item: (-item[0], item[1]))
    ]


def _models(checkout: Checkout) -> dict[str, tuple[Module, ast.ClassDef]]:
    """Subclasses of a Pydantic model, and dataclasses, by dotted name."""
    classes = {
        f"{module.name}.{node.name}": (module, node)
        for module in checkout.modules
        if not module.is_test
        for node in module.classes
    }
    bases = {
        name: {_resolve(checkout, module, dotted_name(base)) for base in node.bases}
        for name, (module, node) in classes.items()
    }
    pydantic = [name for name, above in bases.items() if any(map(_PYDANTIC.fullmatch, above))]
    decorators = {name: map(source_of, node.decorator_list) for name, (_, node) in classes.items()}
    dataclasses = [name for name, every in decorators.items() if any("dataclass" in one for one in every)]
    found = closure([*pydantic, *dataclasses], lambda name: [one for one, above in bases.items() if name in above])
    return {name: classes[name] for name in found}


def _resolve(checkout: Checkout, module: Module, name: str) -> str:
    """The dotted name of a local name in a module, following re-exports."""
    head, _, rest = name.partition(".")
    target = module.imports.get(head, f"{module.name}.{head}")
    dotted = f"{target}.{rest}" if rest else target
    for _ in range(5):
        owner, _, attribute = dotted.rpartition(".")
        home = next((candidate for candidate in checkout.modules if candidate.name == owner), None)
        if home is None or attribute not in home.imports or any(node.name == attribute for node in home.classes):
            break
        dotted = home.imports[attribute]
    return dotted


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


def plain_schema(files: Sequence[TextFile], tables: Iterable[str] = ()) -> TeamSchema:
    """The shape that the files have in common, or that of `PlainConfig` if there are no files.

    If keys are named after some of the view's `tables`, there is one for each.
    """
    documents = list(NeighbourConfigs.read(files).documents)
    if not documents:
        return TeamSchema("", PlainConfig.model_json_schema())
    shape = _shape(documents)
    fields = shape.get("properties", {})
    for known, field in [(name, field) for name in tables for field in fields if mentions(field, name)]:
        shape["properties"] |= {respelt(field, known, name): fields[field] for name in tables}
    return TeamSchema("", shape)


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
