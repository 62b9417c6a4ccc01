"""Turns the columns of a symbolic data frame into the features of a specification."""

import dataclasses
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml
from sqlglot import exp

from palmette.features.adoption.aggregates import RowChoice, aggregate_of, split
from palmette.features.adoption.frames import Atom, Keyed, ScriptReading, SymbolicRows
from palmette.features.adoption.trees import NotReadError, Tree, before_cutoff, mentions, sql, text_of, time_column
from palmette.features.pyspark.scope import free_name
from palmette.features.spec import AS_OF, Aggregate, SparkType, Table, Window
from palmette.features.spec.expressions import check, type_of
from palmette.features.spec.fsc_steps import pairs
from palmette.features.spec.sql import function_name
from palmette.features.spec.type_rules import result_type

_MOST_PARTS = 8
"""Maximum number of aggregates that one feature is divided into."""


@dataclass
class _DraftSource:
    name: str
    table: Table
    steps: tuple[Mapping[str, Any], ...]


class _Column(NamedTuple):
    """An output column without its cast and its default."""

    name: str
    tree: Tree
    """Over atoms, keys and `as_of`."""
    dtype: SparkType | None
    default: object


class Drafter:
    """Turns the columns of a frame into the fields of a specification."""

    def __init__(self, reading: ScriptReading, result: Keyed, tables: Mapping[str, Table], zone: str | None) -> None:
        self.reading, self.result, self.tables, self.zone = reading, result, tables, zone
        self.sources: list[_DraftSource] = []
        self.features: dict[str, dict[str, Any]] = {}
        self.names: dict[str, str] = {}
        """Feature that holds an atom, by the atom's name."""
        self.bare: dict[str, str] = {}
        """The same for atoms whose feature has a default, where the script uses the value without it."""

    def spec(self, view: str) -> dict[str, Any]:
        kept, partition, columns = list[str](), "", list[_Column]()
        for rows in self.result.base:
            self._source(rows, is_base=True)
        for name, tree in self.result.columns.items():
            atom = self.reading.atoms.get(tree.name) if isinstance(tree, exp.Column) else None
            if atom is not None and atom.is_kept:
                kept.append(name)
            elif function_name(tree) in ("to_date", "date") and before_cutoff(tree) is not None:
                partition = name
            elif name not in (*self.result.keys, AS_OF):
                columns += self._trying(name, self._column, name, tree)
        self._add_all(columns)
        output: dict[str, Any] = {"partition": partition} if partition else {}
        if AS_OF not in self.result.columns:
            output |= {"as_of": False}
        elif [*self.result.columns].index(AS_OF) != len(self.result.keys) + len(kept):
            self.reading.note(f"columns of a specification are in the order: keys, kept columns, {AS_OF}, features", 0)
        self._compare_rows()
        return {
            "fsc": 1,
            "feature_view": view,
            "entities": [{"name": key.removesuffix("_id"), "keys": [key]} for key in self.result.keys],
            **self._time_and_spine(kept),
            **self._declared_sources(),
            "features": list(self.features.values()),
            **({"output": output} if output else {}),
        }

    def _trying(self, name: str, make: Callable[..., _Column | None], *arguments: object) -> list[_Column]:
        """The column that a function makes; a note, and none, if the feature cannot be read."""
        try:
            made = make(*arguments)
            return [] if made is None else [made]
        except NotReadError as error:
            tree = self.result.columns.get(name, exp.column(name))
            lines = [atom.line for one in tree.find_all(exp.Column) if (atom := self.reading.atoms.get(one.name))]
            self.reading.note(f"{name}: {error.reason}", error.line or min(lines, default=0))
            return []

    def _time_and_spine(self, kept: Sequence[str]) -> dict[str, Any]:
        rows, found = self.result.spine, dict[str, Any]()
        times = {} if self.zone in (None, "UTC") else {"zone": self.zone}
        if rows is None:
            return {"time": times} if times else {}
        cutoff = rows.columns.get(AS_OF)
        if cutoff is not None and (column := time_column(cutoff)) not in (None, AS_OF):
            found, times = {"cutoff": column}, {"cutoff": "spine", **times}
        filters = [step["filter"] for step in rows.steps if "filter" in step]
        if filters:
            found["where"] = " AND ".join(filters)
        if len(filters) < len(rows.steps):
            self.reading.note(f"{rows.table.name} is changed before it becomes the rows of the output")
        spine = {"table": rows.table.name, **found, **({"keep": list(kept)} if kept else {})}
        return {**({"time": times} if times else {}), "spine": spine}

    def _declared_sources(self) -> dict[str, Any]:
        found = []
        for one in self.sources:
            if one.steps or one.name != one.table.name:
                table = {} if one.name == one.table.name else {"table": one.table.name}
                found.append({"name": one.name, **table, "steps": [dict(step) for step in one.steps]})
        return {"sources": found} if found else {}

    def _column(self, name: str, tree: Tree) -> _Column:
        dtype, default = None, None
        while True:
            tree = tree.unnest()
            if isinstance(tree, exp.Cast):
                dtype = dtype or _cast_to(tree)
                if dtype is None:
                    raise NotReadError(f"{tree.to.sql('spark').lower()} is not a type of a specification")
                tree = tree.this
                continue
            values = tree.args.get("expressions", [])
            if function_name(tree) != "coalesce" or len(values) != 2 or values[1].find(exp.Column):
                return _Column(name, self._expanded(tree, name), dtype, default)
            default, tree = _constant(values[1]), values[0]

    def _expanded(self, tree: Tree, name: str) -> Tree:
        """The tree in which aggregates of several windows, or beside the cut-off, are atoms of their own."""

        def replace(node: exp.Expr) -> exp.Expr:
            atom = self.reading.atoms.get(node.name) if isinstance(node, exp.Column) else None
            if atom is None or not mentions(atom.tree, AS_OF) or self._aggregate(atom) is not None:
                return node
            outer, parts = split(atom.tree, f"{name}_part")
            if isinstance(outer, exp.Column) or len(parts) > _MOST_PARTS:
                text = textwrap.shorten(text_of(atom.tree), 100)
                raise NotReadError(f"{text} has no counterpart in a specification", atom.line)
            self.reading.atoms |= {part: dataclasses.replace(atom, tree=inner) for part, inner in parts.items()}
            return outer

        return tree.copy().transform(replace)

    def _add_all(self, columns: Sequence[_Column]) -> None:
        derived = list[_Column]()
        for one in columns:
            atom = one.tree.name if isinstance(one.tree, exp.Column) and one.tree.name in self.reading.atoms else ""
            if atom and atom not in self.names:
                self.names[atom] = one.name
            else:
                derived.append(one)
        by_name = {one.name: one for one in columns}
        replaced = {one.tree.name for one in columns if one.default is not None and one not in derived}
        inner = [
            _Column(node.name, node, _cast_to(node.parent), None)
            for one in derived
            for node in one.tree.find_all(exp.Column)
            if node.name in self.reading.atoms
            and (node.name not in self.names or (node.name in replaced and not _has_default(node)))
        ]
        for part in {one.name: one for one in inner}.values():
            of = self.bare if part.name in self.names else self.names
            of[part.name] = f"{part.name}_value" if part.name in by_name else part.name
            self._trying(part.name, self._add, part, of[part.name])
        for one in columns:
            if one not in derived:
                self._trying(one.name, self._add, one)
        for one in derived:
            self._trying(one.name, self._derive, one)
        order = {name: index for index, name in enumerate(by_name)}
        self.features = dict(sorted(self.features.items(), key=lambda item: order.get(item[0], -1)))

    def _add(self, column: _Column, internal_name: str = "") -> None:
        name = internal_name or self.names[column.tree.name]
        computed, inferred = self._computed(self.reading.atoms[column.tree.name])
        default = computed.get("aggregate", {}).pop("default", None)
        default = column.default if column.default is not None else default
        self._put(name, column.dtype or inferred, default, computed)
        if internal_name:
            self.features[name]["internal"] = True

    def _derive(self, column: _Column) -> None:
        def replace(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or node.name not in self.reading.atoms:
                return node
            name = self.names[node.name] if _has_default(node) else self.bare.get(node.name, self.names[node.name])
            if name not in self.features:
                raise NotReadError(f"{name}, which it uses, is not read")
            return exp.column(name)

        def without_default(node: exp.Expr) -> exp.Expr:
            """A feature without the default that it has anyway."""
            if function_name(node) != "coalesce" or len(node.expressions) != 2:
                return node
            own = self.features.get(node.expressions[0].name, {})
            is_count = own.get("aggregate", {}).get("function") in ("count", "count_distinct")
            default = own.get("default", 0 if is_count else None)
            return node.expressions[0] if default == _constant(node.expressions[1]) else node

        tree = column.tree.copy().transform(replace).transform(without_default)
        text = text_of(tree)
        types = {name: SparkType.parse(one["dtype"]) for name, one in self.features.items()}
        tables = [*self.tables.values()][::-1]
        registered = {name: kind for table in tables for name, kind in table.column_types.items()}
        types |= {AS_OF: SparkType("timestamp")}
        types |= {key: registered.get(key, SparkType("string")) for key in self.result.keys}
        self._put(column.name, column.dtype or check(text, types).type, column.default, {"derive": text})

    def _put(self, name: str, dtype: SparkType | None, default: object, computed: dict[str, Any]) -> None:
        if dtype is None:
            raise NotReadError("its type is not known; cast it in the script")
        known = {} if default is None else {"nullable": False, "default": default}
        self.features[name] = {"name": name, "dtype": str(dtype), **known, **computed}

    def _computed(self, atom: Atom) -> tuple[dict[str, Any], SparkType | None]:
        """The computation of an atom as a field of a feature, and its type if it is known."""
        table = atom.rows.table
        if (column := _looked_up(atom)) is not None:
            found = {"table": table.name, "column": column, "on": list(atom.keys)}
            return {"lookup": found}, table.column_types.get(column)
        source, conditions = self._source(atom.rows)
        schema = self._schema(atom.rows)
        by = {} if set(atom.keys) == set(self.result.keys) else {"by": list(atom.keys)}
        inferred = type_of(text_of(atom.tree), {**schema, AS_OF: SparkType("timestamp")})
        rows = RowChoice(table, schema, atom.rows.window, list(conditions))
        if (aggregate := aggregate_of(atom.tree, rows, atom.rows.unique)) is not None:
            inferred = inferred or _result(aggregate, schema)
            return {"aggregate": {**aggregate, "source": source, **rows.shared, **by}}, inferred
        if atom.rows.unique:
            raise NotReadError("an expression over rows without repetitions has no counterpart in a specification")
        plain = RowChoice(table, schema, atom.rows.window, list(conditions))
        if faults := check(text_of(atom.tree), schema, "aggregate").faults:
            raise NotReadError(faults[0].message.rstrip("."), atom.line)
        return {"expression": {"sql": text_of(atom.tree), "source": source, **plain.shared, **by}}, inferred

    def _aggregate(self, atom: Atom) -> dict[str, Any] | None:
        if _looked_up(atom) is not None:
            return {}
        return aggregate_of(atom.tree, RowChoice(atom.rows.table, self._schema(atom.rows)), atom.rows.unique)

    def _source(self, rows: SymbolicRows, is_base: bool = False) -> tuple[str, list[Tree]]:
        """The name of the source with the steps of these rows, and conditions in addition to its steps."""
        present = [{"filter": f"{key} IS NOT NULL"} for key in self.result.keys if self.result.spine is None]
        steps = [step for step in rows.steps if step not in present]  # a specification leaves out null keys anyway
        for one in sorted(self.sources, key=lambda one: -len(one.steps)):
            rest = steps[len(one.steps) :]
            same = one.table == rows.table and steps[: len(one.steps)] == list(one.steps)
            if same and all("filter" in step for step in rest):
                return one.name, [sql(step["filter"]) for step in rest]
        conditions = list[Tree]()
        while steps and "filter" in steps[-1] and not is_base:
            conditions.insert(0, sql(steps.pop()["filter"]))
        name = free_name(rows.table.name, [one.name for one in self.sources])
        self.sources.append(_DraftSource(name, rows.table, tuple(steps)))
        self._compare_times(rows)
        return name, conditions

    def _schema(self, rows: SymbolicRows) -> dict[str, SparkType]:
        """The columns of rows after their steps; those of unknown type are left out."""
        schema = rows.table.column_types
        for step in rows.steps:
            ((kind, of),) = step.items()
            found: dict[str, SparkType | None] = {}
            if kind == "compute":
                found = {name: type_of(text, {**schema, AS_OF: SparkType("timestamp")}) for name, text in of.items()}
            elif kind == "join":
                columns = self.tables[of["table"]].column_types
                found = {new: columns.get(there) for new, there in pairs(of["columns"]).items()}
            elif kind != "filter":
                result = {"gap": SparkType("double"), "session": SparkType("bigint")}
                found = {of["column"]: result.get(kind) or type_of(of["of"], schema)}
            schema |= {name: kind for name, kind in found.items() if kind is not None}
        return schema

    def _compare_times(self, rows: SymbolicRows) -> None:
        """Notes what a specification does with times and the script does not."""
        table = rows.table
        if table.kind != "event":
            return
        for time in (table.event_time, table.available_time):
            if time is not None and time not in rows.bounded:
                self.reading.note(f"{table.name}: rows with {time} at or after the cut-off are not excluded")
        if rows.pruned and rows.window is None:
            self.reading.note(f"{table.name}: only partitions bound its rows; windows of a specification go by time")

    def _compare_rows(self) -> None:
        if self.result.spine is not None:
            return
        for key in self.result.keys:
            columns = [rows.table.column(key) for rows in self.result.base]
            filtered = all(f"{key} IS NOT NULL" in str(rows.steps) for rows in self.result.base)
            present = key in self.result.present or filtered
            if not present and any(one is not None and one.nullable for one in columns):
                self.reading.note(f"rows with {key} null are in the script's output; a specification leaves them out")
        windows = {self._source(rows)[0]: rows.window for rows in self.result.base}
        based = [one for one in self.sources if one.name in windows and not any("filter" in step for step in one.steps)]
        whole = {one.table.name: windows[one.name] for one in based}
        windows = {one.name: whole[one.table.name] for one in self.sources if one.table.name in whole} | windows
        for one in self.features.values():
            computed = one.get("aggregate") or one.get("expression") or {}
            source = computed.get("source")
            if source is None or "by" in computed:
                continue
            if source not in windows:
                self.reading.note(f"keys with rows in {source} alone are missing in the script's output")
                continue
            base, own = windows[source], computed.get("window")
            if base is not None and (own is None or Window.parse(own).timedelta > base):
                self.reading.note(f"{one['name']} has a longer window than the rows that the script's keys come from")


def _result(aggregate: Mapping[str, Any], schema: Mapping[str, SparkType]) -> SparkType | None:
    of = check(aggregate["of"], schema).type if "of" in aggregate else None
    known = {name: value for name, value in aggregate.items() if name != "default"}
    return result_type(Aggregate.model_validate({**known, "source": "rows"}), of)


def _looked_up(atom: Atom) -> str | None:
    """The column that an atom looks up in a table of states; None if it aggregates rows."""
    tree = atom.tree.unnest()
    is_newest = function_name(tree) == "max_by" and atom.rows.table.kind in ("snapshot", "scd2")
    tree = tree.expressions[0] if is_newest else tree
    return tree.name if isinstance(tree, exp.Column) else None


def _has_default(node: exp.Expr) -> bool:
    """Whether null is replaced where a column is used."""
    return node.parent is not None and function_name(node.parent) == "coalesce"


def _cast_to(above: object) -> SparkType | None:
    """The type of a cast; None for anything else, and for a type that specifications lack."""
    try:
        return SparkType.parse(above.to.sql("spark")) if isinstance(above, exp.Cast) else None
    except ValueError:
        return None


def _constant(tree: Tree) -> object:
    """The Python value of a literal, with or without a cast."""
    tree = tree.this if isinstance(tree, exp.Cast) else tree
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if tree.is_number:
        return yaml.safe_load(tree.sql())
    if isinstance(tree, exp.Literal):
        return tree.name
    raise NotReadError(f"the default {text_of(tree)} is not a plain value")
