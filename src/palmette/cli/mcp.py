"""`palmette mcp`: the MCP server."""

from __future__ import annotations

from pathlib import Path

import click

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.option("--root", "roots", multiple=True, type=_FOLDER, help="Folder that tools may use; this one if left out.")
@click.option("--port", type=click.IntRange(1, 65535), help="Serve streamable HTTP at this port of 127.0.0.1.")
@click.option("--holdout", metavar="FILE:TARGET:METRIC", help="Hold-out that agents are scored on.")
def mcp(roots: tuple[Path, ...], port: int | None, holdout: str | None) -> None:
    """Serve Palmette's checks, oracle and runs to coding agents, over standard input and output.

    For Claude Code: claude mcp add palmette -- palmette mcp
    """
    from palmette.mcp.holdout import ScoredHoldOut
    from palmette.mcp.server import open_server

    server = open_server(roots or (Path.cwd(),), ScoredHoldOut(holdout) if holdout else None)
    if port:
        click.echo(f"http://127.0.0.1:{port}/mcp  (Ctrl-C stops it)", err=True)
        server.run("streamable-http", host="127.0.0.1", port=port)
    else:
        server.run("stdio")
