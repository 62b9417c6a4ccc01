"""The team's own answer to a task: its script and settings.

A task keeps only what its script computes (`gold.py`). What all scripts of the team have alike is added here, and the
settings follow from the specification.
"""

import yaml

from palmette.features.spec.view import View

HEAD = '''"""{description}

Grain: {grain}
Inputs: {inputs}
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

{imports}
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.settings import ViewSettings

GRAIN = {grain_names}
COLUMNS = {columns}
COUNTS = {counts}


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {{source.table: read(spark, source.path, source.format) for source in settings.inputs}}


'''
TAIL = '''

def save(frame: DataFrame, settings: ViewSettings) -> None:
    """Writes the view."""
    overwrite(frame, settings.sink)


def instant(text: str) -> datetime:
    """An ISO 8601 time; UTC where it has no offset."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def run(argv: Sequence[str] | None = None) -> None:
    """Entry point for `spark-submit`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, help="YAML file of the view")
    parser.add_argument("--cutoff", type=instant, help="ISO 8601; UTC without an offset")
    args = parser.parse_args(argv)
    settings = ViewSettings.load(args.settings)
    spark = session(settings.view)
    save(compute(read_inputs(spark, settings), args.cutoff), settings)


if __name__ == "__main__":
    run()
'''


def script_of(view: View, computation: str) -> str:
    """The whole script, given the text of `gold.py`: imports, two empty lines, functions with `compute` among them."""
    imports, _, functions = computation.partition("\n\n\n")
    zeros = [one.name for one in view.features if not one.internal and one.default == 0 and one.default is not False]
    head = HEAD.format(
        description=view.description,
        grain=", ".join(view.grain),
        inputs=", ".join(view.tables),
        imports=imports,
        grain_names=list(view.grain),
        columns=_columns(view),
        counts=zeros,
    )
    return f"{head}{functions.rstrip()}\n{TAIL}"


def settings_of(view: View) -> str:
    """The settings, as a YAML file."""
    sink = {"path": f"lake/{view.name}", "partition_by": view.partition}
    settings = {
        "view": view.name,
        "owner": view.owner,
        "description": view.description,
        "grain": list(view.grain),
        "inputs": [{"table": name, "path": f"../{table.path}"} for name, table in view.tables.items()],
        "columns": _columns(view),
        "sink": {key: value for key, value in sink.items() if value},
    }
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)


def _columns(view: View) -> dict[str, str]:
    """Names and types of the features."""
    return {one.name: str(one.dtype) for one in view.features if not one.internal}
