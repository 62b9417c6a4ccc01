"""The catalogue of seeded bugs."""

from typing import NamedTuple

from palmette_bench.bugs import columns, rows, timestamps
from palmette_bench.bugs.rewriting import Inject, dropped, function_for


class Bug(NamedTuple):
    """A kind of bug."""

    name: str
    family: str
    """The class of mistakes that it stands for."""
    inject: Inject
    """The changed script, or None where this kind of bug has no place in it."""


KINDS: tuple[Bug, ...] = (
    Bug("no upper bound", "future leak", timestamps.unbounded("event")),
    Bug("<= at the cut-off", "boundary leak", timestamps.closed("event")),
    Bug("> at the window's start", "boundary", timestamps.open_start),
    Bug("window one unit longer", "wrong window", timestamps.longer_window),
    Bug("24 hours for a day", "time zone", timestamps.hours_for_days),
    Bug("rows instead of range", "wrong window", timestamps.rows_for_range),
    Bug("availability ignored", "as-known leak", timestamps.unbounded("available")),
    Bug("<= at the availability", "as-known leak", timestamps.closed("available")),
    Bug("late steps see invisible rows", "as-known leak", timestamps.visible_too_late),
    Bug("fan-out join", "fan-out", rows.fan_out),
    Bug("inner join", "row loss", rows.inner_join),
    Bug("spine rows merged", "row loss", rows.repeated_spine),
    Bug("distinct dropped", "fan-out", dropped("distinct")),
    Bug("null instead of default", "null semantics", columns.no_default),
    Bug("wrong default", "null semantics", columns.wrong_default),
    Bug("default hides a failed join", "null semantics", rows.missed_join),
    Bug("session time zone", "time zone", timestamps.unpinned_zone),
    Bug(
        "epoch unit",
        "time zone",
        function_for(("timestamp_millis", "timestamp_seconds"), ("unix_micros", "unix_millis")),
    ),
    Bug("whole numbers only", "numeric traps", columns.truncated),
    Bug("no partition pruning", "cost", dropped("where", "filter", mentioning=rows.partition_columns)),
    Bug("similarly named column", "wrong name", columns.similar_column),
    Bug("condition dropped", "wrong rows", rows.dropped_condition),
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
    Bug("features swapped", "wrong value", columns.swapped_features),
    Bug("other type", "schema drift", columns.other_type),
    Bug("other order", "schema drift", columns.other_order),
    Bug("missing column", "schema drift", columns.missing_column),
)
