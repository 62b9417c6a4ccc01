"""`palmette init`: registries are inferred as people wrote them, and the drafts are complete and valid."""

import json
import subprocess
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow.parquet as pq  # noqa: E402 - as above

from palmette.cli.features import init  # noqa: E402 - as above
from palmette.documents import Located, read_document  # noqa: E402 - as above
from palmette.errors import MachineError, UserError  # noqa: E402 - as above
from palmette.features.inputs import read_inputs  # noqa: E402 - as above
from palmette.features.onboarding import RUN, find_tables  # noqa: E402 - as above
from palmette.features.onboarding.inference import InferredTable, infer  # noqa: E402 - as above
from palmette.features.onboarding.tables import read_table  # noqa: E402 - as above
from palmette.features.samples import Sample, check_samples, read_sample  # noqa: E402 - as above
from palmette.features.spec.dfr import Registry, Table  # noqa: E402 - as above

OFFERS = Path(__file__).parents[3] / "examples" / "offers"
JUDGED = ("kind", "keys", "keys_enforced", "event_time", "available_time", "valid_from", "valid_to", "partitions")


def inferred(*paths: Path) -> dict[str, InferredTable]:
    return {one.data.name: one for one in infer([read_table(files) for files in find_tables(paths)])}


def one_table(path: Path) -> Table:
    (found,) = inferred(path).values()
    return found.table(str(path))


def write(path: Path, columns: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def hours(count: int, step: float = 1) -> list[datetime]:
    return [datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=step * n) for n in range(count)]


def test_a_registry_is_inferred_as_it_was_written_by_hand() -> None:
    written = {table.name: table for table in read_document(OFFERS / "registry.yaml", Registry).tables}
    found = {name: one.table(written[name].path or "") for name, one in inferred(OFFERS / "tables").items()}
    assert {name: {part: getattr(table, part) for part in JUDGED} for name, table in found.items()} == {
        name: {part: getattr(table, part) for part in JUDGED} for name, table in written.items()
    }
    columns = {(name, one.name): one for name, table in found.items() for one in table.columns}
    for name, table in written.items():
        for column in table.columns:
            made = columns[name, column.name]
            assert (made.type, made.length, made.personal) == (column.type, column.length, column.personal), column.name
            assert set(made.values) in (set(column.values), set()), column.name


def test_repeated_deliveries_are_recognised(tmp_path: Path) -> None:
    ids = [*range(100), 3, 4, 5]
    table = one_table(write(tmp_path / "clicks.parquet", {"click_id": ids, "user_id": [n % 7 for n in ids]}))
    assert (table.keys, table.keys_enforced) == (("click_id",), False)


def test_several_columns_are_a_key_where_none_is(tmp_path: Path) -> None:
    pairs = [(user, place) for user in range(20) for place in range(5)]
    columns = {"user_id": [a for a, _ in pairs], "place_id": [b for _, b in pairs], "stars": [1] * 100}
    assert one_table(write(tmp_path / "ratings.parquet", columns)).keys == ("user_id", "place_id")


def test_codes_with_leading_zeros_stay_text_and_times_keep_their_meaning(tmp_path: Path) -> None:
    lines = [f"0{n},2025-01-{1 + n % 28:02} 10:00:00,{n / 2}" for n in range(50)]
    (tmp_path / "visits.csv").write_text("\n".join(["visit_id,seen_at,minutes", *lines]), encoding="utf-8")
    table = one_table(tmp_path / "visits.csv")
    assert {column.name: str(column.type) for column in table.columns} == {
        "visit_id": "string", "seen_at": "timestamp_ntz", "minutes": "double",
    }  # fmt: skip
    assert (table.kind, table.event_time, table.keys, table.format) == ("event", "seen_at", ("visit_id",), "csv")


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1_000), ("us", 1_000_000)])
def test_integers_that_hold_an_instant_have_their_unit(tmp_path: Path, unit: str, factor: int) -> None:
    at = [int(instant.timestamp()) * factor for instant in hours(30)]
    arrived = [instant + timedelta(minutes=5) for instant in hours(30)]
    path = write(tmp_path / "pings.parquet", {"ping_id": range(30), "sent_at": at, "loaded_at": arrived})
    table = one_table(path)
    assert (table.event_time, table.available_time) == ("sent_at", "loaded_at")
    assert {column.name: column.unit for column in table.columns if column.unit} == {"sent_at": unit}


