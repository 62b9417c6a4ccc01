"""The state of a run: the fold of its events, and the planner's short-term memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from palmette.engine import events as e
from palmette.engine.actor import Measurement, PastAttempt, Spend, Verdict, Violation

Status = Literal["idle", "running", "succeeded", "failed"]


@dataclass(frozen=True)
class Version:
    """The current version of an artefact."""

    digest: str
    number: int  # 1-based
    by: str  # the actor that produced it, or `given`, `person`, `environment`


class SentBack(NamedTuple):
    """A violation that an actor was asked to fix."""

    actor: str
    code: str
    subject: str
    output: str  # digest of the actor's output at that time


@dataclass(frozen=True)
class ActorState:
    """One actor's results and failures."""

    status: Status = "idle"
    key: str = ""  # of the last success; empty if there is none
    inputs: Mapping[str, str] = field(default_factory=dict)  # digests by artefact, of the last invocation
    verdict: Verdict | None = None  # of the last success, or of the edited output
    failure: e.ActorFailed | None = None  # of the latest invocation
    attempts: tuple[PastAttempt, ...] = ()  # all failed attempts of the run, oldest first
    measurements: tuple[Measurement, ...] = ()  # of the last measured attempt
    refused: str | None = None  # digest of the output that the criterion rejected in the last attempt
    done: Mapping[str, e.AttemptSucceeded] = field(default_factory=dict)
    """Successful attempts since the last instruction, by key; they are not computed again."""
    invocations: int = 0
    reuses: int = 0
    seconds: float = 0.0  # spent in attempts, failed ones included


@dataclass(frozen=True)
class Spent:
    """Used budget. A resume after a reached budget starts from zero."""

    steps: int = 0  # decisions of the planner
    attempts: int = 0
    """All failed attempts and the successful ones; of a fan-out only the first element's successes count, so that
    long lists do not use up the budget.
    """
    seconds: float = 0.0  # spent working on the run, without waiting for people
    spend: Spend = field(default_factory=Spend)


@dataclass(frozen=True)
class RunState:
    """The complete state of a run."""

    opened: e.RunOpened | None = None
    header: e.RunStarted | None = None  # None while the environment is being opened
    artefacts: Mapping[str, Version] = field(default_factory=dict)
    supplied: Mapping[str, str] = field(default_factory=dict)
    """Digests of the given artefacts as the environment last supplied them."""
    actors: Mapping[str, ActorState] = field(default_factory=dict)
    position: str | None = None  # the actor visited last; None at the start
    pending: Mapping[str, e.Order] = field(default_factory=dict)  # instructions not yet carried out, by actor
    sent_back: frozenset[SentBack] = frozenset()  # violations that actors were already asked to fix
    answer: e.HumanAnswered | None = None  # the human's last answer to the planner, until a decision uses it
    answers: Mapping[tuple[str, str], str | None] = field(default_factory=dict)
    """People's answers to actors, by actor and question."""
    bill: Mapping[tuple[str, str], Spend] = field(default_factory=dict)
    """Cost of paid calls in the whole run, by actor and role."""
    approved: frozenset[tuple[str, str]] = frozenset()  # approved actors with the key of their inputs
    decisions: int = 0  # decisions of the planner in the whole run, refused ones included
    route: tuple[str, ...] = ()
    """The actors that the planner intends to visit; empty after a failure, an edit or a refusal."""
    refusals: tuple[str, ...] = ()  # why decisions were refused since the last permitted one
    spent: Spent = Spent()  # since the start, or since the resume after a reached budget
    started: float = 0.0  # seconds since the epoch
    last: float = 0.0  # time of the last event
    over_budget: bool = False
    ended: e.RunEnded | None = None  # None while a process works on the run, or if that process was killed

    def actor(self, name: str) -> ActorState:
        return self.actors.get(name, ActorState())

    def output_of(self, actor: str) -> str:
        """Digest of an actor's last output, rejected or not; empty if there is none."""
        refused = self.actor(actor).refused
        if self.actor(actor).status == "failed" and refused:
            return refused
        return next((version.digest for version in self.artefacts.values() if version.by == actor), "")

    def returns(self, actor: str, violation: Violation) -> frozenset[str]:
        """The outputs for which an actor was already asked to fix a violation."""
        about = (actor, violation.code, violation.subject)
        return frozenset(one.output for one in self.sent_back if one[:3] == about)

    @property
    def digests(self) -> dict[str, str]:
        """The current digest of every artefact."""
        return {name: version.digest for name, version in self.artefacts.items()}


def fold(entries: Iterable[e.Entry], state: RunState | None = None) -> RunState:
    """The state after these entries."""
    state = state or RunState()
    for entry in entries:
        state = apply(state, entry)
    return state


def apply(state: RunState, entry: e.Entry) -> RunState:
    """The state after one more event."""
    # The time before some events was spent waiting for a person, or while no process worked on the run.
    waited = isinstance(entry.event, e.RunOpened | e.RunResumed | e.HumanAnswered) or (
        isinstance(entry.event, e.CallAnswered) and entry.event.by_person
    )
    passed = 0.0 if waited else max(0.0, entry.at - state.last)
    state = replace(state, spent=replace(state.spent, seconds=state.spent.seconds + passed))
    return replace(_apply(state, entry.event, entry.at), last=entry.at)


