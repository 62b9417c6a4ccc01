"""Names into models, keys from outside, recordings, a person as the model, and the doctor."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import server as s
from canned import Canned
from test_agent import BAD, GOOD, script, setup

from palmette.cli import main
from palmette.documents import MAX_BYTES
from palmette.engine import ArtefactStore, Journal, RunBudget, Spend, run_topology
from palmette.engine.events import CallAnswered
from palmette.errors import InputError, ModelError, UserError
from palmette.llm import Message, Prompt, Reply, Settings
from palmette.llm.api import price_of
from palmette.llm.cassette import Cassette, RecordedCall, read_cassette, write_cassette
from palmette.llm.opening import ModelChoice, about, models_of, open_models, open_provider
from palmette.llm.relay import Relay
from palmette.llm.secrets import hider, load_secrets


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "OPENAI_COMPATIBLE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PALMETTE_SECRETS", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    yield


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("opnai:gpt-5", "Did you mean 'openai'?"),
        ("gpt-5", "provider:model"),
        ("openai-compatible:x", "OPENAI_COMPATIBLE_BASE_URL"),
        ("replay:nowhere.json", "nowhere.json"),
    ],
)
def test_a_model_that_cannot_be_used_is_named_with_a_remedy(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        open_models(ModelChoice(model=name), tmp_path)
    assert said in str(caught.value)


def test_roles_have_models_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    choice = ModelChoice(model="openai:a", models={"planner": "offline", "writer": "openai:b"}, fallback=("openai:c",))
    opened = open_models(choice, tmp_path)
    assert opened.of("planner") is None
    writer, other = opened.of("writer"), opened.of("other")
    assert writer and other and (writer.name, other.name) == ("openai:b, else openai:c", "openai:a, else openai:c")
    told = about(choice, RunBudget(tokens=5000))
    assert "openai:a; planner: offline; writer: openai:b; else openai:c" in told and "5000 tokens" in told
    assert open_models(ModelChoice(), tmp_path).of("any") is None


def test_a_role_that_nobody_has_is_refused() -> None:
    topology = setup().topology
    models_of(ModelChoice(models={"writer": "a:b", "planner": "a:b"}), topology)
    with pytest.raises(UserError, match="Did you mean 'writer'"):
        models_of(ModelChoice(models={"writter": "a:b"}), topology)


def test_keys_come_from_a_file_that_nobody_else_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secrets.env"
    path.write_text("# mine\nexport A_KEY='one two'\nB_TOKEN=three\n", "utf-8")
    path.chmod(0o600)
    monkeypatch.setenv("PALMETTE_SECRETS", str(path))
    found = {"B_TOKEN": "set before"}
    load_secrets(found)
    assert found == {"A_KEY": "one two", "B_TOKEN": "set before"}
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        load_secrets({})
    path.chmod(0o600)
    (tmp_path / ".git").mkdir()
    with pytest.raises(InputError, match="repository"):
        load_secrets({})


def test_secrets_are_hidden_in_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abcdefgh12345")
    monkeypatch.setenv("KEYBOARD", "a-keyboard-layout")
    assert hider()("abcdefgh12345 on a-keyboard-layout") == "[hidden] on a-keyboard-layout"


def test_a_recording_answers_as_the_model_did(tmp_path: Path) -> None:
    first = run_topology(setup(Canned([BAD, GOOD])), tmp_path / "run")
    write_cassette(tmp_path / "run", tmp_path / "tape.json")
    for place in ("tape.json", "run"):
        provider = open_provider(f"replay:{tmp_path / place}", tmp_path)
        again = run_topology(setup(provider), tmp_path / f"again-{place}")
        assert script(again) == script(first) and len(again.state.actor("writer").attempts) == 1


def test_a_changed_prompt_is_named_and_shown(tmp_path: Path) -> None:
    run_topology(setup(Canned([GOOD])), tmp_path / "run")
    write_cassette(tmp_path / "run", tmp_path / "tape.json")
    changed = Path(tmp_path / "tape.json").read_text("utf-8").replace("Write a script", "Write me a script")
    Path(tmp_path / "tape.json").write_text(changed, "utf-8")
    with pytest.raises(ModelError) as caught:
        run_topology(setup(open_provider(f"replay:{tmp_path / 'tape.json'}", tmp_path)), tmp_path / "again")
    assert caught.value.code == "prompt-changed" and "of writer" in caught.value.message
    assert "-Write me a script that prints this word:\n+Write a script that" in caught.value.message
    assert len(caught.value.message.splitlines()) < 12


def test_a_broken_recording_is_located(tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    path.write_text('{"cassette": 1, "calls": [{"actor": 3}]}', "utf-8")
    with pytest.raises(InputError, match="calls"):
        read_cassette(path)


def test_a_person_brings_the_answer(tmp_path: Path) -> None:
    def bring() -> None:
        prompt = tmp_path / "run/relay/001-prompt.md"
        while not prompt.is_file():
            time.sleep(0.05)
        assert "Write a script" in prompt.read_text("utf-8")
        (prompt.parent / "001-answer.md").write_text(f"My model said:\n\n{GOOD}", "utf-8")

    threading.Thread(target=bring, daemon=True).start()
    result = run_topology(setup(Relay("relay", tmp_path / "run")), tmp_path / "run")
    assert script(result) == 'print("hello")\n'
    cost = result.state.bill["writer", "writer"]
    assert cost.money == 0.0 and result.state.spent.seconds < cost.seconds, "a person's time is not the run's"


def test_a_prompt_that_lies_there_keeps_its_number(tmp_path: Path) -> None:
    relay = tmp_path / "relay"
    relay.mkdir()
    (relay / "001-prompt.md").write_text("another\n", "utf-8")
    (relay / "002-prompt.md").write_text("hello\n", "utf-8")
    (relay / "002-answer.md").write_text("good day", "utf-8")
    prompt = Prompt(role="x", messages=(Message(speaker="user", text="hello"),))
    assert Relay("relay", tmp_path).reply(prompt, Settings()).text == "good day"
    assert len(list(relay.iterdir())) == 3


def test_prices_are_known_or_said_to_be_unknown() -> None:
    known = price_of("openai", "gpt-4o-mini", 1_000_000, 0)
    assert known is not None and known > 0
    assert price_of("openai-compatible", "gpt-4o-mini", 10, 10) is None
    assert price_of("vllm", "qwen", 10, 10) == 0.0


DOCTOR = '```json\n{"total": 42}\n```\n```python script\nprint(17 + 25)\n```'


def test_the_doctor_says_what_works(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with s.serving(s.answers(DOCTOR)) as server:
        monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", server.url)
        with pytest.raises(SystemExit) as ended:
            main(["doctor", "--model", "openai-compatible:test"])
    out = capsys.readouterr().out
    assert ended.value.code == 0, out
    assert "ok  answer" in out and "ok  form" in out and "cost unknown" in out


@pytest.mark.parametrize("behaviour", [s.fails(401), s.answers("I do not know.")])
def test_the_doctor_fails_where_the_model_cannot_be_used(
    behaviour: s.Behaviour, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with s.serving(behaviour) as server:
        monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", server.url)
        with pytest.raises(SystemExit) as ended:
            main(["doctor", "--model", "openai-compatible:test"])
    assert ended.value.code == ModelError.exit_code
    assert "openai-compatible:test" in capsys.readouterr().err


def test_what_was_asked_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_topology(setup(Canned([BAD, GOOD])), tmp_path / "run")
    for arguments, said in (
        (["--calls"], "writer"),
        (["--call", "2"], "Write a script that prints this word"),
        (["--cassette", str(tmp_path / "tape.json")], "2 answers"),
        ([], "$0.24"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["show", str(tmp_path / "run"), *arguments])
        assert ended.value.code == 0 and said in capsys.readouterr().out
    for arguments, read in (
        ([], lambda told: told["models"]["all"]["calls"] == 2),
        (["--call", "2"], lambda told: [call["number"] for call in told["calls"]] == [2]),
    ):
        with pytest.raises(SystemExit):
            main(["show", str(tmp_path / "run"), *arguments, "--json"])
        assert read(json.loads(capsys.readouterr().out))


def test_what_a_person_was_asked_is_shown_and_not_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Journal(tmp_path) as journal:
        store = ArtefactStore(tmp_path)
        request, answer = store.put({"question": "Which?", "about": "the first"}), store.put("the oldest")
        journal.append(
            CallAnswered(actor="", role="author", request=request, answer=answer, spend=Spend(), seconds=1.0)
        )
    for arguments, said in ((["--calls"], "the oldest"), (["--call", "1"], '"question": "Which?"')):
        with pytest.raises(SystemExit):
            main(["show", str(tmp_path), *arguments])
        assert said in capsys.readouterr().out
    assert write_cassette(tmp_path, tmp_path / "tape.json").calls == ()
    with pytest.raises(UserError, match="unwritable"):
        write_cassette(tmp_path, tmp_path / "nowhere" / "tape.json")


TOPOLOGY = """
topology: words
start: [writer]
end: [writer]
actors:
  writer: {use: "canned:Writer"}
"""


def test_any_topology_runs_on_a_model_within_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "runs"))
    (tmp_path / "words.yaml").write_text(TOPOLOGY, "utf-8")
    options = ["--model", "openai-compatible:m", "--planner", "offline"]
    with s.serving(s.answers(GOOD)) as server:
        monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", server.url)
        statuses = []
        for tokens in ("20000", "2000"):
            with pytest.raises(SystemExit) as ended:
                main(["run", str(tmp_path / "words.yaml"), *options, "--tokens", tokens])
            statuses.append(ended.value.code)
    told = capsys.readouterr()
    assert statuses == [0, 6] and len(server.asked) == 1
    assert "model: openai-compatible:m\nlimits: 20000 tokens, no limit of money" in told.err
    assert "unknown" in told.out and "does not allow one more call" in told.out


def test_a_recording_may_be_longer_than_what_people_write(tmp_path: Path) -> None:
    message = Message(speaker="user", text="x" * MAX_BYTES)
    call = RecordedCall(actor="", role="writer", messages=(message,), answer=Reply(text="good", model="a:b"))
    (tmp_path / "tape.json").write_text(Cassette(calls=(call,)).model_dump_json(), "utf-8")
    assert read_cassette(tmp_path / "tape.json").calls == (call,)
