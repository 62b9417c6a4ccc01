"""Applies the steps of a source, in order, to plain rows."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.frame import Frame
from palmette.features.oracle.casts import cast
from palmette.features.oracle.clock import MICROSECOND, timestamp_of
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.expression import compile_row
from palmette.features.oracle.functions.nested import get_json_object
from palmette.features.oracle.functions.times import DAY_PARTS
from palmette.features.oracle.patterns import java_regex, parse_clock, parse_day
from palmette.features.oracle.states import Row, Times, sort_key, state
from palmette.features.oracle.typed import PartialSchema, TypedExpression, common, constant, order_key, same, unify
from palmette.features.spec import SparkType, Table, fsc_steps
from palmette.features.spec import type_rules as c
from palmette.features.spec.fsc_steps import Gap, Previous, Session, pairs
from palmette.features.spec.literals import literal_type


@dataclass
class StepState:
    """Rows between steps, with their schema; has a method for each kind of step."""

    table: Table
    rows: list[Row]
    schema: PartialSchema
    zone: ZoneInfo
    frames: Mapping[str, Frame]
    tables: Mapping[str, Table]
    cutoff: datetime | None = None
    """Set for late steps only."""
    times: Times = field(init=False)

    def __post_init__(self) -> None:
        self.times = Times(self.table, self.zone)

    def drop_unsupported(self, names: Collection[str], reason: NotCovered) -> None:
        """Marks columns as unsupported and continues; raises `reason` if they define the rows or their times."""
        if not names or {*self.table.keys, *self.table.times} & set(names):
            raise reason
        self.schema = self.schema.without(names, str(reason))

    def column(self, name: str, kind: SparkType, value: Callable[[Row], Any]) -> None:
        """Adds or replaces a column."""
        self.rows = [{**row, name: value(row)} for row in self.rows]
        self.schema = self.schema.with_columns({name: kind})

    def run(self, steps: Sequence[fsc_steps.Step]) -> None:
        """Applies the steps in order."""
        for step in steps:
            try:
                getattr(self, step.kind)(step.body)
            except NotCovered as reason:
                changes_rows = step.kind in ("filter", "join")
                self.drop_unsupported([] if changes_rows else fsc_steps.set_by(step), reason)

    def filter(self, condition: str) -> None:
        test = compile_row(condition, self.schema, self.zone).run
        self.rows = [row for row in self.rows if test(row) is True]

    def compute(self, columns: Mapping[str, str]) -> None:
        compiled: dict[str, TypedExpression] = {}
        missing: dict[str, NotCovered] = {}
        for name, text in columns.items():
            try:
                compiled[name] = compile_row(text, self.schema, self.zone)
            except NotCovered as error:
                missing[name] = error
        self.rows = [{**row, **{name: item.run(row) for name, item in compiled.items()}} for row in self.rows]
        self.schema = self.schema.with_columns({name: item.kind for name, item in compiled.items()})
        for name, reason in missing.items():
            self.drop_unsupported([name], reason)

    def replace(self, rule: fsc_steps.Replace) -> None:
        name, kind = rule.column, self.schema[rule.column]
        pairs = [
            (cast(old, c.STRING, kind, self.zone), cast(new, literal(new).kind, kind, self.zone))
            for old, new in rule.values.items()
        ]
        self.column(name, kind, lambda row: next((new for old, new in pairs if same(row[name], old)), row[name]))

    def convert(self, rule: fsc_steps.Convert) -> None:
        source, target = self.schema[rule.column], rule.to.parsed
        registered = self.table.column(rule.column)
        unit = registered.unit if registered is not None and source.is_integer else None

        def convert(value: Any) -> Any:
            if rule.format is not None and target.name == "date":
                return parse_day(value, rule.format)
            if rule.format is not None:
                return cast(parse_clock(value, rule.format, self.zone), c.TIMESTAMP, target, self.zone)
            if unit is not None and target.is_temporal:
                return cast(timestamp_of(value, unit, self.zone), c.TIMESTAMP, target, self.zone)
            return cast(value, source, target, self.zone)

        def checked(row: Row) -> Any:
            value = row[rule.column]
            try:
                return None if value is None else convert(value)
            except WouldFail:
                if rule.invalid == "fail":
                    raise
                return None

        self.column(rule.column, target, checked)

    def categorise(self, rule: fsc_steps.Categorise) -> None:
        if rule.of is not None:
            self._buckets(rule)
            return
        conditions = [compile_row(case.when, self.schema, self.zone).run for case in rule.cases]
        kind, results = unify([*(literal(case.then) for case in rule.cases), literal(rule.otherwise)], self.zone)

        def value(row: Row) -> Any:
            hit = next((i for i, condition in enumerate(conditions) if condition(row) is True), -1)
            return results[hit].run(row)

        self.column(rule.column, kind, value)

    def _buckets(self, rule: fsc_steps.Categorise) -> None:
        of = compile_row(rule.of or "", self.schema, self.zone)

        def value(row: Row) -> Any:
            number = of.run(row)
            if number is None:
                return None
            return rule.labels[sum(1 for bound in rule.buckets if order_key(float(number)) >= order_key(float(bound)))]

        self.column(rule.column, c.STRING, value)

    def extract(self, rule: fsc_steps.Extract) -> None:
        kind, extract = _extractor(rule, self.schema[rule.of], self.zone)
        self.column(rule.column, kind, lambda row: None if row[rule.of] is None else extract(row[rule.of]))

    def join(self, rule: fsc_steps.Join) -> None:
        frame, taken = self.frames[rule.table], pairs(rule.columns)
        other = _OtherTable(self, rule, [dict(row) for row in frame.rows])
        joined: list[Row] = []
        for row in self.rows:
            matches = other.matches(row)
            joined += [{**row, **{new: match[there] for new, there in taken.items()}} for match in matches]
            if not matches and rule.unmatched == "keep":
                joined.append({**row, **dict.fromkeys(taken)})
        self.rows = joined
        self.schema = self.schema.with_columns({new: frame.schema[there] for new, there in taken.items()})

    def member(self, rule: fsc_steps.Member) -> None:
        frame = self.frames[rule.table]
        counts = compile_row(rule.where, frame.schema, self.zone).run if rule.where else lambda _: True
        other = _OtherTable(self, rule, [dict(row) for row in frame.rows if counts(row) is True])
        self.column(rule.column, c.BOOLEAN, lambda row: bool(other.matches(row)))

    def _histories(self, by: Sequence[str]) -> list[list[int]]:
        """For each entity, the indices of its rows, oldest first (by event time, then the table's keys)."""
        groups: dict[Any, list[int]] = {}
        self.schema.require(by)
        for index, row in enumerate(self.rows):
            groups.setdefault(sort_key(row[name] for name in by), []).append(index)

        def place(index: int) -> tuple[Any, ...]:
            row = self.rows[index]
            return sort_key((self.times.event(row), *(row[key] for key in self.table.keys)))

        return [sorted(group, key=place) for group in groups.values()]

    def _look_back(
        self, rule: Previous | Gap | Session, kind: SparkType, make: Callable[[list[Row]], list[Any]]
    ) -> None:
        """Adds a column that is computed from the entity's rows in order."""
        found: dict[int, Any] = {}
        for history in self._histories(rule.by):
            found.update(zip(history, make([self.rows[i] for i in history]), strict=True))
        self.rows = [{**row, rule.column: found[i]} for i, row in enumerate(self.rows)]
        self.schema = self.schema.with_columns({rule.column: kind})

    def previous(self, rule: Previous) -> None:
        of = compile_row(rule.of, self.schema, self.zone)

        def values(rows: list[Row]) -> list[Any]:
            return [of.run(rows[i - rule.offset]) if i >= rule.offset else None for i in range(len(rows))]

        self._look_back(rule, of.kind, values)

    def _elapsed(self, rows: list[Row]) -> list[int | None]:
        """Microseconds since the previous event."""
        timestamps = [self.times.event(row) for row in rows]
        gaps: list[int | None] = [None]
        for one, other in pairwise(timestamps):
            gaps.append((other - one) // MICROSECOND if one is not None and other is not None else None)
        return gaps[: len(rows)]

    def gap(self, rule: Gap) -> None:
        size = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}[rule.unit] * 1_000_000

        def lengths(rows: list[Row]) -> list[float | None]:
            return [None if gap is None else gap / size for gap in self._elapsed(rows)]

        self._look_back(rule, c.DOUBLE, lengths)

    def session(self, rule: Session) -> None:
        timeout = rule.timeout.timedelta // MICROSECOND

        def numbers(rows: list[Row]) -> list[int]:
            number, found = 1, []
            for gap in self._elapsed(rows):
                number += gap is not None and (gap > timeout if rule.longer else gap >= timeout)
                found.append(number)
            return found

        self._look_back(rule, c.BIGINT, numbers)


def literal(value: Any) -> TypedExpression:
    """Converts a scalar of the specification to a typed constant."""
    kind = None if value is None else literal_type([value])
    return constant(value, kind or c.NULL)


def _extractor(rule: fsc_steps.Extract, source: SparkType, zone: ZoneInfo) -> tuple[SparkType, Callable[[Any], Any]]:
    if rule.split is not None:
        separator, part = rule.split.by, rule.split.part
        return c.STRING, lambda text: _part(text.split(separator), part)
    if rule.regex is not None:
        pattern, group = java_regex(rule.regex.pattern), rule.regex.group

        def matched(text: str) -> str | None:
            match = pattern.search(text)
            return None if match is None else match[group] or ""

        return c.STRING, matched
    if rule.json_field is not None:
        path = "$." + rule.json_field
        return c.STRING, lambda text: get_json_object(text, path)
    part_name = rule.date_part or "date"
    if part_name == "date":
        return c.DATE, lambda value: cast(value, source, c.DATE, zone)
    return c.INT, lambda value: _date_part(cast(value, source, c.NTZ, zone), part_name)


def _part(parts: list[str], part: int) -> str | None:
    index = part - 1 if part > 0 else len(parts) + part
    return parts[index] if part and 0 <= index < len(parts) else None


def _date_part(reading: datetime, part: str) -> int:
    if part in ("hour", "minute"):
        return int(getattr(reading, part))
    names = {"day_of_week": "dayofweek_iso", "day_of_year": "dayofyear"}
    return DAY_PARTS[names.get(part, part)](reading.date())


class _OtherTable:
    """Rows of another table by key, as known at the moment at which a row looks at them."""

    def __init__(self, flow: StepState, rule: fsc_steps.Join | fsc_steps.Member, rows: Sequence[Row]) -> None:
        self.flow, self.rule, self.rows = flow, rule, rows
        self.schema, self.times = flow.frames[rule.table].schema, Times(flow.tables[rule.table], flow.zone)
        self.on = pairs(rule.on)
        self.kinds = [common(flow.schema[here], self.schema[there]) for here, there in self.on.items()]
        self._known: dict[datetime | None, dict[tuple[Any, ...], list[Row]]] = {}

    def matches(self, row: Row) -> list[Row]:
        at_cutoff, timeless = self.rule.at == "cutoff", self.times.table.kind == "dimension"
        timestamp = None if timeless else self.flow.cutoff if at_cutoff else self.flow.times.event(row)
        if timestamp not in self._known:
            index = self._known[timestamp] = {}
            for other in self.rows if timeless else state(self.rows, self.times, timestamp):
                if (place := self._key(other, self.on.values(), self.schema)) is not None:
                    index.setdefault(place, []).append(other)
        key = self._key(row, self.on, self.flow.schema)
        return [] if key is None else self._known[timestamp].get(key, [])

    def _key(self, row: Row, names: Iterable[str], schema: Mapping[str, SparkType]) -> tuple[Any, ...] | None:
        """The join key in the common types; None if any part is null."""
        parts = [(row[name], schema[name], kind) for name, kind in zip(names, self.kinds, strict=True)]
        if any(value is None for value, *_ in parts):
            return None
        return tuple(order_key(cast(value, kind, target, self.flow.zone)) for value, kind, target in parts)