def test_json_lines_and_parts_in_day_folders_are_one_table_each(tmp_path: Path) -> None:
    for day in range(1, 4):
        folder = tmp_path / "orders" / f"day=2025-01-0{day}"
        moments = [datetime(2025, 1, day, hour, tzinfo=UTC) for hour in range(8)]
        write(folder / "part-0.parquet", {"order_id": range(day * 10, day * 10 + 8), "ordered_at": moments})
    write(tmp_path / "cities" / "part-0.parquet", {"city_id": range(5)})
    rows = [{"shop_id": n, "city": "Lyon"} for n in range(5)]
    (tmp_path / "shops.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = inferred(tmp_path)
    assert {name: (one.kind, one.keys) for name, one in found.items()} == {
        "cities": ("dimension", ("city_id",)), "orders": ("event", ("order_id",)), "shops": ("dimension", ("shop_id",)),
    }  # fmt: skip
    (partition,) = found["orders"].table("orders").partitions
    assert (partition.column, partition.of) == ("day", "event_time")


def test_columns_without_a_type_in_the_registry_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"t_id": [1, 2], "nested": [{"a": 1}, {"a": 2}]})
    (found,) = inferred(path).values()
    assert found.data.left_out == ("nested (struct<a: int64>)",) and len(found.data.columns) == 1


def test_columns_without_a_plain_name_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"t_id": [1, 2], "Unit Price": [1.5, 2.5]})
    (found,) = inferred(path).values()
    assert found.data.left_out == ("'Unit Price' (not a name)",)
    (tmp_path / "u.csv").write_text("u_id\tprice\n1\t2\n", encoding="utf-8")
    with pytest.raises(MachineError, match="separate columns by commas"):
        inferred(tmp_path / "u.csv")


def test_days_in_folders_may_be_numbers(tmp_path: Path) -> None:
    for day in range(1, 4):
        at = [int(datetime(2025, 1, day, hour, tzinfo=UTC).timestamp()) for hour in range(8)]
        folder = tmp_path / "pings" / f"dt=2025010{day}"
        write(folder / "part-0.parquet", {"ping_id": range(day * 8, day * 8 + 8), "sent_ts": at})
    assert [(one.column, one.of) for one in one_table(tmp_path / "pings").partitions] == [("dt", "event_time")]


