"""The actor protocol: a typed step with a success criterion that returns evidence.

An actor is any object with the attributes and methods of `Actor`; `BaseActor` supplies the
defaults that most actors want. The engine fills `Input` by field name from the artefacts of the run
and from the fixed parameters of the topology, and stores `Output` as the artefact `produces`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from pydantic import BaseModel, JsonValue

from palmette.documents import Model


class Spend(Model):
    """Cost of paid calls."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0
    """In US dollars, over the calls with a known price."""
    unpriced: int = 0
    """Calls with an unknown price; they are not free."""
    seconds: float = 0.0
    """Spent waiting for answers, summed over parallel calls."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def plus(self, other: Self) -> Self:
        return self.model_validate({name: value + getattr(other, name) for name, value in self})


class Paid(NamedTuple):
    """An answer and its cost."""

    answer: JsonValue
    spend: Spend
    by_person: bool = False  # whether the call waited for a person; that time does not count as time spent on the run


class Pay(Protocol):
    """Returns an answer, from the journal or by a call within the budget."""

    def __call__(self, request: JsonValue, estimate: Spend, make: Callable[[], Paid], role: str = "") -> JsonValue:
        """The answer to `request`.

        Args:
            request: Everything that the answer depends on, without secrets.
            estimate: The maximum cost of the call.
            make: Makes the call. If it raises, nothing is remembered.
            role: The role that the cost is booked on.

        Raises:
            RunStopped: the budget (`budget-reached`) does not allow the call.
        """


def pay_unrecorded(request: JsonValue, estimate: Spend, make: Callable[[], Paid], role: str = "") -> JsonValue:  # noqa: ARG001 - as all payers take it
    """A `Pay` without a journal or a budget: it makes every call."""
    return make().answer


TERMINATE = "TERMINATE"  # the proposed fix by which an actor hands over to the planner at once


class TextFile(Model):
    """A text file inside an artefact: stored as a plain file that a person can open and edit."""

    path: str
    """Relative to where the file belongs (for code: the repository root), with forward slashes."""
    text: str


class Violation(Model):
    """One measured failure. A value, never an exception."""

    code: str
    """Stable, in kebab-case; planners route on it."""
    message: str
    """One sentence that names the subject and the values."""
    evidence: str = ""
    """Trace, diff or counter-example, up to a few thousand characters."""
    subject: str = ""
    """The feature, file, test case or configuration field that failed."""


class Measurement(Model):
    """One check and its result."""

    name: str
    status: Literal["passed", "failed", "skipped", "warning"]
    detail: str = ""
    """The value measured, or the reason for skipping."""
    evidence: str = ""
    """Details for a reviewer, e.g. the first rows written."""
    seconds: float = 0.0


class Verdict(Model):
    """The outcome of a success criterion, with its evidence."""

    ok: bool
    violations: tuple[Violation, ...] = ()
    """Failures; if the verdict is ok, tolerated findings that a reviewer should see."""
    measurements: tuple[Measurement, ...] = ()

    @classmethod
    def of(cls, violations: Sequence[Violation], measurements: Sequence[Measurement] = ()) -> Self:
        """A verdict that is ok if there is no violation."""
        return cls(ok=not violations, violations=tuple(violations), measurements=tuple(measurements))

    @classmethod
    def together(cls, verdicts: Sequence[Self]) -> Self:
        """The verdict on several parts: ok if that on each is."""
        return cls(
            ok=all(verdict.ok for verdict in verdicts),
            violations=tuple(item for verdict in verdicts for item in verdict.violations),
            measurements=tuple(item for verdict in verdicts for item in verdict.measurements),
        )


Made = TypeVar("Made", bound=BaseModel)


@dataclass(frozen=True)
class Attempt(Generic[Made]):
    """The result of one call of `Actor.run`.

    A first attempt that works needs only `output`. A later one states why the last one failed
    (`reason`) and what it changed (`fix`). A `fix` of `TERMINATE`, or no output, hands over to the planner
    with `violations` as evidence.
    """

    output: Made | None
    reason: str = ""
    fix: str = ""
    violations: tuple[Violation, ...] = ()


class PastAttempt(Model):
    """An earlier attempt of the same actor, as later attempts see it."""

    number: int
    reason: str
    fix: str
    violations: tuple[Violation, ...]


class Remedy(Model):
    """How an actor's failure was fixed, in this run or an earlier one."""

    actor: str
    """Where the failure showed."""
    fault: str = ""
    """The actor that fixed it because the planner sent the run back to it; without a planner, the actor itself."""
    fix: str = ""
    """The instruction to that actor, or what it changed."""

    def __str__(self) -> str:
        return f"In an earlier run, {self.fault} mended this at {self.actor}: {self.fix}"


