"""What is passed for each parameter of an entry function."""

import pytest

from palmette.features.harness.binding import bind
from palmette.features.signature import BoundParameter, form_of

TABLES = {"orders", "users"}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("spark, tables, as_of", [("spark", "spark"), ("tables", "tables"), ("as_of", "as_of")]),
        ("session: SparkSession, cutoff", [("session", "spark"), ("cutoff", "as_of")]),
        ("inputs: dict[str, DataFrame]", [("inputs", "tables")]),
        ("x: Mapping[str, DataFrame], t: datetime", [("x", "tables"), ("t", "as_of")]),
        (
            "orders, users_df, *, df_orders=None",
            [("orders", "table"), ("users_df", "table"), ("df_orders", "table")],
        ),
        ("orders: DataFrame, limit: int = 3", [("orders", "table")]),
        ("config=None, tables=None", [("tables", "tables")]),
        ("", []),
    ],
)
def test_names_and_annotations_say_what_is_meant(parameters: str, expected: list[tuple[str, str]]) -> None:
    bindings = bind(f"def build({parameters}):\n    ...", "build", TABLES)
    assert not bindings.error
    assert [(binding.name, binding.meaning) for binding in bindings.bound] == expected


def test_a_lone_frame_is_the_only_table() -> None:
    bindings = bind("def build(events: DataFrame): ...", "build", {"orders"})
    assert bindings.bound == (BoundParameter("events", "DataFrame", "table", "orders"),)


@pytest.mark.parametrize(
    ("annotation", "form"), [("str", "str"), ("date", "date"), ("datetime", ""), ("dt.date", "date")]
)
def test_the_cut_off_takes_the_form_that_is_annotated(annotation: str, form: str) -> None:
    bindings = bind(f"def build(as_of: {annotation}): ...", "build", TABLES)
    (bound,) = bindings.bound
    assert (bound.meaning, form_of(bound)) == ("as_of", form)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def build(x): ...", "UnboundParameter: nothing is known to pass for 'x' of build"),
        ("def build(x: DataFrame): ...", "'x: DataFrame'"),
        ("def build(config): ...", "'config'"),
        ("def other(): ...", "MissingFunction: the script has no function 'build'"),
        ("def build(:", "SyntaxError"),
    ],
)
def test_what_cannot_be_bound_is_named(source: str, message: str) -> None:
    error = bind(source, "build", TABLES).error
    assert message in error and ", config" not in error
