"""Writes the whole script: transforms around the team's predefined functions."""

import ast
from collections.abc import Collection

from palmette.features.artefacts import Config, Template, Utilities
from palmette.features.pyspark.build import Build
from palmette.features.pyspark.code import renamed
from palmette.features.pyspark.feature_functions import write_features
from palmette.features.pyspark.house_style import ScriptParts, fill
from palmette.features.pyspark.io import constants, load_body, main_body, write_body
from palmette.features.pyspark.scope import IdentifierPool, ScriptScope, identifier
from palmette.features.signature import shape_of
from palmette.features.spec.view import View


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
    build, own = Build(scope, conventions), list[str]()
    shape = conventions.feature_functions
    if conventions.query_path:
        query = conventions.query_path.replace("{view}", view.name)
        bodies = {shape_of(conventions, "build").name: build.query_run(template.file.path, query)}
    elif shape is None:
        bodies = {shape_of(conventions, "build").name: build.body()}
    else:
        own, bodies = write_features(build, shape), {"": list[str]()}
    helpers = ["\n".join(renamed(line, "as_of", build.cutoff_name) for line in helper.split("\n"))
               for helper in scope.functions]  # fmt: skip
    if not conventions.skeleton:
        called = {shape.name for shape in conventions.functions} | {utility.name for utility in utilities.chosen}
        bodies |= {
            shape_of(conventions, "load").name: load_body(scope, conventions, config),
            shape_of(conventions, "write").name: write_body(scope, conventions, config),
            shape_of(conventions, "main").name: _avoid_shadowing(called, main_body(scope, conventions, config)),
        }
    code = "\n".join([*(line for body in bodies.values() for line in body), *helpers, *own])
    fixed = constants(scope, config.accessors, code)
    imports = [f"from {one.module} import {one.name}" for one in utilities.chosen if one.need in scope.used]
    parts = ScriptParts(bodies, helpers, fixed, [*imports, *scope.imports], own)
    return fill(template.file.text, parts, view, conventions)


def _avoid_shadowing(called: Collection[str], lines: list[str]) -> list[str]:
    """Renames variables that would shadow a called function."""
    nodes = ast.walk(ast.parse("\n".join(lines)))
    variables = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for name in sorted(variables & set(called)):
        lines = [renamed(line, name, f"{name}_") for line in lines]
    return lines
