"""The times and costs of a run, from its journal."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from palmette.automl.evidence import Span
from palmette.automl.report.history import bill, timeline
from palmette.engine import Entry, Event, Spend, Verdict, fold
from palmette.engine import events as e

GOOD = Verdict(ok=True, measurements=(), violations=())


def begun(actor: str) -> Event:
    return e.InvocationStarted(actor=actor, inputs={})


def tried(actor: str) -> Event:
    return e.AttemptSucceeded(actor=actor, key="k", output="o", verdict=GOOD, seconds=0)


def failed(actor: str) -> Event:
    return e.AttemptFailed(actor=actor, number=1, reason="", fix="", violations=(), seconds=0)


def made(actor: str, artefact: str) -> Event:
    return e.ActorSucceeded(
        actor=actor, artefact=artefact, key="k", inputs={}, output="o", verdict=GOOD, seconds=0
    )  # fmt: skip


def gave_up(actor: str) -> Event:
    return e.ActorFailed(actor=actor, key="k", inputs={}, violations=(), reason="", seconds=0)


def called(actor: str, seconds: float, by_person: bool = False) -> Event:
    spend = Spend(calls=1, input_tokens=10, output_tokens=5, money=0.25)
    return e.CallAnswered(
        actor=actor, role="writer", request="r", answer="a", spend=spend, by_person=by_person, seconds=seconds
    )


OPENED = e.RunOpened(environment="automl", arguments={}, version="1")
RESUMED = e.RunResumed(version="1")
ASKED = e.HumanAnswered(question="?", answer="x", by="actor", actor="a")


def journal(events: Iterable[tuple[float, Event]]) -> list[Entry]:
    return [Entry(seq=number, at=1e9 + at, event=event) for number, (at, event) in enumerate(events, start=1)]


CASES: dict[str, tuple[list[tuple[float, Event]], dict[str, tuple[tuple[Span, ...], int, int]], float]] = {
    "attempts": (
        [(0, OPENED), (1, begun("a")), (2, failed("a")), (4, tried("a")), (5, made("a", "x"))],
        {"a": ((Span(1, 4),), 2, 1)},
        5,
    ),
    "called again": (
        [(0, OPENED), (0, begun("a")), (2, made("a", "x")), (3, begun("b")), (4, gave_up("b")), (5, begun("a")),
         (6, made("a", "x"))],
        {"a": ((Span(0, 2), Span(5, 1)), 0, 0), "b": ((Span(3, 1),), 0, 0)},
        6,
    ),
    "a person was waited for": (
        [(0, OPENED), (0, begun("a")), (1, failed("a")), (61, ASKED), (62, made("a", "x"))],
        {"a": ((Span(0, 2),), 1, 1)},
        2,
    ),
    "killed and resumed an hour later": (
        [(0, OPENED), (0, begun("a")), (2, failed("a")), (3602, RESUMED), (3603, begun("a")), (3605, made("a", "x"))],
        {"a": ((Span(0, 2), Span(3, 2)), 1, 1)},
        5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_call_of_an_actor_has_its_place_in_the_time_that_was_worked(name: str) -> None:
    events, expected, total = CASES[name]
    found = timeline(journal(events))
    assert {one.name: (one.spans, one.attempts, one.failed) for one in found.stages} == expected
    assert found.seconds == total == fold(journal(events)).spent.seconds


def test_calls_in_parallel_are_waited_for_once_and_billed_each() -> None:
    events = [(0, OPENED), (0, begun("a")), (5, called("a", 4)), (6, called("a", 4)), (99, called("a", 90, True))]
    entries = journal([*events, (100, made("a", "x"))])
    assert timeline(entries).asking == 5
    (charge,) = bill(fold(entries))
    assert (charge.actor, charge.role, charge.spend.calls, charge.seconds) == ("a", "writer", 3, 98)
