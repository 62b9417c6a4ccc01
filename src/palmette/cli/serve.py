"""`palmette serve`: runs the endpoint of a delivered model."""

from __future__ import annotations

import errno
import json
import shlex
import socket
import time
from contextlib import suppress
from pathlib import Path

import click

from palmette.cli.screen import json_option, near, print_json
from palmette.errors import MachineError, UserError

WATCHED = 0.3
"""Seconds between checks that it is still running."""


@click.command()
@click.argument("run")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 accepts other machines, without a login.")
@json_option
def serve(run: str, port: int, host: str, as_json: bool) -> None:
    """Serve the model of RUN (an id, its beginning, a folder, or `latest`) or of a delivered folder, until Ctrl-C."""
    from palmette.automl.endpoint.delivered import delivered, example_row
    from palmette.automl.endpoint.service import Service
    from palmette.sandbox import Sandbox

    folder = delivered(run)
    require_free(host, port)
    with suppress(KeyboardInterrupt), Service(Sandbox(), folder, host, port) as service:
        click.echo(f"Starting {near(folder)} ...", err=True)
        if not service.is_healthy():
            raise _ended(service.output(), folder)
        _say(service.url, example_row(folder), as_json)
        while service.alive:
            time.sleep(WATCHED)
        raise _ended(service.output(), folder)
    click.echo("\nStopped.", err=True)


def _say(url: str, row: dict[str, object], as_json: bool) -> None:
    """Prints its URL and an example request."""
    body = json.dumps(row, ensure_ascii=False)
    ask = f"curl -s {url}/predict -H 'Content-Type: application/json' -d {shlex.quote(body)}"
    if as_json:
        print_json({"url": url, "docs": f"{url}/docs", "row": row})
        return
    click.echo(f"endpoint  {click.style(url, bold=True)}  (Ctrl-C stops it)")
    click.echo(f"docs      {url}/docs")
    click.echo(f"try it    {ask}")


def require_free(host: str, port: int) -> None:
    """Raises UserError if the address is not free."""
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(address)
    except socket.gaierror as error:
        message = f"{host!r} is no address of this machine: {error.strerror}."
        raise UserError(message, "Use 127.0.0.1, or 0.0.0.0 for all.", code="no-such-host") from error
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        message = f"Port {port} of {host!r} is {'taken' if taken else f'not to be had: {error.strerror}'}."
        remedy = f"Name another: --port {port + 1 if port < 65535 else 8000}"
        raise UserError(message, remedy, code="port-taken" if taken else "port-refused") from error


def _ended(output: str, folder: Path) -> MachineError:
    last = (output.strip().splitlines() or ["it printed nothing"])[-1]
    message = f"The endpoint of {str(folder)!r} does not run: {last[:500]}"
    return MachineError(message, "Are the packages of its requirements.txt installed here?", code="endpoint-unhealthy")
