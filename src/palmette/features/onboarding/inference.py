"""Infers a table's entry in the registry from its values, with evidence: keys, kind, times, partitions."""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import combinations
from typing import Any, Literal

from palmette.features.frames.calendar import partition_value
from palmette.features.onboarding.tables import TableColumn, TableData, snake_case
from palmette.features.spec.dfr import Partition, RegisteredColumn, Table, TableKind

Confidence = Literal["certain", "likely", "guess"]
_EVENT_NAMES = (
    r"^(event|occurr|happen|transact|purchas|order|click|view)\w*_?(at|on|time|date|ts|timestamp|datetime)?$",
    r"((^|_)at|_on|_time|_ts|timestamp|datetime)(_(s|ms|us))?$",
    r"(^|_)(date|day|time|ts)(_(s|ms|us))?$",
    r"",
)
"""Patterns of names of event times, most specific first."""
_LATER_NAMES = (
    r"(avail|load|ingest|process|arriv|post|insert|receiv|publish|land|settl|sync|deliver|report|record|upload)"
)
_OTHER_NAMES = r"(birth|born|dob|expir|due|valid|effective|planned|expected|until|end|deadline|updated|modified)"
_FROM_NAMES, _TO_NAMES = r"(from|start|begin|since)", r"(_to$|^to$|until|end|thru|through)"
_PERSONAL_NAMES = (
    r"(e_?mail|phone|mobile|(first|last|family|given|full|sur)_?name|birth|born|dob"
    r"|address|street|iban|ssn|passport|ip$)"
)
_EPOCH_NAMES = r"((^|_)(at|on|ts|epoch|date)|time(stamp)?)(_?(s|ms|us|sec|millis|micros|seconds|milliseconds))?$"
EPOCHS: Mapping[str, int] = {"s": 1, "ms": 1_000, "us": 1_000_000}
_AFTER, _BEFORE = datetime(1990, 1, 1, tzinfo=UTC).timestamp(), datetime(2100, 1, 1, tzinfo=UTC).timestamp()
_MOST_VALUES = 12
_MOST_KEY_COLUMNS = 10
_MOST_ORPHANS = 0.05
_DAY_US = 86_400_000_000


@dataclass(frozen=True)
class Finding:
    """The reason for the value of a registry field."""

    table: str
    subject: str
    """The registry field or the column."""
    confidence: Confidence
    evidence: str


@dataclass
class InferredTable:
    """An inferred table of the registry, to be confirmed by a person."""

    data: TableData
    keys: tuple[str, ...] = ()
    are_enforced: bool = True
    kind: TableKind = "dimension"
    times: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    """Units of integer columns that contain timestamps."""
    references: tuple[tuple[str, str], ...] = ()
    """Each column whose values are keys of another table, with the name of that table."""
    findings: list[Finding] = field(default_factory=list)

    def note(self, subject: str, confidence: Confidence, evidence: str) -> None:
        self.findings.append(Finding(self.data.name, subject, confidence, evidence))

    @property
    def rows(self) -> str:
        return f"{self.data.rows:,} rows" if self.data.is_whole else f"the first {self.data.rows:,} rows"

    def table(self, path: str) -> Table:
        """Converts to a table of the registry; `path` is relative to the registry."""
        needed = {*self.keys, *self.times.values()} if self.are_enforced else set(self.times.values())
        columns = [self._column(one, needed) for one in self.data.columns]
        return Table.model_validate(
            {
                "name": self.data.name,
                "kind": self.kind,
                "path": path,
                "format": self.data.files.format,
                "keys": self.keys,
                "keys_enforced": self.are_enforced,
                "partitions": tuple(self._partitions()),
                "columns": tuple(columns),
                **self.times,
            }
        )

    def _column(self, one: TableColumn, needed: set[str]) -> RegisteredColumn:
        return RegisteredColumn.model_validate(
            {
                "name": one.name,
                "type": str(one.type),
                "nullable": bool(one.nulls) or one.name not in needed,
                "values": _closed_values(one),
                "length": _length(one),
                "unit": self.units.get(one.name),
                "personal": bool(re.search(_PERSONAL_NAMES, snake_case(one.name))),
            }
        )

    def _partitions(self) -> Iterator[Partition]:
        for name in self.data.folders:
            times: tuple[Literal["event_time", "available_time"], ...] = ("event_time", "available_time")
            of = next((part for part in times if self._is_day_of(name, part)), None)
            if of:
                self.note("partitions", "likely", f"{name!r} is the day of {of} in {self.rows}")
            yield Partition(column=name, of=of)

    def _is_day_of(self, name: str, part: str) -> bool:
        if part not in self.times:
            return False
        column = self._column(self.data.column(name), set())
        times = _instants(self, self.times[part]).to_pylist()
        days = self.data.column(name).values.to_pylist()
        pairs = zip(days, times, strict=True)
        return all(day == partition_value(at.replace(tzinfo=UTC), column) for day, at in pairs if at is not None)


