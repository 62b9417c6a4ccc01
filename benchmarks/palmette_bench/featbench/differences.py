"""How two outputs of a view differ, however many rows they have: DuckDB compares them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

TOLERANCE = {"double": 1e-7, "float": 1e-4}
"""Relative, and absolute where both are near 0: sums of floating numbers depend on their order."""


def differences(wanted: Path | pa.Table, found: Path | pa.Table, keys: Sequence[str]) -> tuple[str, ...]:
    """How two tables, or the Parquet files below two folders, differ; empty when columns, types and rows are the same.

    Rows are paired by `keys`, and those with equal keys by the order of their exact values.
    """
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, rows in (("a", wanted), ("b", found)):
            if isinstance(rows, Path):
                files = f"read_parquet('{rows}/**/*.parquet', hive_partitioning = true)"
                connection.execute(f"CREATE VIEW {name}_rows AS SELECT * FROM {files}")
            else:
                connection.register(f"{name}_rows", rows)
        kind = "regexp_replace(column_type, '^TIMESTAMP.*', 'TIMESTAMP')"
        described = f"SELECT column_name, {kind} FROM (DESCRIBE {{}}_rows)"
        ours, theirs = (connection.execute(described.format(name)).fetchall() for name in "ab")
        if ours != theirs:
            changed = [f"{name} {kind}" for name, kind in theirs if (name, kind) not in ours]
            missing = [f"{name} {kind}" for name, kind in ours if (name, kind) not in theirs]
            return (f"columns: expected {missing or 'another order'}, found {changed or 'no such column'}",)
        values = [(name, kind) for name, kind in ours if name not in keys]
        for name in "ab":
            connection.execute(f"CREATE VIEW {name} AS {_numbered(name, keys, values)}")
        on = " AND ".join(f'a."{key}" IS NOT DISTINCT FROM b."{key}"' for key in (*keys, "number"))
        counts = {"rows of one side": "a.number IS NULL OR b.number IS NULL"}
        paired = "a.number IS NOT NULL AND b.number IS NOT NULL AND NOT coalesce"
        counts |= {name: f"{paired}({_alike(name, kind)}, false)" for name, kind in values}
        filters = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in counts.values())
        differing = connection.execute(f"SELECT {filters} FROM a FULL JOIN b ON {on}").fetchone()
        assert differing is not None
        return tuple(f"{name}: {count} differ" for name, count in zip(counts, differing, strict=True) if count)


def _numbered(name: str, keys: Sequence[str], values: Sequence[tuple[str, str]]) -> str:
    """A query of the rows with their number among those of equal keys."""
    grain = ", ".join(f'"{key}"' for key in keys)
    order = ", ".join(f'"{column}"' for column, kind in values if not _tolerance(kind)) or "1"
    return f"SELECT *, row_number() OVER (PARTITION BY {grain} ORDER BY {order}) AS number FROM {name}_rows"


def _alike(name: str, kind: str) -> str:
    """A condition under which a column of both sides is the same, floating numbers up to their tolerance."""
    one, other, tolerance = f'a."{name}"', f'b."{name}"', _tolerance(kind)
    if not tolerance:
        return f"{one} IS NOT DISTINCT FROM {other}"
    if not kind.endswith("[]"):
        return _near(one, other, tolerance)
    element = _near(f"{one}[i]", f"{other}[i]", tolerance)
    elements = f"coalesce(list_bool_and(list_transform(range(1, len({one}) + 1), lambda i: {element})), true)"
    return f"{one} IS NOT DISTINCT FROM {other} OR (len({one}) = len({other}) AND {elements})"


def _near(one: str, other: str, tolerance: float) -> str:
    scale = f"greatest(1, abs({one}), abs({other}))"
    return f"{one} IS NOT DISTINCT FROM {other} OR coalesce(abs({one} - {other}) <= {tolerance} * {scale}, false)"


def _tolerance(kind: str) -> float | None:
    """Of floating numbers and of lists of them."""
    return TOLERANCE.get(kind.lower().removesuffix("[]"))
