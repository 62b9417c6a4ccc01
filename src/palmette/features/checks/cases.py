"""What the checks that run the script share: the author's examples as frames, and comparing outputs."""

from __future__ import annotations

from collections.abc import Container, Mapping
from datetime import datetime
from typing import NamedTuple

from palmette.engine.actor import Violation
from palmette.features.frame import Frame
from palmette.features.frame_json import expected_of_unit_test, frame_of_unit_test, instant_of
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
    named: tuple[frozenset[str], ...]
    """By row of `expect`: the columns that are compared."""

    def without(self, names: Container[str]) -> Example:
        """The example as far as it does not name these columns."""
        kept = {name: kind for name, kind in self.expect.schema.items() if name not in names}
        named = tuple(frozenset(name for name in row if name not in names) for row in self.named)
        return self._replace(expect=Frame.of(kept, self.expect.rows), named=named)

    def completed(self, view: View, actual: Frame) -> Frame:
        """The expected rows, with the values of the actual row of the same identity where a row names none."""
        identity = {*view.grain, *view.kept, "as_of"}
        free, rows = list(actual.rows), []
        for row, named in zip(self.expect.rows, self.named, strict=True):
            match = next((other for other in free if all(other[key] == row[key] for key in identity & named)), None)
            if match is not None:
                free.remove(match)
            rows.append({name: row[name] if name in named or match is None else match[name] for name in row})
        return self.expect.with_rows(rows)


def examples(view: View) -> list[Example]:
    """The unit tests of the specification as frames."""
    found = []
    for test in view.tests:
        frames = frame_of_unit_test(view, test.given)
        as_of = instant_of(test.as_of) if test.as_of else None
        named = tuple(frozenset(row) for row in test.expect)
        found.append(Example(test.name, frames, as_of, expected_of_unit_test(view, test), named))
    return found


def unlike(view: View, example: Example, actual: Frame) -> str:
    """How an output differs from what the author expects, as text; empty when it does not."""
    if missing := [name for name in example.expect.schema if name not in actual.schema]:
        return f"columns missing from the output: {', '.join(missing)}"
    return difference(view, example.completed(view, actual), actual)


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
