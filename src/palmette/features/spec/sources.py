"""Resolves sources: checks their steps, and tracks the effect on columns and rows.

Of a join, the keys must exist and have matching types, the cardinality must hold, and the joined state be well defined.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from palmette.features.spec import fsc_steps
from palmette.features.spec import type_rules as c
from palmette.features.spec.dfr import Table
from palmette.features.spec.expressions import CheckedExpression, pattern_error
from palmette.features.spec.fsc import SourceSpec
from palmette.features.spec.literals import from_key, lint_value, literal_type
from palmette.features.spec.scope import NOTHING, ColumnSet, Origins, ResolutionScope
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import AS_OF, ViewSource, mentions_cutoff


class ResolvedSource:
    """A source with what features need. Its steps are applied in order; errors are reported, and the walk continues."""

    def __init__(self, source: SourceSpec, table: Table, scope: ResolutionScope, field: str) -> None:
        """`field` is the source's path in the FSC."""
        self.name, self.table = source.name, table
        self.scope, self.report = scope, scope.report
        self.columns = ColumnSet.of_table(table)
        self.rows: Origins = NOTHING  # columns that determine which rows exist, apart from the grouping keys
        order = tuple(dict.fromkeys((*table.times[:1], *table.keys)))
        self.order: tuple[str, ...] | None = order if table.keys_enforced else None
        """Columns that order the rows uniquely; None if there are none."""
        self.tables: set[str] = {table.name}  # registry tables that the source reads
        self.added: dict[str, str] = {}  # columns that steps add or replace, each with its FSC field
        self.times = frozenset(table.times)
        self.by: tuple[str, ...] | None = None  # keys that all steps share that look at other events
        for index, step in enumerate(source.steps):
            getattr(self, step.kind)(step.body, f"{field}.steps[{index}].{step.kind}")
        late = next((i for i, step in enumerate(source.steps) if _is_late(step, table)), len(source.steps))
        self.view = ViewSource(source.name, table, source.steps[:late], source.steps[late:], dict(self.columns.types))

    @property
    def known(self) -> ColumnSet:
        """The columns plus the cut-off, which expressions may use."""
        return replace(self.columns, types={AS_OF: c.TIMESTAMP, **self.columns.types})

    def put(self, name: str, kind: SparkType | None, origins: Origins, field: str) -> None:
        """Adds or replaces a column if its name is allowed."""
        if name in self.times:
            self.report("replaces-time", field, name, table=self.table.name)
            return
        if name == AS_OF and name not in self.columns:
            self.report("name-collision/step", field, name)
            return
        folded = name.casefold()
        if twin := next((one for one in self.columns.types if one != name and one.casefold() == folded), None):
            self.report("name-collision/case", field, name, twin=twin)
        if self.order and name in self.table.keys:
            self.order = None
        self.columns.put(name, kind, origins)
        self.added[name] = field

    def filter(self, condition: str, path: str) -> None:
        self.rows |= self.scope.condition(condition, self.known, path)

    def compute(self, columns: Mapping[str, str], field: str) -> None:
        results = []
        for name, text in columns.items():
            path = f"{field}.{name}"
            checked = self.scope.expression(text, self.known, path)
            results.append((name, self._column_type(checked, text, path), checked.origins, path))
        for name, kind, origins, path in results:
            self.put(name, kind, origins, path)

    def _column_type(self, checked: CheckedExpression, text: str, path: str) -> SparkType | None:
        """The type of a new column; None, with a report, if no column can have it."""
        kind = checked.type
        if kind is not None and kind.name in ("null", "interval"):
            self.report("bad-type", path, text, kind=kind)
            return None
        if kind is None and not checked.faults and not set(checked.columns) & self.columns.broken:
            self.report("unknown-type", path, text)
        return kind

    def replace(self, replace: fsc_steps.Replace, field: str) -> None:
        name, path = replace.column, f"{field}.column"
        kind = self.scope.column(name, self.columns, path)
        if kind is None:
            return
        if kind.element:
            self.report("illegal-type/replace", path, name, kind=kind)
            return
        closed, values = self.columns.values.get(name, ()), f"{field}.values"
        for old, new in replace.values.items():
            self.scope.among(from_key(old, kind), name, closed, values)
            for value in (from_key(old, kind), new):
                lint_value(value, kind, name, values, self.report, self.scope.zone)
        self.put(name, kind, self.columns.origins_of([name]), path)

    def convert(self, convert: fsc_steps.Convert, path: str) -> None:
        kind = self.scope.column(convert.column, self.columns, f"{path}.column")
        target = convert.to.parsed
        if kind is None:
            return
        if not c.castable(kind, target) or target.name == "null" or (target.element and kind.name == "string"):
            self.report("illegal-type/convert", f"{path}.to", target, column=convert.column, kind=kind)
        if convert.format is not None and not (kind == c.STRING and target.is_temporal):
            self.report("superfluous-format", f"{path}.format", convert.format, kind=kind, target=target)
        self.put(convert.column, target, self.columns.origins_of([convert.column]), f"{path}.column")

    def categorise(self, categorise: fsc_steps.Categorise, path: str) -> None:
        if bool(categorise.cases) == (categorise.of is not None):
            self.report("cases-or-buckets", path)
            self.columns.put(categorise.column, None, NOTHING)
        elif categorise.cases:
            self._cases(categorise, path)
        else:
            self._buckets(categorise, path)

    def _cases(self, categorise: fsc_steps.Categorise, path: str) -> None:
        used: Origins = NOTHING
        for index, case in enumerate(categorise.cases):
            used |= self.scope.condition(case.when, self.known, f"{path}.cases[{index}].when")
        values = [case.then for case in categorise.cases]
        found = [*values, *([categorise.otherwise] if categorise.otherwise is not None else [])]
        kind = literal_type(found)
        if kind is None:
            self.report("mixed-types", path, categorise.column, values=str(values))
        if categorise.buckets or categorise.labels:
            self.report("cases-or-buckets/cases", path)
        self.put(categorise.column, kind, used, f"{path}.column")
        self.columns.values[categorise.column] = tuple(value for value in found if not isinstance(value, float))

    def _buckets(self, categorise: fsc_steps.Categorise, path: str) -> None:
        assert categorise.of is not None
        checked = self.scope.expression(categorise.of, self.known, f"{path}.of", wanted="numeric")
        bounds, labels = categorise.buckets, categorise.labels
        if not bounds or list(bounds) != sorted(set(bounds)):
            self.report("bad-buckets", f"{path}.buckets", list(bounds))
        if len(labels) != len(bounds) + 1:
            facts = {"bounds": len(bounds), "buckets": len(bounds) + 1, "labels": len(labels)}
            self.report("bad-labels", f"{path}.labels", list(labels), **facts)
        if categorise.otherwise is not None:
            self.report("superfluous-otherwise", f"{path}.otherwise", categorise.otherwise)
        self.put(categorise.column, c.STRING, checked.origins, f"{path}.column")
        self.columns.values[categorise.column] = labels

    def extract(self, extract: fsc_steps.Extract, path: str) -> None:
        given = [name for name in ("split", "regex", "date_part", "json_field") if getattr(extract, name) is not None]
        kind = self.scope.column(extract.of, self.columns, f"{path}.of")
        if len(given) != 1:
            self.report("one-extraction", path, given=str(given))
            self.columns.put(extract.column, None, NOTHING)
            return
        if kind is not None:
            self._extractable(extract, kind, path)
        result = c.STRING if extract.date_part is None else c.DATE if extract.date_part == "date" else c.INT
        self.put(extract.column, result, self.columns.origins_of([extract.of]), f"{path}.column")

    def _extractable(self, extract: fsc_steps.Extract, kind: SparkType, path: str) -> None:
        if extract.date_part is not None and not kind.is_temporal:
            problem = "illegal-type/extract-count" if kind.is_integer else "illegal-type/extract-time"
            self.report(problem, f"{path}.of", extract.of, kind=kind)
        elif extract.date_part in ("hour", "minute") and kind == c.DATE:
            self.report("illegal-type/extract-hour", f"{path}.date_part", extract.date_part, column=extract.of)
        elif extract.date_part is None and kind != c.STRING:
            self.report("illegal-type/extract-text", f"{path}.of", extract.of, kind=kind)
        if extract.split is not None and (extract.split.part == 0 or not extract.split.by):
            self.report("out-of-range/split", f"{path}.split", extract.split.part)
        if extract.regex is not None:
            self._pattern(extract.regex.pattern, extract.regex.group, f"{path}.regex")

    def _pattern(self, pattern: str, group: int, path: str) -> None:
        reason = pattern_error(pattern)
        if reason is not None:
            self.report("bad-pattern", f"{path}.pattern", pattern, reason=reason)
            return
        try:
            groups = re.compile(pattern).groups
        except re.error:
            return  # Java supports more than Python
        if not 0 <= group <= groups:
            self.report("out-of-range/group", f"{path}.group", group, pattern=pattern, groups=groups)

    def previous(self, previous: fsc_steps.Previous, path: str) -> None:
        self._events("previous", previous.by, path)
        if self.order is None and self.table.kind == "event":
            self.report("no-unique-order/previous", path, self.table.name)
        checked = self.scope.expression(previous.of, self.columns, f"{path}.of")
        kind = self._column_type(checked, previous.of, f"{path}.of")
        self.put(previous.column, kind, checked.origins | self._event_origins(previous.by), f"{path}.column")

    def gap(self, gap: fsc_steps.Gap, path: str) -> None:
        self._events("gap", gap.by, path)
        self.put(gap.column, c.DOUBLE, self._event_origins(gap.by), f"{path}.column")

    def session(self, session: fsc_steps.Session, path: str) -> None:
        self._events("session", session.by, path)
        self.put(session.column, c.BIGINT, self._event_origins(session.by), f"{path}.column")

    def _events(self, kind: str, by: tuple[str, ...], path: str) -> None:
        for index, name in enumerate(by):
            self.scope.column(name, self.columns, f"{path}.by[{index}]")
        if self.table.kind != "event":
            self.report("not-events/step", path, self.table.name, kind=kind, table_kind=self.table.kind)
        step, grain = path.rpartition(".")[0], self.scope.grain
        if self.by is not None and set(by) != set(self.by):
            facts = {"source": self.name, "shared": str(list(self.by)), "by": str(list(by))}
            self.report("by-differs", step, ", ".join(by), **facts)
        if self.scope.spec.time.cutoff == "spine" and grain and not set(by) <= set(grain):
            self.report("by-outside-grain/spine", step, next(name for name in by if name not in grain), grain=grain)
        self.by = self.by or by

    def _event_origins(self, by: tuple[str, ...] = ()) -> Origins:
        return self.columns.origins_of([*by, *self.times])

    def join(self, join: fsc_steps.Join, field: str) -> None:
        """Adds the joined columns to the walk; reports errors in the join."""
        other = self.scope.table(join.table, f"{field}.table")
        taken = fsc_steps.pairs(join.columns)
        if other is None:
            self.columns.broken.update(taken)
            return
        self.tables.add(other.name)
        there = ColumnSet.of_table(other)
        if other.kind == "event":
            self.report("join-of-events", f"{field}.table", other.name)
        else:
            self._needs_event_time(join, other, field)
        keys = self._keys(join, there, field)
        if join.cardinality != "one_to_many":
            self._uniqueness(join, other, set(keys.values()), field)
        elif not set(other.keys) <= {*keys.values(), *taken.values()} or not other.keys_enforced:
            self.order = None
        elif self.order is not None:
            names = {column: name for name, column in [*keys.items(), *taken.items()]}
            self.order = tuple(dict.fromkeys((*self.order, *(names[key] for key in other.keys))))
        used = self._read_origins(keys, other, there)
        if join.at == "event" and other.kind != "dimension":
            used |= self._event_origins()
        if join.unmatched == "drop" or join.cardinality == "one_to_many":
            self.rows |= used
        for name, column in taken.items():
            path = f"{field}.columns" if not isinstance(join.columns, Mapping) else f"{field}.columns.{name}"
            kind = self.scope.column(column, there, path)
            if name in self.columns:
                self.report("name-collision/join", path, name, column=column)
            elif kind is not None:
                self.put(name, kind, there.origins_of([column]) | used, path)
                if column in there.values:
                    self.columns.values[name] = there.values[column]
            else:
                self.columns.broken.add(name)

    def _needs_event_time(self, read: fsc_steps.Join | fsc_steps.Member, other: Table, field: str) -> None:
        if other.kind != "dimension" and read.at == "event" and self.table.kind != "event":
            self.report("no-event-time", f"{field}.at", read.at, table=self.table.name, other=other.name)

    def member(self, member: fsc_steps.Member, field: str) -> None:
        """Adds whether another table has a row with the same values; reports errors."""
        other = self.scope.table(member.table, f"{field}.table")
        if other is None:
            self.columns.broken.add(member.column)
            return
        self.tables.add(other.name)
        there = ColumnSet.of_table(other)
        if other.kind in ("snapshot", "scd2"):
            self.report("member-of-states", f"{field}.table", other.name, table_kind=other.kind)
        self._needs_event_time(member, other, field)
        keys = self._keys(member, there, field)
        used = self._read_origins(keys, other, there) | self.scope.condition(member.where, there, f"{field}.where")
        if member.at == "event":
            used |= self._event_origins()
        self.put(member.column, c.BOOLEAN, used, f"{field}.column")

    def _read_origins(self, keys: Mapping[str, str], other: Table, there: ColumnSet) -> Origins:
        return self.columns.origins_of(keys) | there.origins_of([*keys.values(), *other.times])

    def _keys(self, join: fsc_steps.Join | fsc_steps.Member, there: ColumnSet, field: str) -> dict[str, str]:
        keys = fsc_steps.pairs(join.on)
        for here_name, there_name in keys.items():
            path = f"{field}.on.{here_name}" if isinstance(join.on, Mapping) else f"{field}.on"
            here = self.scope.column(here_name, self.columns, path)
            other = self.scope.column(there_name, there, path)
            if not c.comparable(here, other):
                facts = {"here": here, "table": join.table, "column": there_name, "there": other}
                self.report("key-type-differs/join", path, here_name, **facts)
        if not keys:
            self.report("empty-value/on", f"{field}.on")
        return keys

    def _uniqueness(self, join: fsc_steps.Join, other: Table, on: set[str], field: str) -> None:
        missing = [key for key in other.keys if key not in on]
        facts: dict[str, object] = {"cardinality": join.cardinality, "other": other.name}
        if missing:
            self.report("join-not-on-keys", f"{field}.on", join.table, missing=missing, **facts)
        elif not other.keys_enforced:
            self.report("keys-not-enforced/join", f"{field}.table", join.table, **facts)
        own = self.table.keys
        if join.cardinality == "one_to_one" and not set(own) <= set(fsc_steps.pairs(join.on)):
            facts = {"table": self.table.name, "on": list(fsc_steps.pairs(join.on))}
            self.report("join-not-one-to-one", f"{field}.cardinality", join.cardinality, **facts)


