"""The steps of a source: what happens to a table's rows before features are computed from them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from palmette.documents import Model
from palmette.features.spec.values import Duration, Name, TypeName

Cardinality = Literal["many_to_one", "one_to_one", "one_to_many"]


class FilterStep(Model):
    """Keeps the rows for which a condition is true."""

    filter: str
    """Condition over the columns before this step."""


class ComputeStep(Model):
    """Adds or replaces columns."""

    compute: dict[Name, str] = Field(min_length=1)
    """Column to row-wise expression over the columns before this step."""


class Replace(Model):
    column: Name
    """Column to change; its type stays."""
    values: dict[str, str | int | float | bool | None] = Field(min_length=1)
    """Old value to new value; other values stay."""


class ReplaceStep(Model):
    """Replaces values of a column."""

    replace: Replace
    """Column and values."""


class Convert(Model):
    column: Name
    """Column to convert."""
    to: TypeName
    """The new type."""
    format: str | None = None
    """Pattern of text to parse as a date or timestamp, e.g. `dd/MM/yyyy`."""
    invalid: Literal["null", "fail"] = "null"
    """A value that cannot be converted becomes null, or fails the job."""


class ConvertStep(Model):
    """Converts a column."""

    convert: Convert
    """Column and type."""


class CategoryCase(Model):
    when: str
    """Condition."""
    then: str | int | float | bool
    """Value if the condition is true."""


class Categorise(Model):
    """Either `cases`, of which the first true one applies, or `of` with `buckets`."""

    column: Name
    """The new column."""
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


class CategoriseStep(Model):
    """Adds a column of categories."""

    categorise: Categorise
    """Cases or buckets."""


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


class Extract(Model):
    """Exactly one of `split`, `regex`, `date_part`, `json_field`."""

    column: Name
    """The new column."""
    of: Name
    """Column to extract from."""
    split: SplitPart | None = None
    """The n-th part of a text."""
    regex: Regex | None = None
    """A group of a regular expression."""
    date_part: DatePart | None = None
    """A part of a date or timestamp."""
    json_field: str | None = None
    """Dotted path into JSON text, e.g. `device.os`; gives text."""


class ExtractStep(Model):
    """Adds a column from a part of another."""

    extract: Extract
    """Column and part."""


class Join(Model):
    """Adds columns of another table, which must not be an event table: aggregate events in a feature instead."""

    table: Name
    """Name in the registry."""
    on: dict[Name, Name] | tuple[Name, ...]
    """Key columns, or a mapping `column here: column there`."""
    cardinality: Cardinality
    """From rows here to rows there. Only `one_to_many` may repeat rows."""
    unmatched: Literal["keep", "drop"] = "keep"
    """Keeps or drops rows without a match."""
    columns: dict[Name, Name] | tuple[Name, ...] = Field(min_length=1)
    """Columns to add, or a mapping `new name: column there`."""
    at: Literal["event", "cutoff"] = "event"
    """For snapshot and scd2 tables: the state at the row's event time, or at the cut-off."""


class JoinStep(Model):
    join: Join
    """Table, keys and columns."""


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


class MemberStep(Model):
    """Adds whether another table has a row with the same values."""

    member: Member
    """Column, table and values."""


class Previous(Model):
    column: Name
    """The new column."""
    of: str
    """Expression over the entity's event `offset` positions earlier; null if there is none."""
    by: tuple[Name, ...] = Field(min_length=1)
    """Keys of the entity."""
    offset: int = Field(default=1, ge=1)
    """Number of events back."""


class PreviousStep(Model):
    """Adds a value of the same entity's previous event."""

    previous: Previous
    """Column and value."""


class Gap(Model):
    column: Name
    """The new column."""
    by: tuple[Name, ...] = Field(min_length=1)
    """Keys of the entity."""
    unit: Literal["seconds", "minutes", "hours", "days"] = "days"
    """Unit of the result."""


class GapStep(Model):
    """Adds the time since the same entity's previous event, as a double; null for the first."""

    gap: Gap
    """Column, keys and unit."""


class Session(Model):
    column: Name
    """The new column."""
    by: tuple[Name, ...] = Field(min_length=1)
    """Keys of the entity."""
    timeout: Duration
    """A gap of at least this length starts a new session."""
    longer: bool = False
    """Only a gap longer than `timeout` starts one."""


class SessionStep(Model):
    """Adds the number of the entity's session, from 1 (bigint)."""

    session: Session
    """Column, keys and timeout."""


STEP_KINDS = (
    "filter", "compute", "replace", "convert", "categorise", "extract", "join", "member", "previous", "gap", "session",
)  # fmt: skip


def step_kind(value: Any) -> str | None:
    """The key that identifies the type of a step, given as a mapping or as a step; None if there is none."""
    keys = value if isinstance(value, dict) else type(value).model_fields if isinstance(value, Model) else ()
    return next((kind for kind in STEP_KINDS if kind in keys), None)


def body_of(step: Any) -> Any:
    """What a step is given: its `filter`, `compute`, `join`, ..."""
    return getattr(step, step_kind(step) or "")


def set_by(step: Any) -> frozenset[str]:
    """Columns that a step sets."""
    body = body_of(step)
    if isinstance(body, str):
        return frozenset()
    return frozenset(body if isinstance(body, dict) else getattr(body, "columns", None) or [body.column])


def expressions_of(step: Any) -> Iterator[tuple[str, str]]:
    """The SQL of a step, each with the column that it decides on; an empty name for conditions on rows."""
    match step:
        case FilterStep():
            yield "", step.filter
        case ComputeStep():
            yield from step.compute.items()
        case CategoriseStep(categorise=rule):
            yield from ((rule.column, case.when) for case in rule.cases)
            if rule.of is not None:
                yield rule.column, rule.of
        case PreviousStep(previous=rule):
            yield rule.column, rule.of
        case MemberStep(member=rule) if rule.where is not None:
            yield "", rule.where


def pairs(names: Mapping[str, str] | tuple[str, ...]) -> dict[str, str]:
    """Converts a list of names to a mapping of each name to itself; mappings are returned as a dict.

    >>> pairs(("user_id",))
    {'user_id': 'user_id'}
    """
    return dict(names) if isinstance(names, Mapping) else {name: name for name in names}


def reads_of(steps: Iterable[Any]) -> list[Join | Member]:
    """The parts of the steps that read another table."""
    return [body for step in steps if isinstance(body := body_of(step), Join | Member)]


Step = Annotated[
    Annotated[FilterStep, Tag("filter")]
    | Annotated[ComputeStep, Tag("compute")]
    | Annotated[ReplaceStep, Tag("replace")]
    | Annotated[ConvertStep, Tag("convert")]
    | Annotated[CategoriseStep, Tag("categorise")]
    | Annotated[ExtractStep, Tag("extract")]
    | Annotated[JoinStep, Tag("join")]
    | Annotated[MemberStep, Tag("member")]
    | Annotated[PreviousStep, Tag("previous")]
    | Annotated[GapStep, Tag("gap")]
    | Annotated[SessionStep, Tag("session")],
    Discriminator(step_kind),
]