def infer(tables: Sequence[TableData]) -> list[InferredTable]:
    """Infers the registry entry of each table."""
    found = [InferredTable(one) for one in tables]
    for one in found:
        one.keys, one.are_enforced = _keys(one)
    for one in found:
        one.references = tuple(_references(one, found))
    for one in found:
        referring = (other.data.rows for other in found if one.data.name in dict(other.references).values())
        _decide_kind(one, max(referring, default=0))
        one.units = {name: unit for name, unit in one.units.items() if name in one.times.values()}
    return found


def _keys(one: InferredTable) -> tuple[tuple[str, ...], bool]:
    """The columns that identify a row, and whether they are unique together."""
    columns = [column for column in one.data.columns if column.type.name not in ("array", "map", "float", "double")]
    columns = [column for column in columns if not column.nulls and column.type.name != "boolean"]
    order = {column.name: (not column.is_key_like, index) for index, column in enumerate(columns)}
    singles = [column for column in columns if column.unique and (column.is_key_like or column is one.data.columns[0])]
    if singles:
        key = min(singles, key=lambda column: (not _is_own_key(column.name, one.data.name), order[column.name]))
        one.note("keys", "certain" if key.is_key_like else "likely", f"{key.name!r} is unique in {one.rows}")
        return (key.name,), True
    likely = [column for column in columns if column.is_key_like and column.distinct >= 0.9 * one.data.rows]
    if likely and one.data.rows >= 20:
        repeated = one.data.rows - likely[0].distinct
        repeats = f"{likely[0].name!r} repeats in {repeated:,} of {one.rows}"
        one.note("keys", "guess", f"{repeats}; perhaps they are delivered more than once")
        return (likely[0].name,), False
    first = sorted(columns, key=lambda column: (order[column.name][0], not column.type.is_temporal, order[column.name]))
    for count in (2, 3):
        for group in combinations(first[:_MOST_KEY_COLUMNS], count):
            names = tuple(column.name for column in group)
            if any(column.is_key_like for column in group) and one.data.distinct_of(names) == one.data.rows:
                one.note("keys", "likely", f"{' and '.join(names)} together are unique in {one.rows}")
                return names, True
    fallback = tuple(column.name for column in columns if column.is_key_like)[:1] or (one.data.columns[0].name,)
    one.note("keys", "guess", f"no combination of up to three columns is unique in {one.rows}")
    return fallback, False


def _is_own_key(column: str, table: str) -> bool:
    """Whether a column is named after its table.

    >>> _is_own_key("category_id", "categories"), _is_own_key("user_id", "orders")
    (True, False)
    """
    name = snake_case(column)
    stem = re.sub(r"_(id|key|code|uuid|guid|no|nr|number|sk|ref)$|id$", "", name)
    return name == "id" or table.startswith(stem[:-1] if stem.endswith("y") else stem)


def _references(one: InferredTable, others: Sequence[InferredTable]) -> Iterator[tuple[str, str]]:
    """Columns that are named after another table's only key and contain its values, but for a few orphans."""
    import pyarrow.compute as pc

    for column in one.data.columns:
        for other in others:
            if other is one or not other.are_enforced or len(other.keys) != 1:
                continue
            key = other.data.column(other.keys[0])
            here, there = snake_case(column.name), snake_case(key.name)
            if there == "id":  # `user_id` refers to a table `users` with the key `id`.
                called = here != "id" and here.endswith("id") and _is_own_key(column.name, other.data.name)
            else:
                called = here.replace("_", "") == there.replace("_", "") or here.endswith(f"_{there}")
            if not called or column.type != key.type or (one.keys == (column.name,) and one.are_enforced):
                continue
            used = pc.unique(column.values.drop_null())
            orphans = len(used.filter(pc.invert(pc.is_in(used, value_set=key.values.combine_chunks()))))
            if orphans <= _MOST_ORPHANS * len(used) and len(used) > orphans:
                held = "all" if not orphans else f"all but {orphans:,} of"
                evidence = f"{held} {len(used):,} values are keys of {other.data.name!r}"
                one.note(f"columns.{column.name}", "guess" if orphans else "likely", evidence)
                yield column.name, other.data.name


