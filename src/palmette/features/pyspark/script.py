"""Writes the whole script: transforms around the team's predefined functions."""

import ast
import re
import textwrap
from collections.abc import Collection
from typing import NamedTuple

from palmette.features.artefacts import Config, Conventions, FeatureFunctions, Template, Utilities
from palmette.features.pyspark.build import Build, joined, select
from palmette.features.pyspark.code import chain, function, quoted, renamed
from palmette.features.pyspark.house_style import ScriptParts, fill, inlined, respelt
from palmette.features.pyspark.io import constants, function_source, load_body, main_body, write_body
from palmette.features.pyspark.scope import ScriptScope, identifier
from palmette.features.pyspark.states import join_keys
from palmette.features.signature import BoundParameter, is_frame, meaning_of, shape_of
from palmette.features.spec.phrases import definition
from palmette.features.spec.view import AS_OF, View, ViewFeature


def write_features(build: Build, shape: FeatureFunctions) -> list[str]:
    """Source of the functions of all features in the output; adds the transforms that they share to the script."""
    build.write_sources()
    return [_FeatureBuild(build, shape, feature).source() for feature in build.view.public]


class BuildFunction(NamedTuple):
    """The function that builds a view whose script has none, for checks and tests."""

    imports: tuple[str, ...]
    code: str


def build_function(view: View, conventions: Conventions, home: str) -> BuildFunction:
    """Joins the decorated functions of a script, or runs its query. `home`: Path of the file with the function."""
    scope = ScriptScope(view, Utilities(), set())
    build, shape = Build(scope, conventions), conventions.feature_functions
    script = (conventions.query_path or conventions.script_path).replace("{view}", view.name)
    body = build.query_run(home, script) if shape is None else _joined(build, shape)
    code = function_source(view, conventions, "build", body)
    imports, code = respelt(code, conventions.style)
    if shape is not None and home != script:
        names = ", ".join(feature.name for feature in view.public)
        imports.append(f"from {conventions.module(view.name)} import {names}")
    fixed = constants(scope, {}, code)
    return BuildFunction(tuple(imports), "\n".join([*fixed, *([""] * 2 if fixed else []), code]))


def _joined(build: Build, shape: FeatureFunctions) -> list[str]:
    """Statements that join the functions. All features have the same keys."""
    view, keys = build.view, list(build.view.grain)
    table = build.table(next(iter(view.tables)))
    values = {"as_of": build.cutoff_name, "tables": table.partition("[")[0]}
    given = ", ".join(values.get(meaning_of(one), table) for one in shape.parameters)
    public = [feature.name for feature in view.public]
    first, *others = [f"{name}({given})" for name in public]
    calls = [f'join({call}, on={join_keys(keys)}, how="full")' for call in others]
    cutoff = [f'F.lit({build.cutoff_name}).alias("as_of")'] if AS_OF in view.output else []
    columns = [*map(quoted, keys), *cutoff, *map(quoted, public)]
    return [f"features = {chain(first, calls)}", select("return features", columns)]


class _FeatureBuild(Build):
    """Writes the function of a single feature."""

    def __init__(self, whole: Build, shape: FeatureFunctions, feature: ViewFeature) -> None:
        super().__init__(whole.scope, whole.conventions)
        self.known, self.shape, self.feature = whole.known, shape, feature
        table = next(iter(self.view.tables))
        self.parameters = tuple(
            BoundParameter(table, one.annotation, "table", table)
            if is_frame(one)
            else BoundParameter(one.name, one.annotation, meaning_of(one))
            for one in shape.parameters
        )
        self.needed = {feature.name}
        for name in reversed(self.view.derivation_order):
            if name in self.needed:
                self.needed |= set(re.findall(r"\w+", self.view.feature(name).derive or ""))

    def source(self) -> str:
        """Source of the function, with the transforms that only this feature needs inside it."""
        functions, names_before = self.scope.functions, set(self.scope.taken)
        start = len(functions)
        self._known_rows()
        first, *calls = [*self._observed(), *self._joins()]
        text, left = inlined("\n".join(self._contract(first, calls)), functions[start:])
        functions[start:] = left
        if not left:
            self.scope.taken.intersection_update(names_before)
        used = [line for line in self.lines if re.search(rf"\b{line.partition(' = ')[0]}\b", text)]
        parsed, cutoff = self._cutoff()
        lines = [renamed(line, "as_of", cutoff) for line in (*used, *text.split("\n"))]
        doc = re.sub(r"^([Tt]he|[Aa]n?) ", "", self.feature.description or definition(self.feature, self.view))
        doc = f"`{doc}`" if doc == self.feature.derive else doc[0].upper() + doc[1:].rstrip(".")
        doc = textwrap.shorten(f"{doc}.", self.conventions.line_length - 12)
        parameters = [f"{one.name}: {one.annotation}" if one.annotation else one.name for one in self.parameters]
        made = function(self.feature.name, parameters, "DataFrame", doc, [*parsed, *lines])
        mark = self.shape.decorator.replace("{name}", self.feature.name).replace("{dtype}", str(self.feature.dtype))
        for key in self.view.grain if self.shape.key else ():
            made = made.replace(repr(key), self.shape.key).replace(quoted(key), self.shape.key)
        return f"@{mark}\n{made}"

    def _contract(self, first: str, calls: list[str]) -> list[str]:
        """The statement that returns the key and the feature."""
        column, frame = self._column(self.feature), joined(first, calls, self._inputs_of_derived())
        is_plain = column == quoted(self.feature.name) and len(self.base) == 1
        keys = [quoted(name) for name in self.view.grain]
        return [f"return {frame}" if is_plain else select(f"return {frame}", [*keys, column])]


def write_script(view: View, template: Template, config: Config, utilities: Utilities) -> str:
    """Source of the feature script: the template's functions with bodies, and the transforms they use."""
    conventions = template.conventions
    if conventions.names_query:
        return template.file.text
    taken = {shape.name for shape in conventions.functions} | {utility.name for utility in utilities.chosen}
    taken |= {*map(identifier, view.tables), *(identifier(source.name) for source in view.sources)}
    taken |= {feature.name for feature in view.features} if conventions.feature_functions else set()
    scope = ScriptScope(view, utilities, taken)
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
