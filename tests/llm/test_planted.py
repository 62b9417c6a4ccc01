"""Secrets are planted wherever a run could meet one; afterwards they are in nothing that it has left or said."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import server as s
from canned import Script, Writer, code

from palmette.cli import main
from palmette.documents import Model
from palmette.engine import Actor, Attempt, Context, Setup, Topology, Verdict, Violation, run_topology
from palmette.engine.topology import Node
from palmette.errors import ModelError, PalmetteError
from palmette.llm import Section, api, section
from palmette.llm.cassette import write_cassette
from palmette.llm.opening import ModelChoice, open_models
from palmette.planners.offline import OfflinePlanner
from palmette.sandbox import Sandbox
from palmette.sandbox.process import python_command

PLANTED: Mapping[str, str] = {
    "OPENAI_COMPATIBLE_API_KEY": "sk-planted-0123456789abcdef",
    "ANTHROPIC_API_KEY": "sk-ant-planted-aaaaaaaa",
    "AWS_SECRET_ACCESS_KEY": "planted/aws+secret/bbbbbbbb",
    "AWS_SESSION_TOKEN": "planted-session-cccccccc",
    "GITHUB_TOKEN": "ghp_planteddddddddd",
    "PGPASSWORD": "planted-postgres-eeee",
    "SSH_PASSPHRASE": "planted phrase ffff",
    "REGISTRY_AUTH": "planted-registry-gggg",
    "SENTRY_DSN": "https://planted-hhhh@sentry.example/1",
    "SLACK_WEBHOOK_URL": "https://hooks.example/planted-iiii",
    "DATABASE_URL": "postgresql://team:planted-jjjj@db.example/features",
}
"""By variable; of an address, what stands in it is the secret."""
FILED = "planted-in-a-file-kkkk"
SECRETS = (*(value for name, value in PLANTED.items() if name != "DATABASE_URL"), "planted-jjjj", FILED)
SAID = " ".join(SECRETS)
PEEPING = """\
import os, pathlib, sys
print("hello", dict(os.environ))
for place in (pathlib.Path.home(), pathlib.Path.cwd()):
    for path in sorted(place.rglob("*")):
        print(path, path.read_text("utf-8", "replace") if path.is_file() else "")
raise RuntimeError(str(dict(os.environ)))
"""


class Surrounded(Writer):
    """Shows the model a README that a team has spoilt with every one of its secrets."""

    name = "writer"

    def sections(self, input: Writer.Input, context: Context) -> tuple[Section, ...]:
        return (section("word", input.word, *SECRETS, json.dumps(SECRETS), rank=0),)


class Ran(Model):
    said: str


class Runner(Actor):
    """Runs what the model wrote, which prints all that it can reach, and keeps what it printed."""

    name = "runner"
    description = "Runs the script."
    produces = "ran"
    Output = Ran

    class Input(Model):
        script: Script

    def run(self, input: Input, context: Context) -> Attempt[Ran]:
        (context.workspace / "script.py").write_text(input.script.file.text, "utf-8")
        done = Sandbox().run(python_command("script.py"), cwd=context.workspace)
        context.progress(done.stderr)
        return Attempt(Ran(said=f"{done.stdout}\n{done.stderr}"))

    def check(self, input: Input, output: Ran, context: Context) -> Verdict:
        wrong = Violation(code="crashed", message=output.said[-500:], evidence=output.said)
        return Verdict.of([wrong] if "hello" not in output.said else [])


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(api, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(api, "LONGEST_WAIT", 0.02)
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    home = tmp_path / "home"
    (home / ".aws").mkdir(parents=True)
    (home / ".aws" / "credentials").write_text("\n".join(SECRETS), "utf-8")
    (home / "secrets.env").write_text(f"OTHER_API_KEY={FILED}\n", "utf-8")
    (home / "secrets.env").chmod(0o600)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PALMETTE_SECRETS", str(home / "secrets.env"))
    monkeypatch.setenv("OTHER_API_KEY", FILED)  # as the file sets it; so that it goes with the test


def go(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The whole toy run; what it comes to, in words."""
    monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", url)
    models = open_models(ModelChoice(model="openai-compatible:test"), folder)
    nodes = {"writer": Node(use="test:Surrounded", next=("runner",)), "runner": Node(use="test:Runner", retries=1)}
    setup = Setup(
        topology=Topology(topology="planted", start=("writer",), end=("runner",), actors=nodes),
        actors={"writer": Surrounded(models), "runner": Runner()},
        planner=OfflinePlanner(),
    )
    try:
        return run_topology(setup, folder).status
    except PalmetteError as error:
        return str(error)


def require_clean(*texts: str, folder: Path) -> None:
    """No secret in a text or in any file of a folder, plainly or as JSON and reprs write it."""
    with closing(sqlite3.connect(folder / "journal.sqlite")) as connection, connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    read = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert read
    for place, data in {**read, **{f"text {n}": text.encode() for n, text in enumerate(texts)}}.items():
        for secret in SECRETS:
            for form in (secret, json.dumps(secret)[1:-1], secret.replace("/", "\\/")):
                assert form.encode() not in data, (place, secret)


BEHAVIOURS: Mapping[str, tuple[s.Behaviour, ...]] = {
    "a script that prints all that it can reach": (s.answers(code(PEEPING)),),
    "an answer that says every secret": (s.answers(code(f"print('hello')\n# {SAID}", reason=SAID)),),
    "an answer that is none, and says them": (s.answers(SAID),),
    "an error that says them": (s.fails(400, SAID),),
    "headers that come back": (s.echoes_key,),
}


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_no_secret_is_in_what_a_run_leaves_or_says(
    behaviour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    with s.serving(*BEHAVIOURS[behaviour]) as server:
        said = go(folder, server.url, monkeypatch)
    assert server.asked, "the model was asked"
    sent = json.dumps(server.asked)
    write_cassette(folder, folder / "tape.json")
    for arguments in (["show", str(folder)], ["show", str(folder), "--json"]):
        with pytest.raises(SystemExit):
            main(arguments)
    out = capfd.readouterr()
    require_clean(said, sent, out.out, out.err, folder=folder)


def raising(failure: Exception) -> Callable[..., None]:
    def fails(*_: Any, **__: Any) -> None:
        raise failure

    return fails


def test_no_secret_is_in_an_error_or_a_trace(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for failure in (ModelError(SAID, code="x"), RuntimeError(SAID)):
        monkeypatch.setattr("palmette.cli.cli.main", raising(failure))
        for arguments in ([], ["--json"]):
            with pytest.raises(SystemExit):
                main(arguments)
    out = capfd.readouterr()
    trace = (tmp_path / "palmette" / "bug.trace").read_text("utf-8")
    assert "RuntimeError" in trace and "RuntimeError" in out.err
    for text in (out.out, out.err, trace):
        assert not [secret for secret in SECRETS if secret in text]
