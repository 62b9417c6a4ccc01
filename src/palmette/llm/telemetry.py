"""A run as OpenTelemetry spans, by the semantic conventions for generative AI, for any collector.

Off, unless `PALMETTE_TELEMETRY` names an OTLP-over-HTTP collector, e.g. `http://127.0.0.1:4318`. Spans are
derived from the journal's events, so APIs, relay and replay look alike, and reused results make no spans:

    invoke_workflow features          the run, in this process
      chat gpt-4o                     an exchange of the planner, or of the opening environment
      invoke_agent code_generator     a step
        attempt 1
          chat gpt-4o                 an exchange, retries included

Only names, codes, counts and times are sent; never prompts, answers, data or messages.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import HttpUrl, JsonValue, ValidationError

from palmette.engine import ArtefactStore, Entry, Observer, Topology, run_state
from palmette.engine import events as e
from palmette.errors import MachineError, UserError
from palmette.llm.messages import Reply
from palmette.llm.secrets import bare_url

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

SETTING = "PALMETTE_TELEMETRY"
PATIENCE = 3.0  # seconds to wait for the collector at the end of a run
TRACES = "traces"  # the file of a run folder with the ids of its traces, one a line for each process that worked on it

_PATH = "/v1/traces"
_PROVIDERS = {
    "azure": "azure.ai.openai", "bedrock": "aws.bedrock", "google": "gcp.gemini", "google-cloud": "gcp.vertex_ai",
    "mistral": "mistral_ai", "xai": "x_ai",
}  # fmt: skip
"""Providers with another name in the conventions."""
_FINISHED = {"refused": "content_filter"}
_NAMES = ("actor", "next", "artefact", "by", "limit")  # event fields that are names and may be sent

Facts = dict[str, str | int | float | tuple[str, ...]]  # attributes of a span


def open_telemetry(folder: Path) -> Observer:
    """The observer that sends the spans of the run in `folder`; a no-op if the setting is empty.

    Raises:
        UserError: the setting is not a URL (`bad-telemetry`), or packages are missing (`no-telemetry`).
    """
    wanted = os.environ.get(SETTING, "").strip()
    if not wanted:
        return Observer()
    try:
        url = urlsplit(str(HttpUrl(wanted)))
    except ValidationError:
        remedy = "Name a collector that speaks OTLP over HTTP, e.g. http://127.0.0.1:4318, or unset it."
        raise UserError(f"{SETTING} is not the address of a collector.", remedy, code="bad-telemetry") from None
    try:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace  # noqa: F401 - looked for now, used when the run begins
    except ImportError as error:
        message = f"{SETTING} is set, and sending spans needs packages that are not installed."
        remedy = "Run: pip install 'palmette[telemetry]', or unset it."
        raise MachineError(message, remedy, code="no-telemetry") from error
    path = url.path.rstrip("/")
    return Telemetry(url._replace(path=path if path.endswith(_PATH) else path + _PATH).geturl(), folder)


def trace_ids(folder: Path) -> list[str]:
    """The ids of a run's traces, oldest first."""
    path = folder / TRACES
    return path.read_text("ascii").split() if path.is_file() else []


