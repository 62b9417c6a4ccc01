"""Output of commands: tables, times, paths, costs of language models, and JSON."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from palmette.documents import write_text
from palmette.engine import ArtefactStore, Measurement, RunState, Spend, Violation, read_journal
from palmette.engine.events import CallAnswered
from palmette.errors import UserError

Command = TypeVar("Command", bound=Callable[..., Any])
_MARKS: Mapping[str, str] = {"passed": "✓", "failed": "✗", "skipped": "–", "warning": "!"}

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
FILE = click.Path(path_type=Path)


def human_option(default: str | None, more: str = "") -> Callable[[Command], Command]:
    """The option that says where a run asks its questions."""
    text = f"Where to ask questions: here, on the page of `palmette web`, or nowhere.{more}"
    humans = click.Choice(["console", "web", "none"])
    return click.option("--human", type=humans, default=default, show_default=True, help=text)


def print_or_write(text: str, file: Path | None) -> None:
    """Prints an output, or writes it to the file that the user named and says so."""
    if file is None:
        click.echo(text, nl=False)
    else:
        write_text(file, text)
        click.echo(f"Wrote {file}.", err=True)


def shows_progress(as_json: bool) -> bool:
    """Whether a command reports progress on standard error: with `--json`, only to a person at a terminal."""
    return not as_json or sys.stderr.isatty()


def say(message: str, as_json: bool = False) -> None:
    """Prints a line of progress to standard error, where it is shown."""
    if shows_progress(as_json):
        click.echo(message, err=True)


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Left-aligned columns; the last one is not limited. No rows: no table."""
    texts = [list(header), *([" ".join(str(cell).split()) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(header) - 1)]
    for index, row in enumerate(texts if len(texts) > 1 else []):
        line = "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        click.echo(click.style(line, dim=index == 0 or None))  # None: False writes a code, too


def print_checks(measurements: Iterable[Measurement]) -> None:
    """One line per check: whether it passed, and what was measured."""
    rows = [
        (_MARKS[one.status], one.name, one.status, duration(one.seconds) if one.seconds else "", one.detail)
        for one in measurements
    ]
    print_table(("", "check", "status", "time", "what was measured"), rows)


EVIDENCE_LINES = 12


def print_violation(violation: Violation) -> None:
    """A violation with the first lines of its evidence."""
    click.echo(f"\n{click.style(violation.code, bold=True)}: {violation.message}")
    for line in violation.evidence.rstrip().splitlines()[:EVIDENCE_LINES]:
        click.secho(f"    {line}", dim=True)


def duration(seconds: float) -> str:
    """A duration in readable units.

    >>> duration(0.0123), duration(3.14), duration(75)
    ('12 ms', '3.1 s', '1 min 15 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def first_line(text: str, width: int = 160) -> str:
    """The first line of a text, cut to a width."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= width else f"{line[: width - 1]}…"


def near(path: Path) -> str:
    """A path relative to the current folder, if that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)


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
