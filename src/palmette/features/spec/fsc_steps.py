"""The steps of a source: what happens to a table's rows before features are computed from them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from palmette.documents import Model
from palmette.features.spec.values import Duration, Name, TypeName


class _NewColumn(Model):
    column: Name
    """The new column."""


class _OfEntity(_NewColumn):
    by: tuple[Name, ...] = Field(min_length=1)
    """Keys of the entity."""


class Replace(Model):
    column: Name
    """Column to change; its type stays."""
    values: dict[str, str | int | float | bool | None] = Field(min_length=1)
    """Old value to new value; other values stay."""


class Convert(Model):
    column: Name
    """Column to convert."""
    to: TypeName
    """The new type."""
    format: str | None = None
    """Pattern of text to parse as a date or timestamp, e.g. `dd/MM/yyyy`."""
    invalid: Literal["null", "fail"] = "null"
    """A value that cannot be converted becomes null, or fails the job."""


class CategoryCase(Model):
    when: str
    """Condition."""
    then: str | int | float | bool
    """Value if the condition is true."""


class Categorise(_NewColumn):
    """Either `cases`, of which the first true one applies, or `of` with `buckets`."""

    cases: tuple[CategoryCase, ...] = ()
    """Conditions and values, in order."""
    of: str | None = None
    """Numeric expression to divide into buckets. Null gives null."""
    buckets: tuple[float, ...] = ()
    """Ascending bounds: bucket i holds bounds[i-1] <= value < bounds[i]."""
    labels: tuple[str, ...] = ()
    """One label for each bucket, one more than bounds."""
    otherwise: str | int | float | bool | None = None
    """For `cases`: value if no case is true."""


class SplitPart(Model):
    by: str
    """Literal separator."""
    part: int
    """From 1, or from -1 at the end. Null if there is no such part."""


class Regex(Model):
    pattern: str
    """Java regular expression."""
    group: int = 1
    """Group to take. Null if the pattern does not match."""


DatePart = Literal["year", "quarter", "month", "week", "day", "day_of_week", "day_of_year", "hour", "minute", "date"]
"""`week` is ISO's; `day_of_week` is 1 for Monday to 7 for Sunday; `date` is the calendar day."""


class Extract(_NewColumn):
    """Exactly one of `split`, `regex`, `date_part`, `json_field`."""

    of: Name
    """Column to extract from."""
    split: SplitPart | None = None
    """The n-th part of a text."""
    regex: Regex | None = None
    """A group of a regular expression."""
    date_part: DatePart | None = None
    """A part of a date or timestamp; weeks are ISO's, Monday is day 1."""
    json_field: str | None = None
    """Dotted path into JSON text, e.g. `device.os`; gives text."""


class Join(Model):
    """Not from an event table: aggregate events in a feature instead."""

    table: Name
    """Name in the registry."""
    on: dict[Name, Name] | tuple[Name, ...]
    """Key columns, or a mapping `column here: column there`."""
    cardinality: Literal["many_to_one", "one_to_one", "one_to_many"]
    """From rows here to rows there. Only `one_to_many` may repeat rows."""
    unmatched: Literal["keep", "drop"] = "keep"
    """Keeps or drops rows without a match."""
    columns: dict[Name, Name] | tuple[Name, ...] = Field(min_length=1)
    """Columns to add, or a mapping `new name: column there`."""
    at: Literal["event", "cutoff"] = "event"
    """For snapshot and scd2 tables: the state at the row's event time, or at the cut-off."""


class Member(Model):
    column: Name
    """The new column, true or false."""
    table: Name
    """An event table, where a row counts once it has happened and is available, or a dimension."""
    on: dict[Name, Name] | tuple[Name, ...] = Field(min_length=1)
    """Columns to compare, or a mapping `column here: column there`. Null equals nothing."""
    where: str | None = None
    """Condition that rows of the table must satisfy."""
    at: Literal["event", "cutoff"] = "event"
    """Whether a row counts before the event's time, or before the cut-off."""


class Previous(_NewColumn):
    of: str
    """Expression over the entity's event `offset` positions earlier; null if there is none."""
    by: tuple[Name, ...] = Field(min_length=1)
    """Keys of the entity."""
    offset: int = Field(default=1, ge=1)
    """Number of events back."""


class Gap(_OfEntity):
    unit: Literal["seconds", "minutes", "hours", "days"] = "days"
    """Unit of the result."""


class Session(_OfEntity):
    timeout: Duration
    """A gap of at least this length starts a new session."""
    longer: bool = False
    """Only a gap longer than `timeout` starts one."""


class Step(Model):
    """One of these keys."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    filter: str | None = None
    """Keeps the rows that satisfy this condition."""
    compute: dict[Name, str] | None = Field(default=None, min_length=1)
    """Adds or replaces columns by row-wise expressions over those before this step."""
    replace: Replace | None = None
    """Replaces values of a column."""
    convert: Convert | None = None
    """Converts a column."""
    categorise: Categorise | None = None
    """Adds a column of categories."""
    extract: Extract | None = None
    """Adds a part of a column."""
    join: Join | None = None
    """Adds columns of another table."""
    member: Member | None = None
    """Adds whether another table has such a row."""
    previous: Previous | None = None
    """Adds a value of the entity's previous event."""
    gap: Gap | None = None
    """Adds the time since the entity's previous event, as a double; null for the first."""
    session: Session | None = None
    """Adds the number of the entity's session, from 1 (bigint)."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = [name for name, value in self if value is not None]
        if len(given) == 1:
            return self
        raise ValueError(f"a step has one key, and this one has {' and '.join(given) or 'none'}")

    @model_serializer(mode="wrap")
    def _as_given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {self.kind: handler(self)[self.kind]}

    @property
    def kind(self) -> str:
        """The key that it has."""
        return next(name for name, value in self if value is not None)

    @property
    def body(self) -> Any:
        """What the key holds."""
        return getattr(self, self.kind)


def set_by(step: Step) -> frozenset[str]:
    """Columns that a step sets."""
    body = step.body
    if isinstance(body, str):
        return frozenset()
    return frozenset(body if isinstance(body, dict) else getattr(body, "columns", None) or [body.column])


def expressions_of(step: Step) -> Iterator[tuple[str, str]]:
    """The SQL of a step, each with the column that it decides on; an empty name for conditions on rows."""
    match step.body:
        case str() as condition:
            yield "", condition
        case dict() as columns:
            yield from columns.items()
        case Categorise() as rule:
            yield from ((rule.column, case.when) for case in rule.cases)
            if rule.of is not None:
                yield rule.column, rule.of
        case Previous() as rule:
            yield rule.column, rule.of
        case Member(where=str() as condition):
            yield "", condition


def pairs(names: Mapping[str, str] | tuple[str, ...]) -> dict[str, str]:
    """Converts a list of names to a mapping of each name to itself; mappings are returned as a dict.

    >>> pairs(("user_id",))
    {'user_id': 'user_id'}
    """
    return dict(names) if isinstance(names, Mapping) else {name: name for name in names}


def reads_of(steps: Iterable[Step]) -> list[Join | Member]:
    """The parts of the steps that read another table."""
    return [body for step in steps if isinstance(body := step.body, Join | Member)]
