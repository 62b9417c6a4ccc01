"""Whole runs on a language model, replayed from recordings: every prompt must be the recorded one, and every answer is
measured again.

They share one warm Spark. What no prompt depends on is left out for time: the sample run, the later checks, most
scenarios, and of the team's suite all but the new tests where they fail.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from pydantic import JsonValue

from palmette.engine import RunResult, run_environment
from palmette.features import environment
from palmette.features.actors.code_generator import actor as code_generator
from palmette.features.artefacts import Tests
from palmette.features.checks import CheckResult, TeamSuiteCheck, registered
from palmette.features.sample_run import SampleRun
from palmette.llm.cassette import RecordedCall, read_cassette
from palmette.llm.text import estimate_tokens
from palmette.sandbox import WarmSpark

pytest.importorskip("pyspark", reason="Spark is not installed")
pytestmark = pytest.mark.usefixtures("few_scenarios")

EXAMPLE = Path(__file__).parents[2] / "examples" / "offers"
RECORDED = Path(__file__).with_name("recorded")
FIRST = {"static", "spec", "golden", "differential"}


def prepare(destination: Path) -> Path:
    spec = importlib.util.spec_from_file_location("offers_prepare", EXAMPLE / "prepare.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder: Path = module.prepare(destination)
    return folder


def replay(name: str, folder: Path) -> RunResult:
    """The recorded run of this name, in an example repository of its own."""
    offers = prepare(folder / "offers")
    (offers / "specs" / f"{name}.yaml").write_text((RECORDED / name / "spec.yaml").read_text("utf-8"), "utf-8")
    run = yaml.safe_load((offers / "runs" / "user_offer_redemptions.yaml").read_text("utf-8"))
    run |= {"fsc": f"../specs/{name}.yaml", "output": {"path": f"../lake/features/{name}"}}
    run_file = offers / "runs" / f"{name}.yaml"
    run_file.write_text(yaml.safe_dump(run), "utf-8")
    arguments: dict[str, JsonValue] = {
        "run_file": str(run_file),
        "model": f"replay:{RECORDED / name / 'answers.json'}",
        "human": "none",
    }
    return run_environment("features", arguments, folder / "run")


def recorded_calls(name: str) -> tuple[RecordedCall, ...]:
    return read_cassette(RECORDED / name / "answers.json").calls


@pytest.fixture(autouse=True)
def shared_spark(monkeypatch: pytest.MonkeyPatch, warm_spark: WarmSpark) -> None:
    monkeypatch.setattr(environment, "WarmSpark", lambda *_, **__: warm_spark)
    monkeypatch.setattr(WarmSpark, "handed_over", lambda self: self)
    monkeypatch.setattr(WarmSpark, "stop", lambda self: None)


@pytest.fixture(autouse=True)
def without_later_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    first = [check for check in registered() if check.code in FIRST]
    monkeypatch.setattr(code_generator, "_checks", lambda context: first)
    monkeypatch.setattr(SampleRun, "_not_runnable", lambda self: "left out of this test")


@pytest.mark.parametrize("name", ["user_spending", "offer_words"])
def test_a_recorded_run_comes_to_its_pull_request_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TeamSuiteCheck, "check", lambda self, subject: CheckResult(skipped="left out of this test"))
    result = replay(name, tmp_path)
    assert result.status == "finished", result.reason
    assert sum(cost.calls for cost in result.state.bill.values()) == len(recorded_calls(name))
    assert all(actor.verdict and actor.verdict.ok for actor in result.state.actors.values())


def test_a_view_of_twelve_features_in_words_takes_at_most_8_calls_and_25_000_tokens() -> None:
    calls = recorded_calls("offer_words")
    texts = [message.text for call in calls for message in call.messages] + [call.answer.text for call in calls]
    assert len(calls) <= 8 and sum(map(estimate_tokens, texts)) <= 25_000


def test_a_model_finds_the_fault_of_another_actor_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded tests ask for the very schema of the expected rows, nullability included; the script fails on that,
    and the planner, which saw the failure alone, went back to the test writer."""
    command = "python -m pytest -q -p no:hypothesispytest tests/features/test_user_offer_history.py"
    whole, skipped = TeamSuiteCheck.check, CheckResult(skipped="left out of this test")
    first = iter([lambda self, subject: whole(replace(self, command=command), subject)])
    monkeypatch.setattr(TeamSuiteCheck, "check", lambda *given: next(first, lambda *_: skipped)(*given))
    result = replay("user_offer_history", tmp_path)
    assert result.status == "finished", result.reason
    assert sum(cost.calls for cost in result.state.bill.values()) == len(recorded_calls("user_offer_history"))
    assert "actual.schema" not in result.artefact("tests", Tests).file.text
