"""The documents of a feature run, and what is wrong with them."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from palmette.errors import InputError
from palmette.features.frames import scenarios
from palmette.features.inputs import read_inputs
from palmette.features.spec.resolve import load_view

FSC = """fsc: 1
feature_view: user_orders
entities: [{name: user, keys: [user_id]}]
features:
  - {name: orders_30d, dtype: bigint, aggregate: {function: count, source: orders, window: 30d}}
"""
DFR = """dfr: 1
tables:
  - name: orders
    kind: event
    path: tables/orders.csv
    format: csv
    keys: [order_id]
    event_time: ordered_at
    columns:
      - {name: order_id, type: bigint}
      - {name: user_id, type: bigint}
      - {name: ordered_at, type: timestamp}
"""
FILES = {"fsc": "fsc.yaml", "dfr": "dfr.yaml", "run": "runs/run.yaml"}
CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "cases/inputs.yaml").read_text("utf-8"))
RUN = """run: 1
fsc: ../fsc.yaml
dfr: ../dfr.yaml
repository: {path: ../team, base: main}
interval: {as_of: "2025-03-31T00:00:00Z"}
output: {path: ../team/lake/user_orders}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run file that fits its specification, its registry and its repository."""
    texts = {
        "fsc.yaml": FSC,
        "dfr.yaml": DFR,
        "runs/run.yaml": RUN,
        "tables/orders.csv": "order_id,user_id,ordered_at\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "team").mkdir()
    (tmp_path / "team/README.md").write_text("# Jobs\n", encoding="utf-8")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "The team's code"]):
        author = ["-c", "user.name=team", "-c", "user.email=team@localhost"]
        subprocess.run(["git", *author, *command], cwd=tmp_path / "team", check=True)
    return tmp_path


def test_relative_paths_are_the_repository_s(folder: Path) -> None:
    inputs = read_inputs(folder / "runs/run.yaml")
    assert inputs.run.output.path == "lake/user_orders"
    assert [table.path for table in inputs.view.tables.values()] == ["../tables/orders.csv"]
    assert [source.table.path for source in inputs.view.sources] == ["../tables/orders.csv"]


def test_where_tables_lie_changes_no_scenario(folder: Path) -> None:
    """Frames recognise the tables of sources, whatever path they have from the repository."""
    view = read_inputs(folder / "runs/run.yaml").view
    assert scenarios(view) == scenarios(load_view(folder / "fsc.yaml", folder / "dfr.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: " & ".join(case["found"]))
def test_mistakes(case: dict[str, Any], folder: Path) -> None:
    for edit in (case, case["also"]) if "also" in case else (case,):
        path = folder / FILES[edit.get("in", "run")]
        text = path.read_text(encoding="utf-8")
        assert edit["was"] in text, "the case edits text that is not there"
        path.write_text(text.replace(edit["was"], edit["now"], 1), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_inputs(folder / "runs/run.yaml")
    problems = raised.value.problems
    found = [f"{Path(one.file).name}:{one.line} {one.field} {one.code}".replace("  ", " ") for one in problems]
    assert found == case["found"]
    assert all(problem.message and problem.remedy for problem in problems if problem.code != "invalid-value")
