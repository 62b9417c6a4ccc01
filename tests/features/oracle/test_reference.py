"""The reference semantics against the authors' examples, which were worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from palmette.features.frame import Frame
from palmette.features.frame_json import expected_of_unit_test, frame_of_unit_test, instant_of
from palmette.features.oracle import differences, expected
from palmette.features.spec.fsc import UnitTest
from palmette.features.spec.resolve import load_view
from palmette.features.spec.view import View

OFFERS = Path(__file__).parents[3] / "examples" / "offers"
VIEWS = [load_view(path, OFFERS / "registry.yaml") for path in sorted((OFFERS / "specs").glob("*.yaml"))]
EXAMPLES = [(view, test) for view in VIEWS for test in view.tests]


@pytest.mark.parametrize(("view", "test"), EXAMPLES, ids=lambda each: getattr(each, "name", ""))
def test_examples_of_the_specifications(view: View, test: UnitTest) -> None:
    wanted = expected_of_unit_test(view, test)
    output = expected(view, frame_of_unit_test(view, test.given), instant_of(test.as_of) if test.as_of else None)
    named = tuple({name: row[name] for name in author} for row, author in zip(wanted.rows, test.expect, strict=True))
    wanted = Frame(wanted.schema, named)
    assert differences(wanted, Frame.of(wanted.schema, output.rows), view) == ()