def _is_late(step: fsc_steps.Step, table: Table) -> bool:
    """Whether the step looks at other events, uses the state at the cut-off, or mentions the cut-off."""
    at_cutoff = any(read.at == "cutoff" for read in fsc_steps.reads_of([step]))
    return hasattr(step.body, "by") or at_cutoff or (table.column(AS_OF) is None and mentions_cutoff(step))


class Sources:
    """The sources of a view by name: declared ones, and registry tables used without steps."""

    def __init__(self, scope: ResolutionScope) -> None:
        self.scope = scope
        self._declared: list[str] = []
        self._resolved: dict[str, ResolvedSource | None] = {}
        for index, source in enumerate(scope.spec.sources):
            if source.name in self._declared:
                scope.report("duplicate-source", f"sources[{index}].name", source.name)
            self.add(source, f"sources[{index}]")

    @property
    def names(self) -> list[str]:
        """All names that a feature may use as its source."""
        return list(dict.fromkeys([*self._declared, *(table.name for table in self.scope.registry.tables)]))

    @property
    def resolved(self) -> Mapping[str, ResolvedSource]:
        """The sources resolved so far, declared ones first."""
        return {name: source for name, source in self._resolved.items() if source is not None}

    def get(self, name: str, field: str | None = None) -> ResolvedSource | None:
        """The source with this name; with `field`, an unknown name is reported."""
        if name not in self._resolved:
            if self.scope.registry.table(name) is None:
                if field is not None:
                    self.scope.report("unknown-source", field, name, self.names)
                return None
            self._resolved[name] = self._resolve(SourceSpec(name=name), "")
        return self._resolved[name]

    def add(self, source: SourceSpec, field: str) -> None:
        """Declares a source that the words of a feature need; `field` is where its errors are reported."""
        if source.name not in self._declared:
            self._declared.append(source.name)
            self._resolved[source.name] = self._resolve(source, field)

    def _resolve(self, source: SourceSpec, field: str) -> ResolvedSource | None:
        table_name = source.table or source.name
        table = self.scope.table(table_name, f"{field}.table" if source.table else f"{field}.name")
        return ResolvedSource(source, table, self.scope, field) if table else None
