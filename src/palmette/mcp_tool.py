"""A program for the sandbox: it hands the prompt in its folder to a tool of an MCP server, and prints the answer."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

TOKEN = "MCP_TOKEN"  # the variable with the access token of a server that has an address


class RefusedError(Exception):
    """The tool is absent, or reports an error."""


async def call(server: str, tool: str) -> str:
    """What the tool answers. It gets those of `prompt`, `contract` and `context` that it takes, else one text."""
    given = {name: Path(f"{name}.md").read_text("utf-8") for name in ("prompt", "contract", "context")}
    async with Client(opened(server)) as client:
        tools = {one.name: one.input_schema for one in (await client.list_tools()).tools}
        if tool not in tools:
            raise RefusedError(f"{server} has no tool {tool!r}; it has {', '.join(tools) or 'none'}.")
        names = tools[tool].get("properties", {})
        arguments: dict[str, Any] = {name: text for name, text in given.items() if name in names}
        if not arguments and names:
            arguments = {next(iter(tools[tool].get("required") or names)): given["prompt"]}
        made = await client.call_tool(tool, arguments)
    text = "\n".join(part.text for part in made.content if part.type == "text")
    if made.is_error:
        raise RefusedError(text)
    return text


def opened(server: str) -> Any:
    """A connection to an address, or to a program that is started."""
    if server.startswith(("http://", "https://")):
        headers = {"Authorization": f"Bearer {os.environ[TOKEN]}"} if TOKEN in os.environ else None
        return streamable_http_client(server, http_client=create_mcp_http_client(headers))
    program, *arguments = shlex.split(server)
    return StdioServerParameters(command=program, args=arguments, env=dict(os.environ))


if __name__ == "__main__":
    try:
        print(anyio.run(call, sys.argv[1], sys.argv[2]))
    except Exception as error:  # noqa: BLE001 - the process boundary to the run, which shows the last line
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        sys.exit(f"{type(cause).__name__}: {cause}")
