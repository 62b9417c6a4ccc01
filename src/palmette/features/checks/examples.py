"""Shared by checks that run the script: the author's examples as frames, and the comparison of outputs."""

from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Self

from palmette.engine.actor import Violation
from palmette.errors import UserError, did_you_mean
from palmette.features.frame import Frame
from palmette.features.frame_json import encode_row, expected_of_unit_test, timestamp_of
from palmette.features.frames.calendar import frames_of
from palmette.features.harness.connect import CaseResult
from palmette.features.oracle import NotCovered, WouldFail, differences, expected
from palmette.features.spec.view import View

EVIDENCE = 4000
"""Maximum number of characters of evidence in a violation."""


class Example(NamedTuple):
    """A unit test of the specification."""

    name: str
    frames: Mapping[str, Frame]
    as_of: datetime | None
    expect: Frame
    """Contains only the columns that any expected row names."""
    named: tuple[frozenset[str], ...]
    """For each row of `expect`, the columns to compare."""

    def without(self, names: Container[str]) -> Self:
        """The example without expectations for these columns."""
        kept = {name: kind for name, kind in self.expect.schema.items() if name not in names}
        named = tuple(frozenset(name for name in row if name not in names) for row in self.named)
        return self._replace(expect=Frame.of(kept, self.expect.rows), named=named)

    def completed(self, view: View, actual: Frame) -> Frame:
        """The expected rows, with unnamed values taken from the matching actual row."""
        identity = set(view.identity)
        free, rows = list(actual.rows), []
        for row, named in zip(self.expect.rows, self.named, strict=True):
            match = next((other for other in free if all(other.get(key) == row[key] for key in identity & named)), None)
            if match is not None:
                free.remove(match)
            rows.append({name: row[name] if name in named or match is None else match.get(name) for name in row})
        return self.expect.with_rows(rows)


def examples(view: View) -> list[Example]:
    """The unit tests of the specification as frames."""
    found = []
    for test in view.tests:
        frames = frames_of(view, test.given)
        as_of = timestamp_of(test.as_of) if test.as_of else None
        named = tuple(frozenset(row) for row in test.expect)
        found.append(Example(test.name, frames, as_of, expected_of_unit_test(view, test), named))
    return found


def rows_expected(
    view: View, given: Mapping[str, Iterable[Mapping[str, Any]]], as_of: str | None
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Computes the correct output for given input rows, as JSON values; also returns unsupported features with reasons.

    Raises:
        UserError: a row does not fit its table, or the oracle cannot compute any output.
    """
    if unknown := [name for name in given if name not in view.tables]:
        message = f"The view reads no table {unknown[0]!r}.{did_you_mean(unknown[0], view.tables)}"
        raise UserError(message, f"It reads {', '.join(view.tables)}.", code="unknown-table")
    try:
        output = expected(view, frames_of(view, given), timestamp_of(as_of) if as_of else None)
    except (ValueError, NotCovered, WouldFail) as error:
        raise UserError(f"The rows cannot be computed: {error}.", "Correct the rows.", code="no-answer") from error
    return [encode_row(output.schema, row) for row in output.rows], dict(output.skipped)


def unlike(view: View, example: Example, actual: Frame) -> str:
    """Describes how an output differs from the author's example; empty if it does not."""
    return difference(view, example.completed(view, actual), actual)


def difference(view: View, wanted: Frame, actual: Frame) -> str:
    """Describes how two outputs differ; empty if they do not. Ignores columns that are missing from `wanted`."""
    if missing := [name for name in wanted.schema if name not in actual.schema]:
        return f"columns missing from the output: {', '.join(missing)}"
    cut = Frame.of({name: actual.schema[name] for name in wanted.schema}, actual.rows)
    return "\n".join(map(str, differences(wanted, cut, view)))[:EVIDENCE]


def failure(result: CaseResult) -> Violation:
    """The violation for a case on which the script raised."""
    message = f"The script fails on case {result.name!r}: {result.error}"
    return Violation(code="crash", subject=result.name, message=message, evidence=result.trace[:EVIDENCE])
