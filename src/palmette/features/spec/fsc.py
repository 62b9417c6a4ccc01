"""FSC, the feature specification: *what* a feature view is. No dates, no paths.

Expressions are Spark SQL over the columns that exist at that point. One rule differs from ANSI Spark:
`/` and `%` give null where the divisor is zero, in every expression of an FSC.
"""

from typing import Any, Literal

from pydantic import Field

from palmette.documents import Model
from palmette.features.spec.fsc_steps import Step
from palmette.features.spec.values import Duration, Name, TypeName, Window

AggregateFunction = Literal[
    "count", "count_distinct", "approx_count_distinct", "sum", "avg", "min", "max", "stddev", "percentile", "share",
    "exists", "first", "last", "last_k", "top_k", "mode", "collect", "days_since_last", "vector_mean", "vector_sum",
    "vector_weighted_mean",
]  # fmt: skip
"""The closed vocabulary of aggregations; `docs/reference/fsc.md` defines each on a set of rows.

All ignore null values of `of`. On no rows: the counts give 0, `exists` false, everything else null
(and then the feature's default). `stddev` is the sample deviation (null below two values).
`share` is the fraction of rows for which the condition `of` is true, among those where it is not null. `first`,
`last`, `last_k` and `collect` go by the source's order: event time, then the table's keys (or `order`); `last_k` and
`top_k` give the newest and the highest rank (by default the most frequent) first. `mode` and `top_k` break ties by the
smallest value, and ignore values whose rank is null.
`days_since_last` counts 24-hour days from the newest row's event time to the cut-off, as a fraction (floored for
integer dtypes).
`percentile` interpolates linearly; with `approximate`, it is one of the values.
"""


class Entity(Model):
    """What the features describe."""

    name: Name
    """Name of the entity, used in words such as `by the user`."""
    keys: tuple[Name, ...] = Field(min_length=1)
    """Join keys. The keys of all entities together are the grain of the view."""
    description: str = ""
    """What one such entity is."""


class TimeSemantics(Model):
    """The cut-off: features use only what was known before it."""

    cutoff: Literal["run", "spine", "partition"] = "run"
    """`run`: one cut-off a run; `spine`: one for each row of the spine; `partition`: the end of the partition's day."""
    zone: str = "UTC"
    """IANA time zone for days and hours."""


class Spine(Model):
    """The rows of the output: those of this table that satisfy `where`, duplicates included."""

    table: Name
    """A registered table with all keys of the grain."""
    cutoff: Name | None = None
    """Column with each row's cut-off, read like an event time. Only for `time.cutoff: spine`."""
    where: str | None = None
    """Condition that rows must satisfy."""
    keep: tuple[Name, ...] = ()
    """Further columns of the output, e.g. an identifier or a label."""


class SourceSpec(Model):
    """The rows that features are computed from: a table of the registry and steps applied in order.

    In one source, all of `previous`, `gap` and `session` have the same `by`.
    """

    name: Name
    """What features call it."""
    table: Name | None = None
    """Name in the registry. Default: the name of the source."""
    steps: tuple[Step, ...] = ()
    """Steps, in order; each has exactly one key."""


class Categories(Model):
    """One feature for each value, named `<feature>_<value>`, and optionally `<feature>_other`."""

    of: Name
    """Column of the categories."""
    values: tuple[str | int | bool, ...] = Field(min_length=1)
    """The categories."""
    other: bool = False
    """Adds a feature for all other rows, null included."""


class Aggregate(Model):
    """An aggregation over the rows of a source in a window before the cut-off."""

    function: AggregateFunction
    """The aggregation."""
    source: Name
    """A declared source or a registered table."""
    of: str | None = None
    """Column or row-wise expression. Leave it out for `exists`, `days_since_last`, and `count` of all rows."""
    where: str | None = None
    """Condition that rows must satisfy."""
    window: Window = Window.ALL
    """Length of the window before the cut-off."""
    by: tuple[Name, ...] | None = None
    """Keys to group by, from the grain. Default: the whole grain."""
    order: tuple[str, ...] | None = None
    """For first, last, last_k, collect: columns that order the rows without ties, as `name` or `name desc`."""
    k: int | None = Field(default=None, ge=1)
    """For last_k, top_k: the number of values."""
    rank_by: str | None = None
    """For top_k, mode: the aggregate expression that ranks the values, e.g. `sum(amount)`. Default: the number of
    rows."""
    p: float | None = Field(default=None, ge=0, le=1)
    """For percentile: from 0 to 1."""
    approximate: bool = False
    """For percentile: returns one of the values; faster."""
    distinct: bool = False
    """For collect, last_k: each value once, at its latest position."""
    weight: str | None = None
    """For vector_weighted_mean: a numeric expression. Rows with weight null or 0 are ignored."""
    half_life: Duration | None = None
    """For vector_weighted_mean, instead of `weight`: the age at which a row counts half."""
    categories: Categories | None = None
    """One feature for each category, for count, sum, exists, and share without `of`."""


