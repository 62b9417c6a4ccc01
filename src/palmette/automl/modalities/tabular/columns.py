"""The columns of a blueprint as they stand in the user's own file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from palmette.automl.data import Column, Dataset
from palmette.automl.goal import most_seconds
from palmette.automl.modalities.modality import Outline
from palmette.automl.modalities.tabular.blueprint import ColumnPlan, Dropped, Source, TableBlueprint

FORMATS: dict[str, Literal["parquet", "excel"]] = {"parquet": "parquet", "excel": "excel"}
"""Of files whose rows the project reads as they are; all others become CSV."""


def outlined(outline: Outline) -> list[Column]:
    """The columns that are used, each of the kind that it is taken for."""
    kept = [column for column in outline.dataset.columns if column.name not in outline.left_out]
    return [column.model_copy(update={"kind": outline.kinds.get(column.name, column.kind)}) for column in kept]


def as_outlined(drawn: TableBlueprint, outline: Outline) -> dict[str, Any]:
    """Columns and source as in the file, with their reasons, and the time, for a blueprint drawn from rows alone."""
    known = {column.name: column for column in outline.dataset.columns}
    sources = in_file(outline.dataset.columns)
    gone = (Dropped(name=name, reason=why) for name, why in outline.left_out.items())
    return {
        "columns": tuple(
            _as_in_file(one, known[one.name], sources, outline.reasons.get(one.name, "")) for one in drawn.columns
        ),
        "dropped": (*drawn.dropped, *gone),
        "source": _source(outline.dataset, drawn.target, sources),
        "seconds": most_seconds(outline.requirements),
    }


def in_file(columns: Sequence[Column]) -> dict[str, str]:
    """The names in the file of columns that are called otherwise, as pandas tells missing and repeated ones apart."""
    import pandas as pd

    line = io.StringIO()
    csv.writer(line).writerow(column.source for column in columns)
    read = pd.read_csv(io.StringIO(line.getvalue()), nrows=0, skip_blank_lines=False, skipinitialspace=True).columns
    return {column.name: name for column, name in zip(columns, read, strict=True) if name != column.name}


def _as_in_file(plan: ColumnPlan, column: Column, sources: Mapping[str, str], reason: str) -> ColumnPlan:
    treatment = f"{plan.treatment}; {reason}" if reason and plan.treatment else reason or plan.treatment
    return plan.model_copy(
        update={"source": sources.get(plan.name, ""), "reading": column.reading, "treatment": treatment}
    )


def _source(dataset: Dataset, target: str, sources: Mapping[str, str]) -> Source:
    """How the project reads files like the ones that were given."""
    file, column = dataset.files[0], dataset.column(target) if target else None
    source = Source()
    if column is not None:
        made = dataset.threshold if dataset.threshold and column is dataset.column(dataset.threshold.column) else None
        source = Source(target=sources.get(target, ""), target_reading=column.reading, threshold=made)
    dialect = file.dialect
    if dialect is not None and dialect.header and dialect.quote and not dialect.skipped and not dialect.escape:
        return source.model_copy(update={"dialect": dialect})
    return source if file.compression else source.model_copy(update={"format": FORMATS.get(file.format, "csv")})
