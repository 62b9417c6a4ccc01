"""Nothing that comes from elsewhere steers the terminal: names of files and columns, values, messages of others."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from palmette.cli.screen import print_table
from palmette.cli.terminal import harmless

TITLE = "\x1b]0;owned\x07"


@given(st.text(alphabet="\x00\x07\x08\x1b[]0;1m2KJ\r\na\x9b\u202e\ud800\n"))
def test_only_our_own_styles_get_through(text: str) -> None:
    shown = harmless(text)
    rest = shown
    for ours in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\r\n"):
        rest = rest.replace(ours, "")
    assert rest.replace("\n", "").isprintable()
    assert harmless(shown) == shown
    shown.encode()


def test_a_file_name_does_not_reach_the_terminal_as_it_is(tmp_path: Path) -> None:
    """On a terminal of its own; into a pipe goes what is meant to be read by programs."""
    command = [sys.executable, "-m", "palmette", "topology", f"{TITLE}\x1b[2J.yaml"]
    ours, theirs = pty.openpty()
    try:
        subprocess.run(command, cwd=tmp_path, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, timeout=120)
        seen = os.read(ours, 100_000).decode()
    finally:
        os.close(theirs)
        os.close(ours)
    assert "<U+001B>]0;owned<U+0007>" in seen or r"\x1b]0;owned\x07" in seen, seen
    assert TITLE not in seen and "\x1b[2J" not in seen


@pytest.mark.parametrize("text", ["plain 😀 שלום", "\x1b[1mbold\x1b[0m\n"])
def test_what_is_ours_stays(text: str) -> None:
    assert harmless(text) == text


def test_a_current_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    here = tmp_path / "gone"
    here.mkdir()
    command = ["sh", "-c", f"rmdir ../gone && exec {sys.executable} -m palmette predict latest --input a.csv"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and done.stderr == "The current folder is gone. Change to another: cd [no-folder]\n"


def test_an_answer_that_cannot_be_written_is_an_error_that_is_told() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        command = [sys.executable, "-m", "palmette", "show", "nothing-of-this-name", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 2 and '"code": "unknown-run"' in done.stderr and "Traceback" not in done.stderr


def test_a_table_on_a_terminal_has_no_codes_but_ours() -> None:
    @click.command()
    def command() -> None:
        print_table(("name", "rows"), [("a", 1)])

    shown = CliRunner().invoke(command, color=True).output
    assert "\x1b[2m" in shown and harmless(shown) == shown
