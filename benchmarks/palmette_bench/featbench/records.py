"""What is kept of every run of a study: one JSON line."""

from palmette.documents import Model
from palmette.knowledge.memory import MendedFailure


class Condition(Model):
    """Under which faults, and with how many attempts, a run was made."""

    factor: float = 1.0
    """Times the rate of the task; 0 for no faults."""
    latent: float = 0.3
    """Share of latent faults."""
    attempts: int = 3
    """K: most attempts of an actor in one invocation."""

    @property
    def label(self) -> str:
        return f"rate x{self.factor:g}, latent {self.latent:g}, K {self.attempts}"


class SeededFault(Model):
    """A draw: what was put in, if anything."""

    actor: str
    draw: int
    kind: str
    """Empty where there was no fault."""
    latent: bool


class ActorTally(Model):
    """What one actor did."""

    successes: int = 0
    """Attempts that met the criterion."""
    failures: int = 0
    """Attempts that did not."""
    invocations: int = 0

    @property
    def failure_rate(self) -> float:
        return self.failures / max(1, self.successes + self.failures)


class HiddenResult(Model):
    """What a delivered view gives on hidden tables, beside what is right."""

    differences: tuple[str, ...] = ()
    """The first of them; empty where the rows are equal."""
    unmeasured: str = ""
    """Why the rows were not compared in the end; empty where they were."""


class RunRecord(Model):
    """One run."""

    code: str
    """Digest of palmette's code and of the task."""
    task: str
    planner: str
    run: int
    seed: int
    condition: Condition
    rate: float
    """Probability of a fault at each draw."""
    status: str
    reason: str = ""
    steps: int
    """Decisions of the planner."""
    actors: dict[str, ActorTally]
    faults: tuple[SeededFault, ...]
    seconds: float
    """That the run took here, remembered work for nothing."""
    work: float
    """Seconds that its actors would have taken, had nothing been remembered."""
    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    killed: int | None = None
    """Mutants that the delivered tests noticed."""
    mutants: int | None = None
    """Of so many."""
    delivered: bool = False
    """Whether it ended with a pull request."""
    differences: tuple[str, ...] = ()
    """Of the delivered script's output on the hidden tables."""
    mended: tuple[MendedFailure, ...] = ()
    """What the run leaves to a memory."""
    unmeasured: str = ""
    """Why that output was not compared; such a run is neither successful nor silently wrong, and is made again."""

    @property
    def success(self) -> bool:
        return self.delivered and not self.differences and not self.unmeasured

    @property
    def silent_wrong(self) -> bool:
        """All visible checks are green, and the hidden frames differ."""
        return self.delivered and bool(self.differences)

    @property
    def attempts(self) -> int:
        """Of the published actors, which do not deliver."""
        return sum(tally.successes + tally.failures for name, tally in self.actors.items() if name != "pull_request")

    @property
    def failures(self) -> int:
        return sum(tally.failures for name, tally in self.actors.items() if name != "pull_request")

    @property
    def failure_rate(self) -> float:
        """Of its attempts."""
        return self.failures / max(1, self.attempts)

    @property
    def key(self) -> tuple[object, ...]:
        """What the run was asked to be; two runs with one key are the same run."""
        return (self.code, self.task, self.planner, self.run, self.seed, self.condition, round(self.rate, 6))
