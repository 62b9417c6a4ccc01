"""What the checks that run the script share: the author's examples as frames, and comparing outputs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from palmette.engine.actor import Violation
from palmette.features.frame import Frame
from palmette.features.harness.harness import CaseResult
from palmette.features.oracle import differences
from palmette.features.spec.view import View

EVIDENCE = 4000
"""Most characters of evidence that a violation carries."""


class Example(NamedTuple):
    """A unit test of the specification."""

    name: str
    frames: Mapping[str, Frame]
    as_of: datetime | None
    expect: Frame
    """Only the columns that its rows name."""


def examples(view: View) -> list[Example]:
    """The unit tests of the specification as frames."""
    from palmette.features.frame_json import frame_of, instant_of

    found = []
    for test in view.tests:
        frames = {
            name: frame_of(
                {column.name: column.type.parsed for column in table.columns}, test.given.get(name, ())
            )
            for name, table in view.tables.items()
        }
        named = [name for name in view.output if any(name in row for row in test.expect)]
        expect = frame_of({name: view.output[name] for name in named}, test.expect)
        found.append(Example(test.name, frames, instant_of(test.as_of) if test.as_of else None, expect))
    return found


def difference(view: View, wanted: Frame, actual: Frame) -> str:
    """How two outputs differ, as text; empty when they do not. Columns that `wanted` lacks do not count."""
    if missing := [name for name in wanted.schema if name not in actual.schema]:
        return f"columns missing from the output: {', '.join(missing)}"
    cut = Frame.of({name: actual.schema[name] for name in wanted.schema}, actual.rows)
    return "\n".join(map(str, differences(wanted, cut, view)))[:EVIDENCE]


def failure(result: CaseResult) -> Violation:
    """The violation of a call that raised."""
    return Violation(
        code="crash",
        subject=result.name,
        message=f"The script fails on case {result.name!r}: {result.error}",
        evidence=result.trace[:EVIDENCE],
    )
