"""Spans of whole runs, as a collector on loopback gets them over OTLP/HTTP."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import server as s
from canned import Canned, Writer, code, models
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from test_agent import BAD, GOOD, script, setup

from palmette.cli import main
from palmette.documents import Model
from palmette.engine import Observer, Setup, Topology, resume_run, run_topology
from palmette.engine.topology import Node
from palmette.errors import MachineError, ModelError, UserError
from palmette.llm import Models, Prompt, Reply, Settings, telemetry
from palmette.llm.cassette import write_cassette
from palmette.llm.opening import ModelChoice, open_models, open_provider
from palmette.llm.relay import Relay
from palmette.planners.offline import OfflinePlanner

KEY = "sk-planted-0123456789abcdef"


class Collected:
    """What came: spans by id, and the bytes."""

    def __init__(self, bodies: list[bytes]) -> None:
        self.bodies = b"".join(bodies)
        requests = [ExportTraceServiceRequest.FromString(body) for body in bodies]
        resources = [one for request in requests for one in request.resource_spans]
        self.services = {attributes(one.resource)["service.name"] for one in resources}
        self.spans = [span for r in resources for scope in r.scope_spans for span in scope.spans]

    def tree(self) -> list[str]:
        """Names, indented, in the order of time; behind a name what went wrong."""
        below = defaultdict(list)
        for span in sorted(self.spans, key=lambda span: (span.start_time_unix_nano, span.name)):
            below[span.parent_span_id].append(span)

        def lines(parent: bytes, depth: int) -> Iterator[str]:
            for span in below[parent]:
                wrong = attributes(span).get("error.type", "")
                assert (span.status.code == span.status.STATUS_CODE_ERROR) == bool(wrong)
                yield f"{'  ' * depth}{span.name}{f' ({wrong})' if wrong else ''}"
                yield from lines(span.span_id, depth + 1)

        return list(lines(b"", 0))

    def named(self, name: str) -> list[dict[str, Any]]:
        return [attributes(span) for span in self.spans if span.name == name]


def attributes(of: Any) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        kind = value.WhichOneof("value")
        return [plain(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)

    return {one.key: plain(one.value) for one in of.attributes}


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[], Collected]]:
    """A collector that the setting names; what it got."""
    bodies: list[bytes] = []

    def keep(handler: s.Handler) -> None:
        assert handler.path == "/v1/traces" and handler.headers["Content-Type"] == "application/x-protobuf"
        bodies.append(handler.server.raw)
        handler.send(200, b"", "application/x-protobuf")

    monkeypatch.setenv("HOME", str(tmp_path))
    with s.serving(keep) as server:
        monkeypatch.setenv(telemetry.SETTING, server.url.removesuffix("/v1"))
        yield lambda: Collected(bodies)


def test_a_run_is_a_tree_of_spans(tmp_path: Path, collected: Callable[[], Collected]) -> None:
    run_topology(setup(Canned([BAD, "no code at all", GOOD])), tmp_path / "run")
    got = collected()
    assert got.tree() == [
        "invoke_workflow words",
        "  invoke_agent writer",
        "    attempt 1 (wrong-word)",
        "      chat model",
        "    attempt 2",
        "      chat model",
        "      chat model",
    ]
    assert got.services == {"palmette"} and len({span.trace_id for span in got.spans}) == 1
    (run,), (step,) = got.named("invoke_workflow words"), got.named("invoke_agent writer")
    assert run["gen_ai.operation.name"] == "invoke_workflow" and run["gen_ai.workflow.name"] == "words"
    assert run["gen_ai.conversation.id"] == "run" and run["palmette.status"] == "finished"
    assert step["gen_ai.operation.name"] == "invoke_agent" and step["gen_ai.agent.name"] == "writer"
    assert got.named("chat model")[0] == {
        "gen_ai.conversation.id": "run",
        "gen_ai.operation.name": "chat",
        "gen_ai.agent.name": "writer",
        "gen_ai.provider.name": "canned",
        "gen_ai.request.model": "model",
        "gen_ai.request.temperature": 0.1,
        "gen_ai.request.max_tokens": 8192,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.response.finish_reasons": ["stop"],
        "operation.cost": 0.12,
    }
    inside = {span.span_id: span for span in got.spans}
    for span in got.spans:
        around = inside.get(span.parent_span_id, span)
        slack = 20_000_000  # nanoseconds: durations and instants come from different clocks
        assert around.start_time_unix_nano - slack <= span.start_time_unix_nano
        assert span.start_time_unix_nano <= span.end_time_unix_nano <= around.end_time_unix_nano + slack


class ByWord:
    """Answers for the word that is asked for, the later the shorter; needs a second attempt for `bb`."""

    name = "byword:model"

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return None

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        text = "".join(message.text for message in prompt.messages)
        word = next(word for word in ("aaa", "bb", "c") if f"\n{word}\n" in text)
        threading.Event().wait(0.05 * len(word))
        wrong = word == "bb" and "wrong-word" not in text
        return Reply(text=code(f'print("{"no" if wrong else word}")'), model=self.name)


class EachWriter(Writer):
    """Writes a script for every word of a list."""

    class Input(Model):
        word: str


def test_parallel_branches_keep_their_calls_apart(tmp_path: Path, collected: Callable[[], Collected]) -> None:
    nodes = {"writer": Node.model_validate({"use": "test_telemetry:EachWriter", "for_each": "words as word"})}
    fan_out = Setup(
        topology=Topology(topology="words", start=("writer",), end=("writer",), actors=nodes),
        actors={"writer": EachWriter(models(ByWord()))},
        planner=OfflinePlanner(),
        given={"words": ["aaa", "bb", "c"]},
    )
    assert run_topology(fan_out, tmp_path / "run").status == "finished"
    got = collected()
    of = {span.span_id: attributes(span) for span in got.spans}
    around = [of[span.parent_span_id] for span in got.spans if span.name == "chat model"]
    at = sorted((one["palmette.item"], one["palmette.attempt"]) for one in around)
    assert at == [(0, 1), (1, 1), (1, 2), (2, 1)]
    assert all("operation.cost" not in one for one in got.named("chat model")), "what nobody knows is not free"


def test_whoever_answers_looks_alike(
    tmp_path: Path, collected: Callable[[], Collected], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An API and its fallback, a recording, a person: each a run of its own, and a run without a model."""
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", KEY)
    with s.serving(s.fails(401, f"bad {KEY}")) as down, s.serving(s.answers(GOOD)) as up:
        monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", down.url)
        monkeypatch.setenv("VLLM_BASE_URL", up.url)
        choice = ModelChoice(model="openai-compatible:big", fallback=("vllm:small",))
        run_topology(_setup(open_models(choice, tmp_path / "api")), tmp_path / "api")
    write_cassette(tmp_path / "api", tmp_path / "tape.json")
    replayed = models(open_provider(f"replay:{tmp_path / 'tape.json'}", tmp_path))
    run_topology(_setup(replayed), tmp_path / "replay")
    (tmp_path / "relay/relay").mkdir(parents=True)
    threading.Timer(0.2, (tmp_path / "relay/relay/001-answer.md").write_text, [GOOD, "utf-8"]).start()
    run_topology(_setup(models(Relay("relay", tmp_path / "relay"))), tmp_path / "relay")
    run_topology(setup(), tmp_path / "offline")
    steps = collected().named("invoke_agent writer")
    assert [one["gen_ai.conversation.id"] for one in steps] == ["api", "replay", "relay", "offline"]
    found = [one for one in map(attributes, collected().spans) if one.get("gen_ai.operation.name") == "chat"]
    chats = {one["gen_ai.conversation.id"]: one for one in found}
    told = [(run, one["gen_ai.provider.name"], one["gen_ai.request.model"]) for run, one in chats.items()]
    assert told == [("api", "vllm", "small"), ("replay", "replay", "small"), ("relay", "relay", "relay")]
    assert chats["api"]["palmette.instead_of"] == "openai-compatible:big"