def _decide_kind(one: InferredTable, referring: int) -> None:
    """`referring`: The rows of the longest table that refers to this one; 0 if none does."""
    times = dict(_time_columns(one))
    one.units = {name: unit for name, unit in times.items() if unit}
    if pair := _validity(one, list(times)):
        keys, has_states = _state_keys(one, *pair)
        if keys:
            one.kind, one.keys, one.times = "scd2", keys, {"valid_from": pair[0], "valid_to": pair[1]}
            one.note("kind", "likely" if has_states else "guess", f"{pair[0]} is not after {pair[1]} in any row")
            if has_states:
                one.note("keys", "likely", f"states of {' and '.join(keys)} follow one another")
            return
    event = _event_time(one, list(times))
    if event is None or _is_state(one, event, referring):
        reason = (
            "no column says when a row happened" if event is None else f"{event!r} describes what other tables refer to"
        )
        one.note("kind", "likely" if event is None else "guess", reason)
        return
    one.kind, one.times = "event", {"event_time": event}
    known = _available_time(one, event, list(times))
    if known:
        one.times["available_time"] = known
    if entity := _snapshot_key(one, event):
        one.kind, one.keys = "snapshot", (entity,)
        one.note("kind", "likely", f"rows are states of {entity!r} since {event!r}")
    else:
        one.note(
            "event_time",
            "likely" if re.search(_EVENT_NAMES[1], snake_case(event)) else "guess",
            f"{event!r} by its name",
        )


def _time_columns(one: InferredTable) -> Iterator[tuple[str, str]]:
    """Columns that contain timestamps, with the unit if they are integers."""
    for column in one.data.columns:
        if column.name in one.data.folders or column.nulls == one.data.rows:
            continue
        if column.type.is_temporal:
            yield column.name, ""
        elif column.type.is_integer and re.search(_EPOCH_NAMES, snake_case(column.name)):
            low, high = column.range
            for unit, factor in EPOCHS.items():
                if _AFTER * factor <= low and high <= _BEFORE * factor:
                    yield column.name, unit


def _validity(one: InferredTable, times: Sequence[str]) -> tuple[str, str] | None:
    """Columns that are, by name and values, the start and end of each row."""
    import pyarrow.compute as pc

    for start in times:
        for end in times:
            if not re.search(_FROM_NAMES, snake_case(start)) or not re.search(_TO_NAMES, snake_case(end)):
                continue
            first, last = one.data.column(start), one.data.column(end)
            ordered = first.type == last.type and pc.all(pc.less_equal(first.values, last.values)).as_py() is not False
            if ordered and not first.nulls and not (one.are_enforced and len(one.keys) == 1 and _is_thing(one)):
                return start, end
    return None


def _state_keys(one: InferredTable, start: str, end: str) -> tuple[tuple[str, ...], bool]:
    """The columns that states belong to, and whether most states begin within a day of the end of the one before.

    No columns, if some have several rows, but none has such states: these are events that last.
    """
    import pyarrow.compute as pc

    own = tuple(name for name in one.keys if name != start) or one.keys
    others = [(column.name,) for column in one.data.columns if column.is_key_like and column.name not in one.keys]
    repeats = False
    for names in (own, *others):
        rows = one.data.table.select([*names, start, end]).sort_by([(name, "ascending") for name in (*names, start)])
        begin, stop = (_microseconds(rows[name], one.units.get(name)).cast("int64") for name in (start, end))
        gap = pc.subtract(begin.slice(1), stop.slice(0, len(rows) - 1))
        follows = pc.and_(pc.greater_equal(gap, 0), pc.less_equal(gap, _DAY_US))
        same = [pc.equal(rows[name].slice(1), rows[name].slice(0, len(rows) - 1)) for name in names]
        pairs = follows.filter(functools.reduce(pc.and_, same))
        repeats = repeats or len(pairs) > 0
        if len(pairs) and (pc.sum(pairs.cast("int8")).as_py() or 0) >= 0.5 * len(pairs):
            return names, True
    return (() if repeats else own), False


def _is_thing(one: InferredTable) -> bool:
    """Whether each row is an entity, identified by a key named after the table."""
    return _is_own_key(one.keys[0], one.data.name)


