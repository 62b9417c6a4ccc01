"""What a run took: its time by actor and by kind of work, and what language models came to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup

from palmette.automl.evidence import Charge, Stage, Timeline
from palmette.automl.report.findings import Findings
from palmette.automl.report.plots import shares_bar, spans_bar
from palmette.automl.wording import fixed, many, price, seconds, share

TRAINED = "assembly"
SCORED = frozenset({"comparison", "assessment"})
"""Artefacts whose actors train, and choose or score."""


class Spent(NamedTuple):
    """An actor's line of the timeline; texts."""

    name: str
    start: str
    time: str
    attempts: str
    drawing: Markup
    parts: tuple[tuple[str, str], ...]
    """What within took how long."""


class Part(NamedTuple):
    """A kind of work with its time."""

    colour: str
    name: str
    time: str
    share: str


class Paid(NamedTuple):
    """What an actor asked of a language model; texts."""

    actor: str
    role: str
    calls: str
    given: str
    """Tokens."""
    got: str
    price: str
    waited: str


class Costs(NamedTuple):
    total: str
    parts: tuple[Part, ...]
    drawing: Markup
    stages: tuple[Spent, ...]
    paid: tuple[Paid, ...] | None
    """Empty where no language model was asked; None where that was not kept."""
    calls: str
    tokens: str
    price: str


def costs(findings: Findings) -> Costs:
    """Of the whole run, resumed parts included."""
    timeline, bill = findings.evidence.timeline, findings.evidence.bill
    parts = _parts(findings, timeline) if timeline else []
    told = ", ".join(f"{name} {seconds(time)}" for _, name, time in parts)
    charges = bill or ()
    return Costs(
        total=seconds(timeline.seconds) if timeline else "–",
        parts=tuple(_part(part, timeline) for part in parts if timeline),
        drawing=shares_bar([(colour, time) for colour, _, time in parts], told),
        stages=tuple(_stages(findings, timeline)) if timeline else (),
        paid=None if bill is None else tuple(map(_paid, charges)),
        calls=fixed(sum(one.spend.calls for one in charges), 0),
        tokens=fixed(sum(one.spend.tokens for one in charges), 0),
        price=price(charges),
    )


def _parts(findings: Findings, timeline: Timeline) -> list[tuple[str, str, float]]:
    """Colour, name and seconds of each kind of work; together the whole run."""
    training = sum(run.seconds for run in findings.tracks)
    scoring = sum(stage.seconds for stage in timeline.stages if stage.artefact in SCORED)
    own = max(0.0, timeline.seconds - training - scoring - timeline.asking)
    asking = [("c3", "Waiting for language models", timeline.asking)] if timeline.asking else []
    return [
        ("c0", "Training", training),
        ("c1", "Choosing and scoring", scoring),
        *asking,
        ("faint", "Everything else", own),
    ]


def _part(part: tuple[str, str, float], timeline: Timeline | None) -> Part:
    colour, name, time = part
    total = timeline.seconds if timeline else 0.0
    return Part(colour, name, seconds(time), share(time / total if total else None))


def _stages(findings: Findings, timeline: Timeline) -> Iterator[Spent]:
    total = timeline.seconds or 1.0
    for stage in timeline.stages:
        inside = findings.tracks if stage.artefact == TRAINED else ()
        yield Spent(
            name=stage.name.replace("_", " ").capitalize(),
            start=_clock(stage.spans[0].start),
            time=_clock(stage.seconds),
            attempts=_attempts(stage),
            drawing=spans_bar([(span.start / total, span.seconds / total) for span in stage.spans]),
            parts=tuple((f"training, {run.track} track", _clock(run.seconds)) for run in inside),
        )


def _clock(time: float) -> str:
    """In one unit, so that lines can be compared."""
    return f"{fixed(time, 1)} s" if time < 100 else seconds(time)


def _attempts(stage: Stage) -> str:
    failed = f", {fixed(stage.failed, 0)} failed" if stage.failed else ""
    again = f" in {many(len(stage.spans), 'call')}" if len(stage.spans) > 1 else ""
    return f"{fixed(stage.attempts, 0)}{again}{failed}"


def _paid(charge: Charge) -> Paid:
    spend = charge.spend
    return Paid(
        actor=charge.actor.replace("_", " ").capitalize() or "Opening",
        role=charge.role.replace("_", " "),
        calls=fixed(spend.calls, 0),
        given=fixed(spend.input_tokens, 0),
        got=fixed(spend.output_tokens, 0),
        price=price([charge]),
        waited=seconds(charge.seconds),
    )