class Telemetry(Observer):
    """Observes one run in one process."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self._steps: dict[str, Span] = {}
        self._calls: dict[tuple[str, int | None], list[Entry]] = defaultdict(list)
        """Exchanges of unfinished attempts, by actor and element of a fan-out."""
        self._failures: Counter[tuple[str, int | None]] = Counter()

    def event(self, entry: Entry) -> None:
        match event := entry.event:
            case e.RunOpened() | e.RunResumed():
                self._open(entry)
            case e.RunStarted():
                self._name()
            case e.InvocationStarted():
                facts: Facts = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": event.actor}
                self._steps[event.actor] = self._begin(f"invoke_agent {event.actor}", entry.at, self._run, facts)
            case e.CallAnswered() | e.CallFailed() if event.actor in self._steps:
                self._calls[event.actor, event.item].append(entry)
            case e.CallAnswered() | e.CallFailed():
                self._call(entry, self._run)
            case e.AttemptSucceeded() | e.AttemptFailed():
                self._attempt(entry.at, event)
            case e.ActorSucceeded() | e.ActorFailed():
                self._end_step(event.actor, entry.at, _codes(event)[:1])
            case e.RunEnded():
                self._close(entry.at, event.status)
            case _:
                named = {name: getattr(event, name) for name in _NAMES if getattr(event, name, None)}
                self._run.add_event(event.kind, named, _nanoseconds(entry.at))

    def _open(self, entry: Entry) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider

        service = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or "palmette"})
        self._store = ArtefactStore(self._folder)
        self._sender = _Sender(self._url)
        self._provider = TracerProvider(resource=service, shutdown_on_exit=False)
        self._provider.add_span_processor(self._sender.processor)
        self._tracer = self._provider.get_tracer("palmette")
        self._run = self._begin("invoke_workflow", entry.at, None, {"gen_ai.operation.name": "invoke_workflow"})
        with (self._folder / TRACES).open("a", encoding="ascii") as file:
            file.write(f"{self._run.get_span_context().trace_id:032x}\n")
        self._name()

    def _name(self) -> None:
        """Names the run by its topology, or by its environment until the topology is known."""
        state = run_state(self._folder)
        name = state.opened.environment if state.opened else ""
        if state.header:
            name = Topology.model_validate_json(state.header.topology).topology
        if name:
            self._run.update_name(f"invoke_workflow {name}")
            self._run.set_attribute("gen_ai.workflow.name", name)

    def _begin(self, name: str, at: float, parent: Span | None, facts: Facts, *, remote: bool = False) -> Span:
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, set_span_in_context

        return self._tracer.start_span(
            name,
            context=set_span_in_context(parent, Context()) if parent else Context(),
            kind=SpanKind.CLIENT if remote else SpanKind.INTERNAL,
            attributes={"gen_ai.conversation.id": self._folder.name, **facts},
            start_time=_nanoseconds(at),
        )

    def _attempt(self, at: float, event: e.AttemptSucceeded | e.AttemptFailed) -> None:
        which = (event.actor, event.item)
        number = 1 + self._failures[which]
        codes = _codes(event)
        facts: Facts = {"gen_ai.agent.name": event.actor, "palmette.attempt": number}
        if event.item is not None:
            facts["palmette.item"] = event.item
        if codes:
            self._failures[which] += 1
            facts["palmette.violations"] = codes
        span = self._begin(f"attempt {number}", at - event.seconds, self._steps[event.actor], facts)
        for call in self._calls.pop(which, []):
            self._call(call, span)
        _end(span, at, codes[:1])

    def _call(self, entry: Entry, parent: Span) -> None:
        """One exchange, as a `chat` span for every provider."""
        event = entry.event
        assert isinstance(event, e.CallAnswered | e.CallFailed)
        answer = self._store.get(event.answer) if isinstance(event, e.CallAnswered) else None
        name, facts = _chat(self._store.get(event.request), answer)
        facts["gen_ai.agent.name"] = event.role
        if isinstance(event, e.CallAnswered) and not event.spend.unpriced:
            facts["operation.cost"] = event.spend.money
        span = self._begin(name, entry.at - event.seconds, parent, facts, remote=True)
        _end(span, entry.at, (event.code,) if isinstance(event, e.CallFailed) else ())

    def _end_step(self, actor: str, at: float, codes: tuple[str, ...]) -> None:
        step = self._steps.pop(actor)
        for which in [which for which in self._calls if which[0] == actor]:
            for call in self._calls.pop(which):  # of interrupted attempts
                self._call(call, step)
        for which in [which for which in self._failures if which[0] == actor]:
            del self._failures[which]
        _end(step, at, codes)

    def _close(self, at: float, status: str) -> None:
        codes = () if status == "finished" else (status,)
        for actor in list(self._steps):
            self._end_step(actor, at, codes)
        self._run.set_attribute("palmette.status", status)
        _end(self._run, at, codes)
        self._sender.close(self._provider)


class _Sender:
    """Sends in the background. An unreachable collector is reported once and does not stop the run."""

    def __init__(self, url: str) -> None:
        from opentelemetry.exporter.otlp.proto.http import trace_exporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from requests import Session

        self._place = bare_url(url)
        self._is_reported = False
        self._log = logging.getLogger(trace_exporter.__name__)
        self._log.filters.insert(0, self._filter)  # before the exporter's own filter, which suppresses repetitions
        session = Session()
        session.hooks["response"].append(lambda answer, **_: answer.close())  # only the status is needed
        self.processor = BatchSpanProcessor(trace_exporter.OTLPSpanExporter(endpoint=url, session=session))

    def close(self, provider: TracerProvider) -> None:
        """Flushes for a limited time."""
        closing = threading.Thread(target=provider.shutdown, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        if closing.is_alive():
            self._report(f"nothing was answered within {PATIENCE:g} s")
        else:
            self._log.removeFilter(self._filter)

    def _filter(self, record: logging.LogRecord) -> bool:
        """Reports the exporter's error once, instead of a line for every attempt."""
        message = record.getMessage()
        cause = re.search(r"\[Errno -?\d+\] ([\w ]+)", message)  # otherwise nested five levels deep
        self._report(cause[1].lower() if cause else " ".join(message.split())[:200].rstrip("."))
        return False

    def _report(self, why: str) -> None:
        if not self._is_reported:
            self._is_reported = True
            print(f"telemetry: spans do not reach {self._place}: {why}. The run goes on.", file=sys.stderr, flush=True)


