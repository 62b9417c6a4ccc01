"""What an actor is: a typed step with a success criterion that returns evidence.

An actor is any object with the attributes and methods of `Actor`; `BaseActor` supplies the two
defaults that most actors want. The engine fills `Input` by field name from the artefacts of the run
and from the fixed parameters of the topology, and stores `Output` as the artefact `produces`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from palmette.documents import Model
from palmette.engine.calls import Pay, pay_unrecorded

TERMINATE = "TERMINATE"
"""The proposed fix by which an actor hands over to the planner at once."""


class TextFile(Model):
    """A text file inside an artefact: stored as a plain file that a person can open and edit."""

    path: str
    """Path relative to the place it is for (for code: the repository root), with forward slashes."""
    text: str


class Violation(Model):
    """One measured failure. A value, never an exception."""

    code: str
    """Stable, kebab-case; what routing is decided on."""
    message: str
    """One sentence that names the subject and the values."""
    evidence: str = ""
    """Trace, diff or counter-example, at most some thousand characters."""
    subject: str = ""
    """What it is about: a feature, a file, a test case, a configuration field."""


class Measurement(Model):
    """One thing that was checked, and what came out."""

    name: str
    status: Literal["passed", "failed", "skipped", "warning"]
    detail: str = ""
    """What was measured, or why it was skipped."""
    evidence: str = ""
    """What a reviewer may want to see of it, e.g. the first rows that were written."""
    seconds: float = 0.0


class Verdict(Model):
    """The outcome of a success criterion, with its evidence."""

    ok: bool
    violations: tuple[Violation, ...] = ()
    """Failures; in a verdict that is ok, what a reviewer should know although it is tolerated."""
    measurements: tuple[Measurement, ...] = ()

    @classmethod
    def of(
        cls,
        violations: tuple[Violation, ...] | list[Violation],
        measurements: tuple[Measurement, ...] | list[Measurement] = (),
    ) -> Verdict:
        """A verdict that is ok when there is no violation."""
        return cls(ok=not violations, violations=tuple(violations), measurements=tuple(measurements))


Made = TypeVar("Made", bound=BaseModel)


@dataclass(frozen=True)
class Attempt(Generic[Made]):
    """What one call of `Actor.run` gives back.

    A first attempt that works needs only `output`. A later one states why the last one failed
    (`reason`) and what it changed (`fix`); a `fix` of `TERMINATE` (or no output) hands over to the planner,
    with `violations` as the evidence.
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


@dataclass(frozen=True)
class Context:
    """What the executor hands to an actor beside its input."""

    actor: str
    workspace: Path
    """An empty folder of this invocation; what is left there is not an artefact."""
    seed: int = 0
    instruction: str = ""
    """The planner's words: on a re-entry they say what was wrong with the last output."""
    evidence: tuple[Violation, ...] = ()
    """The violations that implicated this actor's last output, when the planner came back to it."""
    attempt: int = 1
    """1-based number of this attempt in this invocation."""
    attempts: tuple[PastAttempt, ...] = ()
    """All failed attempts of this actor so far in this run, oldest first."""
    last: BaseModel | None = None
    """What this actor gave last: refused by its criterion, or what the planner came back for."""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """By actor: the verdict that let its current output pass."""
    ask: Callable[[str], str | None] = field(default=lambda _: None)
    """Asks the human one precise question; None when no human is there."""
    pay: Pay = pay_unrecorded
    """Gets an answer that costs something, once: the journal remembers it."""
    progress: Callable[[str], None] = field(default=lambda _: None)
    """Says what is happening now, for the person who watches."""


@runtime_checkable
class Actor(Protocol):
    """A node of the topology: a tool or an agent."""

    name: str
    description: str
    """What it does, in one line; the planner reads it."""
    produces: str
    """Name of the artefact that its output becomes."""
    Input: type[BaseModel]
    Output: type[BaseModel]
    has_criterion: bool
    """False for an actor whose `check` cannot fail; end-stage actors must have a criterion."""

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        """One attempt. Raises only `PalmetteError`s; expected failure is an `Attempt` without output."""

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        """The success criterion: measures `output`, deterministic, without side effects on artefacts."""

    def implicated(self, violation: Violation, output: Any) -> str | None:
        """Says what in `output` could have caused `violation`, or None when it could not have.

        The answer becomes the planner's instruction, so it states what to do differently.
        """


@runtime_checkable
class OutsideActor(Protocol):
    """An actor (of no fan-out) that makes something outside of the artefacts, where it can be taken away."""

    def stands(self, input: Any, output: Any) -> bool:
        """Whether what it made of `input`, and described in `output`, still exists; if not, a resume makes it again."""


class BaseActor:
    """The two defaults that most actors want: no way to fail the check, nothing to answer for."""

    has_criterion = False

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        return Verdict(ok=True)

    def implicated(self, violation: Violation, output: Any) -> str | None:
        return None
