"""A program in place of a language model, under the same checks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from test_agent import BAD, GOOD, setup

from palmette.command import CommandProvider
from palmette.engine import run_topology
from palmette.errors import ModelError, UserError
from palmette.llm.messages import Message, Prompt, Settings
from palmette.llm.opening import open_provider

PROMPT = Prompt(role="x", messages=(Message(speaker="user", text="hello"),))


def program(folder: Path, text: str) -> str:
    path = folder / "agent.py"
    path.write_text(text, "utf-8")
    return f"command:{sys.executable} {path}"


def test_an_agent_of_a_team_mends_its_answer_under_the_same_checks(tmp_path: Path) -> None:
    code = f"""
import pathlib, sys
asked = sys.stdin.read()
assert asked == pathlib.Path("prompt.md").read_text("utf-8")
mended = "goodbye" in asked
pathlib.Path("answer.md").write_text({GOOD!r} if mended else {BAD!r})
"""
    provider = open_provider(program(tmp_path, code), tmp_path)
    assert isinstance(provider, CommandProvider)
    result = run_topology(setup(provider), tmp_path / "run")
    assert result.status == "finished" and len(result.state.actor("writer").attempts) == 1
    cost = result.state.bill["writer", "writer"].spend
    assert cost.calls == cost.unpriced == 2 and cost.input_tokens > 0


def test_what_it_prints_is_the_answer_where_it_leaves_none(tmp_path: Path) -> None:
    assert CommandProvider(program(tmp_path, "print('good day')")).reply(PROMPT, Settings()).text == "good day\n"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise SystemExit('no key')", "no key"),
        ("while True: pass", "timeout"),
        ("import os; print(os.environ['S_KEY'])", "KeyError"),
    ],
)
def test_failures_time_and_secrets_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, says: str
) -> None:
    monkeypatch.setenv("S_KEY", "secret-value")
    with pytest.raises(ModelError, match=says):
        CommandProvider(program(tmp_path, code)).reply(PROMPT, Settings(timeout=1))
    monkeypatch.setenv("PALMETTE_COMMAND_ENV", "S_KEY")
    if "S_KEY" in code:
        assert "secret" in CommandProvider(program(tmp_path, code)).reply(PROMPT, Settings(timeout=5)).text


def test_a_program_that_is_not_there_is_refused_before_the_run() -> None:
    with pytest.raises(UserError, match="no-program"):
        CommandProvider("command:no-such-agent --fast")
