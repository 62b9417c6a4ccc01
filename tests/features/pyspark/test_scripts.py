"""Whole scripts: as readable files, by the authors' own examples on Spark, and against ruff."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark_scripts import CONVENTIONS, script

from palmette.features.artefacts import Parameter
from palmette.features.checks.static.check import violations
from palmette.features.frame import Frame, Row
from palmette.features.frame_json import expected_of_unit_test, timestamp_of
from palmette.features.frames.calendar import frames_of
from palmette.features.harness.connect import ConnectHarness, HarnessProbe, ScriptCase
from palmette.features.oracle import differences, expected
from palmette.features.samples import Sample, read_sample
from palmette.features.script_tree import parse
from palmette.features.spec.dfr import RegisteredColumn, Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import load_view, resolve
from palmette.features.spec.values import TypeName
from palmette.features.spec.view import View

HERE = Path(__file__).parent
NAMES = ("spending", "decisions", "daily")


def view(name: str) -> View:
    return load_view(HERE / "documents" / f"{name}.yaml", HERE / "documents" / "lake.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_snapshot(name: str) -> None:
    """To accept a change on purpose, write the new text into the file and read the diff."""
    snapshot = HERE / "snapshots" / f"{view(name).name}.py"
    assert script(view(name)) == snapshot.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_ruff_is_content(name: str) -> None:
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--select",
        "E,F,I,B,UP,SIM",
        "--target-version",
        "py310",
        "--line-length",
        "100",
        "-",
    ]
    done = subprocess.run(command, input=script(view(name)), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_authors_examples(name: str, harness: ConnectHarness, tmp_path: Path) -> None:
    resolved = view(name)
    path = tmp_path / "script.py"
    path.write_text(script(resolved), encoding="utf-8")
    cases = [
        ScriptCase(
            test.name,
            frames_of(resolved, test.given),
            timestamp_of(test.as_of) if test.as_of else None,
            session_zone="Asia/Tokyo",
            plan=True,
        )
        for test in resolved.tests
    ]
    results = harness.execute(path, "build", cases, root=tmp_path)
    for test, result in zip(resolved.tests, results, strict=True):
        assert result.frame is not None, result.trace or result.error
        assert "Cartesian" not in result.plan and "Join Cross" not in result.plan
        wanted = expected_of_unit_test(resolved, test)
        got = Frame.of({name: result.frame.schema[name] for name in wanted.schema}, result.frame.rows)
        assert differences(wanted, got, resolved) == ()


def test_scripts_and_checks_read_the_same_from_csv(
    user_offers: Callable[..., View], harness: ConnectHarness, tmp_path: Path
) -> None:
    """Quotes are doubled, as databases and spreadsheets write them; nothing but an empty field is null."""
    lines = ['1,"said ""ow"", twice"', "2,NA", "3,", '4,""', "5,n/a", "6,back\\slash", '7,"a \\ b"', "", "8, x "]
    text = "\r\n".join(["\ufeffuser_id,country", *lines]) + "\r\n"
    (rows,) = read_by_both(user_offers(), [("csv", "string", text)], harness, tmp_path)
    assert [row["country"] for row in rows[:5]] == ['said "ow", twice', "NA", None, None, "n/a"]


def test_scripts_and_checks_read_the_same_from_json(
    user_offers: Callable[..., View], harness: ConnectHarness, tmp_path: Path
) -> None:
    def text(*values: str) -> str:
        return "".join(f'{{"user_id": {i}, "country": {value}, "x": {i}.5}}\n' for i, value in enumerate(values))

    maps, *_ = read_by_both(user_offers(), [
        ("json", "map<string,array<int>>", text('{"a": [1, null], "b": null}', "{}", "null") + '\n{"user_id": 9}\n'),
        ("json", "timestamp", text('"2024-03-01T00:00:00.5Z"', '"2024-03-01 02:30:00+02:00"', '"2024-03-01"')),
        ("json", "decimal(20,2)", text("123456789012345678.25", '"0.5"', "7")),
        ("json", "double", text('"NaN"', "1e3", "-2", '"-Infinity"')),
        ("csv", "double", "user_id,country\n0,NaN\n1,1e3\n2, -.5 \n3,-Inf\n"),
        ("csv", "date", "user_id,country\n0,2024-02-29\n1,\n"),
    ], harness, tmp_path)  # fmt: skip
    assert [row["country"] for row in maps] == [{"a": [1, None], "b": None}, {}, None, None]


def read_by_both(
    view: View, files: Sequence[tuple[str, str, str]], harness: ConnectHarness, folder: Path
) -> list[tuple[Row, ...]]:
    """Rows of `users`, read here, after Spark has read the same: by format, type of `country` and text."""
    probes, samples = [], []
    for index, (form, kind, text) in enumerate(files):
        (folder / f"{index}").write_text(text, encoding="utf-8", newline="")
        columns = [
            RegisteredColumn(name="user_id", type=TypeName("bigint")),
            RegisteredColumn(name="country", type=TypeName(kind)),
        ]
        table = view.tables["users"].model_copy(update={"format": form, "columns": tuple(columns)})
        written = script(view.with_tables({**view.tables, "users": table}))
        found = re.search(r'"users": (spark\.read.*?\)),?\n    }', written, re.DOTALL)
        assert found is not None
        probes.append(HarnessProbe(f"{index}", f"USERS_PATH = {str(folder / f'{index}')!r}\nresult = ({found[1]})"))
        samples.append(read_sample(Sample(table, folder / f"{index}")))
    for sample, result in zip(samples, harness.probes(folder, (), probes), strict=True):
        assert result.frame is not None, result.trace
        assert sorted(map(str, result.frame.rows)) == sorted(map(str, sample.rows))
    return [sample.rows for sample in samples]


def test_columns_that_only_the_prose_and_the_ban_name_are_not_read(user_offers: Callable[..., View]) -> None:
    count = {"function": "count", "source": "redemptions", "window": "30d"}
    feature = {"name": "redemptions_30d", "dtype": "bigint", "description": "Not their amount.", "aggregate": count}
    text = script(user_offers(features=[feature], forbidden=["redemptions.amount"]))
    assert '"redeemed_at"' in text
    assert '"amount"' not in text


def test_a_state_that_a_source_joins_at_the_cut_off_is_looked_up_from_the_same_transform() -> None:
    registry = Registry.model_validate({"dfr": 1, "tables": [
        {"name": "calls", "kind": "event", "path": "calls", "keys": ["id"], "event_time": "at", "columns": [
            {"name": "id", "type": "bigint"}, {"name": "line", "type": "string"}, {"name": "at", "type": "timestamp"}]},
        {"name": "tariffs", "kind": "scd2", "path": "tariffs", "keys": ["line"], "valid_from": "start",
         "valid_to": "until", "columns": [
            {"name": "line", "type": "string"}, {"name": "price", "type": "double"},
            {"name": "start", "type": "timestamp"}, {"name": "until", "type": "timestamp"}]}]})  # fmt: skip
    join = {
        "table": "tariffs",
        "on": ["line"],
        "cardinality": "many_to_one",
        "columns": {"now": "price"},
        "at": "cutoff",
    }
    spec = FeatureSpec.model_validate({
        "fsc": 1, "feature_view": "lines", "entities": [{"name": "line", "keys": ["line"]}],
        "sources": [{"name": "calls", "steps": [{"join": join}]}],
        "features": [
            {"name": "cost", "dtype": "double", "aggregate": {"function": "sum", "source": "calls", "of": "now"}},
            {"name": "price", "dtype": "double", "lookup": {"table": "tariffs", "column": "price"}}]})  # fmt: skip
    text = script(resolve(spec, registry))
    assert text.count('F.col("until").isNull()') == 1
    assert 'current_tariffs(tariffs, as_of).select("line", "price")' in text


def test_states_at_the_time_of_events_are_in_an_order_that_cannot_tie() -> None:
    registry = Registry.model_validate({"dfr": 1, "tables": [
        {"name": "scans", "kind": "event", "path": "scans", "keys": ["id"], "event_time": "at", "columns": [
            {"name": "id", "type": "bigint"}, {"name": "hub", "type": "string"}, {"name": "at", "type": "timestamp"}]},
        {"name": "shifts", "kind": "snapshot", "path": "shifts", "keys": ["hub"], "event_time": "begin", "columns": [
            {"name": "hub", "type": "string"}, {"name": "staff", "type": "int"},
            {"name": "begin", "type": "timestamp"}]}]})  # fmt: skip
    join = {"table": "shifts", "on": ["hub"], "cardinality": "many_to_one", "columns": ["staff"]}
    count = {"function": "count", "source": "scans", "where": "staff < 3"}
    spec = FeatureSpec.model_validate({
        "fsc": 1, "feature_view": "hubs", "entities": [{"name": "hub", "keys": ["hub"]}],
        "sources": [{"name": "scans", "steps": [{"join": join}]}],
        "features": [{"name": "thin", "dtype": "bigint", "aggregate": count}]})  # fmt: skip
    view = resolve(spec, registry)
    assert list(violations(parse(script(view), view, "build"), "hubs.py")) == []


def test_an_order_names_a_column_once_and_none_that_rows_are_grouped_by() -> None:
    registry = Registry.model_validate({"dfr": 1, "tables": [
        {"name": "beats", "kind": "event", "path": "beats", "keys": ["pulse", "at"], "event_time": "at", "columns": [
            {"name": "pulse", "type": "string"}, {"name": "at", "type": "timestamp"},
            {"name": "height", "type": "double"}]}]})  # fmt: skip
    spec = FeatureSpec.model_validate({
        "fsc": 1, "feature_view": "pulses", "entities": [{"name": "pulse", "keys": ["pulse"]}],
        "sources": [{"name": "beats", "steps": [{"gap": {"column": "rest", "by": ["pulse"]}}]}],
        "features": [
            {"name": "last", "dtype": "double", "aggregate": {"function": "last", "source": "beats", "of": "height"}},
            {"name": "rest", "dtype": "double", "aggregate": {"function": "max", "source": "beats", "of": "rest"}},
        ]})  # fmt: skip
    text = script(resolve(spec, registry))
    assert 'F.struct("at")' in text
    assert 'orderBy("at")' in text


@pytest.mark.parametrize(("default", "coalesced"), [(0, 1), (None, 1), (7, 2)])
def test_what_no_rows_give_is_said_once(default: int | None, coalesced: int, user_offers: Callable[..., View]) -> None:
    sql = {"source": "redemptions", "sql": "count(DISTINCT amount)"}
    count = {"function": "count", "source": "redemptions"}
    features = [
        {"name": "amounts", "dtype": "bigint", "default": default, "expression": sql},
        {"name": "all", "dtype": "bigint", "aggregate": count},
    ]
    text = script(user_offers(features=features))
    assert text.count("F.coalesce(") == coalesced
    assert '"all",' in text, "the rows of the output are the groups that it counts"


def test_tables_may_be_parameters_of_build() -> None:
    functions = tuple(
        shape
        if shape.role != "build"
        else shape.model_copy(
            update={"parameters": (Parameter(name="transactions", annotation="DataFrame"), *shape.parameters[1:])}
        )
        for shape in CONVENTIONS.functions
    )
    text = script(view("spending"), CONVENTIONS.model_copy(update={"functions": functions}))
    build = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == "build")
    assert [argument.arg for argument in build.args.args] == ["merchants", "transactions", "as_of"]
    assert 'build(tables["merchants"], tables["transactions"], as_of)' in text


def test_writing_is_deterministic() -> None:
    assert script(view("spending")) == script(view("spending"))


@pytest.mark.parametrize("cutoff", ["run", "spine"])
def test_steps_know_the_cutoff(cutoff: str, harness: ConnectHarness, tmp_path: Path) -> None:
    """Rows of two months around a change of the clocks, with weights that decay: what the oracle says, row by row."""
    registry = Registry.model_validate({"dfr": 1, "tables": [
        {"name": name, "kind": "event", "path": name, "keys": ["id"], "event_time": "at", "columns": [
            {"name": "id", "type": "bigint"}, {"name": "who", "type": "string"},
            {"name": "amount", "type": "double"}, {"name": "at", "type": "timestamp"}]}
        for name in ("orders", "visits")]})  # fmt: skip
    steps = [
        {"compute": {"age": "datediff(as_of, at)"}},
        {"compute": {"decayed": "amount * power(0.5, age / 30)"}},
        {"gap": {"column": "idle", "by": ["who"], "unit": "hours"}},
        {"filter": "date_trunc('month', at) = date_trunc('month', as_of) OR age > 20"},
        {"categorise": {"column": "era", "cases": [{"when": "at >= as_of - INTERVAL 2 DAYS", "then": "new"}]}},
    ]
    aggregates = {
        "decayed": ("double", {"function": "sum", "of": "decayed"}),
        "idle": ("double", {"function": "max", "of": "idle"}),
        "old": ("bigint", {"function": "count", "where": "age BETWEEN 21 AND 60"}),
        "new": ("bigint", {"function": "count", "where": "era = 'new'", "window": "30d"}),
    }  # fmt: skip
    own = {"spine": {"table": "visits", "cutoff": "at", "keep": ["id"]}} if cutoff == "spine" else {}
    spec = FeatureSpec.model_validate({
        "fsc": 1, "feature_view": "ages", "entities": [{"name": "person", "keys": ["who"]}], **own,
        "time": {"cutoff": cutoff, "zone": "Europe/Berlin"}, "sources": [{"name": "orders", "steps": steps}],
        "features": [{"name": name, "dtype": dtype, "aggregate": {"source": "orders", **aggregate}}
                     for name, (dtype, aggregate) in aggregates.items()]})  # fmt: skip
    resolved = resolve(spec, registry)
    as_of = datetime(2025, 4, 1, 22, tzinfo=UTC)
    times = [as_of - timedelta(hours=hours) for hours in (0, 1, 24, 25, 47, 48, 49, 400, 504, 505, 1440, 1464)]
    rows = [
        {"id": i, "who": "ab"[i % 2], "amount": float(i) if i % 5 else None, "at": at}
        for i, at in enumerate([*times, *times])
    ]
    schema = resolved.source("orders").table.column_types
    frames = {name: Frame.of(schema, rows) for name in resolved.tables}
    given = None if cutoff == "spine" else as_of
    path = tmp_path / "script.py"
    path.write_text(script(resolved), encoding="utf-8")
    (result,) = harness.execute(path, "build", [ScriptCase("ages", frames, given, "Asia/Tokyo")], root=tmp_path)
    assert result.frame is not None, result.trace or result.error
    assert differences(expected(resolved, frames, given), result.frame, resolved) == ()


def test_readings_that_the_clock_skipped_come_when_the_oracle_says(harness: ConnectHarness, tmp_path: Path) -> None:
    """In Santiago midnight itself was skipped: readings from 0:00 to 0:59 stand for instants an hour later."""
    registry = Registry.model_validate({"dfr": 1, "tables": [
        {"name": "faults", "kind": "event", "path": "f", "keys": ["id"], "event_time": "raised", "columns": [
            {"name": "id", "type": "bigint"}, {"name": "site", "type": "string"},
            {"name": "raised", "type": "timestamp_ntz"}]}]})  # fmt: skip
    counts = {name: {"source": "faults", "function": "count", "window": name} for name in ("all", "1d", "12h")}
    spec = FeatureSpec.model_validate(
        {
            "fsc": 1,
            "feature_view": "sites",
            "entities": [{"name": "site", "keys": ["site"]}],
            "time": {"cutoff": "run", "zone": "America/Santiago"},
            "sources": [{"name": "faults"}],
            "features": [
                {"name": f"faults_{name}", "dtype": "bigint", "aggregate": one} for name, one in counts.items()
            ],
        }
    )
    view, midnight = resolve(spec, registry), datetime(2025, 9, 7)  # noqa: DTZ001 - a reading
    minutes = (-1440, -780, -660, -1, 0, 30, 59, 60, 61, 90)
    rows = [{"id": at, "site": "a", "raised": midnight + timedelta(minutes=at)} for at in minutes]
    frames = {"faults": Frame.of(view.source("faults").table.column_types, rows)}
    timestamps = [
        datetime(2025, 9, 7, hour, minute, tzinfo=UTC) for hour, minute in ((4, 0), (4, 30), (5, 0), (16, 15))
    ]
    path = tmp_path / "script.py"
    path.write_text(script(view), encoding="utf-8")
    cases = [ScriptCase(f"{at:%H%M}", frames, at, "Asia/Tokyo") for at in timestamps]
    for result, at in zip(harness.execute(path, "build", cases, root=tmp_path), timestamps, strict=True):
        assert result.frame is not None, result.trace or result.error
        assert differences(expected(view, frames, at), result.frame, view) == ()
