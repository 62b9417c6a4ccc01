"""A language model's answers on the way to a model, replayed: the whole topology, every agent on a model.

Prompts quote measured figures, which change from machine to machine. So each role gets its recorded answer, whatever it
is asked now, and what follows from it is measured anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="the extra automl is not installed")

from palmette.automl.arguments import arguments_of
from palmette.automl.artefacts import Assembly, Assessment, Comparison
from palmette.automl.candidates import Blueprint
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import run_environment
from palmette.llm import cassette
from palmette.llm.messages import Message

RECORDED = Path(__file__).with_name("recorded") / "parcels"
REQUEST = (
    "Late parcels cost us money. From what we know when a parcel is picked up, tell us whether it will arrive "
    "late. Few false alarms and few misses are equally important to us, so go by F1 for 'late'. One answer within "
    "100 ms."
)
MOST_CALLS, MOST_TOKENS = 9, 35_000


def label(role: str, messages: Sequence[Message]) -> str:
    return role


def test_a_recorded_run_ends_in_a_measured_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cassette, "_key", label)
    answers = RECORDED / "answers.json"
    arguments = arguments_of(
        REQUEST,
        [str(RECORDED / "parcels.csv")],
        budget=4.0,
        model=f"replay:{answers}",
        planner="offline",
        human="none",
    )
    result = run_environment("automl", arguments, tmp_path / "run")
    assert result.status == "finished", result.reason

    roles = {call.role for call in cassette.read_cassette(answers).calls}
    asked = {role: cost for (_, role), cost in result.state.bill.items() if cost.calls}
    assert set(asked) == roles
    assert sum(spend.calls for spend in asked.values()) <= MOST_CALLS
    assert sum(spend.tokens for spend in asked.values()) <= MOST_TOKENS

    task = result.artefact("task", TaskSpec)
    assert (task.target, task.metric, task.positive) == ("Outcome", "f1", "late")
    assert [str(one) for one in task.constraints] == ["latency <= 0.1"]
    planned = {one.name for one in result.artefact("blueprint", Blueprint).candidates}
    own = [one for one in result.value("preprocessing")["candidates"]]
    tried = {one.name for one in result.artefact("comparison", Comparison).leaderboard}
    assert own and tried & planned
    assert not result.artefact("assembly", Assembly).repairs
    assert result.artefact("assessment", Assessment).latency is not None
