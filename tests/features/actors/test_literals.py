"""The rows of a delivered test are those of its case; what is usual is written once."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark_scripts import CONVENTIONS

from palmette.features.actors.testcase_coder.literals import literal
from palmette.features.actors.testcase_coder.offline import PytestWriter
from palmette.features.actors.testcase_generator.offline import examples
from palmette.features.artefacts import TestCase, TestCases
from palmette.features.frame_json import decode_row
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import load_view, resolve
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import View

OFFERS = Path(__file__).parents[3] / "examples" / "offers"
SCHEMA = {name: SparkType.parse(kind) for name, kind in {
    "id": "bigint", "class": "string", "paid": "decimal(9,2)", "at": "timestamp", "known": "timestamp",
    "clock": "timestamp_ntz", "tags": "array<string>",
}.items()}  # fmt: skip
ROWS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 3)},
        optional={
            "class": st.sampled_from(["null", "a'b", 'a"b\\', "", "a  b", "\n"]) | st.none(),
            "paid": st.sampled_from(["1.00", "-0.05"]) | st.none(),
            "at": st.sampled_from(["2024-03-31T00:30:00Z", "2024-03-31T00:30:00.000001Z"]),
            "known": st.sampled_from(["2024-03-31T00:30:00Z", "2024-02-28T23:00:00Z"]),
            "clock": st.sampled_from(["2024-03-31T00:00:00", "2024-03-24T00:00:00"]),
            "tags": st.lists(st.sampled_from(["x", "rows("]) | st.none(), max_size=2),
        },
    ),
    max_size=6,
)
CASES = st.lists(st.tuples(ROWS, st.booleans(), st.sampled_from(["2024-03-31T00:00:00Z", "2024-06-01T12:00:00Z"])))


class Session:
    """Stands for Spark, and returns the rows of a frame; missing values are null, surplus ones are ignored."""

    def createDataFrame(self, rows: list[dict[str, Any]], _: str) -> list[dict[str, Any]]:  # noqa: N802 - Spark's name
        return [{name: row.get(name) for name in SCHEMA} for row in rows]


@pytest.fixture(scope="module")
def view() -> View:
    columns = [{"name": name, "type": str(kind)} for name, kind in SCHEMA.items()]
    table = {"name": "visits", "kind": "event", "path": "x", "keys": ["id"], "event_time": "at",
             "available_time": "known", "columns": columns}  # fmt: skip
    last = {"function": "last", "source": "visits"}
    features = [{"name": name, "dtype": str(SCHEMA[name]), "aggregate": {**last, "of": name}}
                for name in ("tags", "paid", "clock")]  # fmt: skip
    spec = {"fsc": 1, "feature_view": "v", "entities": [{"name": "e", "keys": ["class"]}], "features": features}
    return resolve(FeatureSpec.model_validate(spec), Registry.model_validate({"dfr": 1, "tables": [table]}))


@settings(deadline=None, max_examples=40)
@given(CASES)
def test_rows_are_those_of_the_case(view: View, drawn: list[tuple[list[dict[str, Any]], bool, str]]) -> None:
    cases = [
        TestCase(name=f"c{i}", why="", as_of=as_of, given={"visits": tuple(rows)}, expect=(), example=example)
        for i, (rows, example, as_of) in enumerate(drawn)
    ]
    conventions = CONVENTIONS.model_copy(update={"fixture": "spark"})
    writer = PytestWriter(view, conventions, TestCases(cases=tuple(cases)))
    names: dict[str, Any] = {"spark": Session()}
    exec(f"from __future__ import annotations\n{writer.helpers()}", names)
    for case in cases:
        exec(writer.rows(case), names)
        found = names["given"]["visits"]
        full = [dict.fromkeys(SCHEMA) | row for row in case.given["visits"]]
        assert found == [dict(decode_row(SCHEMA, row)) for row in full]
        assert names["as_of"].isoformat() == (case.as_of or "").replace("Z", "+00:00")


@pytest.mark.parametrize(("value", "text"), [
    (datetime(2024, 5, 10, 14, tzinfo=UTC), "AS_OF - 7 * DAY"),
    (datetime(2024, 5, 17, 13, 59, 59, 999999, tzinfo=UTC), "AS_OF - MICROSECOND"),
    (datetime(2024, 5, 17, 15, tzinfo=UTC), "AS_OF + HOUR"),
    (datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "utc(2024, 1, 2, 3, 4, 5, 6)"),
    (datetime(2024, 5, 17), "datetime(2024, 5, 17)"),  # noqa: DTZ001 - a time on clocks
    (date(2024, 5, 17), "date(2024, 5, 17)"),
    ([Decimal("10.00"), Decimal("0.50"), None, float("nan")], '[Decimal(10), Decimal("0.5"), None, float("nan")]'),
    (Decimal("1234567890123456789012345678901.50"), 'Decimal("1234567890123456789012345678901.5")'),
    ({"a": 'b"'}, """{"a": 'b"'}"""),
    ("it's\n", '"it\'s\\n"'),
])  # fmt: skip
def test_values_are_plain_python(value: Any, text: str) -> None:
    assert literal(value, {"AS_OF": datetime(2024, 5, 17, 14, tzinfo=UTC)}) == text


def test_what_is_usual_is_left_out(view: View) -> None:
    """Names that Python reserves are arguments all the same."""
    row = {"id": 1, "class": "a", "at": "2024-03-31T00:30:00Z", "known": "2024-03-31T00:30:00Z", "paid": "1.00"}
    late = {**row, "id": 2, "known": "2024-04-01T00:30:00Z"}
    case = TestCase(name="late", why="Late.", as_of="2024-05-01T00:30:00Z", given={"visits": (row, late)}, expect=())
    text = PytestWriter(view, CONVENTIONS, TestCases(cases=(case,))).file("jobs.v")
    assert '"late": ([visit(), visit(known=AS_OF - 30 * DAY)], []),' in text
    assert 'visit = partial(row, "visits", paid=Decimal(1), at=AS_OF - 31 * DAY, **{"class": "a"})' in text


@pytest.mark.parametrize("name", ["dates", "lists", "builds"])
def test_no_factory_has_a_name_that_the_file_uses_otherwise(name: str) -> None:
    columns = [{"name": "id", "type": "bigint"}, {"name": "at", "type": "timestamp"}]
    table = {"name": name, "kind": "event", "path": "x", "keys": ["id"], "event_time": "at", "columns": columns}
    count = {"name": "n", "dtype": "bigint", "nullable": False, "default": 0,
             "aggregate": {"function": "count", "source": name}}  # fmt: skip
    spec = {"fsc": 1, "feature_view": "v", "entities": [{"name": "e", "keys": ["id"]}], "features": [count]}
    view = resolve(FeatureSpec.model_validate(spec), Registry.model_validate({"dfr": 1, "tables": [table]}))
    writer = PytestWriter(view, CONVENTIONS, TestCases(cases=()))
    assert f'{name}_row = partial(row, "{name}")' in writer.helpers()


def test_each_entity_has_a_number_and_a_line() -> None:
    """Its number stands for its keys; a row that does not fit on a line breaks between arguments."""
    view = load_view(OFFERS / "specs" / "user_offer_redemptions.yaml", OFFERS / "registry.yaml")
    at = "2024-05-01T00:00:00Z"
    first = {"redemption_id": 1, "user_id": 1, "offer_id": 1, "amount": 3, "redeemed_at": at, "available_at": at}
    second = {**first, "redemption_id": 2, "user_id": 2, "offer_id": 2, "amount": 12}
    third = {**second, "redemption_id": 3, "offer_id": 4, "redeemed_at": "2024-02-01T01:00:00Z"}
    offers = ({"offer_id": 1}, {"offer_id": 2, "min_spend": 5})
    given = {"redemptions": (first, second, third), "offers": offers}
    case = TestCase(name="two", why="Two.", as_of="2024-05-17T00:00:00Z", given=given, expect=())
    conventions = CONVENTIONS.model_copy(update={"line_length": 70})
    text = PytestWriter(view, conventions, TestCases(cases=(case,))).file("m")
    assert text.partition("CASES = {\n")[2].partition("\n}")[0].splitlines() == [
        '    "two": (',
        "        [redemption(amount=Decimal(3)), offer(),",
        "         redemption(2),",
        "         redemption(2, offer_id=4,",
        "                    redeemed_at=AS_OF - 106 * DAY + HOUR,",
        "                    available_at=AS_OF - 16 * DAY),",
        "         offer(2, min_spend=Decimal(5))],",
        "        []),",
    ]


def test_columns_that_no_feature_reads_and_days_that_follow_are_left_out() -> None:
    view = load_view(OFFERS / "specs" / "user_offer_redemptions.yaml", OFFERS / "registry.yaml")
    text = PytestWriter(view, CONVENTIONS, TestCases(cases=tuple(examples(view)))).file("m")
    assert "category" not in text and " day=" not in text


def test_a_script_that_takes_a_cut_off_though_its_rows_have_their_own_gets_none() -> None:
    view = load_view(OFFERS / "specs" / "decision_point_in_time.yaml", OFFERS / "registry.yaml")
    conventions, cases = CONVENTIONS.model_copy(update={"skeleton": "import pyspark"}), examples(view)
    writer = PytestWriter(view, conventions, TestCases(cases=tuple(cases)))
    assert "    actual = build(frames(spark, rows), None)\n" in writer.file("m")
    assert writer.assertion(cases[0])[0] == "actual = build(given, None)"