def _event_time(one: InferredTable, times: Sequence[str]) -> str | None:
    """The time at which rows happened: preferably complete, then by name."""
    chosen = [name for name in times if not re.search(f"{_LATER_NAMES}|{_OTHER_NAMES}", snake_case(name))]
    chosen = chosen or [name for name in times if not re.search(_OTHER_NAMES, snake_case(name))]

    def rank(name: str) -> tuple[Any, ...]:
        column = one.data.column(name)
        named = next(index for index, pattern in enumerate(_EVENT_NAMES) if re.search(pattern, snake_case(name)))
        return (column.nulls > 0, named, -column.distinct)

    return min(chosen, key=rank, default=None)


def _is_state(one: InferredTable, event: str, referring: int) -> bool:
    """Whether rows are entities with a creation date rather than events."""
    if len(one.keys) != 1 or not one.are_enforced or not (referring or _is_thing(one)):
        return False
    begins = bool(re.search(r"(start|begin|launch|open|since)", snake_case(event)))
    others = [column for column in one.data.columns if column.is_key_like and column.name not in one.keys]
    if one.references or any(column.distinct < one.data.rows for column in others):
        # Trips have fewer refunds, and offers more redemptions; offers begin with a day, visits at any time.
        return begins and referring > one.data.rows and _are_days(one, event)
    return bool(referring) or begins or bool(re.search(r"(creat|sign|regist|join|found|hire)", snake_case(event)))


def _are_days(one: InferredTable, name: str) -> bool:
    """Whether all times are at midnight."""
    import pyarrow.compute as pc

    instants = _instants(one, name)
    return bool(pc.all(pc.equal(pc.floor_temporal(instants, unit="day"), instants)).as_py())


def _available_time(one: InferredTable, event: str, times: Sequence[str]) -> str | None:
    """The time from which rows were available: by name, in 95 % of rows, and not before the event in 99.9 % of them."""
    import pyarrow.compute as pc

    happened = _instants(one, event)
    for name in times:
        nulls = one.data.column(name).nulls
        if name == event or 20 * nulls > one.data.rows or not re.search(_LATER_NAMES, snake_case(name)):
            continue
        share = pc.mean(pc.cast(pc.greater_equal(_instants(one, name), happened), "int8")).as_py()
        if share is not None and share >= 0.999:
            lacking = f"; {nulls} without it never count" * bool(nulls)
            evidence = f"{name!r} is not before {event!r} in {share:.1%} of {one.rows}{lacking}"
            one.note("available_time", "guess" if nulls else "likely", evidence)
            return name
    return None


def _instants(one: InferredTable, name: str) -> Any:
    return _microseconds(one.data.column(name).values, one.units.get(name))


def _microseconds(values: Any, unit: str | None) -> Any:
    """Times, or integers of this unit, in microseconds; in UTC if they have a zone."""
    import pyarrow as pa

    return (values.cast(pa.timestamp(unit)) if unit else values).cast(pa.timestamp("us"), safe=False)


def _snapshot_key(one: InferredTable, event: str) -> str | None:
    """The key of the entity in a snapshot table: most have a row at most timestamps, or the table is named after it."""
    instants = one.data.column(event).distinct
    for name in one.keys:
        column = one.data.column(name)
        if set(one.keys) != {name, event} or column.distinct < 2 or instants < 2:
            continue
        is_full = one.data.rows >= max(0.5 * instants, 2) * column.distinct
        if is_full or _is_own_key(name, one.data.name):
            return name
    return None


def _closed_values(column: TableColumn) -> tuple[str, ...]:
    """The values of a string column with few distinct values, each of them frequent."""
    if column.type.name != "string" or column.is_key_like or not 2 <= column.distinct <= _MOST_VALUES:
        return ()
    if len(column.values) - column.nulls < 20 * column.distinct:
        return ()
    values = sorted(value for value in column.values.unique().to_pylist() if value is not None)
    is_personal = re.search(_PERSONAL_NAMES, snake_case(column.name))
    return tuple(values) if not is_personal and all(re.fullmatch(r"[\w .+-]+", one) for one in values) else ()


def _length(column: TableColumn) -> int | None:
    """The length of arrays, if it is the same in all rows."""
    import pyarrow.compute as pc

    if not column.type.is_vector:
        return None
    lengths = pc.unique(pc.list_value_length(column.values.drop_null())).to_pylist()
    return lengths[0] if len(lengths) == 1 and lengths[0] else None


def latest_day(tables: Sequence[InferredTable]) -> date | None:
    """The day of the last event."""
    days = list[date]()
    for one in tables:
        if name := one.times.get("event_time"):
            last = one.data.column(name).range[1]
            unit = one.units.get(name)
            last = datetime.fromtimestamp(last / EPOCHS[unit], UTC) if unit else last
            days.append(last.date() if isinstance(last, datetime) else last)
    return max(days, default=None)
