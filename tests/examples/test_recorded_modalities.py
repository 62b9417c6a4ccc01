"""A language model's answers for texts, images, a series and a graph, replayed whole on small data made here.

Prompts quote measured figures, so each role gets its recorded answer, whatever it is asked; a role that has none gets
the empty one. What follows from the answers is measured anew.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("sklearn", reason="the extra automl is not installed")

from palmette.automl.arguments import arguments_of
from palmette.automl.artefacts import Assessment, Comparison
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import run_environment
from palmette.llm import cassette
from palmette.llm.cassette import Cassette, RecordedCall
from palmette.llm.messages import Message, Reply

TASKS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).with_name("recorded") / "modalities" / "answers.yaml").read_text("utf-8")
)
EMPTY = {
    "knowledge_retriever": '{"insights": [], "reason": "Nothing that is listed changes the search."}',
    "data_planner": '{"derived": [], "reason": "No column is worth deriving."}',
    "model_planner": '{"plans": [], "reason": "The time suffices for all candidates."}',
}
"""What a model says that leaves a step to the rules."""
CHANCE = random.Random(0)


def texts(folder: Path) -> list[Path]:
    good, bad = ("lovely", "clean", "friendly"), ("dirty", "loud", "rude")
    lines = []
    for n in range(80):
        word, of = CHANCE.choice(bad if n % 2 else good), CHANCE.choice(("room", "staff", "breakfast"))
        text = f"The {of} was {word} and we stayed for {n % 5} nights in the old town"
        lines.append(f"{text},{'complaint' if n % 2 else 'praise'}")
    (folder / "remarks.csv").write_text("\n".join(["remark,kind", *lines, ""]), "utf-8")
    return [folder / "remarks.csv"]


def images(folder: Path) -> list[Path]:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for n in range(48):
        place = folder / "photos" / ("dark" if n % 2 else "light")
        place.mkdir(parents=True, exist_ok=True)
        image.new("RGB", (16, 16), (40 + n, 30, 20) if n % 2 else (200 - n, 220, 230)).save(place / f"{n}.png")
    return [folder / "photos"]


def series(folder: Path) -> list[Path]:
    lines = [f"2024-{1 + n // 28:02}-{1 + n % 28:02},{100 + 20 * (n % 7) + CHANCE.random():.2f}" for n in range(168)]
    (folder / "sales.csv").write_text("\n".join(["day,sales", *lines, ""]), "utf-8")
    return [folder / "sales.csv"]


def graph(folder: Path) -> list[Path]:
    nodes = [f"{n},{(n % 2) + CHANCE.random():.2f},{CHANCE.random():.2f},{'ab'[n % 2]}" for n in range(90)]
    edges = [f"{n},{(n + 2 * step) % 90}" for n in range(90) for step in (1, 3)]
    (folder / "papers.csv").write_text("\n".join(["paper,word_1,word_2,field", *nodes, ""]), "utf-8")
    (folder / "cites.csv").write_text("\n".join(["source,target", *edges, ""]), "utf-8")
    return [folder / "papers.csv", folder / "cites.csv"]


DATA: dict[str, Callable[[Path], list[Path]]] = {"texts": texts, "images": images, "series": series, "graph": graph}


def label(role: str, messages: Sequence[Message]) -> str:
    return role


@pytest.mark.skipif(not os.environ.get("PALMETTE_RECORDED"), reason="half a minute each: set PALMETTE_RECORDED=1")
@pytest.mark.parametrize("name", TASKS)
def test_a_recorded_run_ends_in_a_measured_model(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cassette, "_key", label)
    told = {**{role: f"```json\n{text}\n```\n" for role, text in EMPTY.items()}, **TASKS[name]["answers"]}
    calls = [
        RecordedCall(actor=role, role=role, messages=(), answer=Reply(text=text, model="recorded:model"))
        for role, text in told.items()
    ]
    (tmp_path / "answers.json").write_text(Cassette(calls=tuple(calls)).model_dump_json(), "utf-8")
    arguments = arguments_of(
        TASKS[name]["request"],
        [str(path) for path in DATA[name](tmp_path)],
        budget=2.0,
        plans=2,
        model=f"replay:{tmp_path / 'answers.json'}",
        planner="offline",
    )
    result = run_environment("automl", arguments, tmp_path / "run")
    assert result.status == "finished", result.reason
    wanted = yaml.safe_load(TASKS[name]["answers"]["requirement_parser"].replace("```json", "").replace("```", ""))
    task = result.artefact("task", TaskSpec)
    assert (task.target, task.metric) == (wanted["target"], wanted["metric"])
    asked = {role for (_, role), cost in result.state.bill.items() if cost.calls}
    assert asked >= {"requirement_parser", "plan_writer", "modeling_coder"}
    assert result.artefact("comparison", Comparison).leaderboard
    assert result.artefact("assessment", Assessment).latency is not None
