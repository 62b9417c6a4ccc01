"""`palmette features --plan`: what a run would build, and how it differs from what is merged."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow.parquet as pq  # noqa: E402 - as above

from palmette.cli.features import features  # noqa: E402 - as above
from palmette.features.build_plan import build_plan  # noqa: E402 - as above

REGISTRY = """
dfr: 1
tables:
  - name: rides
    kind: event
    path: rides.parquet
    keys: [ride_id]
    event_time: day
    columns:
      - {name: ride_id, type: bigint}
      - {name: rider_id, type: bigint}
      - {name: day, type: date}
      - {name: fare, type: double}
"""
MERGED = {
    "rides": "aggregate: {function: count, source: rides, window: 30d}",
    "fares": "aggregate: {function: sum, source: rides, of: fare, window: 30d}",
    "mean": "derive: fares / rides",
    "last": "aggregate: {function: days_since_last, source: rides}",
}
TYPES = {"rides": "bigint", "fares": "double", "mean": "double", "last": "int", "best": "double"}


def specification(found: dict[str, str]) -> str:
    lines = [f"  - {{name: {name}, dtype: {TYPES[name]}, {text}}}" for name, text in found.items()]
    entity = "entities: [{name: rider, keys: [rider_id]}]"
    return "\n".join(["fsc: 1", "feature_view: rider_rides", entity, "features:", *lines, ""])


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    """A team's repository that holds its specifications, and nothing merged yet."""
    days = pa.array([20_000, 20_001], pa.int32()).cast(pa.date32())
    columns = {"ride_id": [1, 2], "rider_id": [1, 1], "day": days, "fare": [1.0, 2.0]}
    pq.write_table(pa.table(columns), tmp_path / "rides.parquet")
    (tmp_path / "registry.yaml").write_text(REGISTRY, "utf-8")
    (tmp_path / "rider_rides.yaml").write_text(specification(MERGED), "utf-8")
    run = tmp_path / "run.yaml"
    run.write_text(
        "run: 1\nfsc: rider_rides.yaml\ndfr: registry.yaml\ninterval: {as_of: 2025-01-01T00:00:00Z}\n"
        "output: {path: out}\n",
        "utf-8",
    )
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    return run


def git(folder: Path, *arguments: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "-C", str(folder), *author, *arguments], check=True)


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Work")


def merge(run_file: Path) -> None:
    """As after the merge of a pull request."""
    script = run_file.parent / "features" / "rider_rides.py"
    script.parent.mkdir()
    script.write_text("def build(rides):\n    return rides.select('rider_id', 'rides')\n", "utf-8")
    commit(run_file.parent)


def states(run_file: Path) -> dict[str, str]:
    return {one.name: one.state for one in build_plan(run_file).features}


def test_everything_is_new_before_the_first_merge(run_file: Path) -> None:
    plan = build_plan(run_file)
    assert set(states(run_file).values()) == {"new"} and not plan.backfill
    assert plan.reads == {"rides": ("day", "fare")}
    assert plan.files["features/rider_rides.py"] == "new" and plan.output == "out"


def test_features_are_held_against_the_merged_specification(run_file: Path) -> None:
    merge(run_file)
    assert set(states(run_file).values()) == {"unchanged"} and not build_plan(run_file).backfill
    now = {**MERGED, "fares": MERGED["fares"].replace("30d", "90d"), "best": MERGED["fares"].replace("sum", "max")}
    del now["last"]
    (run_file.parent / "rider_rides.yaml").write_text(specification(now), "utf-8")
    assert states(run_file) == {
        "rides": "unchanged", "fares": "changed", "mean": "changed", "best": "new", "last": "removed",
    }  # fmt: skip
    assert build_plan(run_file).backfill


def test_a_specification_outside_of_git_is_unknown(run_file: Path) -> None:
    git(run_file.parent, "rm", "-q", "--cached", "rider_rides.yaml")
    git(run_file.parent, "commit", "-qm", "Forget", "--amend")
    merge_only = run_file.parent / ".gitignore"
    merge_only.write_text("rider_rides.yaml\n", "utf-8")
    merge(run_file)
    assert set(states(run_file).values()) == {"unknown"}


def test_the_command_shows_it_without_spark(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palmette.engine.run_environment", lambda *_: pytest.fail("a plan runs nothing"))
    text = CliRunner().invoke(features, [str(run_file), "--plan"], catch_exceptions=False).output
    assert "sum of fare over rides in the 30 days before the cut-off" in text and "features/rider_rides.py" in text
    shown = json.loads(CliRunner().invoke(features, [str(run_file), "--plan", "--json"]).output)
    assert shown["backfill"] is False and len(shown["features"]) == len(MERGED)
