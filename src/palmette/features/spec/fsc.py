"""FSC, the feature specification: *what* a feature view is. No dates, no paths.

Expressions are Spark SQL over the columns that exist at that point. One rule differs from ANSI Spark:
`/` and `%` give null where the divisor is zero, in every expression of an FSC.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from palmette.documents import Model
from palmette.features.spec.values import Duration, Name, TypeName, Window

AggregateFunction = Literal[
    "count",
    "count_distinct",
    "approx_count_distinct",
    "sum",
    "avg",
    "min",
    "max",
    "stddev",
    "percentile",
    "share",
    "exists",
    "first",
    "last",
    "last_k",
    "top_k",
    "mode",
    "collect",
    "days_since_last",
    "vector_mean",
    "vector_sum",
    "vector_weighted_mean",
]
"""The closed vocabulary of aggregations; `docs/reference/fsc.md` defines each on a set of rows.

All ignore null values of `of`. On no rows: the counts give 0, `exists` false, everything else null
(and then the feature's default). `stddev` is the sample deviation (null below two values).
`share` is the fraction of rows for which the condition `of` is true, among those where it is not null. `first`,
`last`, `last_k` and `collect` go by the source's order: event time, then the table's keys (or `order`); `last_k` and
`top_k` give the newest and the most frequent first. `mode` and `top_k` break ties by the smallest value.
`days_since_last` counts 24-hour days from the newest row's event time to the cut-off, as a fraction (floored for
integer dtypes).
`percentile` interpolates linearly; with `approximate`, it is one of the values.
"""

Cardinality = Literal["many_to_one", "one_to_one", "one_to_many"]


class Entity(Model):
    """What features are about."""

    name: Name
    """What the entity is called; words such as `by the user` use it."""
    keys: tuple[Name, ...] = Field(min_length=1)
    """Join keys; together, the keys of all entities are the grain of the view."""
    description: str = ""
    """What one of them is."""


class TimeSemantics(Model):
    """At which instant the features are what was known."""

    cutoff: Literal["run", "spine", "partition"] = "run"
    """One instant for the run, one for each row of the spine, or the end of the partition's day."""
    zone: str = "UTC"
    """IANA zone in which days and hours are counted."""


class Spine(Model):
    """The rows of the output: exactly those of this table (after `where`), duplicates and all."""

    table: Name
    """A table of the registry that has all keys of the grain."""
    cutoff: Name | None = None
    """The column with each row's cut-off, read like an event time; for `time.cutoff: spine`, and only for it."""
    where: str | None = None
    """Condition on the table's rows."""
    keep: tuple[Name, ...] = ()
    """Further columns to carry into the output, e.g. the row's id or its label."""


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


class Source(Model):
    """The rows that features are computed from: a table of the registry and steps applied in order.

    Steps that look at other events (`previous`, `gap`, `session`) or at the state at the cut-off
    (`join` with `at: cutoff`) see only what is visible at the cut-off. In one source they share one `by`.
    """

    name: Name
    """What features call it."""
    table: Name | None = None
    """Name in the registry; the source's own name when left out."""
    steps: tuple[Step, ...] = ()
    """Applied in order."""


class Categories(Model):
    """One feature per value: `<feature>_<value>`, and `<feature>_other` when asked for."""

    of: Name
    """Column with the categories."""
    values: tuple[str | int | bool, ...] = Field(min_length=1)
    """The categories to count."""
    other: bool = False
    """Whether all other rows, null included, make a feature too."""


class Aggregate(Model):
    """An aggregation over the rows of a source that lie in a window before the cut-off."""

    function: AggregateFunction
    """What is computed."""
    source: Name
    """A source, or a table of the registry."""
    of: str | None = None
    """Column or row-wise expression; left out for `count`, `exists` (all rows) and `days_since_last`."""
    where: str | None = None
    """Condition on the rows."""
    window: Window = Window.ALL
    """How far back from the cut-off."""
    by: tuple[Name, ...] | None = None
    """Keys to group by: a subset of the grain; the whole grain when left out."""
    order: tuple[str, ...] | None = None
    """Columns to order by (`name` or `name desc`) for first, last, last_k, collect: last means last in this order."""
    k: int | None = Field(default=None, ge=1)
    """How many, for last_k and top_k."""
    p: float | None = Field(default=None, ge=0, le=1)
    """Which percentile, from 0 to 1."""
    approximate: bool = False
    """For percentile: quicker, and one of the values."""
    distinct: bool = False
    """For `collect` and `last_k`: each value once, at its latest place."""
    weight: str | None = None
    """For vector_weighted_mean: a numeric expression (rows with null or no weight do not count)."""
    half_life: Duration | None = None
    """For vector_weighted_mean: recency instead of `weight`; a row this much older counts half."""
    categories: Categories | None = None
    """One-hot counts: only for `count`, `share` without `of`, `sum`, `exists`."""


