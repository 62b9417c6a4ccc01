"""The catalogue of seeded bugs."""

from __future__ import annotations

from typing import NamedTuple

from palmette.bench.bugs.columns import (
    invented_column,
    missing_column,
    no_default,
    other_order,
    other_type,
    similar_column,
    slow_udf,
    swapped_features,
    truncated,
    wrong_default,
)
from palmette.bench.bugs.instants import (
    closed,
    cutoff_as,
    hours_for_days,
    longer_window,
    no_start,
    open_start,
    rows_for_range,
    tied_order,
    unbounded,
    unordered_first,
    unpinned_zone,
    visible_too_late,
)
from palmette.bench.bugs.places import (
    Inject,
    dropped,
    first_of,
    function_for,
    line_in_entry,
    on_rows,
    text_for,
)
from palmette.bench.bugs.rows import (
    dropped_condition,
    fan_out,
    forbidden_column,
    inner_join,
    loop_of_columns,
    missed_join,
    partition_columns,
    repeated_spine,
    wrong_table,
)


class Bug(NamedTuple):
    """A kind of bug."""

    name: str
    family: str
    """The class of mistakes that it stands for."""
    inject: Inject
    """The changed script, or None where this kind of bug has no place in it."""


KINDS: tuple[Bug, ...] = (
    Bug("no upper bound", "future leak", unbounded("event")),
    Bug("<= at the cut-off", "boundary leak", closed("event")),
    Bug("> at the window's start", "boundary", open_start),
    Bug("window never starts", "boundary", no_start),
    Bug("window one unit longer", "wrong window", longer_window),
    Bug("24 hours for a day", "time zone", hours_for_days),
    Bug("rows instead of range", "wrong window", rows_for_range),
    Bug("availability ignored", "as-known leak", unbounded("available")),
    Bug("<= at the availability", "as-known leak", closed("available")),
    Bug("late steps see invisible rows", "as-known leak", visible_too_late),
    Bug("forbidden column", "label leak", forbidden_column),
    Bug("fan-out join", "fan-out", fan_out),
    Bug("inner join", "row loss", inner_join),
    Bug("spine rows merged", "row loss", repeated_spine),
    Bug("distinct dropped", "fan-out", dropped("distinct")),
    Bug("null instead of default", "null semantics", no_default),
    Bug("wrong default", "null semantics", wrong_default),
    Bug("default hides a failed join", "null semantics", missed_join),
    Bug("session time zone", "time zone", unpinned_zone),
    Bug("wrong zone", "time zone", text_for('timeZone", ZONE', 'timeZone", "America/New_York"')),
    Bug(
        "epoch unit",
        "time zone",
        function_for(("timestamp_millis", "timestamp_seconds"), ("unix_micros", "unix_millis")),
    ),
    Bug("ties in the order", "non-determinism", tied_order),
    Bug("first without order", "non-determinism", unordered_first),
    Bug("current time", "non-determinism", cutoff_as("F.current_timestamp()")),
    Bug("fixed date", "non-determinism", cutoff_as('F.lit("2024-01-01").cast("timestamp")')),
    Bug("random rows", "non-determinism", on_rows(".where(F.rand() < 0.9)")),
    Bug("whole numbers only", "numeric traps", truncated),
    Bug("no partition pruning", "cost", dropped("where", "filter", mentioning=partition_columns)),
    Bug(
        "static overwrite",
        "overwrite",
        first_of(text_for('"dynamic"', '"static"'), text_for("'dynamic'", "'static'")),
    ),
    Bug(
        "append",
        "not re-runnable",
        first_of(text_for('"overwrite"', '"append"'), text_for("'overwrite'", "'append'")),
    ),
    Bug("collect", "driver", line_in_entry("rows = features.collect()")),
    Bug("toPandas", "driver", line_in_entry("rows = features.toPandas()")),
    Bug("Python UDF", "driver", slow_udf),
    Bug("withColumn loop", "cost", loop_of_columns),
    Bug(
        "cross join",
        "cost",
        line_in_entry("features = features.crossJoin(features.limit(1).select(F.lit(1)))"),
    ),
    Bug("similarly named column", "wrong name", similar_column),
    Bug("invented column", "wrong name", invented_column),
    Bug("wrong table", "wrong name", wrong_table),
    Bug("condition dropped", "wrong rows", dropped_condition),
    Bug(
        "wrong aggregate",
        "wrong value",
        function_for(
            ("sum", "avg"),
            ("count_if", "count"),
            ("avg", "max"),
            ("max", "min"),
            ("max_by", "min_by"),
            ("count", "count_distinct"),
        ),
    ),
    Bug("features swapped", "wrong value", swapped_features),
    Bug("other type", "schema drift", other_type),
    Bug("other order", "schema drift", other_order),
    Bug("missing column", "schema drift", missing_column),
)
