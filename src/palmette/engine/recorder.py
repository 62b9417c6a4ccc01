"""Writes events to the journal and the state, informs observers, and asks people."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal

from palmette.engine.events import Asker, BudgetReached, Event, HumanAnswered, HumanAsked
from palmette.engine.human import Human
from palmette.engine.journal import Journal
from palmette.engine.setup import Observer, RunBudget
from palmette.engine.state import RunState
from palmette.errors import RunStopped


class Recorder:
    """The state, budget and journal of a running run."""

    def __init__(self, journal: Journal, observers: Sequence[Observer], budget: RunBudget) -> None:
        self._journal = journal
        self._observers = observers
        self._guard = threading.RLock()
        self.budget = budget
        """Set once the environment is open."""
        self._is_interrupted = False
        self._asking: dict[tuple[str, str], threading.Lock] = {}
        """By actor and question: held while it is asked."""

    @property
    def state(self) -> RunState:
        """The current state."""
        return self._journal.state

    def answer(self, request: str) -> str | None:
        """Digest of the answer to a paid call, by the request's digest; None if unanswered."""
        return self._journal.answer(request)

    def record(self, *events: Event) -> None:
        """Writes events, all or none."""
        with self._guard:
            for entry in self._journal.append(*events):
                for observer in self._observers:
                    observer.event(entry)

    def check_budget(self, before: Literal["step", "attempt"]) -> None:
        """Raises `RunStopped` if a limit is reached."""
        self.check_interrupted()
        with self._guard:
            limit = self.budget.reached(self.state, before)
            if limit:
                raise self.over_budget(limit, f"The budget of {limit} is used up.")

    def interrupt(self, actor: str) -> None:
        """Stops other threads from starting attempts and paid calls."""
        self._is_interrupted = True
        self.progress(actor, "interrupted; what is under way is waited for, or again to lose it")

    def check_interrupted(self) -> None:
        """Raises `RunStopped` when the run has been interrupted."""
        if self._is_interrupted:
            raise RunStopped("The run was interrupted.", code="interrupted")

    def over_budget(self, limit: str, message: str) -> RunStopped:
        """Journals a reached limit, once, and returns the error to raise."""
        with self._guard:
            if not self.state.over_budget:
                self.record(BudgetReached(limit=limit))
            message = f"{message} Raise this limit, or resume: as much may be spent again."
            return RunStopped(message, code="budget-reached")

    def ask(self, human: Human, question: str, by: Asker, actor: str = "") -> str | None:
        """Asks the human while other threads go on; an actor's earlier questions are answered from the journal."""
        with self._guard:
            asking = self._asking.setdefault((actor, question), threading.Lock())
        with asking:
            known = self.state.answers.get((actor, question))
            if known is not None:
                return known
            self.record(HumanAsked(question=question, by=by, actor=actor))
            answer = human.ask(question)
            self.record(HumanAnswered(question=question, answer=answer, by=by, actor=actor))
            return answer

    def progress(self, actor: str, message: str) -> None:
        for observer in self._observers:
            observer.progress(actor, message)

    def close(self) -> None:
        self._journal.close()
