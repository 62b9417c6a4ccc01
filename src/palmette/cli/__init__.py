"""The command line: thin, it calls the public API and reads the journal.

A command is imported when it is called, so that `palmette --help` is fast.
"""

import importlib
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple, NoReturn

import click

from palmette.cli.terminal import guard
from palmette.errors import (
    DeveloperError,
    PalmetteError,
    UserError,
    did_you_mean,
    machine_error,
    missing_extra,
    path_error,
    require_text,
)

INTERRUPTED = 130  # exit status after Ctrl-C, and after signals that ask to end
EXIT_STATUS = """Exit status: 0 done, 1 a check failed, 2 a mistake in what was given, 3 the machine, 4 the language
model, 5 the remote repository or the forge, 6 the run stopped short of its goal, 70 a bug, 130 interrupted."""
COMPLETION = """Shell completion: eval "$(_PALMETTE_COMPLETE=bash_source palmette)" in ~/.bashrc; zsh_source and
fish_source for the other shells."""


class _Command(NamedTuple):
    module: str  # of this package; the command has its own name there
    help: str
    extra: str = ""  # the extra of palmette that installs what the command needs


COMMANDS = {
    "init": _Command("features", "Draft registry, specification and run file from tables.", "spark"),
    "fsc": _Command("features", "Draft a specification from an existing script.", "spark"),
    "features": _Command("features", "Build a feature view and open its pull request.", "spark"),
    "automl": _Command("automl", "Build, verify and deploy a model from data.", "automl"),
    "serve": _Command("servers", "Serve a delivered model.", "automl"),
    "predict": _Command("delivered", "Predict the rows of a file with a delivered model.", "automl"),
    "retrain": _Command("delivered", "Fit a delivered model again on new rows.", "automl"),
    "export": _Command("delivered", "Write the learner of a delivered model as ONNX.", "automl"),
    "check": _Command("check", "Check a feature script against its specification.", "spark"),
    "web": _Command("servers", "Show runs in the browser, answer their questions, start new ones.", "web"),
    "mcp": _Command("servers", "Serve the checks and runs to coding agents (MCP).", "mcp"),
    "search": _Command("knowledge", "Search papers, models, data sets and documents.", "automl"),
    "checkpoints": _Command("knowledge", "Find pretrained networks for columns.", "automl"),
    "tune": _Command("knowledge", "Train a model to read requests.", "automl"),
    "memory": _Command("knowledge", "List, export or import what earlier runs left.", "automl"),
    "schema": _Command("formats", "Print the JSON Schema of a file format."),
    "topology": _Command("formats", "Check or draw a topology."),
    "run": _Command("runs", "Run any topology."),
    "runs": _Command("runs", "List the runs."),
    "show": _Command("show", "Show the steps, failures, artefacts and times of a run."),
    "resume": _Command("runs", "Continue a run, with or without edited artefacts."),
    "doctor": _Command("doctor", "Show what is installed, what is missing, and how to get it."),
}


class _Commands(click.Group):
    """Commands by name; their modules are imported only when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            raise click.UsageError(f"There is no command {cmd_name!r}.{did_you_mean(cmd_name, COMMANDS)}")
        command = getattr(importlib.import_module(f"palmette.cli.{COMMANDS[cmd_name].module}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])


HELP = {"help_option_names": ["-h", "--help"]}


@click.group(cls=_Commands, epilog=f"{EXIT_STATUS}\n\n{COMPLETION}", context_settings=HELP)
@click.version_option(package_name="palmette")
@click.option(
    "--isolation",
    metavar="LEVEL",
    help="Isolation of generated code from your files and network: bubblewrap, landlock, docker:IMAGE, podman:IMAGE or "
    "none. By default the better of the first two that works.",
)
def cli(isolation: str | None) -> None:
    """Machine-learning code that a team can merge: measured, and written along a topology you can read."""
    if isolation:
        os.environ["PALMETTE_ISOLATION"] = isolation


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs one command and exits, see `EXIT_STATUS`. As a program it suppresses library warnings."""
    if arguments is None and not sys.warnoptions:
        warnings.simplefilter("ignore")
    guard()
    _end_in_order()
    arguments = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in arguments
    try:
        require_text(arguments)
        _require_folder()
        cli.main(arguments, prog_name="palmette", standalone_mode=False)
    except PalmetteError as error:
        _report(error, as_json)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        if as_json:
            _report(UserError(error.format_message(), "See --help.", code="usage"), as_json)
        else:
            error.show()
        sys.exit(UserError.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("\nInterrupted. To continue a run: palmette resume latest", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the process boundary to the user: a bug is one message too
        command = next((COMMANDS[name] for name in arguments if name in COMMANDS), None)
        missing = missing_extra(error, command.extra if command else "")
        found = missing or machine_error(error) or path_error(error) or _bug(error)
        _report(found, as_json)
        sys.exit(found.exit_code)
    sys.exit(0)


def _end_in_order() -> None:
    """Makes SIGTERM and SIGHUP interrupt the process as Ctrl-C does."""
    for one in (signal.SIGTERM, signal.SIGHUP):
        if threading.current_thread() is threading.main_thread() and signal.getsignal(one) is signal.SIG_DFL:
            signal.signal(one, signal.default_int_handler)


def _require_folder() -> None:
    """Raises UserError if the current folder was removed, because relative paths then lead nowhere."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise UserError("The current folder is gone.", "Change to another: cd", code="no-folder") from error


def _report(error: PalmetteError, as_json: bool) -> None:
    from palmette.llm.secrets import error_json, hider

    if as_json:
        text = json.dumps({"error": error_json(error)}, indent=2, ensure_ascii=False)
        try:
            click.echo(text)
        except OSError:  # a full disk, which is the error being reported
            click.echo(text, err=True)
    else:
        click.echo(hider()(str(error)), err=True)


def _bug(error: Exception) -> DeveloperError:
    from palmette.llm.secrets import hider

    trace = hider()(traceback.format_exc())
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palmette"
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "bug.trace").write_text(trace, encoding="utf-8", errors="backslashreplace")
        remedy = f"The trace for a bug report is in {str(cache / 'bug.trace')!r}, until the next bug."
    except (OSError, RuntimeError):  # nowhere to write, or no home
        remedy = f"The trace for a bug report:\n{trace}"
    return DeveloperError(f"palmette itself failed: {type(error).__name__}: {error}.", remedy, code="bug")