def _chat(request: JsonValue, answer: JsonValue) -> tuple[str, Facts]:
    """Name and attributes of an exchange, from the request of `Answerer.reply` and the answer, if any."""
    if not (isinstance(request, dict) and "models" in request):
        return "call", {}  # a paid call that is not a model's
    asked, settings = request["models"], request["settings"]
    assert isinstance(asked, list) and isinstance(settings, dict)
    reply = None if answer is None else Reply.model_validate(answer)
    chain = [str(name) for name in asked]
    used = reply.model if reply and reply.model in chain else chain[0]
    provider = used.partition(":")[0]
    named = reply.model if reply else used  # a recording knows the original model
    model = named.partition(":")[2] or named
    facts: Facts = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model,
        "gen_ai.request.temperature": float(str(settings["temperature"])),
        "gen_ai.request.max_tokens": int(str(settings["max_tokens"])),
    }
    if used != chain[0]:
        facts["palmette.instead_of"] = chain[0]
    if reply:
        facts["gen_ai.usage.input_tokens"] = reply.input_tokens
        facts["gen_ai.usage.output_tokens"] = reply.output_tokens
        facts["gen_ai.response.finish_reasons"] = (_FINISHED.get(reply.finish, reply.finish),)
    return f"chat {model}", facts


def _codes(event: e.AttemptSucceeded | e.AttemptFailed | e.ActorSucceeded | e.ActorFailed) -> tuple[str, ...]:
    """The violation codes of an attempt; empty if it succeeded."""
    if isinstance(event, e.AttemptSucceeded | e.ActorSucceeded):
        return ()
    return tuple(dict.fromkeys(violation.code for violation in event.violations)) or ("no-output",)


def _end(span: Span, at: float, codes: tuple[str, ...]) -> None:
    from opentelemetry.trace import Status, StatusCode

    for code in codes:
        span.set_attribute("error.type", code)
        span.set_status(Status(StatusCode.ERROR))
    span.end(_nanoseconds(at))


def _nanoseconds(at: float) -> int:
    return round(at * 1e9)
