"""The live side of a journal: what happens is written, folded into the state, and shown, in this order."""

from __future__ import annotations

import threading
from typing import Literal

from palmette.engine.events import Asker, BudgetReached, Event, HumanAnswered, HumanAsked, Spend
from palmette.engine.human import Human
from palmette.engine.journal import Journal
from palmette.engine.setup import Observer, Setup
from palmette.engine.state import RunState, fold
from palmette.errors import RunStopped


class Recorder:
    """Owns the state of a running run."""

    def __init__(self, journal: Journal, observer: Observer, setup: Setup) -> None:
        self._journal = journal
        self._observer = observer
        self._guard = threading.RLock()
        self._budget = setup.budget
        self._spend, self._counted = setup.spend, setup.spend()
        self.state: RunState = fold(journal.entries())

    def record(self, *events: Event) -> None:
        """Writes events, all or none."""
        with self._guard:
            entries = self._journal.append(*events)
            self.state = fold(entries, self.state)
            for entry in entries:
                self._observer.event(entry)

    def check_budget(self, before: Literal["step", "attempt"]) -> None:
        """Raises `RunStopped` when a limit is used up."""
        with self._guard:
            limit = self._budget.reached(self.state, before)
            if limit:
                if not self.state.over_budget:
                    self.record(BudgetReached(limit=limit))
                raise RunStopped(f"The budget of {limit} is used up.", code="budget-reached")

    def take_spend(self) -> Spend:
        """What has been spent since the last time that this was asked."""
        with self._guard:
            before, self._counted = self._counted, self._spend()
            return self._counted.minus(before)

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
