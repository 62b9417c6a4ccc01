"""What a running run records: events in its journal, questions to people, and paid calls.

No answer is paid for twice, and no call exceeds the budget. A marker file exists while a call is in flight. A marker
that a resume finds shows that a process died during a call.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Literal

from pydantic import JsonValue

from palmette.engine import events as e
from palmette.engine.actor import Paid, Pay, Spend
from palmette.engine.artefacts import ArtefactStore
from palmette.engine.human import Human
from palmette.engine.journal import Journal
from palmette.engine.setup import Observer, RunBudget
from palmette.engine.state import RunState
from palmette.engine.storage import disk_errors, require_room
from palmette.errors import PalmetteError, RunStopped, UserError

_MARK = ".call"


class Recorder:
    """The state, budget and journal of a running run."""

    def __init__(self, journal: Journal, observers: Sequence[Observer], budget: RunBudget) -> None:
        self.journal = journal
        self._observers = observers
        self._guard = threading.RLock()
        self.budget = budget  # set once the environment is open
        self._is_interrupted = False
        self._asking: dict[tuple[str, str], threading.Lock] = {}  # by actor and question: held while it is asked

    @property
    def state(self) -> RunState:
        """The current state."""
        return self.journal.state

    def record(self, *events: e.Event) -> None:
        """Writes events, all or none."""
        with self._guard:
            for entry in self.journal.append(*events):
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
                self.record(e.BudgetReached(limit=limit))
            message = f"{message} Raise this limit, or resume: as much may be spent again."
            return RunStopped(message, code="budget-reached")

    def ask(self, human: Human, question: str, by: e.Asker, actor: str = "") -> str | None:
        """Asks the human while other threads go on; an actor's earlier questions are answered from the journal."""
        with self._guard:
            asking = self._asking.setdefault((actor, question), threading.Lock())
        with asking:
            known = self.state.answers.get((actor, question))
            if known is not None:
                return known
            self.record(e.HumanAsked(question=question, by=by, actor=actor))
            answer = human.ask(question)
            self.record(e.HumanAnswered(question=question, answer=answer, by=by, actor=actor))
            return answer

    def progress(self, actor: str, message: str) -> None:
        for observer in self._observers:
            observer.progress(actor, message)


class PaidCallCache:
    """Makes the paid calls of a running run. Thread-safe.

    A call in flight reserves its estimate, so that parallel calls cannot exceed the budget together. Of equal
    requests in flight one is made, and the others wait for its answer.
    """

    def __init__(self, recorder: Recorder, store: ArtefactStore) -> None:
        self.recorder = recorder
        self.store = store
        self._guard = threading.Lock()
        self._in_flight: dict[str, tuple[Spend, Future[None]]] = {}  # with the cost that is reserved

    def record_lost(self) -> None:
        """Journals calls during which an earlier process died. Only the process that holds the run may call it."""
        for mark in sorted(self.store.objects.glob(f".*{_MARK}")):
            key, asked = mark.name.removeprefix(".").removesuffix(_MARK), mark.read_text(encoding="utf-8")
            if asked and key not in self.recorder.journal.answers:  # an incomplete marker: the call had not started
                self.recorder.record(e.CallFailed(**json.loads(asked), request=key, code=e.LOST, seconds=0.0))
            mark.unlink()

    def payer(self, actor: str, item: int | None = None) -> Pay:
        """The `pay` of an actor (or element of its fan-out), `planner`, or, for "", of the environment as it opens."""
        return partial(self._pay, {"actor": actor, "item": item})

    def _pay(
        self, payer: Mapping[str, Any], request: JsonValue, estimate: Spend, make: Callable[[], Paid], role: str = ""
    ) -> JsonValue:
        key = self.store.put(request)
        while True:
            with self._guard:
                known = self.recorder.journal.answers.get(key)
                if known is not None:
                    return self.store.get(known)
                if key not in self._in_flight:
                    self._check(estimate)
                    self._in_flight[key] = estimate, Future()
                    break
                _, other = self._in_flight[key]
            other.exception()  # waits; if that call failed, this one is made
        try:
            return self._make({**payer, "role": role}, key, make)
        finally:
            with self._guard:
                self._in_flight.pop(key)[1].set_result(None)

    def _make(self, asked: Mapping[str, Any], key: str, make: Callable[[], Paid]) -> JsonValue:
        require_room(self.store.folder)
        mark = self.store.objects / f".{key}{_MARK}"
        with disk_errors(self.store.folder):
            mark.write_text(json.dumps(asked), encoding="utf-8")
        begun, about = time.monotonic(), {**asked, "request": key}
        try:
            paid = make()
        except PalmetteError as error:
            self.recorder.record(e.CallFailed(**about, code=error.code, seconds=time.monotonic() - begun))
            mark.unlink(missing_ok=True)
            raise
        known = {**about, "seconds": time.monotonic() - begun, "answer": self.store.put(paid.answer)}
        self.recorder.record(e.CallAnswered(**known, spend=paid.spend, by_person=paid.by_person))
        mark.unlink(missing_ok=True)
        return paid.answer

    def _check(self, estimate: Spend) -> None:
        """Raises `RunStopped` if the call could exceed a limit."""
        self.recorder.check_interrupted()
        budget, spent = self.recorder.budget, self.recorder.state.spent.spend
        if budget.money is not None and estimate.unpriced:
            message = "The budget limits the money, and the price of this call is not known."
            remedy = "Limit the tokens instead, or choose a model whose price is known."
            raise UserError(message, remedy, code="unknown-price")
        planned = estimate
        for reserved, _ in self._in_flight.values():
            planned = planned.plus(reserved)
        limits = (
            ("tokens", spent.tokens, planned.tokens, budget.tokens),
            ("money", spent.money, planned.money, budget.money),
        )
        for name, used, more, limit in limits:
            if limit is not None and used + more > limit:
                raise self.recorder.over_budget(
                    f"{limit:g} {name}",
                    f"The budget of {limit:g} {name} does not allow one more call: {used:g} are spent, "
                    f"and it may take {more:g} (calls in flight included).",
                )
