"""FSC, the feature specification: *what* a feature view is. No dates, no paths.

Expressions are Spark SQL over the columns that exist at that point. One rule differs from ANSI Spark:
`/` and `%` give null where the divisor is zero, in every expression of an FSC.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from palmette.documents import Model
from palmette.features.spec.fsc_steps import Step
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
