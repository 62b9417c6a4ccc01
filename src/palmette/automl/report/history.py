"""What the journal of a run says of its time and cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from palmette.automl.evidence import Charge, Span, Stage, Timeline
from palmette.engine import RunState
from palmette.engine import events as e
from palmette.engine.state import is_after_waiting


@dataclass(frozen=True)
class _Actor:
    artefact: str = ""
    begun: float | None = None
    """None while it is not at work."""
    spans: tuple[Span, ...] = ()
    attempts: int = 0
    failed: int = 0


@dataclass
class _Fold:
    """The events so far; a call that a crash cut short ends with the last event before the next one begins."""

    clock: float = 0.0
    last: float | None = None
    actors: dict[str, _Actor] = field(default_factory=dict)

    def take(self, entry: e.Entry) -> None:
        event, before = entry.event, self.clock
        if self.last is not None and not is_after_waiting(event):
            self.clock += max(0.0, entry.at - self.last)
        self.last = entry.at
        if isinstance(event, e.RunResumed):
            for name in self.actors:
                self._end(name, before)
            return
        name = getattr(event, "actor", "")
        actor = self.actors.get(name, _Actor())
        match event:
            case e.InvocationStarted():
                self.actors[name] = replace(actor, begun=self.clock)
            case e.AttemptSucceeded():
                self.actors[name] = replace(actor, attempts=actor.attempts + 1)
            case e.AttemptFailed():
                self.actors[name] = replace(actor, attempts=actor.attempts + 1, failed=actor.failed + 1)
            case e.ActorSucceeded():
                self.actors[name] = replace(actor, artefact=event.artefact)
                self._end(name, self.clock)
            case e.ActorFailed():
                self._end(name, self.clock)

    def _end(self, name: str, at: float) -> None:
        actor = self.actors[name]
        if actor.begun is not None:
            span = Span(actor.begun, max(0.0, at - actor.begun))
            self.actors[name] = replace(actor, begun=None, spans=(*actor.spans, span))


def timeline(entries: Sequence[e.Entry]) -> Timeline:
    """Every actor that was at work, with each of its calls."""
    fold = _Fold()
    for entry in entries:
        fold.take(entry)
    stages = [Stage(name, one.artefact, one.spans, one.attempts, one.failed) for name, one in fold.actors.items()]
    at_work = sorted((stage for stage in stages if stage.spans), key=lambda stage: stage.spans[0].start)
    return Timeline(fold.clock, tuple(at_work), _covered(_asked(entries)))


def _asked(entries: Iterable[e.Entry]) -> Iterator[tuple[float, float]]:
    """When a language model was waited for: from, to."""
    for entry in entries:
        event = entry.event
        if isinstance(event, e.CallFailed) or (isinstance(event, e.CallAnswered) and not event.by_person):
            yield entry.at - event.seconds, entry.at


def _covered(times: Iterable[tuple[float, float]]) -> float:
    """Seconds within any of the times, each once."""
    covered, end = 0.0, float("-inf")
    for start, stop in sorted(times):
        covered += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return covered


def bill(state: RunState) -> tuple[Charge, ...]:
    """What language models have cost, by actor and role."""
    return tuple(Charge(actor, role, cost.spend, cost.seconds) for (actor, role), cost in state.bill.items())
