"""`palmette web`: the page."""

from __future__ import annotations

from pathlib import Path

import click

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.option("--root", "roots", multiple=True, type=_FOLDER, help="Folder that runs may use; this one if left out.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Any other than a loopback address needs a token.")
@click.option("--port", type=click.IntRange(1, 65535), default=8800, show_default=True)
def web(roots: tuple[Path, ...], host: str, port: int) -> None:
    """Show runs in the browser: follow them, answer their questions, edit artefacts, start new ones.

    Runs go on when this server stops. Other machines are let in only with the token in the printed address.
    """
    import uvicorn

    from palmette.cli.serve import require_free
    from palmette.web.app import create_app
    from palmette.web.security import is_loopback, new_token

    require_free(host, port)
    access = None if is_loopback(host) else new_token()
    app = create_app(roots or (Path.cwd(),), host, access)
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"http://{shown}:{port}/{f'?token={access}' if access else ''}  (Ctrl-C stops it)", err=True)
    uvicorn.run(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=1)
