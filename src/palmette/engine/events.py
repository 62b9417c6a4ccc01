"""Everything that can happen in a run. The journal is a sequence of these; `RunState` is their fold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from palmette.documents import Model
from palmette.engine.actor import Measurement, Verdict, Violation
from palmette.engine.calls import Spend


class RunOpened(Model):
    """The first event: all that is needed to open the run again."""

    kind: Literal["run_opened"] = "run_opened"
    environment: str
    """Registered name of the environment; empty when the run was put together in code."""
    arguments: dict[str, JsonValue]
    """What the environment was opened with."""
    version: str
    """Of palmette."""


class RunStarted(Model):
    """The environment is open: what it gave."""

    kind: Literal["run_started"] = "run_started"
    topology: str
    """The topology as JSON."""
    given: dict[str, str]
    """Artefacts that exist before the first step, with their digests."""
    seed: int


class RunResumed(Model):
    kind: Literal["run_resumed"] = "run_resumed"
    version: str


class ArtefactEdited(Model):
    """An artefact has a new version that no actor made."""

    kind: Literal["artefact_edited"] = "artefact_edited"
    artefact: str
    digest: str
    by: Literal["person", "environment"]
    """In the run folder; or a given artefact whose source has changed."""
    actor: str = ""
    """Whose output it is; empty for a given artefact."""
    verdict: Verdict | None = None
    """Of that actor's criterion on the edited output; None when it is going to be redone anyway."""


class Decided(Model):
    """The planner's decision, permitted and carried out."""

    kind: Literal["decided"] = "decided"
    next: str
    target: str
    """Whom `instruction` is for; further along the way than `next`, at times."""
    instruction: str = ""
    diagnosis: str = ""
    evidence: tuple[Violation, ...] = ()
    question: str = ""
    then: tuple[str, ...] = ()
    """Whom the planner means to go to afterwards."""


class DecisionRefused(Model):
    """The planner decided what the topology does not permit."""

    kind: Literal["decision_refused"] = "decision_refused"
    next: str
    reason: str


class InvocationStarted(Model):
    kind: Literal["invocation_started"] = "invocation_started"
    actor: str
    inputs: dict[str, str]
    """Artefact to digest."""
    instruction: str = ""


class AttemptFailed(Model):
    kind: Literal["attempt_failed"] = "attempt_failed"
    actor: str
    item: int | None = None
    """Element of a fan-out."""
    number: int
    """1-based, within the invocation."""
    reason: str
    fix: str
    violations: tuple[Violation, ...]
    measurements: tuple[Measurement, ...] = ()
    """What was measured on the output that was refused."""
    output: str | None = None
    """Digest of the output that was refused."""
    seconds: float


class AttemptSucceeded(Model):
    """An attempt met the criterion; of a fan-out, one element is done."""

    kind: Literal["attempt_succeeded"] = "attempt_succeeded"
    actor: str
    item: int | None = None
    key: str
    """Digest of everything that this output depends on, the instruction aside."""
    output: str
    verdict: Verdict
    reason: str = ""
    fix: str = ""
    seconds: float


class ActorSucceeded(Model):
    """The actor's output is the new version of its artefact."""

    kind: Literal["actor_succeeded"] = "actor_succeeded"
    actor: str
    artefact: str
    key: str
    inputs: dict[str, str]
    """Artefact to digest."""
    output: str
    verdict: Verdict
    seconds: float
    """Of the whole invocation, failed attempts included."""


class ActorFailed(Model):
    """All attempts are used up, or the actor handed over to the planner."""

    kind: Literal["actor_failed"] = "actor_failed"
    actor: str
    key: str
    inputs: dict[str, str]
    violations: tuple[Violation, ...]
    reason: str
    seconds: float
    """Of the whole invocation."""


class ActorReused(Model):
    """A fresh actor was walked again, at no cost."""

    kind: Literal["actor_reused"] = "actor_reused"
    actor: str


class ActorUndone(Model):
    """What an actor had made outside of the run folder is not there any more: it is made again."""

    kind: Literal["actor_undone"] = "actor_undone"
    actor: str


class CallAnswered(Model):
    """A paid call was answered; an equal request is answered from here."""

    kind: Literal["call_answered"] = "call_answered"
    actor: str
    """Who asked: an actor, `planner`, or empty while the environment was opened."""
    item: int | None = None
    """Element of a fan-out."""
    role: str
    """As which part it was answered."""
    request: str
    """Digest of what was asked, and the key of the answer."""
    answer: str
    """Digest."""
    spend: Spend
    by_person: bool = False
    """A person gave the answer."""
    seconds: float


LOST = "call-lost"
"""Code of a call that was under way when the run was cut off: whether it was answered, and paid for, is not known."""


class CallFailed(Model):
    """A paid call was not answered; it is made again when somebody asks again."""

    kind: Literal["call_failed"] = "call_failed"
    actor: str
    item: int | None = None
    role: str
    request: str
    """Digest of what was asked."""
    code: str
    """Of the error."""
    seconds: float


Asker = Literal["planner", "actor", "approval"]


class HumanAsked(Model):
    kind: Literal["human_asked"] = "human_asked"
    question: str
    by: Asker
    actor: str = ""
    """Whom the question is about."""


class HumanAnswered(Model):
    kind: Literal["human_answered"] = "human_answered"
    question: str
    answer: str | None
    """None: help is not available."""
    by: Asker
    actor: str = ""


class Approved(Model):
    """A person agreed to an invocation with exactly these inputs."""

    kind: Literal["approved"] = "approved"
    actor: str
    key: str


class BudgetReached(Model):
    kind: Literal["budget_reached"] = "budget_reached"
    limit: str
    """Which one, with its value."""


class RunEnded(Model):
    """This process stopped working on the run; it can be resumed unless it is finished."""

    kind: Literal["run_ended"] = "run_ended"
    status: Literal["finished", "stopped", "failed", "interrupted"]
    reason: str = ""


Event = (
    RunOpened
    | RunStarted
    | RunResumed
    | ArtefactEdited
    | Decided
    | DecisionRefused
    | InvocationStarted
    | AttemptFailed
    | AttemptSucceeded
    | ActorSucceeded
    | ActorFailed
    | ActorReused
    | ActorUndone
    | CallAnswered
    | CallFailed
    | HumanAsked
    | HumanAnswered
    | Approved
    | BudgetReached
    | RunEnded
)

EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])
"""Reads an event from its JSON."""


class Entry(Model):
    """An event at its place in the journal."""

    seq: int
    """1-based."""
    at: float
    """Seconds since the epoch; never less than of the event before in the same process, whatever the clock does."""
    event: Annotated[Event, Field(discriminator="kind")]
