"""Writes a stub of the script that returns the expected rows, so that tests can run before the script exists.

The stub looks up the expected rows by its input rows and computes no features. A wrong stub returns no rows for cases
that expect some, and one row for cases that expect none; a test that passes with it verifies nothing.
"""

from __future__ import annotations

from typing import Any

from palmette.features.actors.testcase_coder.literals import schema_text
from palmette.features.actors.testcase_coder.offline import table_schema
from palmette.features.artefacts import Conventions, TestCase, TestCases
from palmette.features.frame_json import decode_row, timestamp_of
from palmette.features.signature import shape_of, signature
from palmette.features.spec.view import Schema, View

_LOOK_UP = '''
nan, inf = float("nan"), float("inf")


def rows_of(df):
    """Rows in an order of their own, with instants in UTC."""
    return sorted(repr({name: plain(value) for name, value in row.items()}) for row in df.toArrow().to_pylist())


def plain(value):
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc)
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return dict(value)
    return value


def answer(frames, as_of):
    given = {name: rows for name, df in frames.items() if (rows := rows_of(df))}
    instant = as_of.astimezone(datetime.timezone.utc) if isinstance(as_of, datetime.datetime) else as_of
    for case in CASES:
        tables = {name: sorted(map(repr, rows)) for name, rows in case["given"].items() if rows}
        if tables == given and (as_of is None or not isinstance(as_of, datetime.datetime) or instant == case["as_of"]):
            df = next(iter(frames.values()))
            return df.sparkSession.createDataFrame([tuple(row.values()) for row in case["expect"]], OUTPUT)
    raise LookupError("no case has these rows")
'''


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
        known.append(_case_literal(view, case.given, rows, case.as_of))
    stubs = [
        f"def {each.name}(*args, **kwargs):\n    raise NotImplementedError\n"
        for each in conventions.functions
        if each.name != shape.name
    ]
    return "\n".join(
        [
            "import datetime",
            "from decimal import Decimal",
            _LOOK_UP,
            f"OUTPUT = {schema_text(view.output)!r}",
            f"CASES = [{', '.join(known)}]",
            _defined(conventions.owner, shape.name, parameters, f"answer({frames}, {as_of})"),
            *stubs,
        ]
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


def _defined(owner: str, name: str, parameters: str, value: str) -> str:
    """The function, or a class with this method."""
    if not owner:
        return f"def {name}({parameters}):\n    return {value}\n"
    lines = [f"class {owner}:", "    def __init__(self, *args, **kwargs): pass"]
    return "\n".join([*lines, f"    def {name}(self, {parameters}):", f"        return {value}", ""])


def _case_literal(view: View, given: dict[str, Any], expect: list[dict[str, Any]], as_of: str | None) -> str:
    tables = {name: [_decoded(table_schema(view, name), row) for row in rows] for name, rows in given.items()}
    rows = [_decoded(view.output, row) for row in expect]
    return repr({"given": tables, "expect": rows, "as_of": timestamp_of(as_of) if as_of else None})


def _decoded(schema: Schema, row: dict[str, Any]) -> dict[str, Any]:
    return dict(decode_row(schema, row))
