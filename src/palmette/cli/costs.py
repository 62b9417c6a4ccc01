"""Costs of language models in a run, as a table and as JSON."""

import json
from functools import reduce
from pathlib import Path
from typing import Any

import click

from palmette.cli.screen import duration, first_line, print_table
from palmette.engine import ArtefactStore, RunState, Spend, read_journal
from palmette.engine.events import CallAnswered
from palmette.errors import UserError

HEADER = ("asked by", "as", "calls", "tokens in", "tokens out", "cost", "time")


def costs_json(state: RunState) -> dict[str, Any]:
    """The total, and the costs by actor and role."""
    each = [{"actor": actor, "role": role, **_json(cost)} for (actor, role), cost in state.bill.items()]
    return {"all": _json(_total(state)), "by": each}


def costs_rows(state: RunState) -> list[tuple[str, ...]]:
    """Rows below `HEADER`; none if nothing was paid."""
    rows = [(actor or "opening", role, *_row(cost)) for (actor, role), cost in state.bill.items()]
    return [*rows, ("all", "", *_row(_total(state)))] if len(rows) > 1 else rows


def print_costs(state: RunState) -> None:
    """Prints a table if language models were used."""
    if rows := costs_rows(state):
        click.echo()
        print_table(HEADER, rows)


def listed_calls(folder: Path) -> list[dict[str, Any]]:
    """All paid calls of a run, with the digests of request and answer."""
    calls = [entry.event for entry in read_journal(folder, "call_answered") if isinstance(entry.event, CallAnswered)]
    return [
        {
            "number": number,
            "actor": call.actor,
            "role": call.role,
            **_json(call.spend.model_copy(update={"seconds": call.seconds})),
            "asked": call.request,
            "answer": call.answer,
        }
        for number, call in enumerate(calls, start=1)
    ]


def call_with_texts(folder: Path, call: dict[str, Any]) -> dict[str, Any]:
    """A listed call with what was asked and answered."""
    store = ArtefactStore(folder)
    answer = store.get(call["answer"])
    text = answer["text"] if isinstance(answer, dict) and "text" in answer else answer
    return {**call, "asked": _asked(store.get(call["asked"])), "answer": str(text)}


def chosen(calls: list[dict[str, Any]], number: int | None) -> list[dict[str, Any]]:
    """The call with this number, or all; UserError if there is none."""
    if number is not None and not 1 <= number <= len(calls):
        raise UserError(f"There is no call {number}; the run has {len(calls)}.", code="no-such-call")
    return calls if number is None else [calls[number - 1]]


def print_calls(calls: list[dict[str, Any]]) -> None:
    """Prints one line per call."""
    if not calls:
        click.echo("No language model has answered.")
        return
    rows = []
    for call in calls:
        who = (call["number"], call["actor"] or "opening", call["role"])
        cost = Spend.model_validate({name: call[name] for name in Spend.model_fields})
        rows.append((*who, *_row(cost)[1:], first_line(call["answer"], 60)))
    print_table(("call", *HEADER[:2], *HEADER[3:], "answer"), rows)


def print_call(call: dict[str, Any]) -> None:
    """Prints a request and its answer."""
    for message in (*call["asked"], {"speaker": "answer", "text": call["answer"]}):
        click.secho(f"----- {message['speaker']}", bold=True)
        click.echo(message["text"])


def _asked(request: Any) -> list[dict[str, str]]:
    """The messages of a prompt; other requests as they are."""
    if isinstance(request, dict) and "messages" in request:
        return [{"speaker": message["speaker"], "text": message["text"]} for message in request["messages"]]
    return [{"speaker": "request", "text": json.dumps(request, indent=2, ensure_ascii=False)}]


def _total(state: RunState) -> Spend:
    return reduce(Spend.plus, state.bill.values(), Spend())


def _json(cost: Spend) -> dict[str, Any]:
    return {**cost.model_dump(), "seconds": round(cost.seconds, 2)}


def _row(cost: Spend) -> tuple[str, ...]:
    counts = (str(cost.calls), str(cost.input_tokens), str(cost.output_tokens))
    return (*counts, money(cost), duration(cost.seconds))


def money(spend: Spend) -> str:
    """A price in dollars; an unknown price is not shown as free.

    >>> money(Spend(calls=2, money=0.0123)), money(Spend(calls=2, unpriced=2)), money(Spend(calls=1))
    ('$0.0123', 'unknown', '$0')
    """
    known = f"${spend.money:.4f}".rstrip("0").rstrip(".") if spend.money else "$0"
    if spend.unpriced == spend.calls and spend.calls:
        return "unknown"
    return f"{known} and {spend.unpriced} calls of unknown price" if spend.unpriced else known
