"""What language models cost in a run, for screens and for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from palmette.cli.screen import duration, first_line, print_table
from palmette.engine import ArtefactStore, Entry, RunState, Spend
from palmette.engine.events import CallAnswered
from palmette.engine.state import Cost
from palmette.errors import UserError

HEADER = ("asked by", "as", "calls", "tokens in", "tokens out", "cost", "time")


def costs_json(state: RunState) -> dict[str, Any]:
    """All and each, by actor and role."""
    each = [{"actor": actor, "role": role, **_json(cost)} for (actor, role), cost in state.bill.items()]
    return {"all": _json(_total(state)), "by": each}


def costs_rows(state: RunState) -> list[tuple[str, ...]]:
    """Rows below `HEADER`; none where nothing was paid."""
    rows = [(actor or "opening", role, *_row(cost)) for (actor, role), cost in state.bill.items()]
    return [*rows, ("all", "", *_row(_total(state)))] if len(rows) > 1 else rows


def print_costs(state: RunState) -> None:
    """A table, where language models were asked at all."""
    if rows := costs_rows(state):
        click.echo()
        print_table(HEADER, rows)


def print_calls(folder: Path, entries: list[Entry], number: int | None) -> None:
    """All paid calls in a line each, or one of them with its prompt and its answer."""
    calls = [entry.event for entry in entries if isinstance(entry.event, CallAnswered)]
    if number is None:
        rows = [
            (
                index,
                call.actor or "opening",
                call.role,
                *_row(Cost(call.spend, call.seconds))[1:],
                _answer(folder, call),
            )
            for index, call in enumerate(calls, start=1)
        ]
        print_table(("call", *HEADER[:2], *HEADER[3:], "answer"), rows)
        return
    if not 1 <= number <= len(calls):
        raise UserError(f"There is no call {number}; the run has {len(calls)}.", code="no-such-call")
    store, call = ArtefactStore(folder), calls[number - 1]
    prompt: Any = store.get(call.request)
    answer: Any = store.get(call.answer)
    for message in prompt["messages"]:
        click.secho(f"----- {message['speaker']}", bold=True)
        click.echo(message["text"])
    click.secho("----- answer", bold=True)
    click.echo(answer["text"])


def _answer(folder: Path, call: CallAnswered) -> str:
    answer: Any = ArtefactStore(folder).get(call.answer)
    return first_line(str(answer["text"]), 60)


def _total(state: RunState) -> Cost:
    total = Cost()
    for cost in state.bill.values():
        total = total.plus(cost)
    return total


def _json(cost: Cost) -> dict[str, Any]:
    return {**cost.spend.model_dump(), "seconds": round(cost.seconds, 2)}


def _row(cost: Cost) -> tuple[str, ...]:
    spend = cost.spend
    return (
        str(spend.calls),
        str(spend.input_tokens),
        str(spend.output_tokens),
        money(spend),
        duration(cost.seconds),
    )


def money(spend: Spend) -> str:
    """A price as a person says it; what nobody knows is not called free.

    >>> money(Spend(calls=2, money=0.0123)), money(Spend(calls=2, unpriced=2)), money(Spend(calls=1))
    ('$0.0123', 'unknown', '$0')
    """
    known = f"${spend.money:.4f}".rstrip("0").rstrip(".") if spend.money else "$0"
    if spend.unpriced == spend.calls and spend.calls:
        return "unknown"
    return f"{known} and {spend.unpriced} calls of unknown price" if spend.unpriced else known
