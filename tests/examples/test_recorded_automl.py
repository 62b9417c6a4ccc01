"""A model's answers on the way to a model, replayed: a blueprint, code by two hands, and a mistake that is repaired.

Prompts quote the drafts of the rules, which change with every template. So each role gets its recorded answer, whatever
it is asked now, and what comes of it is measured anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="the extra automl is not installed")

from palmette.automl.actors.assembler import actor as assembling
from palmette.automl.artefacts import Assembly, Comparison
from palmette.automl.modalities.tabular import Blueprint
from palmette.engine import RunResult, run_environment
from palmette.llm import cassette

RECORDED = Path(__file__).with_name("recorded") / "wine"
ROLES = ("guideline_writer", "preprocessing_coder", "modeling_coder", "error_analyser", "debugger")


def replay(folder: Path) -> RunResult:
    return run_environment(
        "automl",
        {
            "text": "Predict the cultivar of a wine, with an accuracy of at least 0.95.",
            "data": ["sklearn:wine"],
            "settings": {"seconds": 2.0},
            "topology": str(RECORDED / "topology.yaml"),
            "models": dict.fromkeys(ROLES, f"replay:{RECORDED / 'answers.json'}"),
            "planner": "offline",
        },
        folder,
    )


def test_a_recorded_run_comes_to_its_model_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cassette, "_key", lambda role, messages: role)
    monkeypatch.setattr(assembling, "FOREIGN_SECONDS", 2.0)
    result = replay(tmp_path / "run")
    assert result.status == "finished", result.reason
    blueprint, assembly = result.artefact("blueprint", Blueprint), result.artefact("assembly", Assembly)
    assert [one.name for one in blueprint.derived] == ["flavanoid_share", "color_per_hue"]
    (repair,) = assembly.repairs
    assert (repair.failure, repair.path) == ("contract-misused", "models/traditional.py")
    assert {role for (_, role), cost in result.state.bill.items() if cost.spend.calls} == set(ROLES)
    chosen = result.artefact("comparison", Comparison)
    assert chosen.selection.score > 0.95 and "discriminant" in {one.algorithm for one in chosen.leaderboard}