def test_states_follow_one_another_and_events_that_last_do_not(tmp_path: Path) -> None:
    days = [date(2024, 1, 1) + timedelta(days=n) for n in range(200)]
    rentals = {"contract_no": range(60), "customer_id": [n % 20 for n in range(60)]}
    rentals |= {"start_date": days[0:180:3], "end_date": days[2:182:3]}
    table = one_table(write(tmp_path / "rentals.parquet", rentals))
    assert (table.kind, table.keys, table.event_time) == ("event", ("contract_no",), "start_date")
    tiers = {"row_id": range(60), "customer_id": [n // 3 for n in range(60)], "valid_from": [*days[0:90:30]] * 20}
    tiers["valid_to"] = [days[29], days[59], None] * 20
    table = one_table(write(tmp_path / "tiers.parquet", tiers))
    assert (table.kind, table.keys) == ("scd2", ("customer_id",))


@pytest.mark.parametrize("gap", [0, 90])
def test_states_that_are_numbers_follow_one_another(tmp_path: Path, gap: int) -> None:
    """Rows with 90 days between them do not."""
    starts = [int(one.timestamp()) for one in hours(60, step=24 * 100)]
    stays = {"row_id": range(60), "customer_id": [n // 3 for n in range(60)], "valid_from_ts": starts}
    stays["valid_until_ts"] = [one + (100 - gap) * 86_400 for one in starts]
    assert (one_table(write(tmp_path / "stays.parquet", stays)).kind == "scd2") is (gap == 0)


def test_times_may_have_nanoseconds(tmp_path: Path) -> None:
    at = pa.array([1_735_689_600_000_000_001 + n * 3_600_000_000_000 for n in range(30)], pa.timestamp("ns"))
    table = one_table(write(tmp_path / "pings.parquet", {"ping_id": range(30), "sent_at": at, "loaded_at": at}))
    assert (table.event_time, table.available_time) == ("sent_at", "loaded_at")


def test_dates_of_birth_are_personal_and_no_event(tmp_path: Path) -> None:
    born = [date(1980, 1, 1) + timedelta(days=n) for n in range(30)]
    table = one_table(write(tmp_path / "people.parquet", {"person_id": range(30), "birth_date": born}))
    assert table.kind == "dimension" and [one.name for one in table.columns if one.personal] == ["birth_date"]


def test_what_happens_to_something_else_is_an_event(tmp_path: Path) -> None:
    rides = {"ride_id": range(40), "station_id": [n % 6 for n in range(40)], "started_at": hours(40)}
    rides_table = one_table(write(tmp_path / "rides.parquet", rides))
    assert (rides_table.kind, rides_table.event_time) == ("event", "started_at")
    write(tmp_path / "refunds.parquet", {"refund_id": range(9), "ride_id": range(9), "paid_at": hours(9)})
    assert inferred(tmp_path)["rides"].kind == "event"
    accounts = {"account_id": range(40), "started_at": hours(40), "plan": ["a", "b"] * 20}
    assert one_table(write(tmp_path / "accounts.parquet", accounts)).kind == "dimension"


def test_names_in_camel_case_or_without_separator_are_read(tmp_path: Path) -> None:
    at = [631152000 + 86_400 * n for n in range(40)]
    plays = {
        "userid": [n % 9 for n in range(40)],
        "trackid": [n % 30 for n in range(40)],
        "timestamp": at,
        "paid": [n % 3 for n in at],
        "unpaid": [n // 86_400 % 2 for n in at],
        "hybrid": ["yes", "no"] * 20,
    }
    write(tmp_path / "plays.parquet", plays)
    write(
        tmp_path / "tracks.parquet", {"trackId": range(40), "isPaid": [1] * 40, "releasedOn": [date(2020, 1, 1)] * 40}
    )
    found = inferred(tmp_path)
    assert found["plays"].references == (("trackid", "tracks"),)
    table = found["plays"].table("plays.parquet")
    assert (table.kind, table.event_time) == ("event", "timestamp")
    assert [column.name for column in found["plays"].data.columns if column.is_key_like] == ["userid", "trackid"]
    assert found["tracks"].kind == "dimension"


def test_a_few_orphans_do_not_hide_a_reference(tmp_path: Path) -> None:
    write(tmp_path / "visits.parquet", {"visit_id": range(100), "patient_id": [1, 2] * 50, "start_time": hours(100)})
    results = {"result_id": range(300), "visit_id": [*range(98), 777, 778] * 3, "measured_at": hours(300)}
    results["reported_at"] = hours(300)
    write(tmp_path / "results.parquet", results)
    found = inferred(tmp_path)
    assert found["results"].references == (("visit_id", "visits"),)
    notes = {one.subject: (one.confidence, one.evidence) for one in found["results"].findings}
    assert notes["columns.visit_id"] == ("guess", "all but 2 of 100 values are keys of 'visits'")
    assert found["results"].times == {"event_time": "measured_at", "available_time": "reported_at"}
    assert found["visits"].kind == "event"


def test_a_time_that_some_rows_lack_is_no_arrival(tmp_path: Path) -> None:
    claims = {"claim_id": range(40), "filed_at": hours(40), "settled_at": [*hours(20, 2), *[None] * 20]}
    assert one_table(write(tmp_path / "claims.parquet", claims)).available_time is None
    few = {**claims, "settled_at": [*hours(39, 2), None]}
    assert one_table(write(tmp_path / "few" / "claims.parquet", few)).available_time == "settled_at"


def test_a_history_named_after_its_entity_holds_states(tmp_path: Path) -> None:
    customers = {"customer_id": [1, 1, 2, 3], "recorded_at": hours(4), "plan": ["free", "pro", "free", "pro"]}
    table = one_table(write(tmp_path / "customers.parquet", customers))
    assert (table.kind, table.keys, table.event_time) == ("snapshot", ("customer_id",), "recorded_at")


def test_empty_columns_of_text_files_are_strings(tmp_path: Path) -> None:
    (tmp_path / "stays.csv").write_text("stay_id,group,note\n1,,a\n2,,b\n", encoding="utf-8")
    assert {one.name: str(one.type) for one in one_table(tmp_path / "stays.csv").columns}["group"] == "string"


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_drafts_of_text_files_in_day_folders_fit_them(tmp_path: Path, kind: str) -> None:
    for day in range(1, 4):
        at = f"2025-01-0{day}T10:00:00Z"
        texts = {
            "csv": f"scan_id,scanned_at\n{day},{at}\n",
            "jsonl": json.dumps({"scan_id": day, "scanned_at": at}) + "\n",
        }
        file = tmp_path / "scans" / f"day=2025-01-0{day}" / f"part-0.{kind}"
        file.parent.mkdir(parents=True)
        file.write_text(texts[kind], encoding="utf-8")
    table = one_table(tmp_path / "scans")
    assert [(one.column, one.of) for one in table.partitions] == [("day", "event_time")]
    registry = Registry(dfr=1, tables=(table,))
    assert check_samples(Located(registry, "dfr", {}), tmp_path) == []
    frame = read_sample(Sample(table, tmp_path / "scans"))
    assert [row["day"] for row in frame.rows] == [date(2025, 1, day) for day in range(1, 4)]


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Rides of riders, and a repository without scripts."""
    rides = {
        "ride_id": range(60),
        "rider_id": [n % 9 for n in range(60)],
        "started_on": [one.date() for one in hours(60)],
    }
    write(tmp_path / "tables" / "rides.parquet", {**rides, "fare": [n / 4 for n in range(60)]})
    write(tmp_path / "tables" / "riders.parquet", {"rider_id": range(9), "city": ["Lyon"] * 9})
    (tmp_path / "team").mkdir()
    for command in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "Begin"]):
        author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", "-C", str(tmp_path / "team"), *author, *command], check=True)
    return tmp_path


def called(warehouse: Path, *more: str) -> Any:
    arguments = [str(warehouse / "team"), "--tables", str(warehouse / "tables"), "--to", str(warehouse / "out"), *more]
    return CliRunner().invoke(init, arguments, catch_exceptions=False)


def test_drafts_are_complete_and_their_test_holds(warehouse: Path) -> None:
    shown = called(warehouse)
    assert shown.exit_code == 0 and "Next: palmette features" in shown.output and "Correct" not in shown.output
    inputs = read_inputs(warehouse / "out" / RUN)
    assert inputs.view.name == "rider_rides" and list(inputs.view.grain) == ["rider_id"]
    assert [feature.name for feature in inputs.view.features] == ["rides_30d", "days_since_rides", "average_fare_90d"]
    assert (warehouse / "out" / "registry.yaml").read_text("utf-8").count("are keys of 'riders'") == 1


@pytest.mark.parametrize("is_epoch", [True, False])
def test_each_time_of_a_draft_has_a_value_of_its_own_type(warehouse: Path, is_epoch: bool) -> None:
    loaded = [one + timedelta(days=1) for one in hours(60)]
    rides = {
        "ride_id": range(60),
        "rider_id": [n % 9 for n in range(60)],
        "started_at": [int(one.timestamp()) for one in hours(60)] if is_epoch else hours(60),
        "loaded_at": loaded if is_epoch else [one.date() for one in loaded],
    }
    write(warehouse / "tables" / "rides.parquet", rides)
    assert "Correct" not in called(warehouse).output
    table = read_inputs(warehouse / "out" / RUN).view.tables["rides"]
    assert (table.event_time, table.available_time) == ("started_at", "loaded_at")


def test_drafts_overwrite_nothing(warehouse: Path) -> None:
    called(warehouse)
    before = (warehouse / "out" / "registry.yaml").stat().st_mtime_ns
    with pytest.raises(UserError) as raised:
        called(warehouse)
    assert raised.value.code == "file-exists" and (warehouse / "out" / "registry.yaml").stat().st_mtime_ns == before


def test_json_has_tables_and_evidence(warehouse: Path) -> None:
    shown = json.loads(called(warehouse, "--json").output)
    assert {table["name"]: table["kind"] for table in shown["tables"]} == {"riders": "dimension", "rides": "event"}
    assert shown["problems"] == [] and "columns.rider_id" in [one["subject"] for one in shown["findings"]]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"no parquet")
    with pytest.raises(MachineError, match="cannot be read as parquet"):
        inferred(tmp_path)
    (tmp_path / "cities.csv").write_bytes("city_id,name\n1,Orl\u00e9ans\n".encode("latin-1"))
    with pytest.raises(MachineError, match="cannot be read as csv: 'utf-8' codec"):
        inferred(tmp_path / "cities.csv")
    (tmp_path / "nested.jsonl").write_text('{"event": {"id": 1}}\n', encoding="utf-8")
    with pytest.raises(MachineError, match="no column that the registry can hold: event"):
        inferred(tmp_path / "nested.jsonl")
    with pytest.raises(UserError) as missing:
        find_tables([tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError) as none:
        find_tables([tmp_path / "empty"])
    assert (missing.value.code, none.value.code) == ("no-such-file", "no-table")
