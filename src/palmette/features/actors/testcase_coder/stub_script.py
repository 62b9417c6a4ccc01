"""Writes a stub of the script that returns the expected rows, so that tests can run before the script exists.

The stub looks up the expected rows by its input rows and computes no features. A wrong stub returns no rows for cases
that expect some, and one row for cases that expect none; a test that passes with it verifies nothing.
"""

from pathlib import Path
from typing import Any

from palmette.features.actors.testcase_coder.literals import schema_text
from palmette.features.actors.testcase_coder.offline import inputs_of, table_schema
from palmette.features.artefacts import Conventions, TestCase, TestCases
from palmette.features.frame_json import decode_row, timestamp_of
from palmette.features.pyspark.code import rendered
from palmette.features.signature import shape_of, signature
from palmette.features.spec.view import View

_TEMPLATE = Path(__file__).with_name("stub_script.py.j2")


def stand_in(view: View, cases: TestCases, conventions: Conventions, *, lies: bool = False) -> str:
    """The source of the stub module, or of a wrong stub if `lies` is set."""
    shape = shape_of(conventions, "build")
    bound = signature(view, conventions, "build")
    parameters = ", ".join(f"{each.name}=None" for each in bound)
    tables = [f"{each.table!r}: {each.name}" for each in bound if each.meaning == "table" and each.table]
    whole = next((each.name for each in bound if each.meaning == "tables"), "")
    if not whole and not tables:
        single = next((each.name for each in bound if each.meaning in ("frame", "table")), "None")
        tables = [f"{next(iter(view.tables))!r}: {single}"]
    frames = whole or "{" + ", ".join(tables) + "}"
    as_of = next((each.name for each in bound if each.meaning == "as_of"), "None")
    known = []
    for case in cases.cases:
        rows = [{}] * (not case.expect) if lies else _completed(view, case, cases)
        known.append(_case_literal(view, inputs_of(view, case), rows, case.as_of))
    return rendered(
        _TEMPLATE,
        output=repr(schema_text(view.output)),
        cases=known,
        owner=conventions.owner,
        name=shape.name,
        parameters=parameters,
        frames=frames,
        as_of=as_of,
        others=[
            *(each.name for each in conventions.functions if each.name != shape.name),
            *(each.name for each in view.features if conventions.feature_functions),
        ],
    )


def _completed(view: View, case: TestCase, cases: TestCases) -> list[dict[str, Any]]:
    """The rows that all cases with the same input expect, with their columns combined."""
    same = [other for other in cases.cases if (other.given, other.as_of) == (case.given, case.as_of)]
    rows: list[dict[str, Any]] = []
    for other in sorted(same, key=lambda one: one.partial):
        free = list(rows)
        for row in other.expect:
            mine = next((each for each in free if all(each.get(k) == row[k] for k in view.identity if k in row)), None)
            if mine is None:
                rows.append(dict(row))
            else:
                free.remove(mine)
                mine |= row
    return rows


def _case_literal(view: View, given: dict[str, Any], expect: list[dict[str, Any]], as_of: str | None) -> str:
    schemas = {name: table_schema(view, name) for name in given}
    tables = {name: [dict(decode_row(schemas[name], row)) for row in rows] for name, rows in given.items()}
    rows = [dict(decode_row(view.output, row)) for row in expect]
    return repr({"given": tables, "expect": rows, "as_of": timestamp_of(as_of) if as_of else None})
