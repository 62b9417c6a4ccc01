"""The MCP server, by the SDK's own client."""

import os
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult
from starlette.testclient import TestClient
from web_samples import question_actor

from palmette.engine import Journal, open_questions
from palmette.engine.events import HumanAsked, RunOpened
from palmette.mcp import server as module
from palmette.mcp.holdout import ScoredHoldOut
from palmette.mcp.server import open_server
from palmette.sandbox import WarmSpark

ACTIVITY = Path(__file__).parents[1] / "features" / "checks" / "activity"
SCRIPT = (ACTIVITY / "activity.py").read_text("utf-8")
FILES = {"fsc": "fsc.yaml", "dfr": "dfr.yaml"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES.values():
        (tmp_path / name).write_text((ACTIVITY / name).read_text("utf-8"), "utf-8")
    (tmp_path / "activity.py").write_text(SCRIPT, "utf-8")
    return tmp_path


def calling(folder: Path, work: Callable[[Client], Awaitable[Any]], holdout: ScoredHoldOut | None = None) -> Any:
    """What `work` gets from a client of a server that may use a folder."""

    async def call() -> Any:
        async with Client(open_server([folder], holdout)) as client:
            return await work(client)

    return anyio.run(call)


def called(folder: Path, tool: str, **arguments: Any) -> Any:
    return calling(folder, lambda client: client.call_tool(tool, arguments))


def test_tools_say_what_they_take() -> None:
    tools = calling(Path.cwd(), lambda client: client.list_tools()).tools
    found = {tool.name: tool for tool in tools}
    assert set(found) == {
        "check_features", "expected_rows", "plan_features", "build_features", "automl", "explain_run",
        "answer_question", "score_holdout",
    }  # fmt: skip
    assert all(tool.description and len(tool.description) < 200 for tool in tools)
    schema = found["check_features"].input_schema
    assert schema["required"] == ["script", "fsc", "dfr"] and "context" not in schema["properties"]


def test_an_agent_mends_a_wrong_script_by_the_checks_alone(
    folder: Path, warm_spark: WarmSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop as coding agents have it: it knows only what `check_features` answers, and edits the script by that."""
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    monkeypatch.setattr(module._Tools, "spark", lambda _: warm_spark)
    wrong = SCRIPT.replace('"customer_id", "left"', '"customer_id", "inner"')
    (folder / "activity.py").write_text(wrong, "utf-8")
    said: list[str] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        said.append(message or "")

    def think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        found = [one for part in messages for one in part.parts if isinstance(one, ToolReturnPart)]
        if not found or found[-1].tool_name == "edit":
            return ModelResponse(parts=[ToolCallPart("check", {})])
        answer = found[-1].content
        if answer["ok"]:
            return ModelResponse(parts=[TextPart("mended")])
        (first, *_) = [one for one in answer["violations"] if one["code"] == "differential"]
        assert "customer_id" in first["evidence"], "rows are missing: the join must keep them"
        return ModelResponse(parts=[ToolCallPart("edit", {"old": '"inner"', "new": '"left"'})])

    async def work(client: Client) -> Any:
        agent = Agent(FunctionModel(think))

        @agent.tool_plain
        async def check() -> dict[str, Any]:
            made = await client.call_tool("check_features", {"script": "activity.py", **FILES}, progress_callback=heard)
            return dict(made.structured_content)

        @agent.tool_plain
        def edit(old: str, new: str) -> str:
            (folder / "activity.py").write_text((folder / "activity.py").read_text("utf-8").replace(old, new), "utf-8")
            return "edited"

        return (await agent.run("Mend activity.py.")).output

    assert calling(folder, work) == "mended"
    assert (folder / "activity.py").read_text("utf-8") == SCRIPT and "checking: differential" in said


def test_submissions_are_scored_on_a_hold_out_that_stays_hidden(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path_factory.mktemp("runs")))
    truth = tmp_path_factory.mktemp("hidden") / "truth.csv"
    truth.write_text("churn,x\n" + "yes,1\nno,2\n" * 10, "utf-8")
    (folder / "first.csv").write_text("prediction\n" + "yes\nno\n" * 9 + "no\nyes\n", "utf-8")
    (folder / "shares.csv").write_text("no,yes\n" + "0.1,0.9\n0.8,0.2\n" * 10, "utf-8")

    async def ask(client: Client) -> list[Any]:
        names = ["first.csv", "first.csv", "short.csv", str(truth), *(f"n{one}.csv" for one in range(10))]
        return [await client.call_tool("score_holdout", {"predictions": name}) for name in names]

    (folder / "short.csv").write_text("prediction\nyes\n", "utf-8")
    for one in range(10):
        (folder / f"n{one}.csv").write_text("churn\n" + "yes\n" * 20 + "\n" * one, "utf-8")
    first, again, short, hidden, *rest = calling(folder, ask, ScoredHoldOut(f"{truth}:churn:accuracy"))
    assert (first.structured_content["score"], first.structured_content["left"]) == (0.9, 9)
    assert again.structured_content["left"] == 9, "the same submission counts once"
    assert "[bad-submission]" in short.content[0].text and "[outside-roots]" in hidden.content[0].text
    assert "[holdout-used-up]" in rest[-1].content[0].text
    (second := truth.with_name("second.csv")).write_text("churn,x\n" + "yes,3\nno,4\n" * 10, "utf-8")
    holdout = ScoredHoldOut(f"{second}:churn:accuracy")
    with ThreadPoolExecutor(8) as pool:
        left = [one.left for one in pool.map(holdout.score, [folder / f"n{one}.csv" for one in range(8)])]
    assert sorted(left) == [2, 3, 4, 5, 6, 7, 8, 9], "submissions sent at once count one by one"
    ranked = ScoredHoldOut(f"{truth}:churn:roc_auc").score(folder / "shares.csv")
    assert ranked.score == 1.0 and ranked.left == 9, "each target and metric has a record of its own"


def test_classes_that_a_program_wrote_as_fractions_are_the_same_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "runs"))
    (tmp_path / "truth.csv").write_text("left\n" + "1\n0\n" * 5, "utf-8")
    (tmp_path / "made.csv").write_text("left\n" + "1.0\n0.0\n" * 5, "utf-8")
    assert ScoredHoldOut(f"{tmp_path / 'truth.csv'}:left:accuracy").score(tmp_path / "made.csv").score == 1.0


def test_questions_reach_the_person_at_the_client(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path_factory.mktemp("runs")))
    given = question_actor(folder / "asking", "none", ["a"])

    def automl(tools: module._Tools, context: Context[Any, Any]) -> dict[str, Any]:
        return tools._run("topology", given, "ask", context)

    monkeypatch.setattr(module._Tools, "automl", automl)

    async def reply(context: Any, params: Any) -> ElicitResult:
        assert params.message == "Which colour for a?"
        return ElicitResult(action="accept", content={"answer": "green"})

    async def work() -> tuple[Any, Any]:
        async with Client(open_server([folder]), elicitation_callback=reply, mode="legacy") as client:
            await client.call_tool("automl", {})
            run = await client.call_tool("explain_run", {})
            lines = (await client.read_resource(f"palmette://runs/{run.structured_content['run']}/journal")).contents
            return run.structured_content, lines[0].text

    run, lines = anyio.run(work)
    assert run["status"] == "finished" and run["questions"] == [] and '"answer":"green"' in lines


def test_open_questions_are_answered_but_approvals_are_left_to_a_person(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path_factory.mktemp("runs")
    monkeypatch.setenv("PALMETTE_RUNS", str(runs))
    with Journal(runs / "one") as journal:
        journal.append(
            RunOpened(environment="topology", arguments={}, version="0"),
            HumanAsked(question="Which day?", by="actor", actor="a"),
            HumanAsked(question="May b run?", by="approval", actor="b"),
        )
    asked = {one.event.by: one.id for one in open_questions(runs / "one")}
    answered = called(folder, "answer_question", run="one", question=asked["actor"], answer="Monday")
    assert not answered.is_error and (runs / "one/answers" / asked["actor"]).read_text("utf-8") == "Monday"
    refused = called(folder, "answer_question", run="one", question=asked["approval"], answer="yes")
    assert "[needs-a-person]" in refused.content[0].text


def test_schemas_are_resources_and_other_names_are_refused(folder: Path) -> None:
    async def read(client: Client) -> str:
        text = (await client.read_resource("palmette://schemas/fsc")).contents[0].text
        with pytest.raises(MCPError):
            await client.read_resource("palmette://schemas/..%2Fsecret")
        return str(text)

    assert "Feature specification" in calling(folder, read)


def test_over_http_other_hosts_are_refused(folder: Path) -> None:
    app = open_server([folder]).streamable_http_app()
    with TestClient(app, base_url="http://evil.example") as client:
        assert client.post("/mcp", json={}).status_code == 421


def test_the_oracle_answers_for_rows_of_the_caller(folder: Path) -> None:
    order = {"order_id": 1, "customer_id": 7, "amount": 3.5}
    times = {"ordered_at": "2025-02-20T00:00:00Z", "loaded_at": "2025-02-20T01:00:00Z", "order_day": "2025-02-20"}
    given = {"customers": [{"customer_id": 7}, {"customer_id": 8}], "orders": [order | times]}
    found = called(folder, "expected_rows", given=given, as_of="2025-03-01T00:00:00Z", **FILES).structured_content
    assert [(row["customer_id"], row["orders_30d"]) for row in found["rows"]] == [(7, 1), (8, 0)]
    assert found["not_computed"] == {}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"given": {"orderz": []}}, "unknown-table"),
        ({"given": {"customers": [{"customer_id": "x"}]}, "as_of": "2025-03-01"}, "no-answer"),
        ({"given": {}, "fsc": "../fsc.yaml"}, "outside-roots"),
        ({"given": {}, "fsc": "nowhere.yaml"}, "no-such-file"),
    ],
)
def test_mistakes_reach_the_client_with_code_and_remedy(folder: Path, arguments: dict[str, Any], code: str) -> None:
    answer = called(folder, "expected_rows", **{**FILES, **arguments})
    assert answer.is_error and f"[{code}]" in answer.content[0].text and "Traceback" not in answer.content[0].text


def test_links_and_run_files_lead_nowhere_else(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "fsc.yaml").write_text("", "utf-8")
    (folder / "link.yaml").symlink_to(other / "fsc.yaml")
    answer = called(folder, "expected_rows", given={}, fsc="link.yaml", dfr="dfr.yaml")
    assert "[outside-roots]" in answer.content[0].text
    lines = ["run: 1", "fsc: fsc.yaml", "dfr: dfr.yaml", f"repository: {{path: {other}}}", "output: {path: out}", ""]
    (folder / "run.yaml").write_text("\n".join(lines), "utf-8")
    for tool in ("plan_features", "build_features"):
        assert "[outside-roots]" in called(folder, tool, run_file="run.yaml").content[0].text


def test_the_command_speaks_the_protocol_on_standard_output(folder: Path) -> None:
    async def tools() -> list[str]:
        arguments = ["-m", "palmette", "mcp", "--root", str(folder)]
        async with Client(
            stdio_client(StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ)))
        ) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "check_features" in anyio.run(tools)
