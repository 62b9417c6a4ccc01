"""A model's answers on the way to a model, replayed: whole topologies, and a mistake that is repaired.

Prompts quote the drafts of the rules, which change with every template. So each role gets its recorded answer, whatever
it is asked now (who works on a plan, that on the plan), and what comes of it is measured anew.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("sklearn", reason="the extra automl is not installed")

from palmette.automl.actors.assembler import actor as assembling
from palmette.automl.artefacts import Assembly, Comparison
from palmette.automl.environment import topology_file
from palmette.automl.modalities.tabular import Blueprint
from palmette.automl.modalities.tabular import draft as drafting
from palmette.engine import RunResult, run_environment
from palmette.llm import cassette
from palmette.llm.messages import Message

RECORDED = Path(__file__).with_name("recorded")
PLAN = re.compile(r'"name": ?"([a-z]+(?:-[a-z]+)+)"')
WISHES = {
    "parcels": (
        "Late parcels cost us money. From what we know when a parcel is picked up, tell us whether it will arrive "
        "late. Few false alarms and few misses are equally important to us, so go by F1 for 'late'. One answer within "
        "100 ms."
    ),
    "firings": (
        "How much energy will a firing of our kilns take? We plan the night before. Mean absolute error under 6 kWh, "
        "please."
    ),
}
ROLES = ("guideline_writer", "preprocessing_coder", "modeling_coder", "error_analyser", "debugger")


def label(role: str, messages: Sequence[Message]) -> str:
    """What an answer is known by."""
    plan = PLAN.search(messages[-1].text) if messages and role in ("data_planner", "model_planner") else None
    return f"{role} {plan[1]}" if plan else role


@pytest.fixture(autouse=True)
def _by_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cassette, "_key", label)
    monkeypatch.setattr(assembling, "FOREIGN_SECONDS", 2.0)
    few = functools.partial(drafting.Blueprint, trials=0)
    monkeypatch.setattr(drafting, "Blueprint", few)


def replay(folder: Path, **arguments: Any) -> RunResult:
    """A run on the recorded answers: every starting point and nothing else, so that no clock decides what is tried."""
    return run_environment("automl", {"settings": {"seconds": 60.0}, **arguments}, folder)


def until_compared(topology: str, folder: Path) -> str:
    """A file of a built-in topology that ends when the best candidate is chosen."""
    whole = yaml.safe_load(topology_file(topology).read_text("utf-8"))
    names = list(whole["actors"])
    kept = names[: names.index("comparator") + 1]
    actors = {name: whole["actors"][name] for name in kept}
    for one in actors.values():
        one["next"] = [name for name in one["next"] if name in kept]
    (folder / "topology.yaml").write_text(yaml.safe_dump({**whole, "end": kept[-1:], "actors": actors}), "utf-8")
    return str(folder / "topology.yaml")


def test_a_recorded_repair_comes_to_its_model_again(tmp_path: Path) -> None:
    told = f"replay:{RECORDED / 'wine' / 'answers.json'}"
    result = replay(
        tmp_path / "run",
        text="Predict the cultivar of a wine, with an accuracy of at least 0.95.",
        data=["sklearn:wine"],
        topology=str(RECORDED / "wine" / "topology.yaml"),
        models=dict.fromkeys(ROLES, told),
        planner="offline",
    )
    assert result.status == "finished", result.reason
    blueprint, assembly = result.artefact("blueprint", Blueprint), result.artefact("assembly", Assembly)
    assert [one.name for one in blueprint.derived] == ["flavanoid_share", "color_per_hue"]
    (repair,) = assembly.repairs
    assert (repair.failure, repair.path, repair.by) == ("contract-misused", "models/traditional.py", "model")
    assert asked(result) == set(ROLES)
    chosen = result.artefact("comparison", Comparison)
    assert chosen.selection.score > 0.95 and "discriminant" in {one.algorithm for one in chosen.leaderboard}


@pytest.mark.parametrize(("name", "topology", "own"), [
    ("parcels", "automl", {"slack"}),
    ("firings", "iml_mono", {"products", "gaussian_process"}),
])  # fmt: skip
def test_a_recorded_run_comes_to_its_model_again(name: str, topology: str, own: set[str], tmp_path: Path) -> None:
    """Every agent of a topology on a model, and algorithms of a model's own that training measures."""
    file = until_compared(topology, tmp_path)
    told = f"replay:{RECORDED / name / 'answers.json'}"
    data = [str(RECORDED / name / f"{name}.csv")]
    result = replay(tmp_path / "run", text=WISHES[name], data=data, topology=file, model=told, planner="offline")
    assert result.status == "finished", result.reason
    roles = {call.role for call in cassette.read_cassette(RECORDED / name / "answers.json").calls}
    assert asked(result) == roles - {"planner"}
    assert not result.artefact("assembly", Assembly).repairs
    comparison = result.artefact("comparison", Comparison)
    assert own <= {one.algorithm for one in comparison.leaderboard}
    if name == "firings":  # where they are the best by far: a coder's own may be delivered
        assert own & {one.algorithm for one in comparison.selection.members}


def asked(result: RunResult) -> set[str]:
    """The roles in which models answered."""
    return {role for (_, role), cost in result.state.bill.items() if cost.spend.calls}