Recall = Callable[[str], Sequence[Remedy]]
"""By code of a violation: how earlier runs fixed it, the most frequent remedy first."""


def nothing_recalled(_code: str) -> Sequence[Remedy]:
    """No earlier run is known."""
    return ()


@dataclass(frozen=True)
class Context:
    """What the executor passes to an actor in addition to its input."""

    actor: str
    workspace: Path
    """An empty folder for this invocation. Files left there do not become artefacts."""
    seed: int = 0
    instruction: str = ""  # from the planner; on re-entry, what was wrong with the last output
    evidence: tuple[Violation, ...] = ()  # the violations that implicated this actor's last output, on re-entry
    attempt: int = 1  # 1-based number of this attempt in this invocation
    attempts: tuple[PastAttempt, ...] = ()  # all failed attempts of this actor so far in this run, oldest first
    last: BaseModel | None = None
    """This actor's last output: rejected by its criterion, or the one that the planner sent back."""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)  # by actor: the verdict on its current output
    ask: Callable[[str], str | None] = field(default=lambda _: None)
    """Asks the human one question; None if no human is available."""
    pay: Pay = pay_unrecorded  # makes a paid call once; the journal remembers the answer
    recall: Recall = nothing_recalled
    progress: Callable[[str], None] = field(default=lambda _: None)  # reports progress to observers


@runtime_checkable
class Actor(Protocol):
    """A node of the topology: a tool or an agent."""

    name: str
    description: str  # what it does, in one line; the planner reads it
    produces: str  # name of the artefact that its output becomes
    Input: type[BaseModel]
    Output: type[BaseModel]
    has_criterion: bool  # false for an actor whose `check` cannot fail; end-stage actors must have a criterion
    is_measured: bool  # whether its output is measured, so that a person cannot edit it

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        """One attempt. Raises only `PalmetteError`s; expected failure is an `Attempt` without output."""

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        """The success criterion: measures `output`, deterministic, without side effects on artefacts."""

    def implicated(self, violation: Violation, output: Any) -> str | None:
        """What in `output` could have caused `violation`; None if nothing could.

        The answer becomes the planner's instruction, so it states what to do differently.
        """


@runtime_checkable
class OutsideActor(Protocol):
    """An actor without fan-out that creates something outside the artefacts, where others can delete it."""

    def stands(self, input: Any, output: Any) -> bool:
        """Whether what it created for `input` still exists; if not, a resume creates it again."""


class BaseActor:
    """The defaults that most actors want: a check that cannot fail, responsibility for violations by codes."""

    has_criterion = False
    is_measured = False
    needs_person = True
    """Whether a person, where one can be asked, confirms each output if there is no criterion."""
    codes: ClassVar[tuple[str, ...]] = ()
    """How the codes of violations begin that it answers for."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.has_criterion = cls.check is not BaseActor.check

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        return Verdict(ok=True)

    def implicated(self, violation: Violation, output: Any) -> str | None:
        return f"Do it again: {violation.message}" if violation.code.startswith(self.codes) else None
