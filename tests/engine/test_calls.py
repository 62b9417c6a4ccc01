"""Paid calls: what was answered is never paid for again, and no call leads beyond the budget."""

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
from toys import Each, Gather, ListMaker, Toy, chain

from palmette.engine import (
    ArtefactStore,
    Attempt,
    Context,
    Journal,
    Node,
    Paid,
    Pay,
    RunBudget,
    Setup,
    Spend,
    read_journal,
    register,
    resume_run,
    run_environment,
    run_state,
    run_topology,
)
from palmette.engine.recorder import PaidCallCache, Recorder
from palmette.errors import MachineError, ModelError, RunStopped, UserError

ONE = Spend(calls=1, input_tokens=60, output_tokens=40, money=0.5)


def untimed(spend: Spend) -> Spend:
    return spend.model_copy(update={"seconds": 0.0})


class Till:
    """Answers requests, and counts how often."""

    def __init__(self, answer: Callable[[], JsonValue] = lambda: "yes") -> None:
        self.made = 0
        self._answer = answer

    def __call__(self) -> Paid:
        self.made += 1
        return Paid(self._answer(), ONE)


class Asking(Toy):
    """A toy that asks before it works."""

    till: Till

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        assert context.pay({"ask": self.name}, ONE, self.till, role="wise") == "yes"
        return super().run(input, context)


def asking(name: str, needs: list[str], till: Till, **options: Any) -> Asking:
    toy = Asking(name, needs, **options)
    toy.till = till
    return toy


@pytest.fixture
def paid_calls(tmp_path: Path) -> Any:
    with Journal(tmp_path) as journal:
        yield PaidCallCache(Recorder(journal, (), RunBudget(tokens=1000, money=5.0)), ArtefactStore(tmp_path))


def test_an_equal_request_is_answered_once(paid_calls: PaidCallCache, tmp_path: Path) -> None:
    till = Till(lambda: {"text": "good"})
    for actor in ("a", "b"):
        assert paid_calls.payer(actor)({"q": 1}, ONE, till) == {"text": "good"}
    assert till.made == 1
    assert paid_calls.recorder.state.spent.spend == ONE
    (event,) = [entry.event for entry in read_journal(tmp_path)]
    assert event.kind == "call_answered" and event.actor == "a"
    assert paid_calls.store.get(event.request) == {"q": 1}


def test_a_call_that_fails_is_not_remembered_and_reserves_nothing(paid_calls: PaidCallCache) -> None:
    def fail() -> Paid:
        raise ModelError("down", code="model-down")

    for _ in range(20):
        with pytest.raises(ModelError):
            paid_calls.payer("a")({"q": 1}, ONE, fail)
    assert paid_calls.payer("a")({"q": 1}, ONE, Till()) == "yes"


@pytest.mark.parametrize(
    ("budget", "fitting"), [(RunBudget(tokens=450), 4), (RunBudget(money=1.6), 3), (RunBudget(), 12)]
)
def test_calls_in_parallel_hold_the_budget_together(tmp_path: Path, budget: RunBudget, fitting: int) -> None:
    till = Till(lambda: time.sleep(0.02) or "yes")

    def call(number: int) -> bool:
        try:
            paid_calls.payer("a")({"q": number}, ONE, till)
        except RunStopped as stop:
            assert stop.code == "budget-reached"
            return False
        return True

    with Journal(tmp_path) as journal, ThreadPoolExecutor(12) as pool:
        paid_calls = PaidCallCache(Recorder(journal, (), budget), ArtefactStore(tmp_path))
        done = list(pool.map(call, range(12)))
    assert done.count(True) == till.made == fitting


def test_equal_requests_in_parallel_wait_for_one_answer(paid_calls: PaidCallCache) -> None:
    till = Till(lambda: time.sleep(0.05) or "yes")
    start = threading.Barrier(8)

    def call(_: int) -> JsonValue:
        start.wait()
        return paid_calls.payer("a")({"q": 1}, ONE, till)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(call, range(8))) == ["yes"] * 8
    assert till.made == 1


def test_a_limit_of_money_needs_a_price(paid_calls: PaidCallCache) -> None:
    with pytest.raises(UserError, match="price"):
        paid_calls.payer("a")({"q": 1}, Spend(calls=1, unpriced=1), Till())


def test_a_run_says_what_it_cost_and_whose_it_was(tmp_path: Path) -> None:
    till = Till()
    result = run_topology(chain(asking("a", [], till), asking("b", ["a"], till, strict=True)), tmp_path)
    assert {who: untimed(cost) for who, cost in result.state.bill.items()} == {("a", "wise"): ONE, ("b", "wise"): ONE}
    assert result.state.spent.spend == ONE.plus(ONE)