class Expression(Model):
    """The escape hatch: a Spark SQL aggregate expression over the same rows as an `Aggregate`."""

    sql: str
    """Aggregate expression."""
    source: Name
    """A source, or a table of the registry."""
    where: str | None = None
    """Condition on the rows."""
    window: Window = Window.ALL
    """How far back from the cut-off."""
    by: tuple[Name, ...] | None = None
    """As for an aggregate."""


class Lookup(Model):
    """A column of a dimension, snapshot or scd2 table, as known at the cut-off, by keys of the grain."""

    table: Name
    """Name in the registry."""
    column: Name
    """The column to take."""
    on: dict[Name, Name] | tuple[Name, ...] | None = None
    """Grain key to table column; the table's keys by the same names when left out."""


class Feature(Model):
    """One column of the view. Exactly one of `aggregate`, `expression`, `lookup`, `derive`, `words`."""

    name: Name
    """Name of the column."""
    dtype: TypeName
    """Spark SQL type of the column."""
    description: str = ""
    """What it says about the entity."""
    nullable: bool = True
    """Whether null is a value that users of the feature must expect."""
    default: str | int | float | bool | tuple[float, ...] | None = None
    """Replaces null. A feature that is not nullable needs one, unless it cannot be null."""
    aggregate: Aggregate | None = None
    """From many rows of a source."""
    expression: Expression | None = None
    """From many rows, in SQL."""
    lookup: Lookup | None = None
    """From one row of a table."""
    derive: str | None = None
    """Row-wise expression over other features, grain keys, kept spine columns and `as_of`."""
    words: str | None = None
    """The computation in plain words; see docs/reference/words.md for what is understood offline."""
    internal: bool = False
    """True for a helper of other features that is not part of the output."""


class Output(Model):
    """Columns: grain keys, kept spine columns, `as_of`, the features in order, then the partition."""

    name: Name | None = None
    """Name of the written table; the feature view's when left out."""
    partition: Name | None = None
    """A date column to partition by: the day of the last instant before the cut-off. Only that day is overwritten."""


class UnitTest(Model):
    """Rows in, rows out: the author's own examples."""

    name: str
    """What it shows."""
    as_of: str | None = None
    """Cut-off, ISO 8601 (UTC unless it has an offset); left out for `cutoff: spine`."""
    given: dict[Name, tuple[dict[str, Any], ...]]
    """Rows of registry tables, by table name; columns that are left out are null, and such tables are empty."""
    expect: tuple[dict[str, Any], ...]
    """Rows of the output, in any order; only the named columns are compared."""


class FeatureSpec(Model):
    """A feature specification config (FSC)."""

    fsc: Literal[1]
    """Version of this format."""
    feature_view: Name
    """Name of the view, of its script and of its table."""
    description: str = ""
    """What the view is for; goes into the script and the pull request."""
    owner: str = ""
    """The team that answers for it."""
    entities: tuple[Entity, ...] = Field(min_length=1)
    """What the features are about; their keys are the grain."""
    time: TimeSemantics = TimeSemantics()
    """The cut-off."""
    spine: Spine | None = None
    """Left out: a row for every key of the grain that a visible event has in its source's longest window."""
    sources: tuple[Source, ...] = ()
    """Tables with steps; a table that needs none may be used without being declared."""
    features: tuple[Feature, ...] = Field(min_length=1)
    """The columns of the view, in their order."""
    forbidden: tuple[str, ...] = ()
    """Columns that no feature may depend on: `table.column`, or `column` for any table."""
    output: Output = Output()
    """The written table."""
    tests: tuple[UnitTest, ...] = ()
    """The author's own examples."""
