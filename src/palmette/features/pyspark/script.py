"""Writes the whole script: transforms around the team's predefined functions."""

import ast
import re
from collections.abc import Collection

from palmette.features.artefacts import Config, Template, Utilities
from palmette.features.pyspark.build import Build
from palmette.features.pyspark.code import quoted, renamed
from palmette.features.pyspark.feature_functions import joined_features, write_features
from palmette.features.pyspark.house_style import ScriptParts, fill
from palmette.features.pyspark.io import constant_name, load_body, main_body, write_body
from palmette.features.pyspark.scope import IdentifierPool, ScriptScope, identifier
from palmette.features.signature import shape_of
from palmette.features.spec.view import View

_MICROS = {"SECOND": "1_000_000", "MINUTE": "60_000_000", "HOUR": "3_600_000_000", "DAY": "86_400_000_000"}


def write_script(view: View, template: Template, config: Config, utilities: Utilities) -> str:
    """Source of the feature script: the template's functions with bodies, and the transforms they use."""
    conventions = template.conventions
    scope = ScriptScope(
        view,
        utilities,
        IdentifierPool(
            {shape.name for shape in conventions.functions}
            | {identifier(name) for name in view.tables}
            | {identifier(source.name) for source in view.sources}
            | {utility.name for utility in utilities.chosen}
            | ({feature.name for feature in view.features} if conventions.feature_functions else set())
        ),
    )
    build, imports, own = Build(scope, conventions), list[str](), list[str]()
    shape = conventions.feature_functions
    if conventions.query_path:
        query = conventions.query_path.replace("{view}", view.name)
        bodies = {shape_of(conventions, "build").name: build.query_run(template.file.path, query)}
    elif shape is None:
        bodies = {shape_of(conventions, "build").name: build.body()}
    else:
        own, imports = write_features(build, shape), [shape.statement]
        bodies = {shape_of(conventions, "build").name: joined_features(build, shape, own)}
    helpers = [build.with_cutoff(helper) for helper in scope.functions]
    if not conventions.skeleton:
        called = {shape.name for shape in conventions.functions} | {utility.name for utility in utilities.chosen}
        bodies |= {
            shape_of(conventions, "load").name: load_body(scope, conventions, config),
            shape_of(conventions, "write").name: write_body(scope, conventions, config),
            shape_of(conventions, "main").name: _avoid_shadowing(called, main_body(scope, conventions, config)),
        }
    code = "\n".join([*(line for body in bodies.values() for line in body), *helpers, *own])
    key = [f"{shape.key} = {quoted(next(iter(view.grain)))}"] if shape is not None and shape.key else []
    fixed = [*constants(scope, config.accessors, code), *key]
    imports += [f"from {one.module} import {one.name}" for one in utilities.chosen if one.need in scope.used]
    parts = ScriptParts(bodies, helpers, fixed, [*imports, *scope.imports], own)
    return fill(template.file.text, parts, view, conventions)


def _avoid_shadowing(called: Collection[str], lines: list[str]) -> list[str]:
    """Renames variables that would shadow a called function."""
    nodes = ast.walk(ast.parse("\n".join(lines)))
    variables = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for name in sorted(variables & set(called)):
        lines = [renamed(line, name, f"{name}_") for line in lines]
    return lines


def constants(scope: ScriptScope, accessors: Collection[str], code: str) -> list[str]:
    """The module's constants that code mentions; `accessors` are the facts that the configuration gives."""
    lines = [f"VIEW = {quoted(scope.view.name)}", f"ZONE = {quoted(scope.view.zone)}"]
    lines += [f"{name} = {value}" for name, value in scope.constants.items()]
    lines += [f"MICROS_PER_{unit} = {value}" for unit, value in _MICROS.items() if f"MICROS_PER_{unit}" in code]
    for name, table in sorted(scope.view.tables.items()):
        if f"source:{name}" not in accessors:
            lines.append(f"{constant_name(table)} = {quoted(table.table or table.path or name)}")
    if re.search(r"\bOUTPUT_TABLE\b", code):
        lines.append(f"OUTPUT_TABLE = {quoted(scope.view.table_name)}")
    return [line for line in lines if re.search(rf"\b{line.split(' =')[0]}\b", code)]
