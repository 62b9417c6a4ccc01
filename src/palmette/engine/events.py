"""All events of a run. The journal is a sequence of them; `RunState` is their fold."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from palmette.documents import Model
from palmette.engine.actor import Measurement, Spend, Verdict, Violation


class RunOpened(Model):
    """The first event: everything needed to open the run again."""

    kind: Literal["run_opened"] = "run_opened"
    environment: str
    """Registered name of the environment; empty if the setup was built in code."""
    arguments: dict[str, JsonValue]
    """The arguments of the environment."""
    version: str
    """Palmette's version."""


class RunStarted(Model):
    """The environment is open."""

    kind: Literal["run_started"] = "run_started"
    topology: str
    """The topology as JSON."""
    given: dict[str, str]
    """Artefacts that exist before the first step, by name and digest."""
    seed: int
    limits: dict[str, float] = Field(default_factory=dict)
    """Of the budget, by name."""


class RunResumed(Model):
    kind: Literal["run_resumed"] = "run_resumed"
    version: str


class ArtefactEdited(Model):
    """An artefact has a new version that no actor produced."""

    kind: Literal["artefact_edited"] = "artefact_edited"
    artefact: str
    digest: str
    by: Literal["person", "environment"]
    """`person`: edited in the run folder; `environment`: the source of a given artefact has changed."""
    actor: str = ""
    """Its producer; empty for a given artefact."""
    verdict: Verdict | None = None
    """The producer's criterion on the edited output; None if the producer will run again anyway."""


class Order(Model):
    """An instruction of the planner to an actor."""

    actor: str
    instruction: str = ""
    evidence: tuple[Violation, ...] = ()


class Decided(Model):
    """A permitted decision of the planner."""

    kind: Literal["decided"] = "decided"
    next: str
    target: str
    """The actor that `instruction` is for; it may come later than `next`."""
    instruction: str = ""
    diagnosis: str = ""
    evidence: tuple[Violation, ...] = ()
    also: tuple[Order, ...] = Field(default=(), exclude_if=lambda value: not value)
    """Instructions to other actors, which run again on the way."""
    question: str = ""
    then: tuple[str, ...] = ()
    """The actors that the planner intends to visit afterwards."""

    @property
    def orders(self) -> tuple[Order, ...]:
        """All instructions."""
        own = Order(actor=self.target, instruction=self.instruction, evidence=self.evidence)
        return (*((own,) if self.instruction or self.evidence else ()), *self.also)


class DecisionRefused(Model):
    """A decision that the topology does not permit."""

    kind: Literal["decision_refused"] = "decision_refused"
    next: str
    reason: str


class InvocationStarted(Model):
    kind: Literal["invocation_started"] = "invocation_started"
    actor: str
    inputs: dict[str, str]
    """Digests by artefact."""
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
    """The measurements on the rejected output."""
    output: str | None = None
    """Digest of the rejected output."""
    seconds: float


class AttemptSucceeded(Model):
    """An attempt met the criterion; in a fan-out, for one element."""

    kind: Literal["attempt_succeeded"] = "attempt_succeeded"
    actor: str
    item: int | None = None
    key: str
    """Digest of everything that this output depends on, except the instruction."""
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
    """Digests by artefact."""
    output: str
    verdict: Verdict
    seconds: float
    """Duration of the whole invocation, failed attempts included."""


class ActorFailed(Model):
    """All attempts failed, or the actor handed over to the planner."""

    kind: Literal["actor_failed"] = "actor_failed"
    actor: str
    key: str
    inputs: dict[str, str]
    violations: tuple[Violation, ...]
    reason: str
    seconds: float
    """Duration of the whole invocation."""


class ActorReused(Model):
    """The run passed a fresh actor, at no cost."""

    kind: Literal["actor_reused"] = "actor_reused"
    actor: str


class ActorUndone(Model):
    """A result outside the run folder no longer exists and must be made again."""

    kind: Literal["actor_undone"] = "actor_undone"
    actor: str


class CallAnswered(Model):
    """A paid call was answered; equal requests reuse this answer."""

    kind: Literal["call_answered"] = "call_answered"
    actor: str
    """The caller: an actor, `planner`, or empty while the environment opens."""
    item: int | None = None
    """Element of a fan-out."""
    role: str
    """The role that the cost is booked on."""
    request: str
    """Digest of the request, the key of the answer."""
    answer: str
    """Digest of the answer."""
    spend: Spend
    by_person: bool = False
    """A person gave the answer."""
    seconds: float


LOST = "call-lost"  # code of a call that was in flight when the process died; it may have been answered and charged


class CallFailed(Model):
    """A paid call failed; the next equal request makes it again."""

    kind: Literal["call_failed"] = "call_failed"
    actor: str
    item: int | None = None
    role: str
    request: str
    """Digest of the request."""
    code: str
    """Error code."""
    seconds: float


Asker = Literal["planner", "actor", "approval"]


class HumanAsked(Model):
    kind: Literal["human_asked"] = "human_asked"
    question: str
    by: Asker
    actor: str = ""
    """The actor that the question concerns."""


class HumanAnswered(Model):
    kind: Literal["human_answered"] = "human_answered"
    question: str
    answer: str | None
    """None if help is not available."""
    by: Asker
    actor: str = ""


class Approved(Model):
    """A person approved an invocation with exactly these inputs."""

    kind: Literal["approved"] = "approved"
    actor: str
    key: str


class BudgetReached(Model):
    kind: Literal["budget_reached"] = "budget_reached"
    limit: str
    """The limit with its value."""


class RunEnded(Model):
    """This process stopped working on the run. An unfinished run can be resumed."""

    kind: Literal["run_ended"] = "run_ended"
    status: Literal["finished", "stopped", "failed", "interrupted"]
    reason: str = ""


Event = (
    RunOpened | RunStarted | RunResumed | ArtefactEdited | Decided | DecisionRefused | InvocationStarted | AttemptFailed
    | AttemptSucceeded | ActorSucceeded | ActorFailed | ActorReused | ActorUndone | CallAnswered | CallFailed
    | HumanAsked | HumanAnswered | Approved | BudgetReached | RunEnded
)  # fmt: skip

EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])  # parses an event from JSON


class Entry(Model):
    """An event with its position in the journal."""

    seq: int
    """1-based."""
    at: float
    """Seconds since the epoch; monotonic within a process, even if the clock jumps."""
    event: Annotated[Event, Field(discriminator="kind")]
