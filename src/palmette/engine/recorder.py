"""The live side of a journal: what happens is written and added to the state, then shown; people are asked."""

from __future__ import annotations

import threading
from typing import Literal

from palmette.engine.events import Asker, BudgetReached, Event, HumanAnswered, HumanAsked
from palmette.engine.human import Human
from palmette.engine.journal import Journal
from palmette.engine.setup import Observer, RunBudget
from palmette.engine.state import RunState
from palmette.errors import RunStopped


class Recorder:
    """What a running run knows, may spend, and tells."""

    def __init__(self, journal: Journal, observer: Observer, budget: RunBudget) -> None:
        self._journal = journal
        self._observer = observer
        self._guard = threading.RLock()
        self.budget = budget
        """What the run may spend; set when the environment is open."""
        self._is_interrupted = False

    @property
    def state(self) -> RunState:
        """What has happened so far."""
        return self._journal.state

    def answer(self, request: str) -> str | None:
        """Digest of the answer to a paid call, by that of its request; None where there is none."""
        return self._journal.answer(request)

    def record(self, *events: Event) -> None:
        """Writes events, all or none."""
        with self._guard:
            for entry in self._journal.append(*events):
                self._observer.event(entry)

    def check_budget(self, before: Literal["step", "attempt"]) -> None:
        """Raises `RunStopped` when a limit is used up."""
        self.check_interrupted()
        with self._guard:
            limit = self.budget.reached(self.state, before)
            if limit:
                raise self.over_budget(limit, f"The budget of {limit} is used up.")

    def interrupt(self, actor: str) -> None:
        """From now on nothing is begun in other threads: no attempt, and no paid call."""
        self._is_interrupted = True
        self.progress(actor, "interrupted; what is under way is waited for, or again to lose it")

    def check_interrupted(self) -> None:
        """Raises `RunStopped` when the run has been interrupted."""
        if self._is_interrupted:
            raise RunStopped("The run was interrupted.", code="interrupted")

    def over_budget(self, limit: str, message: str) -> RunStopped:
        """Journals that a limit is reached, once, and gives the error to raise."""
        with self._guard:
            if not self.state.over_budget:
                self.record(BudgetReached(limit=limit))
            message = f"{message} Raise this limit, or resume: as much may be spent again."
            return RunStopped(message, code="budget-reached")

    def ask(self, human: Human, question: str, by: Asker, actor: str = "") -> str | None:
        """Asks the human, one question at a time; what an actor was answered before is not asked again."""
        with self._guard:
            known = self.state.answers.get((actor, question))
            if known is not None:
                return known
            self.record(HumanAsked(question=question, by=by, actor=actor))
            answer = human.ask(question)
            self.record(HumanAnswered(question=question, answer=answer, by=by, actor=actor))
            return answer

    def progress(self, actor: str, message: str) -> None:
        self._observer.progress(actor, message)

    def close(self) -> None:
        self._journal.close()
