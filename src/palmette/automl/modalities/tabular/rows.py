"""Rows as the project's `preprocess.read` expects them: in the form that the user's own file has."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from palmette.automl.data import Reading
from palmette.automl.modalities.tabular.blueprint import TableBlueprint

if TYPE_CHECKING:
    import pandas as pd


def write_rows(rows: pd.DataFrame, blueprint: TableBlueprint, path: Path) -> None:
    """Writes rows as loaded, with the target if they have it, in the format of `blueprint.source`.

    Of a target whose numbers were made classes, a number of the class is written: that is all there is to learn.
    """
    import pandas as pd

    source = blueprint.source
    columns = {column.name: (column.source or column.name, column.reading) for column in blueprint.columns}
    columns[blueprint.target] = (source.target or blueprint.target, source.target_reading)
    if source.threshold is not None and blueprint.target in rows:
        numbers = dict(zip(source.threshold.classes, source.threshold.stand_ins, strict=True))
        rows = rows.assign(**{blueprint.target: rows[blueprint.target].map(numbers)})
    made = {
        name: _written(rows[column], reading) if source.format == "csv" else rows[column]
        for column, (name, reading) in columns.items()
        if column in rows
    }
    frame = pd.DataFrame(made, index=rows.index)
    match source.format:
        case "csv":
            dialect = source.dialect
            frame.to_csv(
                path,
                index=False,
                sep=dialect.delimiter or ",",
                encoding=dialect.encoding,
                quotechar=dialect.quote or '"',
                quoting=csv.QUOTE_MINIMAL,
            )
        case "parquet":
            frame.to_parquet(path, index=False)
        case "json":
            frame.to_json(path, orient="records", lines=True, date_format="iso", force_ascii=False)
        case "excel":
            frame.to_excel(path, index=False)


def _written(values: pd.Series, reading: Reading) -> pd.Series:
    """Values as text, nothing where there is no value; numbers with the column's decimal sign."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(values.dtype):
        texts = values.map({True: "true", False: "false"})
    elif pd.api.types.is_numeric_dtype(values.dtype):
        texts = values.map(lambda value: repr(float(value)), na_action="ignore")
        if reading.form == "number" and reading.decimal != ".":
            texts = texts.str.replace(".", reading.decimal, regex=False)
    elif pd.api.types.is_datetime64_any_dtype(values.dtype):
        texts = values.map(lambda value: value.isoformat(), na_action="ignore")
    else:
        texts = values.map(str, na_action="ignore")
    return texts.astype(object).where(values.notna(), "")
