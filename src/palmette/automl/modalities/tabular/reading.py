"""How the project reads a file, as facts for its template."""

from __future__ import annotations

import csv
from typing import NamedTuple

from palmette.automl.data import Dialect, Reading
from palmette.automl.modalities.tabular.blueprint import TableBlueprint
from palmette.automl.modalities.tabular.source import literal


class ReadingFacts(NamedTuple):
    """By name of the column in the rows, but for `file_names`; only those that need it."""

    file_names: dict[str, str]
    """Name in the file to name in the rows."""
    missing: dict[str, tuple[str, ...]]
    number_forms: dict[str, tuple[str, str, str]]
    """Decimal sign, thousands sign, unit."""
    date_formats: dict[str, tuple[str, ...]]
    clocks: list[str]
    """Columns of times of day."""
    csv_options: str
    """Arguments of pandas."""
    has_header: bool


def reading_facts(blueprint: TableBlueprint) -> ReadingFacts:
    source = blueprint.source
    sources = {one.name: one.source or one.name for one in blueprint.columns}
    sources[blueprint.target] = source.target or blueprint.target
    readings = {one.name: one.reading for one in blueprint.columns} | {blueprint.target: source.target_reading}
    return ReadingFacts(
        file_names={found: name for name, found in sources.items() if found != name},
        missing={name: told for name, one in readings.items() if (told := _telling(one))},
        number_forms={
            name: (one.decimal, one.thousands, one.affix)
            for name, one in readings.items()
            if one.form == "number" and (one.decimal, one.thousands, one.affix) != (".", "", "")
        },
        clocks=[name for name, one in readings.items() if one.form == "clock"],
        date_formats={name: one.formats for name, one in readings.items() if one.formats},
        csv_options=_csv_options(source.dialect),
        has_header=source.dialect.header,
    )


def _telling(reading: Reading) -> tuple[str, ...]:
    return tuple(text for text in reading.missing if text)


def _csv_options(dialect: Dialect) -> str:
    options: dict[str, object] = {
        "sep": dialect.delimiter or ",",
        "encoding": dialect.encoding,
        "quotechar": dialect.quote or '"',
        "quoting": csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        "escapechar": dialect.escape or None,
        "skiprows": dialect.skipped,
        "skipinitialspace": True,
    }
    usual = {"sep": ",", "encoding": "utf-8", "quotechar": '"', "quoting": 0, "escapechar": None, "skiprows": 0}
    given = [f"{name}={literal(value)}" for name, value in options.items() if value != usual.get(name)]
    return "".join(f"{one}, " for one in [*given, *([] if dialect.header else ["header=None"])])
