"""Every provider by the protocol it publishes: what it is sent, what is read and counted, what its errors come to."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import server as s
from canned import code
from converse import BEDROCK
from protocols import (
    ANTHROPIC,
    AZURE,
    COMPATIBLE,
    GOOGLE,
    KEY,
    LMSTUDIO,
    OLLAMA,
    OPENAI,
    OPENROUTER,
    TAKEN,
    TOLD,
    VLLM,
    Protocol,
)
from test_agent import script
from test_misbehaviour import _setup

from palmette.cli import main
from palmette.engine import RunBudget, RunResult, run_topology
from palmette.errors import MachineError, ModelError, UserError
from palmette.llm import api
from palmette.llm.opening import ModelChoice, open_models

GOOD = code('print("hello")', reason="It was asked for.")
PROTOCOLS = (OPENAI, AZURE, OLLAMA, VLLM, LMSTUDIO, COMPATIBLE, OPENROUTER, ANTHROPIC, GOOGLE, BEDROCK)
Serve = Callable[..., AbstractContextManager[s.Server]]
of = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: one.model.partition(":")[0])
foreign = pytest.mark.parametrize("protocol", [ANTHROPIC, GOOGLE, BEDROCK], ids=lambda one: one.model.partition(":")[0])


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Serve]:
    """Starts a server that a protocol's variables lead to."""
    monkeypatch.setattr(api, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(api, "LONGEST_WAIT", 3.0)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PALMETTE_SECRETS", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "GEMINI_API_KEY", "AWS_MAX_ATTEMPTS"):
        monkeypatch.delenv(name, raising=False)

    @contextmanager
    def started(protocol: Protocol, *behaviours: s.Behaviour) -> Iterator[s.Server]:
        with s.serving(*behaviours) as server:
            url = server.url.removesuffix("/v1")
            for name, value in protocol.environment(url).items():
                monkeypatch.setenv(name, value)
            if protocol is OPENROUTER:  # its place cannot be set
                from pydantic_ai.providers.openrouter import OpenRouterProvider

                monkeypatch.setattr(OpenRouterProvider, "base_url", property(lambda self: f"{url}/api/v1"))
            yield server
        assert not server.wrong

    yield started


def run(protocol: Protocol, folder: Path) -> RunResult:
    return run_topology(_setup(open_models(ModelChoice(model=protocol.model), folder), RunBudget()), folder)


@of
def test_an_answer_is_read_and_counted_and_a_bad_one_is_sent_back(
    protocol: Protocol, serve: Serve, tmp_path: Path
) -> None:
    with serve(protocol, protocol.answers("no code"), protocol.answers(GOOD)) as server:
        result = run(protocol, tmp_path / "run")
    assert script(result) == 'print("hello")\n' and len(server.asked) == 2
    spend = result.state.spent.spend
    assert (spend.calls, spend.input_tokens, spend.output_tokens) == (2, 2 * TOLD, 2 * TAKEN)
    free, unknown = protocol in (OLLAMA, VLLM, LMSTUDIO), protocol.model.startswith("openai-compatible")
    assert (spend.money == 0.0) == (free or unknown) and bool(spend.unpriced) == unknown
    assert "could not be used" in str(server.asked[1]), "with the reason"


PASSING = [(protocol, status) for protocol in (ANTHROPIC, GOOGLE, BEDROCK, AZURE) for status in (429, 500, 503)]


@pytest.mark.parametrize(("protocol", "status"), [*PASSING, (ANTHROPIC, 529)])
def test_what_may_pass_is_tried_again_by_us(protocol: Protocol, status: int, serve: Serve, tmp_path: Path) -> None:
    with serve(protocol, protocol.fails(status), protocol.fails(status), protocol.answers(GOOD)) as server:
        result = run(protocol, tmp_path / "run")
    assert script(result) and len(server.asked) == 3 and result.state.spent.spend.calls == 1
    with serve(protocol, protocol.fails(status)) as server, pytest.raises(ModelError) as caught:
        run(protocol, tmp_path / "again")
    assert len(server.asked) == api.TRIES, "retries of the provider's own library would multiply"
    assert protocol.model in caught.value.message and caught.value.remedy


@pytest.mark.parametrize("protocol", [OPENAI, ANTHROPIC, BEDROCK])
def test_retry_after_is_waited_for(
    protocol: Protocol, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = s.pauses_of(monkeypatch)
    with serve(protocol, protocol.fails(429, Retry_After="1"), protocol.answers(GOOD)):
        run(protocol, tmp_path / "run")
    assert pauses == [1.0]


REJECTED = {401: "model-key", 403: "model-key", 404: "model-unknown", 400: "model-rejected"}


@foreign
@pytest.mark.parametrize("status", REJECTED)
def test_what_cannot_pass_is_an_error_at_once(protocol: Protocol, status: int, serve: Serve, tmp_path: Path) -> None:
    with serve(protocol, protocol.fails(status, f"not with {KEY}")) as server, pytest.raises(ModelError) as caught:
        run(protocol, tmp_path / "run")
    assert caught.value.code == REJECTED[status] and len(server.asked) == 1
    assert KEY not in str(caught.value)


TOO_LONG = {
    ANTHROPIC: "prompt is too long: 215000 tokens > 200000 maximum",
    GOOGLE: "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
    BEDROCK: "Input is too long for requested model.",
}


@foreign
def test_a_prompt_that_is_too_long_is_named(protocol: Protocol, serve: Serve, tmp_path: Path) -> None:
    with serve(protocol, protocol.fails(400, TOO_LONG[protocol])), pytest.raises(ModelError) as caught:
        run(protocol, tmp_path / "run")
    assert caught.value.code == "prompt-too-long" and "prompt_tokens" in caught.value.remedy


def test_how_google_says_that_a_key_is_wrong_and_when_to_come_back(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = s.pauses_of(monkeypatch)
    key = GOOGLE.error(400, "API key not valid. Please pass a valid API key.")
    key["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    with serve(GOOGLE, s.sends(key, 400)), pytest.raises(ModelError) as caught:
        run(GOOGLE, tmp_path / "key")
    assert caught.value.code == "model-key"
    busy = GOOGLE.error(429, "Quota exceeded for requests per minute.")
    busy["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}]
    with serve(GOOGLE, s.sends(busy, 429), GOOGLE.answers(GOOD)):
        run(GOOGLE, tmp_path / "busy")
    assert pauses == [1.0]


@foreign
def test_a_truncated_answer_is_never_used_and_a_refusal_stops(protocol: Protocol, serve: Serve, tmp_path: Path) -> None:
    with serve(protocol, protocol.answers(GOOD, "length"), protocol.answers(GOOD)) as server:
        assert script(run(protocol, tmp_path / "cut")) == 'print("hello")\n'
    assert len(server.asked) == 2 and "was cut off" in str(server.asked[1])
    with serve(protocol, protocol.answers("", "refused")) as server:
        result = run(protocol, tmp_path / "refused")
    assert result.status == "stopped" and "declined" in result.reason and len(server.asked) == 1


def test_an_answer_that_google_holds_back_is_a_refusal(serve: Serve, tmp_path: Path) -> None:
    held = GOOGLE.body("", "stop")
    held["candidates"] = [{"finishReason": "SAFETY", "index": 0}]
    with serve(GOOGLE, s.sends(held)) as server:
        result = run(GOOGLE, tmp_path / "run")
    assert result.status == "stopped" and "declined" in result.reason and len(server.asked) == 1


UNREADABLE = {
    "HTML": s.html(),
    "JSON cut off": s.cut_json,
    "a dropped connection": s.drops,
    "an empty object": s.sends({}),
    "a list": s.sends([1, 2]),
}


@foreign
@pytest.mark.parametrize("behaviour", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_is_no_answer_is_tried_again_and_never_paid(
    protocol: Protocol, behaviour: s.Behaviour, serve: Serve, tmp_path: Path
) -> None:
    with serve(protocol, behaviour, protocol.answers(GOOD)) as server:
        result = run(protocol, tmp_path / "run")
    assert script(result) and len(server.asked) == 2 and result.state.spent.spend.calls == 1


@pytest.mark.parametrize("protocol", [COMPATIBLE, OPENROUTER, ANTHROPIC, GOOGLE], ids=lambda one: one.model)
def test_an_answer_without_an_end_is_not_read_to_it(
    protocol: Protocol, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is packed, at the first exchange, and over the connections that are made for the second."""
    monkeypatch.setattr("palmette._bounded.MOST", 1 << 20)
    for name, behaviours in (("first", [s.unfolds(2 << 20)]), ("second", [protocol.answers("no code"), s.endless])):
        with serve(protocol, *behaviours) as server, pytest.raises(ModelError, match="longer than 1 MiB") as caught:
            run(protocol, tmp_path / name)
        assert caught.value.code == "answer-endless" and len(server.asked) == len(behaviours)


@pytest.mark.parametrize("protocol", [COMPATIBLE, AZURE, ANTHROPIC, GOOGLE], ids=lambda one: one.model)
def test_no_key_follows_a_redirection(
    protocol: Protocol, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "TRIES", 1)
    with s.serving(protocol.answers(GOOD)) as other:
        elsewhere = other.url.replace("127.0.0.1", "localhost")
        with serve(protocol, s.sends({}, 307, Location=elsewhere)) as server, pytest.raises(ModelError):
            run(protocol, tmp_path / "run")
    assert len(server.asked) == 1 and not other.asked


@foreign
def test_a_model_that_hangs_is_given_up_in_time(
    protocol: Protocol, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "TRIES", 2)
    choice = ModelChoice.model_validate({"model": protocol.model, "settings": {"timeout": 0.4}})
    with serve(protocol, s.hangs(3)) as server, pytest.raises(ModelError) as caught:
        run_topology(_setup(open_models(choice, tmp_path / "run"), RunBudget()), tmp_path / "run")
    assert caught.value.code == "model-timeout" and len(server.asked) == 2


@foreign
def test_nobody_listens(protocol: Protocol, serve: Serve, tmp_path: Path) -> None:
    with serve(protocol, protocol.answers(GOOD)) as server:
        server.server_close()
        with pytest.raises(ModelError) as caught:
            run(protocol, tmp_path / "run")
    assert caught.value.code == "model-unreachable"


DOCTOR = '```json\n{"total": 42}\n```\n```python script\nprint(17 + 25)\n```'


@of
def test_the_doctor_finds_what_a_provider_can_do(
    protocol: Protocol, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(protocol, protocol.answers(DOCTOR)), pytest.raises(SystemExit) as ended:
        main(["doctor", "--model", protocol.model])
    out = capsys.readouterr().out
    assert ended.value.code == 0, out
    for probe in ("answer", "form", "tokens"):
        assert f"ok  {probe}" in out, out


MISSING = {
    "openai:x": ("openai", "openai", "palmette[llm]"),
    "anthropic:x": ("anthropic", "anthropic", "palmette[anthropic]"),
    "google:x": ("google", "google.genai", "palmette[google]"),
    "bedrock:x": ("bedrock", "boto3", "palmette[bedrock]"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_provider_that_is_not_installed_is_named_with_its_extra(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, package, extra = MISSING[name]
    imported = (f"pydantic_ai.models.{kind}", f"pydantic_ai.providers.{kind}", package)
    for module in [one for one in sys.modules if one.startswith(imported)]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MachineError) as caught:
        open_models(ModelChoice(model=name), tmp_path)
    assert caught.value.code == "no-llm" and extra in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY"),
        ("google:gemini-2.5-flash", "GOOGLE_API_KEY"),
        ("azure:gpt-4o-mini", "AZURE_OPENAI_ENDPOINT"),
        ("openrouter:openai/gpt-4o-mini", "OPENROUTER_API_KEY"),
        ("bedrock:amazon.nova-lite-v1:0", "region"),
    ],
)
def test_what_a_provider_lacks_is_named(name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for protocol in PROTOCOLS:
        for variable in protocol.environment(""):
            monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UserError) as caught:
        open_models(ModelChoice(model=name), tmp_path)
    assert caught.value.code == "model-setup" and said in caught.value.message
