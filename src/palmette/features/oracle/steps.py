"""Applies the steps of a source, in order, to plain rows."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.frame import Frame
from palmette.features.oracle.casts import cast
from palmette.features.oracle.clock import MICROSECOND
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.expression import compile_row
from palmette.features.oracle.states import Row, Times, sort_key, state
from palmette.features.oracle.typed import PartialSchema, TypedExpression, common, order_key
from palmette.features.spec import SparkType, Table, fsc_steps
from palmette.features.spec import type_rules as c
from palmette.features.spec.fsc_steps import Gap, Previous, Session, pairs
from palmette.features.spec.literals import sql_literal


@dataclass
class StepState:
    """Rows between steps, with their schema; has a method for each kind of step."""

    table: Table
    rows: list[Row]
    schema: PartialSchema
    zone: ZoneInfo
    frames: Mapping[str, Frame]
    tables: Mapping[str, Table]
    cutoff: datetime | None = None  # set for late steps only
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
        column, kind = f"`{rule.column}`", self.schema[rule.column]
        pairs = [[f"CAST({_sql(value)} AS {kind})" for value in pair] for pair in rule.values.items()]
        self.compute({rule.column: _case([(f"{column} <=> {old}", new) for old, new in pairs], column)})

    def convert(self, rule: fsc_steps.Convert) -> None:
        source, target, text = self.schema[rule.column], rule.to.parsed, f"`{rule.column}`"
        registered = self.table.column(rule.column)
        if rule.format is not None:
            text = f"to_{'date' if target == c.DATE else 'timestamp'}({text}, {_sql(rule.format)})"
        elif source.is_integer and target.is_temporal and registered is not None and registered.unit is not None:
            text = f"timestamp_{_UNITS[registered.unit]}({text})"
        self.compute({rule.column: f"{'TRY_' * (rule.invalid == 'null')}CAST({text} AS {target})"})

    def categorise(self, rule: fsc_steps.Categorise) -> None:
        cases = [(f"({case.when}\n)", _sql(case.then)) for case in rule.cases]
        if rule.of is not None:
            number, labels = f"CAST(({rule.of}\n) AS double)", [*map(_sql, rule.labels)]
            bounds = [f"{number} < {_sql(bound)}" for bound in rule.buckets]
            cases = [*zip(bounds, labels, strict=False), (f"{number} IS NOT NULL", labels[len(bounds)])]
        self.compute({rule.column: _case(cases, _sql(rule.otherwise))})

    def extract(self, rule: fsc_steps.Extract) -> None:
        of, part = f"`{rule.of}`", rule.date_part or ""
        if rule.split is not None:
            separator = re.sub(r"(\W)", r"\\\1", rule.split.by)
            text = f"try_element_at(split({of}, {_sql(separator)}), {rule.split.part})"
        elif rule.regex is not None:
            pattern = _sql(rule.regex.pattern)
            text = f"CASE WHEN {of} RLIKE {pattern} THEN regexp_extract({of}, {pattern}, {rule.regex.group}) END"
        elif rule.json_field is not None:
            text = f"get_json_object({of}, {_sql(f'$.{rule.json_field}')})"
        elif part == "date":
            text = f"CAST({of} AS date)"
        else:
            text = f"date_part('{_DATE_PARTS.get(part, part)}', {of})"
        self.compute({rule.column: text})

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

    def _look_back(
        self, rule: Previous | Gap | Session, kind: SparkType, make: Callable[[list[Row]], list[Any]]
    ) -> None:
        """Adds a column that is computed from an entity's rows, oldest first (by event time, then the table's keys)."""
        self.schema.require(rule.by)
        self.rows = [dict(row) for row in self.rows]
        histories: dict[Any, list[Row]] = {}
        for row in self.rows:
            histories.setdefault(sort_key(row[name] for name in rule.by), []).append(row)
        for history in histories.values():
            history.sort(key=lambda row: sort_key((self.times.event(row), *(row[key] for key in self.table.keys))))
            for row, value in zip(history, make(history), strict=True):
                row[rule.column] = value
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


_UNITS = {"s": "seconds", "ms": "millis", "us": "micros"}
_DATE_PARTS = {"day_of_week": "dayofweek_iso", "day_of_year": "dayofyear"}


def _case(cases: Iterable[tuple[str, str]], otherwise: str) -> str:
    """The SQL of the first value whose condition is true; a changed step may be without cases."""
    whens = " ".join(f"WHEN {test} THEN {value}" for test, value in cases)
    return f"CASE {whens} ELSE {otherwise} END" if whens else otherwise


def _sql(value: Any) -> str:
    """A scalar of the specification in SQL."""
    if value is None:
        return "NULL"
    return f"CAST('{value!r}' AS double)" if isinstance(value, float) else sql_literal(value)


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
