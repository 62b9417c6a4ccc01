"""An offline actor that makes mistakes, and corrects them only on the right evidence.

A fault is drawn with the actor's first output, and stays: doing the work again brings it back. It goes when a violation
that it is to blame for reaches the actor, be it of its own last attempt or as evidence with which a planner came back;
then it is drawn anew, and is never the same mistake again. What is drawn follows from the seeds alone, not from who
plans, so that every planner meets the same mistakes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from palmette.engine import Actor, Attempt, Context, Verdict, Violation
from palmette.features.spec.view import View
from palmette_bench.featbench.faults.kind import Faulted, FaultKind, FaultSite
from palmette_bench.featbench.records import SeededFault

VARIETY = 4
"""Most kinds that one actor has in one task, loud and latent each: they vary from task to task."""


@dataclass(frozen=True)
class FaultPlan:
    """What decides on the faults of one run."""

    rate: float
    """Probability of a fault at each draw."""
    latent: float
    """Share of latent faults, where an actor can have both."""
    seed: int
    task: str
    run: int
    catalogue: tuple[FaultKind, ...]

    def of(self, actor: str, latent: bool) -> list[FaultKind]:
        """The kinds of an actor, in an order of the task's own."""
        found = [kind for kind in self.catalogue if kind.actor == actor and kind.latent == latent]
        return Random(f"{self.task}:{actor}:{latent}").sample(found, len(found))

    def chances(self, actor: str, draw: int) -> tuple[float, float, float]:
        """Whether there is a fault, whether a latent one, and which."""
        chance = Random(f"{self.seed}:{self.task}:{self.run}:{actor}:{draw}")
        return chance.random(), chance.random(), chance.random()


@dataclass
class Faulty:
    """Wraps a real actor for one run, because it remembers the evidence it received."""

    actor: Actor
    plan: FaultPlan
    view: View
    drawn: list[SeededFault] = field(default_factory=list)
    """Every draw that was looked at, for the record of the run; no part of the run sees it."""
    _number: int = 0
    _kind: FaultKind | None = None
    _tells: tuple[str, ...] = ()
    _heard: int = 0
    _settled: list[Violation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name, self.description, self.produces = self.actor.name, self.actor.description, self.actor.produces
        self.Input, self.Output, self.has_criterion = self.actor.Input, self.actor.Output, self.actor.has_criterion
        self.is_measured = self.actor.is_measured

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        self._hear(context)
        attempt = self.actor.run(input, self._innocent(context))
        if attempt.output is None:
            return attempt
        site = FaultSite(self.view, lambda output: self.actor.check(input, output, context).ok)
        struck = self._strike(attempt.output, site)
        return replace(attempt, output=struck.output, reason=attempt.reason or "Again.") if struck else attempt

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        return self.actor.check(input, output, context)

    def implicated(self, violation: Violation, output: Any) -> str | None:
        return self.actor.implicated(violation, output)

    def _hear(self, context: Context) -> None:
        """Reads new attempts and evidence; draws again when they name the fault."""
        new = [violation for attempt in context.attempts[self._heard :] for violation in attempt.violations]
        new += context.evidence if context.attempt == 1 else ()  # it is the same for all attempts of an invocation
        self._heard = len(context.attempts)
        kind = self._kind
        if kind is not None and any(kind.betrayed_by(violation, self._tells) for violation in new):
            self._settled += [violation for violation in new if kind.betrayed_by(violation, self._tells)]
            self._number, self._kind = self._number + 1, None

    def _innocent(self, context: Context) -> Context:
        """The context without evidence on corrected faults, which are not the real actor's."""
        kept = [attempt for attempt in context.attempts if not self._of_fault(attempt.violations)]
        now = context.attempts[len(context.attempts) - (context.attempt - 1) :] if context.attempt > 1 else ()
        evidence = tuple(violation for violation in context.evidence if violation not in self._settled)
        own = sum(not self._of_fault(attempt.violations) for attempt in now)
        numbered = tuple(one.model_copy(update={"number": number}) for number, one in enumerate(kept, 1))
        return replace(context, attempts=numbered, attempt=1 + own, evidence=evidence)

    def _of_fault(self, violations: Iterable[Violation]) -> bool:
        return any(violation in self._settled for violation in violations)

    def _strike(self, output: Any, site: FaultSite) -> Faulted | None:
        kind = self._kind or self._draw(output, site)
        struck = kind.mutate(output, site) if kind else None
        if struck is None or struck.output == output:
            return None
        self._kind, self._tells = kind, struck.tells
        return struck

    def _draw(self, output: Any, site: FaultSite) -> FaultKind | None:
        """The kind of fault of the current draw, among those that have a place in the output."""
        strikes, hides, which = self.plan.chances(self.name, self._number)
        if strikes >= self.plan.rate:
            return self._noted(None)
        wanted = hides < self.plan.latent
        before = {one.kind for one in self.drawn if one.draw < self._number}
        either = [self._applicable(output, site, latent=latent) for latent in (wanted, not wanted)]
        new = [[kind for kind in kinds if kind.name not in before] for kinds in either]
        kinds = new[0] or new[1]
        return self._noted(kinds[int(which * len(kinds))] if kinds else None)

    def _applicable(self, output: Any, site: FaultSite, *, latent: bool) -> list[FaultKind]:
        """The task's kinds of the actor, at most `VARIETY`."""
        found: list[FaultKind] = []
        for kind in self.plan.of(self.name, latent):
            struck = kind.mutate(output, site) if len(found) < VARIETY else None
            if struck is not None and struck.output != output:
                found.append(kind)
        return found

    def _noted(self, kind: FaultKind | None) -> FaultKind | None:
        if not any(one.draw == self._number for one in self.drawn):
            name, latent = (kind.name, kind.latent) if kind else ("", False)
            self.drawn.append(SeededFault(actor=self.name, draw=self._number, kind=name, latent=latent))
        return kind
