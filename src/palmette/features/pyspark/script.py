"""The whole script: transforms around the predefined functions of the team."""

from __future__ import annotations

import re

from palmette.features.artefacts import Config, Conventions, Template, Utilities
from palmette.features.pyspark.code import chain, names, quoted
from palmette.features.pyspark.groups import Written, write_group
from palmette.features.pyspark.io import constant_name, load_body, main_body, write_body
from palmette.features.pyspark.layout import groups, lookups
from palmette.features.pyspark.lookups import write_lookup
from palmette.features.pyspark.output import (
    DAY,
    computed_code,
    derive_levels,
    finished,
    write_observed,
    write_spine,
)
from palmette.features.pyspark.scope import Names, Scope, identifier
from palmette.features.pyspark.shape import function_source, module_docstring
from palmette.features.pyspark.sources import Known, write_source
from palmette.features.pyspark.states import join_keys
from palmette.features.signature import shape_of, signature
from palmette.features.spec.view import View, ViewFeature

_MICROS = {"SECOND": "1_000_000", "MINUTE": "60_000_000", "HOUR": "3_600_000_000", "DAY": "86_400_000_000"}


def write_script(view: View, template: Template, config: Config, utilities: Utilities) -> str:
    """Source of the feature script: the template's predefined functions with bodies, and the transforms they use."""
    conventions = template.conventions
    scope = Scope(view, utilities, Names(
        {shape.name for shape in conventions.functions} | {identifier(name) for name in view.tables}
        | {identifier(source.name) for source in view.sources} | {utility.name for utility in utilities.chosen}))
    bodies = {"build": _Build(scope, conventions).body(), "load": load_body(scope, conventions, config),
              "write": write_body(scope, conventions, config), "main": main_body(scope, conventions, config)}
    blocks = []
    for shape in conventions.functions:
        blocks.append(function_source(view, conventions, shape.role, bodies[shape.role]))
        blocks += scope.functions if shape.role == "build" else []
    if not config.class_name:
        blocks = [re.sub(r"\bconfig: [\w.]+(?=[,)])", "config: dict[str, Any]", block) for block in blocks]
    blocks.append('if __name__ == "__main__":\n    main()'.replace("main()", f"{shape_of(conventions, 'main').name}()"))
    code = "\n\n\n".join(blocks)
    constants = _constants(scope, config, code)
    head = [module_docstring(view, conventions), "from __future__ import annotations",
            _imports(scope, config, code), "\n".join(constants)]
    return "\n\n".join(part for part in head if part) + "\n\n\n" + code + "\n"


def _constants(scope: Scope, config: Config, code: str) -> list[str]:
    lines = [f"VIEW = {quoted(scope.view.name)}", f"ZONE = {quoted(scope.view.zone)}"]
    lines += [f"MICROS_PER_{unit} = {value}" for unit, value in _MICROS.items() if f"MICROS_PER_{unit}" in code]
    for name, table in sorted(scope.view.tables.items()):
        if f"source:{name}" not in config.accessors:
            lines.append(f"{constant_name(table)} = {quoted(table.table or table.path or name)}")
    if re.search(r"\bOUTPUT_TABLE\b", code):
        lines.append(f"OUTPUT_TABLE = {quoted(scope.view.table_name)}")
    return [line for line in lines if re.search(rf"\b{line.split(' =')[0]}\b", code)]


def _imports(scope: Scope, config: Config, code: str) -> str:
    """Standard library, then pyspark and yaml, then the repository; only what the code mentions."""
    def used(name: str) -> bool:
        return re.search(rf"(?<![\w.\"]){name}\b", code) is not None

    standard = ["import argparse"] if used("argparse") else []
    standard += ["from collections.abc import Sequence"] if used("Sequence") else []
    times = [name for name in ("UTC", "datetime", "timedelta") if used(name)]
    standard += [f"from datetime import {', '.join(times)}"] if times else []
    standard += ["from pathlib import Path"] if used("Path") else []
    standard += ["from typing import Any"] if used("Any") else []
    third = ["import yaml"] if used("yaml") else []
    frames = [name for name in ("Column", "DataFrame", "SparkSession") if used(name)]
    third += [f"from pyspark.sql import {', '.join(frames)}"]
    third += ["from pyspark.sql import Window as W"] if used(r"W\.") or "W." in code else []
    third += ["from pyspark.sql import functions as F"]
    own: dict[str, set[str]] = {}
    if config.class_name:
        module, name = config.class_name.split(":")
        if used(name):
            own.setdefault(module, set()).add(name)
    for utility in scope.utilities.chosen:
        if utility.need in scope.used:
            own.setdefault(utility.module, set()).add(utility.name)
    mine = [f"from {module} import {', '.join(sorted(found))}" for module, found in sorted(own.items())]
    return "\n\n".join("\n".join(block) for block in (standard, third, mine) if block)