class Expression(Model):
    """A Spark SQL aggregate expression over the rows of a source, for what `Aggregate` cannot express."""

    sql: str
    """The expression."""
    source: Name
    """A declared source or a registered table."""
    where: str | None = None
    """Condition that rows must satisfy."""
    window: Window = Window.ALL
    """Length of the window before the cut-off."""
    by: tuple[Name, ...] | None = None
    """Keys to group by, from the grain. Default: the whole grain."""


class Lookup(Model):
    """A column of a dimension, snapshot or scd2 table as of the cut-off, by keys of the grain."""

    table: Name
    """Name in the registry."""
    column: Name
    """The column to look up."""
    on: dict[Name, Name] | tuple[Name, ...] | None = None
    """Grain key to table column. Default: the table's keys, by the same names."""


class Feature(Model):
    """One column of the view. Exactly one of `aggregate`, `expression`, `lookup`, `derive`, `words`."""

    name: Name
    """Column name."""
    dtype: TypeName
    """Spark SQL type of the column."""
    description: str = ""
    """What it measures."""
    nullable: bool = True
    """Whether the column may be null."""
    default: str | int | float | bool | tuple[float, ...] | None = None
    """Replaces null. Required when `nullable` is false and the computation can give null."""
    aggregate: Aggregate | None = None
    """Aggregates the rows of a source."""
    expression: Expression | None = None
    """The same in SQL."""
    lookup: Lookup | None = None
    """Looks up a value of one row."""
    derive: str | None = None
    """Row-wise expression over other features, grain keys, kept spine columns and `as_of`."""
    words: str | None = Field(default=None, max_length=1000)
    """The computation in plain words; see [words](words.md)."""
    internal: bool = False
    """A helper of other features, left out of the output."""


class Output(Model):
    """Columns: grain keys, kept spine columns, the cut-off `as_of`, the features in order, then the partition."""

    name: Name | None = None
    """Table name. Default: the name of the feature view."""
    as_of: bool = True
    """Whether the output has the column `as_of`."""
    partition: Name | None = None
    """Date column to partition by: the day that ends at, or contains, the cut-off. A run overwrites only that day."""


class UnitTest(Model):
    """Input rows and the expected output."""

    name: str
    """What the example shows."""
    as_of: str | None = None
    """Cut-off in ISO 8601, UTC without an offset. Leave it out for `cutoff: spine`."""
    given: dict[Name, tuple[dict[str, Any], ...]]
    """Rows by table. Missing columns are null, missing tables empty."""
    expect: tuple[dict[str, Any], ...]
    """Rows of the output, in any order. Only the named columns are compared."""


class FeatureSpec(Model):
    """A feature specification config (FSC)."""

    fsc: Literal[1]
    """Format version."""
    feature_view: Name
    """Name of the view, its script and its table."""
    description: str = ""
    """What the view is for; copied into the script and the pull request."""
    owner: str = ""
    """The responsible team."""
    entities: tuple[Entity, ...] = Field(min_length=1)
    """The entities; their keys are the grain."""
    time: TimeSemantics = TimeSemantics()
    """The cut-off."""
    spine: Spine | None = None
    """The output rows. Default: a row for each key with a visible event in the longest window of its source."""
    sources: tuple[SourceSpec, ...] = ()
    """Tables with steps. A table without steps need not be declared."""
    features: tuple[Feature, ...] = Field(min_length=1)
    """The columns of the view, in order."""
    forbidden: tuple[str, ...] = ()
    """Columns that no feature may depend on: `table.column`, or `column` for any table."""
    output: Output = Output()
    """The written table."""
    tests: tuple[UnitTest, ...] = ()
    """Examples."""
