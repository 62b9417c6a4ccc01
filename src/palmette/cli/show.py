"""`palmette show`: shows a run from its journal."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import click

from palmette.cli.screen import (
    call_with_texts,
    chosen,
    costs_json,
    duration,
    first_line,
    json_option,
    listed_calls,
    near,
    print_call,
    print_calls,
    print_costs,
    print_json,
    print_table,
)
from palmette.engine import TERMINATE, Violation, find_run
from palmette.engine import events as e
from palmette.engine.journal import End, read_end
from palmette.engine.runs import summarise
from palmette.engine.storage import workspace_name
from palmette.errors import counted

LAST = 2000  # events whose steps are shown by default


@dataclass
class ShownStep:
    """One decision with its result, or an event between decisions, which has no number."""

    number: int | None
    actor: str
    outcome: str = "unfinished"
    attempts: list[e.AttemptFailed | e.AttemptSucceeded] = field(default_factory=list)
    seconds: float = 0.0
    note: str = ""  # the instruction or question, if any
    workspace: str = ""  # below the run's `work` folder, if it has one


def steps_of(run: End) -> list[ShownStep]:
    """The steps of a run, in order, as far as their events are loaded."""
    steps: list[ShownStep] = []
    kinds = Counter(entry.event.kind for entry in run.entries)
    invoked = Counter(entry.event.actor for entry in run.entries if isinstance(entry.event, e.InvocationStarted))
    invocations = Counter({name: run.state.actor(name).invocations - times for name, times in invoked.items()})
    decisions = count(1 + run.state.decisions - kinds["decided"] - kinds["decision_refused"])
    ended = "killed"
    for entry in run.entries:
        match entry.event:
            case e.Decided() | e.DecisionRefused() as event:
                steps.append(_decided(next(decisions), event))
            case e.ArtefactEdited() as event:
                steps.append(ShownStep(None, event.artefact, "edited", note=f"by {event.by}"))
            case e.ActorUndone() as event:
                steps.append(ShownStep(None, event.actor, "gone", note="what it had made outside of the run"))
            case e.CallFailed() as event if event.code == e.LOST:
                note = f"as {event.role or event.actor}; it may have been paid for"
                steps.append(ShownStep(None, "call", "lost", note=note))
            case e.RunEnded() as event:
                ended = f"{event.status}{f': {event.reason}' if event.reason else ''}"
            case e.RunResumed():
                steps.append(ShownStep(None, "run", "resumed", note=f"it was {ended}"))
                ended = "killed"
            case e.InvocationStarted() as event:
                invocations[event.actor] += 1
                if steps:
                    steps[-1].workspace = workspace_name(invocations[event.actor], event.actor)
            case event if steps:
                _continue(steps[-1], event)
    return steps


def _decided(number: int, event: e.Decided | e.DecisionRefused) -> ShownStep:
    if isinstance(event, e.DecisionRefused):
        return ShownStep(number, event.next, "refused", note=event.reason)
    if event.question:
        return ShownStep(number, "human", "asked", note=event.question)
    outcome = "done" if event.next in {"END", "STOP"} else "unfinished"
    sent = "; ".join(f"back to {one.actor}: {one.instruction}" for one in event.orders if one.instruction)
    return ShownStep(number, event.next, outcome, note=sent or (event.diagnosis if event.next == "STOP" else ""))


def _continue(step: ShownStep, event: e.Event) -> None:
    match event:
        case e.AttemptFailed() | e.AttemptSucceeded():
            step.attempts.append(event)
        case e.ActorSucceeded():
            step.outcome, step.seconds = "succeeded", event.seconds
        case e.ActorFailed():
            step.outcome, step.seconds = "failed", event.seconds
        case e.ActorReused():
            step.outcome = "reused"
        case e.HumanAnswered():
            step.outcome = "answered" if event.answer else "no answer"


@click.command()
@click.argument("run", default="latest")
@click.option("--evidence", is_flag=True, help="Also show traces, differences and counter-examples.")
@click.option("--calls", is_flag=True, help="Show what language models were asked, one line a call.")
@click.option("--call", type=int, metavar="N", help="Show the prompt and the answer of one of these calls.")
@click.option("--cassette", type=click.Path(path_type=Path), help="Write the answers to a file for `replay:FILE`.")
@click.option("--all", "whole", is_flag=True, help=f"Show all steps, where there are more than {LAST} events.")
@json_option
def show(
    run: str, evidence: bool, calls: bool, call: int | None, cassette: Path | None, whole: bool, as_json: bool
) -> None:
    """Show RUN: its steps, failed attempts, artefacts, times and costs."""
    folder = find_run(run)
    if calls or call is not None:
        found = [call_with_texts(folder, one) for one in chosen(listed_calls(folder), call)]
        if as_json:
            print_json({"calls": found})
        elif call is None:
            print_calls(found)
        else:
            print_call(found[0])
    elif cassette:
        from palmette.llm.cassette import write_cassette

        click.echo(f"{len(write_cassette(folder, cassette).calls)} answers are in {near(cassette)}")
    else:
        _show(folder, read_end(folder, None if whole else LAST), evidence, as_json)


def _show(folder: Path, run: End, evidence: bool, as_json: bool) -> None:
    if as_json:
        print_json(run_json(folder, run))
        return
    state, steps, summary = run.state, steps_of(run), summarise(folder, run.state)
    why = f": {summary.reason}" if summary.reason else ""
    click.echo(f"{click.style(summary.id, bold=True)}  {summary.what}, {summary.status}{why}")
    click.echo(
        f"started {summary.started:%Y-%m-%d %H:%M:%S}, worked {duration(state.spent.seconds)}, "
        f"{counted(state.decisions, 'step')}, {counted(state.spent.attempts, 'attempt')}, in {near(folder)}\n"
    )
    if run.earlier:
        click.echo(f"{run.earlier} earlier events are left out; all of them: palmette show {summary.id} --all\n")
    rows = []
    for one in steps:
        took = duration(one.seconds) if one.seconds else ""
        rows.append((one.number or "", one.actor, one.outcome, len(one.attempts) or "", took, first_line(one.note)))
    print_table(("step", "actor", "outcome", "attempts", "time", "note"), rows)
    _print_attempts(steps, evidence, folder / "work")
    print_costs(state)
    click.echo()
    made = state.artefacts.items()
    places = [(name, one.number, one.by, near(folder / "artefacts" / name)) for name, one in made]
    print_table(("artefact", "version", "made by", "where"), places)


def _print_attempts(steps: list[ShownStep], evidence: bool, work: Path) -> None:
    failing = [step for step in steps if any(isinstance(attempt, e.AttemptFailed) for attempt in step.attempts)]
    if failing:
        click.echo("\nfailed attempts")
    for step in failing:
        shown: set[Violation] = set()
        for attempt in step.attempts:
            if attempt.fix:
                tried = "handed over" if attempt.fix == TERMINATE else f"tried: {first_line(attempt.fix)}"
                click.echo(f"  step {step.number}, {step.actor} then {tried}")
            if attempt.fix and attempt.reason:
                click.echo(f"      because: {first_line(attempt.reason)}")
            for violation in getattr(attempt, "violations", ()):
                if violation not in shown:
                    click.echo(f"  step {step.number}, {step.actor}: {violation.message} [{violation.code}]")
                    if evidence and violation.evidence:
                        click.echo("\n".join(f"      {line}" for line in violation.evidence.splitlines()))
                shown.add(violation)
        if step.workspace and (work / step.workspace).is_dir():
            click.echo(f"  what it worked on is in {near(work / step.workspace)}")


def run_json(folder: Path, run: End) -> dict[str, object]:
    """Everything shown of a run, as JSON data."""
    state, summary = run.state, summarise(folder, run.state)
    return {
        **{"run": summary.id, "folder": str(folder), "what": summary.what},
        **{"status": summary.status, "reason": summary.reason},
        "started": summary.started.isoformat(timespec="seconds"),
        "seconds": round(state.spent.seconds, 3),
        "attempts": state.spent.attempts,
        "models": costs_json(state),
        "steps": [step_json(step) for step in steps_of(run)],
        "artefacts": {
            name: {"version": one.number, "by": one.by, "digest": one.digest, "path": str(folder / "artefacts" / name)}
            for name, one in state.artefacts.items()
        },
        "earlier_events": run.earlier,
    }


def step_json(step: ShownStep) -> dict[str, object]:
    names = ("item", "reason", "fix", "output", "seconds")
    attempts = [
        {
            "ok": isinstance(one, e.AttemptSucceeded),
            **{name: getattr(one, name) for name in names},
            "violations": [violation.model_dump() for violation in getattr(one, "violations", ())],
        }
        for one in step.attempts
    ]
    names = ("number", "actor", "outcome", "seconds", "note")
    return {**{name: getattr(step, name) for name in names}, "attempts": attempts}
