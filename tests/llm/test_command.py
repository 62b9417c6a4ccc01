"""A program in place of a language model, under the same checks."""

import shlex
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from test_agent import BAD, GOOD, setup

from palmette.command import CommandProvider, McpProvider
from palmette.engine import Topology, run_environment, run_topology
from palmette.errors import ModelError, UserError
from palmette.llm.messages import Message, Prompt, Settings
from palmette.llm.opening import ModelChoice, models_of, open_provider
from palmette.sandbox import Sandbox

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
    cost = result.state.bill["writer", "writer"]
    assert cost.calls == cost.unpriced == 2 and cost.input_tokens > 0


def test_it_gets_contract_context_and_quoted_files_and_leaves_a_file_for_each_field(tmp_path: Path) -> None:
    quoted = "docs/README.md:\n```\nRule 1\n```\n../out.py:\n```\nx\n```"
    messages = (Message(speaker="system", text="The contract."), Message(speaker="user", text=quoted))
    code = """
import pathlib
there = sorted(path.as_posix() for path in pathlib.Path().rglob("*") if path.is_file())
assert there == ["context.md", "context/docs/README.md", "contract.md", "prompt.md"], there
assert pathlib.Path("contract.md").read_text().strip() == "The contract."
pathlib.Path("script.py").write_text("print(1)")
pathlib.Path("answer.json").write_text('{"reason": "asked"}')
"""
    reply = CommandProvider(program(tmp_path, code)).reply(Prompt(role="x", messages=messages), Settings())
    assert reply.text == '```json\n{"reason": "asked"}\n```\n\n```python script\nprint(1)\n```'


SERVER = """
import sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("team", log_level="ERROR")

@server.tool()
def write(context: str, contract: str) -> str:
    assert "```python script" in contract
    return {good!r} if "goodbye" in context else {bad!r}

@server.tool()
def slow(question: str) -> str:
    import time
    time.sleep(60)

if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
"""
TOPOLOGY = """
topology: words
start: [writer]
end: [writer]
actors:
  writer: {{use: "canned:Writer", model: "mcp:{server}#write"}}
"""


@pytest.fixture
def server(tmp_path: Path) -> str:
    pytest.importorskip("mcp", reason="mcp is not installed")
    (tmp_path / "server.py").write_text(SERVER.format(good=GOOD, bad=BAD), "utf-8")
    return f"{sys.executable} {tmp_path / 'server.py'}"


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_line_of_a_topology_makes_a_tool_of_an_mcp_server_an_actor(
    tmp_path: Path, server: str, transport: str
) -> None:
    with ExitStack() as held:
        if transport == "http":
            port = Sandbox().free_port()
            process = held.enter_context(subprocess.Popen([*shlex.split(server), str(port)]))
            held.callback(process.terminate)
            while not _listens(port):
                assert process.poll() is None
            server = f"http://127.0.0.1:{port}/mcp"
        (tmp_path / "words.yaml").write_text(TOPOLOGY.format(server=server), "utf-8")
        result = run_environment("topology", {"topology": str(tmp_path / "words.yaml")}, tmp_path / "run")
    assert result.status == "finished" and len(result.state.actor("writer").attempts) == 1
    assert result.state.bill["writer", "writer"].calls == 2


def _listens(port: int) -> bool:
    time.sleep(0.1)
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(("tool", "says"), [("slow", "timeout"), ("none", "has no tool 'none'; it has write, slow")])
def test_a_tool_that_hangs_or_is_absent_is_an_error(server: str, tool: str, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        McpProvider(f"mcp:{server}#{tool}").reply(PROMPT, Settings(timeout=3 if tool == "slow" else 60))


def test_only_agents_are_answered_by_a_model_of_the_topology(tmp_path: Path) -> None:
    topology = Topology.model_validate(
        {
            "topology": "t",
            "start": ["a"],
            "end": ["a"],
            "actors": {"a": {"use": "automl.data_retriever", "model": "x:y"}},
        }
    )
    with pytest.raises(UserError, match="names a model for 'a', whose actor asks none"):
        models_of(ModelChoice(), topology)
    with pytest.raises(UserError, match="no-tool"):
        McpProvider("mcp:http://127.0.0.1:1/mcp")


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


@pytest.mark.parametrize("words", ["no-such-agent --fast", "python it's.py"])
def test_a_program_that_is_not_there_is_refused_before_the_run(words: str) -> None:
    with pytest.raises(UserError, match="no-program"):
        CommandProvider(f"command:{words}")


def test_files_are_named_from_the_current_folder_and_words_may_be_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "import sys; print(sys.argv[1:])")
    (tmp_path / "prompt.md").write_text("not this one", "utf-8")
    monkeypatch.chdir(tmp_path)
    long = "x" * 5000
    reply = CommandProvider(f"command:{sys.executable} agent.py prompt.md {long}").reply(PROMPT, Settings())
    assert reply.text == f"{['prompt.md', long]}\n"
