"""The small rules: names, conversions, what neighbours have in common, layout, plain mappings."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.engine.actor import TextFile
from palmette.features.actors.config_generator.convert import STRONG, WEAK, convert, similarity
from palmette.features.actors.config_generator.layout import YamlLayout, layout_of, write_yaml
from palmette.features.actors.config_generator.neighbour_configs import NOTHING, NeighbourConfigs
from palmette.features.actors.config_generator.team import plain_schema


@pytest.mark.parametrize(("name", "known", "least", "most"), [
    ("event_time_column", "event_time", STRONG, 1),
    ("eventTimestampCol", "event_timestamp", STRONG, 1),
    ("featureView", "feature_view", 1, 1),
    ("output_path", "path", 0, WEAK),
    ("descr", "description", 1, 1),
    ("entities", "entity", 1, 1),
    ("path_output", "output_path", STRONG, 1),
    ("retries", "retention", 0, WEAK),
    ("", "name", 0, WEAK),
])  # fmt: skip
def test_similarity(name: str, known: str, least: float, most: float) -> None:
    assert least <= similarity(name, known) <= most


INTEGER, TEXT, TEXTS = {"type": "integer"}, {"type": "string"}, {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(("value", "schema", "name", "expected"), [
    ("30d", INTEGER, "window_days", 30),
    ("36h", INTEGER, "window_days", NOTHING),
    ("2h", INTEGER, "window_minutes", 120),
    ("all", INTEGER, "window_days", NOTHING),
    ("30d", TEXT, "window", "30d"),
    (["user_id"], TEXT, "key", "user_id"),
    (["a", "b"], TEXT, "key", NOTHING),
    ("a", TEXTS, "keys", ["a"]),
    ([], {**TEXTS, "minItems": 1}, "keys", NOTHING),
    (True, INTEGER, "n", NOTHING),
    (True, {"type": "boolean"}, "nullable", True),
    (1.5, INTEGER, "default", NOTHING),
    ("lake/x", {"type": "string", "pattern": "^s3://"}, "path", NOTHING),
    ("timestamp_ntz", {"enum": ["TimestampType", "LongType"]}, "dtype", "TimestampType"),
    ("decimal(12,2)", {"enum": ["double", "decimal"]}, "dtype", "decimal"),
    ("map<string,int>", {"enum": ["double"]}, "dtype", NOTHING),
    ("file", {"const": "file"}, "kind", "file"),
    ("as_of", {"type": "string", "format": "date-time"}, "cutoff", NOTHING),
    ("2025-06-01T00:00:00+00:00", {"type": "string", "format": "date-time"}, "cutoff", "2025-06-01T00:00:00+00:00"),
    ("x", {}, "anything", "x"),
])  # fmt: skip
def test_convert(value: Any, schema: dict[str, Any], name: str, expected: Any) -> None:
    found = convert(value, schema, name)
    assert found is NOTHING if expected is NOTHING else found == expected


def test_values_are_spelt_as_neighbours_spell_them() -> None:
    assert convert("bigint", TEXT, "dtype", ["long", "double"]) == "long"
    assert convert("decimal(18,2)", TEXT, "dtype", ["bigint", "double"]) == "decimal(18,2)", "those are Spark's own"


FILES = [TextFile(path=f"{i}.yaml", text=text) for i, text in enumerate([
    'team: ml\nkeys: [a]\nsources:\n  x: {format: parquet, path: "p"}\nview: a\n',
    'team: ml\nkeys: [b]\nsources:\n  y: {format: parquet, path: "q"}\n  z: {format: parquet}\n',
])]  # fmt: skip


def test_constants_are_what_is_the_same_everywhere() -> None:
    observed = NeighbourConfigs.read([*FILES, TextFile(path="broken.yaml", text="a: [")])
    assert observed.constant(("team",)) == "ml"
    assert observed.constant(("sources", "*", "format")) == "parquet"
    assert observed.constant(("keys",)) is NOTHING
    assert observed.constant(("sources", "*", "path")) is NOTHING, "one source has none"
    assert observed.constant(("view",)) is NOTHING, "one document has none"
    assert observed.order(()) == ["team", "keys", "sources", "view"]


def test_layout_is_the_neighbours() -> None:
    nested = {"m": {"n": 1}, "a": ["x", "y"], "b": [{"c": "1", "d": "decimal(1,1): x"}]}
    for layout in (
        YamlLayout(),
        YamlLayout(False, False),
        YamlLayout(flow_items=True, double_quotes=True),
        YamlLayout(indent=4),
    ):
        text = write_yaml(nested, layout)
        assert yaml.safe_load(text) == nested
        again = layout_of([TextFile(path="x", text=text)])
        assert write_yaml(nested, again) == text


TEXT_VALUES = st.text(st.characters(codec="ascii") | st.sampled_from("äßé漢 "), max_size=40)


@settings(deadline=None, max_examples=60)
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT_VALUES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT_VALUES, inner, max_size=4),
))  # fmt: skip
def test_what_is_written_reads_back(value: Any) -> None:
    for layout in (YamlLayout(), YamlLayout(flow_items=True, double_quotes=True, start_marker=True)):
        assert yaml.safe_load(write_yaml(value, layout)) == value


def test_plain_mappings_take_the_shape_of_their_neighbours() -> None:
    schema = plain_schema(FILES).schema
    assert schema["required"] == ["team", "keys", "sources"]
    assert schema["properties"]["sources"]["additionalProperties"]["required"] == ["format"]


def test_each_table_has_a_key_where_others_have_keys_named_after_theirs() -> None:
    text = "target: out/a\nreadings_path: lake/readings\n"
    schema = plain_schema([TextFile(path="settings/a.yaml", text=text)], ["readings", "tariffs"]).schema
    assert list(schema["properties"]) == ["target", "readings_path", "tariffs_path"]
    assert schema["required"] == ["target", "readings_path"]
