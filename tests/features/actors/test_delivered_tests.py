"""The delivered tests keep what the author expects, and notice a script that is wrong in any one feature."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark_scripts import CONVENTIONS, script

from palmette.features.actors.testcase_coder.offline import PytestWriter
from palmette.features.actors.testcase_coder.placeholders import stand_in
from palmette.features.actors.testcase_generator.offline import CaseSelector, examples, renamed
from palmette.features.artefacts import TestCases
from palmette.features.harness.connect import ConnectHarness
from palmette.features.oracle import uncovered
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import resolve
from palmette.features.spec.view import View

BASKETS = {
    "name": "baskets",
    "kind": "event",
    "path": "baskets",
    "keys": ["id"],
    "event_time": "at",
    "columns": [
        {"name": "id", "type": "bigint"},
        {"name": "user_id", "type": "bigint"},
        {"name": "at", "type": "timestamp"},
        {"name": "products", "type": "array<string>"},
        {"name": "prices", "type": "array<double>"},
        {"name": "note", "type": "string"},
    ],
}
STEPS = [
    {
        "compute": {
            "lines": "transform(arrays_zip(products, prices), p -> concat(p.products, '@', cast(p.prices AS STRING)))",
            "paid": "aggregate(filter(prices, p -> p > 0), 0D, (total, p) -> total + p)",
            "device": "from_json(note, 'device STRING, at STRUCT<x: INT>').device",
            "backwards": "reverse(products)",
        }
    }
]


def _aggregate(name: str, dtype: str, function: str, of: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "dtype": dtype, "aggregate": {"function": function, "source": "baskets", "of": of, **more}}


FEATURES = [
    _aggregate("paid_7d", "double", "sum", "paid", window="7d"),
    _aggregate("last_device", "string", "last", "device"),
    _aggregate("last_first", "string", "last", "backwards[0]", where="size(backwards) > 0"),
    _aggregate("line", "string", "last", "array_join(lines, ',')"),
    {"name": "usual", "dtype": "double", "expression": {"sql": "mode(paid)", "source": "baskets"}},
]
AT = "2025-03-30T10:00:00Z"
ROWS = [
    {"id": 1, "user_id": 1, "at": AT, "products": ["a"], "prices": [2.0], "note": '{"device": "phone"}'},
    {"id": 2, "user_id": 1, "at": "2025-03-30T11:00:00Z", "products": ["b"], "prices": [2.0]},
    {"id": 3, "user_id": 1, "at": "2025-03-30T12:00:00Z", "products": ["c", "d"], "prices": [3.0, 8.0]},
    {"id": 4, "user_id": 2, "at": AT, "products": [], "prices": []},
]
EXAMPLES = [
    {
        "name": "two users",
        "as_of": "2025-03-31",
        "given": {"baskets": ROWS},
        "expect": [{"user_id": 1, "usual": 2.0}, {"user_id": 2}],
    },
    {"name": "nobody", "as_of": "2025-03-31", "given": {}, "expect": []},
]


@cache
def view() -> View:
    document = {
        "fsc": 1,
        "feature_view": "nested",
        "entities": [{"name": "user", "keys": ["user_id"]}],
        "sources": [{"name": "baskets", "steps": STEPS}],
        "features": FEATURES,
        "tests": EXAMPLES,
    }
    return resolve(FeatureSpec.model_validate(document), Registry.model_validate({"dfr": 1, "tables": [BASKETS]}))


@cache
def cases() -> TestCases:
    return TestCases(cases=tuple(CaseSelector(view()).cases()))


def test_every_case_has_a_name_of_its_own() -> None:
    (case, *_) = examples(view())
    cases = [case.model_copy(update={"name": name}) for name in ("a", "a", "a_2")]
    assert [one.name for one in renamed(cases)] == ["a", "a_2", "a_2_2"]


def test_examples_are_delivered_whole() -> None:
    found = examples(view())
    assert [(case.name, case.partial) for case in found] == [
        ("two_users", False),
        ("two_users", True),
        ("nobody", False),
    ]
    assert all("usual" not in row and {"paid_7d", "line"} <= set(row) for row in found[0].expect)
    assert found[1].expect == ({"user_id": 1, "usual": 2.0},)
    assert found[2].expect == ()
    assert set(uncovered(view())) == {"usual"}


Row = dict[str, Any]
SABOTAGES: dict[str, Callable[[str, Any], Any]] = {
    "always wrong": lambda kind, _: {"string": "ALWAYS WRONG", "double": -1.0}[kind],
    "always null": lambda _, __: None,
    "a little off": lambda kind, value: None if value is None else value + {"string": "x", "double": 1.0}[kind],
}


@pytest.mark.parametrize("feature", [feature["name"] for feature in FEATURES])
@pytest.mark.parametrize("sabotage", SABOTAGES)
def test_every_sabotage_shows_in_a_case(feature: str, sabotage: str) -> None:
    change, kind = SABOTAGES[sabotage], str(view().output[feature])
    rows = [row for case in cases().cases for row in case.expect if feature in row]
    assert any(change(kind, row[feature]) != row[feature] for row in rows)


@pytest.mark.parametrize("length", range(40))
def test_no_line_is_longer_than_the_teams(length: int) -> None:
    whole = cases().cases[0]
    rows = ({"user_id": 1}, {"user_id": 2, "line": "x" * length, "last_first": "x" * length})
    found = TestCases(cases=(whole.model_copy(update={"expect": rows}),))
    conventions = CONVENTIONS.model_copy(update={"line_length": 88})
    text = PytestWriter(view(), conventions, found).file("nested")
    unformatted = text[text.index("# fmt: off") : text.index("# fmt: on")]
    assert max(map(len, unformatted.splitlines())) <= 88


def test_they_pass_on_the_script_and_fail_on_a_sabotaged_one(harness: ConnectHarness, tmp_path: Path) -> None:
    right, found = script(view()), TestCases(cases=tuple(renamed(examples(view()))))
    broken = right + (
        "\n\nright = build\n\n\ndef build(tables, as_of):\n"
        '    return right(tables, as_of).withColumn("usual", F.col("usual") + 1)\n'
    )
    tests = tmp_path / "test_nested.py"
    tests.write_text(PytestWriter(view(), CONVENTIONS, found).file("nested"), encoding="utf-8")
    (tmp_path / "nested.py").write_text(right, encoding="utf-8")
    results = harness.run_tests(
        tests,
        {"right": right, "broken": broken, "stand-in": stand_in(view(), found, CONVENTIONS)},
        tmp_path / "nested.py",
        root=tmp_path,
        python_path=(tmp_path,),
    )
    assert results["right"].ok, results["right"]
    assert results["stand-in"].ok, results["stand-in"]
    assert [*results["broken"].failed] == ["test_partial_cases[two_users_2]"]
