"""The steps of a source: what happens to a table's rows before features are computed from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from palmette.documents import Model
from palmette.features.spec.values import Duration, Name, TypeName

Cardinality = Literal["many_to_one", "one_to_one", "one_to_many"]


class FilterStep(Model):
    """Keep the rows for which the condition is true."""

    filter: str
    """Condition over the columns before this step."""


class ComputeStep(Model):
    """New or replaced columns, each a row-wise expression over the columns before this step."""

    compute: dict[Name, str] = Field(min_length=1)
    """Column to expression."""


class Replace(Model):
    column: Name
    """Column whose values change; its type stays."""
    values: dict[str, str | int | float | bool | None] = Field(min_length=1)
    """Old value to new value; values that are not named stay."""


class ReplaceStep(Model):
    """Values of a column by other values."""

    replace: Replace
    """Which values, and by what."""


class Convert(Model):
    column: Name
    """Column that changes its type."""
    to: TypeName
    """The new type."""
    format: str | None = None
    """Pattern for text that becomes a date or timestamp, e.g. `dd/MM/yyyy`."""
    invalid: Literal["null", "fail"] = "null"
    """What a value that cannot be converted becomes."""


class ConvertStep(Model):
    """The type of a column."""

    convert: Convert
    """Which column, and to what."""


class Case(Model):
    when: str
    """Condition."""
    then: str | int | float | bool
    """Value where the condition is true."""


class Categorise(Model):
    """Either `cases`, or `of` with `buckets`. The first case that is true wins."""

    column: Name
    """The new column."""
    cases: tuple[Case, ...] = ()
    """Conditions in order."""
    of: str | None = None
    """Numeric expression to put into buckets."""
    buckets: tuple[float, ...] = ()
    """Ascending bounds; bucket i holds bounds[i-1] <= value < bounds[i], so there is one more label."""
    labels: tuple[str, ...] = ()
    """One for each bucket."""
    otherwise: str | int | float | bool | None = None
    """For `cases`: the value where no case is true. Null `of` gives null."""


class CategoriseStep(Model):
    """A column of categories."""

    categorise: Categorise
    """By cases or by buckets."""


class Split(Model):
    by: str
    """The literal separator."""
    part: int
    """1-based; negative counts from the end. Null where there is no such part."""


class Regex(Model):
    pattern: str
    """Java regular expression."""
    group: int = 1
    """Null where the pattern does not match."""


DatePart = Literal["year", "quarter", "month", "week", "day", "day_of_week", "day_of_year", "hour", "minute", "date"]
"""`week` is ISO's; `day_of_week` is 1 for Monday to 7 for Sunday; `date` is the calendar day."""


class Extract(Model):
    """Exactly one of `split`, `regex`, `date_part`, `json_field`."""

    column: Name
    """The new column."""
    of: Name
    """The column to take it from."""
    split: Split | None = None
    """The n-th part of text."""
    regex: Regex | None = None
    """A group of a pattern."""
    date_part: DatePart | None = None
    """A part of a date or time."""
    json_field: str | None = None
    """Dotted path into a JSON object held as text, e.g. `device.os`; the result is text."""


class ExtractStep(Model):
    """A column out of a part of another."""

    extract: Extract
    """What, and from where."""


class Join(Model):
    """Columns of another table. Event tables cannot be joined: aggregate them instead."""

    table: Name
    """Name in the registry."""
    on: dict[Name, Name] | tuple[Name, ...]
    """Key columns; a mapping reads `column here: column there`."""
    cardinality: Cardinality
    """From the rows here to the rows there; anything but `one_to_many` must not change the row count."""
    unmatched: Literal["keep", "drop"] = "keep"
    """What happens to rows without a match."""
    columns: dict[Name, Name] | tuple[Name, ...] = Field(min_length=1)
    """Columns to take; a mapping reads `new name: column there`."""
    at: Literal["event", "cutoff"] = "event"
    """For snapshot and scd2 tables: the state known at the row's event time, or at the cut-off."""


class JoinStep(Model):
    join: Join
    """With which table, on which keys."""


class Previous(Model):
    column: Name
    """The new column."""
    of: str
    """Expression over the entity's event `offset` places earlier; null where there is none."""
    by: tuple[Name, ...] = Field(min_length=1)
    """Keys of the entity."""
    offset: int = Field(default=1, ge=1)
    """How many events back."""


class PreviousStep(Model):
    """A value of the same entity's previous event."""

    previous: Previous
    """Which value."""


class Gap(Model):
    column: Name
    """The new column."""
    by: tuple[Name, ...] = Field(min_length=1)
    """Keys of the entity."""
    unit: Literal["seconds", "minutes", "hours", "days"] = "days"
    """In which unit."""


class GapStep(Model):
    """Time since the same entity's previous event, as a double; null for its first."""

    gap: Gap
    """Between which events."""


class Session(Model):
    column: Name
    """The new column."""
    by: tuple[Name, ...] = Field(min_length=1)
    """Keys of the entity."""
    timeout: Duration
    """A new session starts where the gap to the previous event is at least this long."""


class SessionStep(Model):
    """Number of the session of the entity that the event belongs to, from 1 (bigint)."""

    session: Session
    """Of which entity, and when one ends."""


STEP_KINDS = ("filter", "compute", "replace", "convert", "categorise", "extract", "join", "previous", "gap", "session")


def step_kind(value: Any) -> str | None:
    """The key that tells which step a mapping (or a step) is; None when there is none."""
    keys = value if isinstance(value, dict) else type(value).model_fields if isinstance(value, Model) else ()
    return next((kind for kind in STEP_KINDS if kind in keys), None)


Step = Annotated[
    Annotated[FilterStep, Tag("filter")]
    | Annotated[ComputeStep, Tag("compute")]
    | Annotated[ReplaceStep, Tag("replace")]
    | Annotated[ConvertStep, Tag("convert")]
    | Annotated[CategoriseStep, Tag("categorise")]
    | Annotated[ExtractStep, Tag("extract")]
    | Annotated[JoinStep, Tag("join")]
    | Annotated[PreviousStep, Tag("previous")]
    | Annotated[GapStep, Tag("gap")]
    | Annotated[SessionStep, Tag("session")],
    Discriminator(step_kind),
]