class _Build:
    """The body of the function that turns tables into features, writing the transforms as it goes."""

    def __init__(self, scope: Scope, conventions: Conventions) -> None:
        self.scope, self.view = scope, scope.view
        self.parameters = signature(self.view, conventions, "build")
        self.lines: list[str] = []

    def body(self) -> list[str]:
        self._pin_zone()
        known = {source.name: write_source(self.scope, source) for source in self.view.sources}
        if self.scope.per_row or self.view.spine is not None:
            base = self._spine()
            locals_ = self._rows(known)
        else:
            locals_ = self._rows(known)
            observed, sources = write_observed(self.scope, known)
            rows = [locals_[name, tuple(self.view.grain)] for name in sources]
            base = f"{observed.function}({', '.join([*rows, *observed.arguments])})"
        joins = self._joins(known, locals_)
        levels = derive_levels(self.scope)
        joined = chain(base, joins) if len(joins) != 1 else f"{base}.{joins[0]}"
        return [*self.lines, f"features = {joined}", *self._contract(levels)]

    def _table(self, name: str) -> str:
        """The data frame of a table inside `build`."""
        for bound in self.parameters:
            if bound.meaning == "tables":
                return f"{bound.name}[{quoted(name)}]"
        return name

    def _pin_zone(self) -> None:
        session = next((bound.name for bound in self.parameters if bound.meaning == "spark"), None)
        session = session or f"{self._table(min(self.view.tables))}.sparkSession"
        self.lines += ["# Calendar days and hours are the view's, whatever zone the session came with.",
                       f'{session}.conf.set("spark.sql.session.timeZone", ZONE)']

    def _spine(self) -> str:
        spine = self.view.spine
        assert spine is not None
        base = write_spine(self.scope)
        call = f"{base.function}({', '.join([self._table(spine.table), *base.arguments])})"
        if not self.scope.per_row:
            return call
        self.lines.append(f"spine = {call}")
        return "spine"

    def _rows(self, known: dict[str, Known]) -> dict[tuple[str, tuple[str, ...]], str]:
        """Variables with the known rows of each source, by source and keys of the features."""
        found: dict[tuple[str, tuple[str, ...]], str] = {}
        for name, item in known.items():
            start = self._table(item.source.table.name)
            if item.prepared:
                arguments = [start, *(self._table(table) for table in item.early_tables)]
                prepared = self.scope.names.fresh(f"all_{name}")
                self.lines.append(f"{prepared} = {item.prepared}({', '.join(arguments)})")
                start = prepared
            tables = [self._table(table) for table in item.tables]
            bys = dict.fromkeys(group.by for group in groups(self.view, item.source))
            if not self.scope.per_row:
                variable = self._variable(name)
                cutoff = ["as_of"] if self._takes_as_of(item.function) else []
                self.lines.append(f"{variable} = {item.function}({', '.join([start, *tables, *cutoff])})")
                found |= {(name, by): variable for by in bys}
                continue
            several = len(set(item.fan_out.values())) > 1
            by_keys: dict[tuple[str, ...], str] = {}
            for by in bys:
                on = item.fan_out[by]
                if on not in by_keys:
                    by_keys[on] = self._variable(f"{name}_of_{self.scope.keys_name(on)}" if several else name)
                    keys = [names(on)] if several else []
                    call = f"{item.function}({', '.join([start, *tables, 'spine', *keys])})"
                    self.lines.append(f"{by_keys[on]} = {call}")
                found[name, by] = by_keys[on]
        return found

    def _variable(self, wanted: str) -> str:
        parameters = {bound.name for bound in self.parameters}
        name = identifier(wanted)
        return self.scope.names.fresh(f"visible_{wanted}") if name in parameters else name

    def _takes_as_of(self, name: str) -> bool:
        source = next(item for item in self.scope.functions if item.startswith(f"def {name}("))
        return "as_of: datetime" in source.split("\n")[0]

    def _joins(self, known: dict[str, Known], rows: dict[tuple[str, tuple[str, ...]], str]) -> list[str]:
        joins = []
        for source in self.view.sources:
            for group in groups(self.view, source):
                written = write_group(self.scope, group, known[source.name])
                joins.append(self._join(written, [rows[source.name, group.by]]))
        for (table, on), features in lookups(self.view).items():
            written = write_lookup(self.scope, self.view.tables[table], dict(on), features)
            takes_spine = self.scope.per_row and len(written.by) > len(on)
            joins.append(self._join(written, [self._table(table), *(["spine"] if takes_spine else [])]))
        return joins

    def _join(self, written: Written, arguments: list[str]) -> str:
        given = ", ".join([*arguments, *(["as_of"] if written.takes_as_of else [])])
        return f'join({written.function}({given}), on={join_keys(list(written.by))}, how="left")'

    def _contract(self, levels: list[list[ViewFeature]]) -> list[str]:
        """The statements from the joined frame to the returned one."""
        first = [*self.view.grain, *self.view.kept, "as_of"]
        day = [f"{DAY}.alias({quoted(self.view.partition)})"] if self.view.partition else []
        computed = [feature for feature in self.view.features if feature.derive is None]
        if not levels:
            columns = [self._column(feature) for feature in computed if not feature.internal]
            return [_select("return features", [quoted(name) for name in first] + columns + day)]
        lines = [_select("features = features", [quoted(name) for name in first] + [
            self._column(feature) for feature in computed])]
        for level in levels[:-1]:
            items = ", ".join(f"{quoted(feature.name)}: {self._derived(feature)}" for feature in level)
            lines.append(f"features = features.withColumns({{{items}}})")
        last = {feature.name for feature in levels[-1]}
        columns = [self._column(feature) if feature.name in last else quoted(feature.name)
                   for feature in self.view.features if not feature.internal]
        return [*lines, _select("return features", [quoted(name) for name in first] + columns + day)]

    def _derived(self, feature: ViewFeature) -> str:
        types = {name: kind for name, kind in self.view.grain.items()} | {
            item.name: item.dtype for item in self.view.features}
        return finished(feature, self.scope.sql(feature.derive or "", types))

    def _column(self, feature: ViewFeature) -> str:
        text = self._derived(feature) if feature.derive is not None else finished(feature, computed_code(feature))
        return f"{text}.alias({quoted(feature.name)})"


def _select(start: str, columns: list[str]) -> str:
    return f"{start}.select(\n" + "".join(f"    {column},\n" for column in columns) + ")"