def _apply(state: RunState, event: e.Event, at: float) -> RunState:  # noqa: C901 - one case an event
    match event:
        case e.RunOpened():
            return replace(state, opened=event, started=at)
        case e.RunStarted():
            given = {name: Version(digest, 1, "given") for name, digest in event.given.items()}
            return replace(state, header=event, artefacts=given, supplied=event.given)
        case e.RunResumed():
            return _resumed(state)
        case e.ArtefactEdited():
            return _edited(state, event)
        case e.Decided():
            return _decided(state, event)
        case e.DecisionRefused():
            return replace(_step(state), route=(), refusals=(*state.refusals, event.reason))
        case e.InvocationStarted():
            count = state.actor(event.actor).invocations + 1
            return _changed(state, event.actor, status="running", inputs=event.inputs, refused=None, invocations=count)
        case e.AttemptFailed():
            return _attempt_failed(state, event)
        case e.AttemptSucceeded():
            actor = state.actor(event.actor)
            done, seconds = {**actor.done, event.key: event}, actor.seconds + event.seconds
            return _attempted(_changed(state, event.actor, done=done, seconds=seconds), int(not event.item))
        case e.ActorSucceeded():
            return _succeeded(state, event)
        case e.ActorFailed():
            state = _carried_out(_changed(state, event.actor, status="failed", failure=event), event.actor)
            return replace(state, position=event.actor, route=())
        case e.ActorReused():
            count = state.actor(event.actor).reuses + 1
            return _arrived(_changed(state, event.actor, reuses=count), event.actor)
        case e.ActorUndone():
            return replace(_changed(state, event.actor, key="", done={}), route=())
        case e.HumanAnswered():
            if event.by == "planner":
                return replace(state, answer=event)
            known = {(event.actor, event.question): event.answer} if event.by == "actor" else {}
            return replace(state, answers={**state.answers, **known})
        case e.CallAnswered():
            return _paid(state, event)
        case e.Approved():
            return replace(state, approved=state.approved | {(event.actor, event.key)})
        case e.BudgetReached():
            return replace(state, over_budget=True)
        case e.RunEnded():
            return replace(state, ended=event)
        case e.HumanAsked() | e.CallFailed():
            return state


def _decided(state: RunState, event: e.Decided) -> RunState:
    state = replace(_step(state), route=() if event.question else (event.next, *event.then), refusals=())
    for order in event.orders:
        output = state.output_of(order.actor)
        sent_back = {SentBack(order.actor, found.code, found.subject, output) for found in order.evidence}
        state = replace(
            _changed(state, order.actor, done={}),
            answer=None,
            sent_back=state.sent_back | sent_back,
            pending={**state.pending, order.actor: order},
        )
    return state


def _resumed(state: RunState) -> RunState:
    """Clears the failures that stopped a run, so that it can try again.

    After a reached budget the run continues unchanged: no failure stopped it.
    """
    actors = state.actors
    if state.ended and state.ended.status == "stopped" and not state.over_budget:
        actors = {name: replace(actor, failure=None) for name, actor in actors.items()}
        state = replace(state, route=())
    spent = Spent() if state.over_budget else state.spent
    return replace(state, ended=None, over_budget=False, spent=spent, actors=actors, answer=None, refusals=())


def _edited(state: RunState, event: e.ArtefactEdited) -> RunState:
    number = state.artefacts[event.artefact].number + 1 if event.artefact in state.artefacts else 1
    version = Version(event.digest, number, event.by)
    state = replace(state, artefacts={**state.artefacts, event.artefact: version}, sent_back=frozenset(), route=())
    if event.by == "environment":
        state = replace(state, supplied={**state.supplied, event.artefact: event.digest})
    if event.verdict:
        state = _changed(state, event.actor, verdict=event.verdict)
    return state


def _attempt_failed(state: RunState, event: e.AttemptFailed) -> RunState:
    actor = state.actor(event.actor)
    past = PastAttempt(number=len(actor.attempts) + 1, reason=event.reason, fix=event.fix, violations=event.violations)
    shown = {"measurements": event.measurements or actor.measurements, "refused": event.output or actor.refused}
    attempts, seconds = (*actor.attempts, past), actor.seconds + event.seconds
    return _attempted(_changed(state, event.actor, attempts=attempts, seconds=seconds, **shown))


def _succeeded(state: RunState, event: e.ActorSucceeded) -> RunState:
    old = state.artefacts.get(event.artefact)
    if old is None or old.digest != event.output:
        version = Version(event.output, old.number + 1 if old else 1, event.actor)
        state = replace(state, artefacts={**state.artefacts, event.artefact: version})
    state = _changed(state, event.actor, verdict=event.verdict, measurements=event.verdict.measurements)
    state = _changed(state, event.actor, status="succeeded", failure=None, key=event.key, inputs=event.inputs)
    return _arrived(_carried_out(state, event.actor), event.actor)


def _arrived(state: RunState, actor: str) -> RunState:
    return replace(state, position=actor, route=state.route[1:] if state.route[:1] == (actor,) else state.route)


def _carried_out(state: RunState, actor: str) -> RunState:
    return replace(state, pending={name: what for name, what in state.pending.items() if name != actor})


def _step(state: RunState) -> RunState:
    return replace(state, decisions=state.decisions + 1, spent=replace(state.spent, steps=state.spent.steps + 1))


def _attempted(state: RunState, count: int = 1) -> RunState:
    return replace(state, spent=replace(state.spent, attempts=state.spent.attempts + count))


def _paid(state: RunState, event: e.CallAnswered) -> RunState:
    who, cost = (event.actor, event.role), event.spend.model_copy(update={"seconds": event.seconds})
    bill = {**state.bill, who: state.bill.get(who, Spend()).plus(cost)}
    return replace(state, bill=bill, spent=replace(state.spent, spend=state.spent.spend.plus(event.spend)))


def _changed(state: RunState, name: str, **changes: Any) -> RunState:
    """The state with these changes of an actor's."""
    return replace(state, actors={**state.actors, name: replace(state.actor(name), **changes)})
