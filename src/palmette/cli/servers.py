"""Commands that serve until Ctrl-C: `serve` a model, `web` the page, `mcp` the tools for coding agents."""

import errno
import json
import shlex
import socket
import time
from contextlib import suppress
from pathlib import Path

import click

from palmette.cli.screen import json_option, near, print_json, say
from palmette.errors import MachineError, UserError

WATCHED = 0.3  # seconds between checks that the endpoint is still running
_PORT = click.IntRange(1, 65535)
_roots_option = click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder that runs and tools may use; this one if left out.",
)


@click.command()
@click.argument("run")
@click.option("--port", type=_PORT, default=8000, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 accepts other machines, without a login.")
@json_option
def serve(run: str, port: int, host: str, as_json: bool) -> None:
    """Serve the model of RUN (an id, its beginning, a folder, or `latest`) or of a delivered folder, until Ctrl-C."""
    from palmette.automl.endpoint.delivered import delivered, example_request
    from palmette.automl.endpoint.service import Service
    from palmette.sandbox import Sandbox

    folder = delivered(run)
    require_free(host, port)
    with suppress(KeyboardInterrupt), Service(Sandbox(), folder, host, port) as service:
        say(f"Starting {near(folder)} ...", as_json)
        if service.is_healthy():
            _say(service.url, example_request(folder), as_json)
            while service.alive:
                time.sleep(WATCHED)
        last = (service.output().strip().splitlines() or ["it printed nothing"])[-1]
        message = f"The endpoint of {str(folder)!r} does not run: {last[:500]}"
        remedy = "Are the packages of its requirements.txt installed here?"
        raise MachineError(message, remedy, code="endpoint-unhealthy")
    say("\nStopped.", as_json)


def _say(url: str, row: dict[str, object], as_json: bool) -> None:
    """Prints its URL and an example request."""
    body = json.dumps(row, ensure_ascii=False)
    if as_json:
        print_json({"url": url, "docs": f"{url}/docs", "row": row})
        return
    click.echo(f"endpoint  {click.style(url, bold=True)}  (Ctrl-C stops it)")
    click.echo(f"docs      {url}/docs")
    click.echo(f"try it    curl -s {url}/predict -H 'Content-Type: application/json' -d {shlex.quote(body)}")


def require_free(host: str, port: int) -> None:
    """Raises UserError if the address is not free."""
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(address)
    except (socket.gaierror, UnicodeError) as error:
        message = f"{host!r} is not an address of this machine."
        raise UserError(message, "Use 127.0.0.1, or 0.0.0.0 for all.", code="no-such-host") from error
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        message = f"Port {port} of {host!r} is {'taken' if taken else f'not to be had: {error.strerror}'}."
        remedy = f"Name another: --port {port + 1 if port < 65535 else 8000}"
        raise UserError(message, remedy, code="port-taken" if taken else "port-refused") from error


@click.command()
@_roots_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Any other than a loopback address needs a token.")
@click.option("--port", type=_PORT, default=8800, show_default=True)
def web(roots: tuple[Path, ...], host: str, port: int) -> None:
    """Show runs in the browser: follow them, answer their questions, edit artefacts, start new ones.

    Runs go on when this server stops. Other machines are let in only with the token in the printed address.
    """
    import uvicorn

    from palmette.web.app import create_app
    from palmette.web.security import is_loopback, new_token

    require_free(host, port)
    access = None if is_loopback(host) else new_token()
    app = create_app(roots or (Path.cwd(),), host, access)
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"http://{shown}:{port}/{f'?token={access}' if access else ''}  (Ctrl-C stops it)", err=True)
    uvicorn.run(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=1)


@click.command()
@_roots_option
@click.option("--port", type=_PORT, help="Serve streamable HTTP at this port of 127.0.0.1.")
@click.option("--holdout", metavar="FILE:TARGET:METRIC", help="Hold-out that agents are scored on.")
def mcp(roots: tuple[Path, ...], port: int | None, holdout: str | None) -> None:
    """Serve Palmette's checks, oracle and runs to coding agents, over standard input and output.

    For Claude Code: claude mcp add palmette -- palmette mcp
    """
    from palmette.mcp.holdout import ScoredHoldOut
    from palmette.mcp.server import open_server

    if port:
        require_free("127.0.0.1", port)
    server = open_server(roots or (Path.cwd(),), ScoredHoldOut(holdout) if holdout else None)
    if port:
        click.echo(f"http://127.0.0.1:{port}/mcp  (Ctrl-C stops it)", err=True)
        server.run("streamable-http", host="127.0.0.1", port=port)
    else:
        server.run("stdio")