def test_a_reached_budget_ends_the_run_and_a_resume_pays_nothing_twice(tmp_path: Path) -> None:
    till = Till()

    def toys() -> list[Asking]:
        return [asking("a", [], till), asking("b", ["a"], till), asking("c", ["b"], till, strict=True)]

    result = run_topology(chain(*toys(), budget=RunBudget(tokens=250)), tmp_path)
    assert result.status == "stopped" and "250 tokens" in result.reason and till.made == 2
    again = resume_run(tmp_path, setup=chain(*toys(), budget=RunBudget(tokens=250)))
    assert again.status == "finished" and till.made == 3


def test_an_actor_that_died_after_its_call_is_answered_from_the_journal(tmp_path: Path) -> None:
    till = Till()

    class Dying(Asking):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            super().run(input, context)
            raise KeyboardInterrupt

    dying = Dying("a", strict=True)
    dying.till = till
    with pytest.raises(KeyboardInterrupt):
        run_topology(chain(dying), tmp_path)
    assert resume_run(tmp_path, setup=chain(asking("a", [], till, strict=True))).status == "finished"
    assert till.made == 1


def test_what_an_environment_pays_for_while_it_opens_belongs_to_the_run(tmp_path: Path) -> None:
    till, fails = Till(), [True]

    @register("environment", "test_paying")
    def open_paying(arguments: dict[str, JsonValue], folder: Path, payer: Callable[[RunBudget], Pay]) -> Setup:
        assert folder == tmp_path / "run" and arguments == {"x": 1}
        assert payer(RunBudget(tokens=500))({"ask": "words"}, ONE, till, role="words") == "yes"
        if fails.pop():
            raise UserError("A question is open.", "Answer it.")
        return chain(Toy("a", strict=True))

    with pytest.raises(UserError):
        run_environment("test_paying", {"x": 1}, tmp_path / "run")
    state = run_state(tmp_path / "run")
    assert state.ended and state.ended.status == "failed"
    fails.append(False)
    result = resume_run(tmp_path / "run")
    assert result.status == "finished" and till.made == 1
    assert untimed(result.state.bill["", "words"]) == ONE


def test_an_environment_that_stops_at_its_first_call_stops_the_run(tmp_path: Path) -> None:
    @register("environment", "test_poor")
    def open_poor(payer: Callable[[RunBudget], Pay]) -> Setup:
        payer(RunBudget(tokens=50))({"ask": "words"}, ONE, Till())
        raise AssertionError

    result = run_environment("test_poor", {}, tmp_path / "run")
    assert result.status == "stopped" and "50 tokens" in result.reason


def test_input_that_is_refused_before_anything_is_paid_leaves_no_run(tmp_path: Path) -> None:
    @register("environment", "test_refusing")
    def open_refusing(arguments: dict[str, JsonValue]) -> Setup:
        raise UserError("A mistake.", "Mend it.")

    with pytest.raises(UserError):
        run_environment("test_refusing", {}, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_journal_of_an_older_format_is_named(tmp_path: Path) -> None:
    run_topology(chain(Toy("a", strict=True)), tmp_path)
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as connection, connection:
        connection.execute("PRAGMA user_version=1")
    connection.close()
    with pytest.raises(UserError, match="older palmette"):
        run_state(tmp_path)


def test_a_disk_without_room_for_an_answer_stops_before_it_is_paid(
    paid_calls: PaidCallCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    till = Till()
    monkeypatch.setattr("palmette.engine.storage.ROOM", 2**70)
    with pytest.raises(MachineError, match="unwritable-runs"):
        paid_calls.payer("a")({"q": 1}, ONE, till)
    monkeypatch.undo()
    assert till.made == 0 and paid_calls.payer("a")({"q": 1}, ONE, till) == "yes"


def test_an_interrupt_waits_for_what_is_under_way_and_begins_nothing(tmp_path: Path) -> None:
    """Answers on their way are kept, and no element goes on to its next paid call. Threads start slowly here."""
    till, both, start = Till(), threading.Barrier(2), threading.Thread.start

    def start_slowly(thread: threading.Thread) -> None:
        start(thread)
        time.sleep(0.2)

    def interrupt() -> Paid:
        if (last := both.wait(10)) == 0:
            time.sleep(0.2)  # Python does not see a signal between the main thread's check and its wait
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5 + 0.5 * last)
        return till()

    class Twice(Each):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            number = input.element.maker
            context.pay({"first": number}, ONE, interrupt if not till.made else till)
            context.pay({"second": number}, ONE, till)
            return super().run(input, context)

    def toys() -> Setup:
        nodes = {"list": Node(next=("each",)), "each": Node(next=("all",), for_each="list_part as element")}
        return chain(ListMaker("list"), Twice("each"), Gather("all", "each", strict=True), nodes=nodes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.cpu_count", lambda: 2)
        patch.setattr(threading.Thread, "start", start_slowly)
        with pytest.raises(KeyboardInterrupt):
            run_topology(toys(), tmp_path)
    assert till.made == 2 == run_state(tmp_path).spent.spend.calls
    assert resume_run(tmp_path, setup=toys()).status == "finished" and till.made == 6
