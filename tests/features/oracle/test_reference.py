"""The reference semantics against the authors' examples, which were worked out by hand."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from palmette.features.frame import Frame
from palmette.features.frame_json import expected_of_unit_test, timestamp_of
from palmette.features.frames.calendar import frames_of
from palmette.features.oracle import differences, expected
from palmette.features.oracle.reference import as_stored
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec, UnitTest
from palmette.features.spec.resolve import load_view, resolve
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import View

OFFERS = Path(__file__).parents[3] / "examples" / "offers"
VIEWS = [load_view(path, OFFERS / "registry.yaml") for path in sorted((OFFERS / "specs").glob("*.yaml"))]
EXAMPLES = [(view, test) for view in VIEWS for test in view.tests]


@pytest.mark.parametrize(("view", "test"), EXAMPLES, ids=lambda each: getattr(each, "name", ""))
def test_examples_of_the_specifications(view: View, test: UnitTest) -> None:
    wanted = expected_of_unit_test(view, test)
    output = expected(view, frames_of(view, test.given), timestamp_of(test.as_of) if test.as_of else None)
    named = tuple({name: row[name] for name in author} for row, author in zip(wanted.rows, test.expect, strict=True))
    wanted = Frame(wanted.schema, named)
    assert differences(wanted, Frame.of(wanted.schema, output.rows), view) == ()


def test_float_columns_hold_32_bits() -> None:
    registry = Registry.model_validate({"dfr": 1, "tables": [
        {"name": "probes", "kind": "event", "path": "probes", "keys": ["id"], "event_time": "at", "columns": [
            {"name": "id", "type": "bigint"}, {"name": "site", "type": "string"}, {"name": "at", "type": "timestamp"},
            {"name": "ph", "type": "float"}, {"name": "vector", "type": "array<float>"}]}]})  # fmt: skip
    spec = FeatureSpec.model_validate({
        "fsc": 1, "feature_view": "sites", "entities": [{"name": "site", "keys": ["site"]}],
        "features": [
            {"name": "ph", "dtype": "double", "aggregate": {"function": "sum", "source": "probes", "of": "ph"}},
            {"name": "vector", "dtype": "array<double>",
             "aggregate": {"function": "vector_sum", "source": "probes", "of": "vector"}}]})  # fmt: skip
    view = resolve(spec, registry)
    at = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [{"id": 1, "site": "a", "at": at, "ph": 0.2, "vector": [0.2, None]}]
    frames = {"probes": Frame.of(view.source("probes").table.column_types, rows)}
    (row,) = expected(view, frames, at + timedelta(days=1)).rows
    assert row["ph"] == 0.20000000298023224
    assert row["vector"] == [0.20000000298023224, None]


def test_floats_in_maps_hold_32_bits() -> None:
    frame = Frame({"levels": SparkType.parse("map<string,float>")}, ({"levels": {"a": 0.2}},))
    assert as_stored(frame).rows == ({"levels": {"a": 0.20000000298023224}},)
