"""The MCP server, by the SDK's own client."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from palmette.mcp import server as module
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


def calling(folder: Path, work: Callable[[Client], Awaitable[Any]]) -> Any:
    """What `work` gets from a client of a server that may use a folder."""

    async def call() -> Any:
        async with Client(open_server([folder])) as client:
            return await work(client)

    return anyio.run(call)


def called(folder: Path, tool: str, **arguments: Any) -> Any:
    return calling(folder, lambda client: client.call_tool(tool, arguments))


def test_tools_say_what_they_take() -> None:
    tools = calling(Path.cwd(), lambda client: client.list_tools()).tools
    found = {tool.name: tool for tool in tools}
    assert set(found) == {
        "check_features", "expected_rows", "plan_features", "build_features", "automl", "explain_run",
    }  # fmt: skip
    assert all(tool.description and len(tool.description) < 200 for tool in tools)
    schema = found["check_features"].input_schema
    assert schema["required"] == ["script", "fsc", "dfr"] and "context" not in schema["properties"]


def test_a_wrong_script_is_mended_by_the_evidence_of_the_checks(
    folder: Path, warm_spark: WarmSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module._Tools, "spark", lambda _: warm_spark)
    wrong = SCRIPT.replace('"customer_id", "left"', '"customer_id", "inner"')
    (folder / "activity.py").write_text(wrong, "utf-8")
    said: list[str] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        said.append(message or "")

    async def work(client: Client) -> tuple[Any, Any]:
        arguments = {"script": "activity.py", **FILES}
        first = await client.call_tool("check_features", arguments, progress_callback=heard)
        (folder / "activity.py").write_text(SCRIPT, "utf-8")
        return first, await client.call_tool("check_features", arguments)

    first, second = calling(folder, work)
    assert not first.structured_content["ok"]
    differs = [one for one in first.structured_content["violations"] if one["code"] == "differential"]
    assert differs and "customer_id" in differs[0]["evidence"]
    assert second.structured_content["ok"] and second.structured_content["entry"] == "build"
    assert "checking: differential" in said


def test_the_oracle_answers_for_rows_of_the_caller(folder: Path) -> None:
    order = {"order_id": 1, "customer_id": 7, "amount": "3.50"}
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