def test_what_fails_is_marked_and_a_resume_makes_no_span_of_what_it_reuses(
    tmp_path: Path, collected: Callable[[], Collected]
) -> None:
    provider = Canned([BAD, ModelError(f"It is down: {KEY}", code="model-failed"), GOOD])
    with pytest.raises(ModelError):
        run_topology(setup(provider), tmp_path / "run")
    resume_run(tmp_path / "run", setup=setup(provider))
    assert collected().tree() == [
        "invoke_workflow words (failed)",
        "  invoke_agent writer (failed)",
        "    attempt 1 (wrong-word)",
        "      chat model",
        "    chat model (model-failed)",
        "invoke_workflow words",
        "  invoke_agent writer",
        "    attempt 1",
        "      chat model",
    ], "what was answered before costs nothing, and makes no span"


def test_nothing_but_names_and_numbers_leaves(tmp_path: Path, collected: Callable[[], Collected]) -> None:
    run_topology(setup(Canned([BAD, GOOD])), tmp_path / "run")
    sent = collected().bodies
    assert b"wrong-word" in sent
    for private in ("goodbye", "hello", "Write a script", "It was asked for", "prints", str(tmp_path)):
        assert private.encode() not in sent, private


@pytest.mark.parametrize("behaviour", [s.endless, s.drops])
def test_of_the_answer_of_a_collector_only_the_status_is_read(
    behaviour: s.Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with s.serving(behaviour) as server:
        monkeypatch.setenv(telemetry.SETTING, server.url.removesuffix("/v1"))
        begun = time.monotonic()
        assert run_topology(setup(Canned([GOOD])), tmp_path / "run").status == "finished"
    assert time.monotonic() - begun < telemetry.PATIENCE and not capfd.readouterr().err


BROKEN = {
    "down": None,
    "refuses": s.fails(401),
    "fails": s.fails(500),
    "hangs": s.hangs(30),
}


@pytest.mark.parametrize("behaviour", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_collector_is_said_once_and_disturbs_nothing(
    behaviour: s.Behaviour | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(telemetry, "PATIENCE", 0.5)
    with s.serving(behaviour or s.drops) as server:
        if behaviour is None:
            server.server_close()
        address = server.url.removesuffix("/v1").replace("://", f"://me:{KEY}@")
        monkeypatch.setenv(telemetry.SETTING, address)
        result = run_topology(setup(Canned([BAD, GOOD])), tmp_path / "run")
    assert script(result) == 'print("hello")\n'
    told = capfd.readouterr()
    assert told.err.count("\n") == 1 and told.err.startswith("telemetry: spans do not reach http://127.0.0.1:")
    assert "The run goes on." in told.err and KEY not in told.out + told.err
    assert len(told.err) < 320 and (behaviour or "connection refused" in told.err)


def test_it_is_off_unless_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(telemetry.SETTING, raising=False)
    with s.serving(s.answers("")) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
        assert isinstance(telemetry.open_telemetry(tmp_path), Observer)
        run_topology(setup(), tmp_path / "run")
    assert not server.asked


@pytest.mark.parametrize(
    ("value", "missing", "code"),
    [
        ("yes", "", "bad-telemetry"),
        ("127.0.0.1:4317", "", "bad-telemetry"),
        ("http://[::1", "", "bad-telemetry"),
        ("http://127.0.0.1:port", "", "bad-telemetry"),
        ("http://127.0.0.1:4318", "opentelemetry.sdk.trace", "no-telemetry"),
    ],
)
def test_a_setting_that_cannot_work_is_said_before_anything_starts(
    value: str,
    missing: str,
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(telemetry.SETTING, value)
    if missing:
        monkeypatch.setitem(__import__("sys").modules, missing, None)
    with pytest.raises(MachineError if missing else UserError) as caught:
        run_topology(setup(), tmp_path / "run")
    assert caught.value.code == code and not (tmp_path / "run").exists()
    (tmp_path / "words.yaml").write_text(json.dumps({"topology": "words", "start": ["writer"]}), "utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "words.yaml")])
    assert ended.value.code == (MachineError if missing else UserError).exit_code
    assert telemetry.SETTING in capsys.readouterr().err


def _setup(models: Models) -> Setup:
    nodes = {"writer": Node(use="canned:Writer")}
    topology = Topology(topology="words", start=("writer",), end=("writer",), actors=nodes)
    return Setup(topology=topology, actors={"writer": Writer(models)}, planner=OfflinePlanner())
