"""A provider that misbehaves: every way ends in a good answer within bounds or a clear error; nothing is paid twice."""

import base64
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import server as s
from canned import ScriptAnswer, Writer, code

from palmette.engine import (
    ArtefactStore,
    Journal,
    RunBudget,
    RunResult,
    Setup,
    Topology,
    resume_run,
    run_environment,
    run_topology,
)
from palmette.engine.recorder import PaidCallCache, Recorder
from palmette.engine.topology import Node
from palmette.errors import ModelError, RunStopped, UserError
from palmette.llm import Message, Models, Prompt, Settings, api
from palmette.llm.opening import ModelChoice, open_models
from palmette.llm.text import estimate_tokens
from palmette.planners.offline import OfflinePlanner

KEY = "sk-planted-0123456789abcdef"
GOOD = code('print("hello")', reason="It was asked for.")
MODEL = "openai-compatible:test"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(api, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(api, "LONGEST_WAIT", 3.0)
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", KEY)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PALMETTE_SECRETS", raising=False)
    yield


def run(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> RunResult:
    """The whole run of the toy writer on the model at `url`; resumed where it has begun."""
    monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", url)
    budget = options.pop("budget", RunBudget())
    folder = tmp_path / "run"
    models = open_models(ModelChoice(model=MODEL, **options), folder)
    again = folder.exists()
    setup = _setup(models, budget)
    return resume_run(folder, setup=setup) if again else run_topology(setup, folder)


def _setup(models: Models, budget: RunBudget) -> Setup:
    nodes = {"writer": Node(use="canned:Writer")}
    return Setup(
        topology=Topology(topology="words", start=("writer",), end=("writer",), actors=nodes),
        actors={"writer": Writer(models)},
        planner=OfflinePlanner(),
        budget=budget,
    )


def script(result: RunResult) -> str:
    assert result.status == "finished", result.reason
    return str(result.value("script")["file"]["text"])


PASSING = {
    "429": s.fails(429),
    "429 with Retry-After": s.fails(429, Retry_After="0"),
    "500": s.fails(500),
    "502 in HTML": s.html(502),
    "503": s.fails(503),
    "HTML instead of JSON": s.html(),
    "JSON cut off": s.cut_json,
    "a dropped connection": s.drops,
    "no choices": s.sends(s.completion([])),
    "choices null": s.sends({**s.completion([]), "choices": None}),
    "wrong types": s.sends({"choices": "many", "usage": 3}),
    "a choice without a message": s.sends(s.completion([{"index": 0}])),
    "a list": s.sends([1, 2]),
    "an empty object": s.sends({}),
    "an error as an answer": s.sends({"error": {"message": "overloaded", "code": 503}}),
    "nothing at all": lambda handler: handler.send(200, b""),
    "broken compression": lambda handler: handler.send(200, b"not gzip", Content_Encoding="gzip"),
    "bytes that are no text": lambda handler: handler.send(200, b'{"choices": "\xff\xfe"}'),
    "Retry-After in the past": s.fails(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    "Retry-After that is none": s.fails(503, Retry_After="soon"),
}


@pytest.mark.parametrize("behaviour", PASSING.values(), ids=PASSING.keys())
def test_what_may_pass_is_tried_again_up_to_a_clear_error_and_after_a_resume(
    behaviour: s.Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "LONGEST_WAIT", 0.02)
    with s.serving(behaviour) as server, pytest.raises(ModelError) as caught:
        run(tmp_path, server.url, monkeypatch)
    assert MODEL in caught.value.message and caught.value.remedy
    assert len(server.asked) == api.TRIES
    with s.serving(behaviour, behaviour, s.answers(GOOD)) as server:
        result = run(tmp_path, server.url, monkeypatch)
    assert script(result) == 'print("hello")\n'
    assert len(server.asked) == 3
    assert result.state.bill["writer", "writer"].calls == 1, "only the exchange that gave an answer is paid"


def test_a_provider_that_asks_for_a_long_pause_is_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s.serving(s.fails(429, Retry_After="3600")) as server, pytest.raises(ModelError, match="It was busy, once"):
        run(tmp_path, server.url, monkeypatch)
    assert len(server.asked) == 1


@pytest.mark.parametrize("behaviour", [s.hangs(5), s.drips(5)], ids=["silent", "drop by drop"])
def test_a_model_that_hangs_is_given_up_in_time(
    behaviour: s.Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "TRIES", 2)
    with s.serving(behaviour) as server, pytest.raises(ModelError, match="too long") as caught:
        run(tmp_path, server.url, monkeypatch, settings={"timeout": 0.3})
    assert caught.value.code == "model-timeout" and len(server.asked) == 2


REJECTED = {
    "401": (s.fails(401), "model-key"),
    "403": (s.fails(403), "model-key"),
    "404": (s.fails(404), "model-unknown"),
    "400": (s.fails(400), "model-rejected"),
    "402": (s.fails(402), "model-quota"),
    "413": (s.fails(413), "model-rejected"),
    "451": (s.fails(451), "model-rejected"),
}


@pytest.mark.parametrize(("behaviour", "code"), REJECTED.values(), ids=REJECTED.keys())
def test_what_cannot_pass_is_not_tried_again(
    behaviour: s.Behaviour, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s.serving(behaviour) as server, pytest.raises(ModelError) as caught:
        run(tmp_path, server.url, monkeypatch)
    assert caught.value.code == code and len(server.asked) == 1


def test_why_there_is_no_connection_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s.serving(s.answers(GOOD)) as server, pytest.raises(ModelError, match=r"SSL.*\[model-unreachable\]"):
        run(tmp_path / "other", server.url.replace("http:", "https:"), monkeypatch)
    with pytest.raises(ModelError, match="model-unreachable"):
        run(tmp_path, server.url, monkeypatch)


@pytest.mark.parametrize("address", ["ftp://me:{}@proxy.example", "http://me:{}/x@proxy.example:80"])
def test_a_proxy_that_is_no_address_is_a_mistake_of_the_setting(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", address.format("planted-passw0rd"))
    with pytest.raises(UserError) as caught:
        run(tmp_path, "http://model.example/v1", monkeypatch)
    assert caught.value.code == "model-setup" and "PROXY" in caught.value.remedy
    assert "planted" not in str(caught.value)


def test_a_proxy_that_shows_what_it_was_sent_shows_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither as the address has it, nor decoded, nor as the header carries it."""

    def shows(handler: s.Handler) -> None:
        sent = str(handler.headers["Proxy-Authorization"])
        meant = base64.b64decode(sent.partition(" ")[2]).decode()
        handler.send(400, f"{sent} is {meant} or planted%40passw0rd".encode(), "text/plain")

    with s.serving(shows) as proxy, pytest.raises(ModelError) as caught:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//me:planted%40passw0rd@").removesuffix("/v1"))
        run(tmp_path, "http://model.example/v1", monkeypatch)
    assert caught.value.message.count("[hidden]") == 3 and "planted" not in caught.value.message


USABLE = {
    "prose around the code": f"Certainly! Here is the script.\n\n{GOOD}\nI hope this helps.",
    "a bare block": '```python\nprint("hello")\n```',
    "a block of another name": '```py\nprint("hello")\n```',
    "Windows line ends": GOOD.replace("\n", "\r\n"),
    "a byte order mark": "\ufeff" + GOOD,
    "typographic quotes around keys": "{“reason”: “It was asked for.”}\n" + code('print("hello")'),
    "invisible characters in code": code('print(\u200b"hello")'),
    "spaces that are none": code('print("hello")\u00a0'),
    "half a character": GOOD.replace("asked", "asked \ud83d"),
    "reasoning before the answer": f"<think>\nMaybe ```python\nx = 1\n``` or so.\n</think>\n\n{GOOD}",
    "code in the JSON": '{"script": "print(\\"hello\\")\\n"}',
    "an example in another language": "```bash\npython script.py\n```\n" + GOOD,
}


@pytest.mark.parametrize("text", USABLE.values(), ids=USABLE.keys())
def test_answers_that_are_good_enough(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s.serving(s.answers(text)) as server:
        assert script(run(tmp_path, server.url, monkeypatch)).strip() == 'print("hello")'
    assert len(server.asked) == 1


UNUSABLE = {
    "several code blocks": ('```python\nprint("a")\n```\n```python\nprint("b")\n```', "2 python blocks"),
    "the wrong language": ("```scala\nval x = 1\n```", "'scala'"),
    "code that does not parse": ("```python\nprint(\n```", "does not parse"),
    "typographic quotes in code": ("```python\nprint(“hello”)\n```", "typographic quotes"),
    "no code": ("I would print it.", "There is no python block"),
    "code that reads otherwise than it runs": (code('print("hello")  # \u202e)"eyb"(tnirp'), "U+202E"),
    "code with a zero byte": ("```python\nprint('\0')\n```", "null bytes"),
    "brackets of another script": ('```python\nprint（"hello"）\n```', "U+FF08"),
    "no closing fence": ('```python script\nprint("hello")', "no closing fence"),
    "two objects": ('{"reason": "a"} {"reason": "b"}\n' + code("x = 1"), "2 JSON objects"),
    "malformed JSON": ('```json\n{"reason": }\n```\n' + code("x = 1"), "not JSON"),
    "a wrong type": ('```json\n{"reason": ["a"]}\n```\n' + code("x = 1"), "reason"),
    "nothing": ("", "empty"),
}


@pytest.mark.parametrize(("text", "said"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_answers_that_are_sent_back(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s.serving(s.answers(text), s.answers(GOOD)) as server:
        result = run(tmp_path, server.url, monkeypatch)
    assert script(result) == 'print("hello")\n'
    assert said in server.asked[1]["messages"][-1]["content"]
    assert result.state.bill["writer", "writer"].calls == len(server.asked) == 2


def test_a_truncated_answer_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s.serving(s.answers(GOOD, "length"), s.answers(GOOD)) as server:
        assert script(run(tmp_path, server.url, monkeypatch)) == 'print("hello")\n'
    assert "was cut off" in server.asked[1]["messages"][-1]["content"]
    assert GOOD not in str(server.asked[1]["messages"]), "what was cut off is not paid for again"


REFUSALS = {
    "content filter": s.answers("", "content_filter"),
    "a refusal field": s.answers(None, refusal="I cannot help with that."),
}


@pytest.mark.parametrize("behaviour", REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refusal_stops_the_run_and_says_so(
    behaviour: s.Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s.serving(behaviour) as server:
        result = run(tmp_path, server.url, monkeypatch)
    assert result.status == "stopped" and "declined" in result.reason and len(server.asked) == 1


def test_the_same_wrong_fix_goes_to_the_planner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s.serving(s.answers(code('print("bye")', fix="Now it is right."))) as server:
        result = run(tmp_path, server.url, monkeypatch)
    assert result.status == "stopped" and len(server.asked) == 2


def test_the_next_model_answers_where_one_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s.serving(s.fails(401)) as down, s.serving(s.answers(GOOD)) as up:
        monkeypatch.setenv("VLLM_BASE_URL", up.url)
        result = run(tmp_path, down.url, monkeypatch, fallback=["vllm:other"])
        assert script(result) == 'print("hello")\n'
        assert script(run(tmp_path, down.url, monkeypatch, fallback=["vllm:other"]))
    assert len(down.asked) == len(up.asked) == 1


DOWN = {
    "429": s.fails(429),
    "500": s.fails(500),
    "an account used up": s.fails(402),
    "HTML": s.html(),
    "silence": s.hangs(2),
}


@pytest.mark.parametrize("behaviour", DOWN.values(), ids=DOWN.keys())
def test_a_fallback_answers_where_the_first_model_does_not(
    behaviour: s.Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "TRIES", 2)
    with s.serving(behaviour) as down, s.serving(s.answers("no code"), s.answers(GOOD)) as up:
        monkeypatch.setenv("VLLM_BASE_URL", up.url)
        result = run(tmp_path, down.url, monkeypatch, fallback=["vllm:other"], settings={"timeout": 0.3})
    assert script(result) and result.state.bill["writer", "writer"].calls == len(up.asked) == 2


def test_when_nobody_answers_all_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s.serving(s.fails(401)) as first, s.serving(s.fails(404)) as second, pytest.raises(ModelError) as caught:
        monkeypatch.setenv("VLLM_BASE_URL", second.url)
        run(tmp_path, first.url, monkeypatch, fallback=["vllm:other"])
    assert MODEL in caught.value.message and "vllm:other" in caught.value.message


@pytest.mark.parametrize("behaviour", [s.echoes_key, s.fails(400, f"bad {KEY}"), s.answers(f"Your key is {KEY}.")])
def test_no_key_reaches_a_journal_or_an_error(
    behaviour: s.Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    said = ""
    with s.serving(behaviour) as server:
        try:
            said = run(tmp_path, server.url, monkeypatch).reason
        except ModelError as error:
            said = str(error)
    assert said and KEY not in said
    out = capfd.readouterr()
    assert KEY not in out.out + out.err
    with sqlite3.connect(tmp_path / "run" / "journal.sqlite") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    for path in (tmp_path / "run").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_parallel_calls_share_the_connections_and_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(handler: s.Handler) -> None:
        time.sleep(0.2)
        s.answers(GOOD)(handler)

    def ask(number: int) -> bool:
        prompt = Prompt(role="writer", messages=(Message(speaker="user", text=f"Write number {number}."),))
        try:
            answerer.ask(prompt, ScriptAnswer, ledger.payer("writer"))
        except RunStopped:
            return False
        return True

    with s.serving(slowly) as server, Journal(tmp_path) as journal, ThreadPoolExecutor(8) as pool:
        monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", server.url)
        answerer = open_models(ModelChoice(model=MODEL, settings=Settings(max_tokens=100)), tmp_path).of("writer")
        assert answerer
        # Each may take 114 tokens: a prompt of about 14, and an answer of at most 100.
        ledger = PaidCallCache(Recorder(journal, (), RunBudget(tokens=500)), ArtefactStore(tmp_path))
        begun = time.monotonic()
        done = list(pool.map(ask, range(8)))
        assert time.monotonic() - begun < 2, "side by side"
    assert done.count(True) == len(server.asked) == 4
    assert ledger.recorder.state.spent.spend.tokens <= 500


def usage(count: int) -> dict[str, int]:
    return {"prompt_tokens": count, "completion_tokens": count, "total_tokens": count}


@pytest.mark.parametrize("counted", [None, usage(-5), usage(10**30)], ids=["none", "negative", "endless"])
def test_tokens_that_nobody_counts_are_estimated(
    counted: dict[str, int] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = s.completion([{"index": 0, "message": {"role": "assistant", "content": GOOD}}])
    with s.serving(s.sends({**body, "usage": counted})) as server:
        spend = run(tmp_path, server.url, monkeypatch).state.spent.spend
    (asked,) = server.asked
    assert spend.input_tokens == sum(estimate_tokens(message["content"]) for message in asked["messages"])
    assert spend.output_tokens == estimate_tokens(GOOD)


def test_a_run_without_limits_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an endless conversation would cost is bounded, and the message says how to go on."""
    greedy = {**s.completion([{"index": 0, "message": {"role": "assistant", "content": code('print("bye")')}}])}
    greedy["usage"] = {"prompt_tokens": 390_000, "completion_tokens": 5000, "total_tokens": 395_000}
    (tmp_path / "words.yaml").write_text(WORDS, "utf-8")
    arguments = {"topology": str(tmp_path / "words.yaml"), "model": MODEL, "planner": "offline"}
    with s.serving(s.sends(greedy), s.answers(GOOD)) as server:
        monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", server.url)
        result = run_environment("topology", arguments, tmp_path / "run")
        assert result.status == "stopped" and len(server.asked) == 1
        assert "The budget of 400000 tokens does not allow one more call: 395000 are spent" in result.reason
        assert "Raise this limit, or resume" in result.reason
        assert resume_run(tmp_path / "run").status == "finished"


WORDS = 'topology: words\nstart: [writer]\nend: [writer]\nactors: {writer: {use: "canned:Writer"}}\n'


def test_what_is_asked_follows_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s.serving(s.answers(GOOD)) as server:
        run(tmp_path, server.url, monkeypatch, settings={"temperature": 0.7, "max_tokens": 321})
    (asked,) = server.asked
    assert asked["temperature"] == 0.7
    assert 321 in (asked.get("max_tokens"), asked.get("max_completion_tokens"))
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert asked["model"] == "test"
