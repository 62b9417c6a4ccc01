"""Answers that a model gave on a whole run, replayed: prompts of before must be the prompts of today."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml

from palmette.engine import run_environment
from palmette.features.artefacts import Tests

pytest.importorskip("pyspark", reason="Spark is not installed")

EXAMPLE = Path(__file__).parents[2] / "examples" / "offers"
RECORDING = Path(__file__).with_name("recordings") / "offer_daily.json"
WORDS = "how large a part of the redemptions of the past four weeks came in over the web rather than at the till"
"""Instead of words that the built-in rules understand, so that the model had to read them."""
UNTIL_THE_TESTS = """
topology: until_the_tests
given: [request]
start: [config_generator]
end: [testcase_coder]
actors:
  config_generator: {use: features.config_generator, next: [utils_retriever]}
  utils_retriever: {use: features.utils_retriever, next: [code_template_generator]}
  code_template_generator: {use: features.code_template_generator, next: [testcase_generator]}
  testcase_generator: {use: features.testcase_generator, next: [testcase_coder]}
  testcase_coder: {use: features.testcase_coder, next: []}
"""


def prepare(destination: Path) -> Path:
    spec = importlib.util.spec_from_file_location("offers_prepare", EXAMPLE / "prepare.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder: Path = module.prepare(destination)
    return folder


def test_a_recorded_model_answers_again_and_every_answer_is_measured_again(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "offers")
    spec = folder / "specs" / "offer_daily.yaml"
    text = spec.read_text("utf-8")
    known = "share of redemptions that have channel online in the last 28 days"
    assert known in text
    spec.write_text(text.replace(known, WORDS), "utf-8")
    run_file = folder / "runs" / "offer_daily.yaml"
    (run_file.parent / "topology.yaml").write_text(UNTIL_THE_TESTS, "utf-8")
    run = yaml.safe_load(run_file.read_text("utf-8"))
    run_file.write_text(
        yaml.safe_dump({**run, "topology": "topology.yaml", "model": f"replay:{RECORDING}", "planner": "offline"}),
        "utf-8",
    )
    result = run_environment("features", {"run_file": str(run_file)}, tmp_path / "run")
    assert result.status == "finished", result.reason
    assert {role for _, role in result.state.bill} == {"words", *result.state.actors}
    assert all(actor.verdict and actor.verdict.ok for actor in result.state.actors.values())
    assert "online_share_28d" in result.artefact("tests", Tests).file.text
