"""Small deviations of a single step of a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from palmette.features.actors.testcase_generator.expression_changes import text_deviations
from palmette.features.spec import fsc_steps
from palmette.features.spec.dfr import Table


def step_deviations(step: fsc_steps.Step) -> Iterator[tuple[str, tuple[fsc_steps.Step, ...]]]:
    """Yields a description of each deviation, and the steps that replace this one."""
    match step:
        case fsc_steps.FilterStep():
            yield "the filter was dropped", ()
            for what, sql in text_deviations(step.filter):
                yield f"in the filter, {what}", (fsc_steps.FilterStep(filter=sql),)
        case fsc_steps.ComputeStep():
            for name, text in step.compute.items():
                for what, sql in text_deviations(text):
                    yield f"in {name}, {what}", (fsc_steps.ComputeStep(compute={**step.compute, name: sql}),)
        case fsc_steps.ReplaceStep():
            for old in step.replace.values:
                rest = {key: value for key, value in step.replace.values.items() if key != old}
                kept = (step.model_copy(update={"replace": step.replace.model_copy(update={"values": rest})}),)
                yield f"{old!r} in {step.replace.column} stays", kept if rest else ()
        case fsc_steps.CategoriseStep():
            yield from _categories(step)
        case fsc_steps.JoinStep():
            other = "drop" if step.join.unmatched == "keep" else "keep"
            yield f"unmatched rows: {other}", (_step(step, "join", unmatched=other),)
            moment = "cutoff" if step.join.at == "event" else "event"
            yield f"{step.join.table} as known at the {moment}", (_step(step, "join", at=moment),)
        case fsc_steps.MemberStep():
            yield from _membership(step)
        case fsc_steps.PreviousStep() | fsc_steps.GapStep() | fsc_steps.SessionStep():
            yield from _looking_back(step)
        case _:
            pass


def when_known(table: Table, step: fsc_steps.JoinStep) -> tuple[fsc_steps.Step, ...]:
    """The steps that look up the state at the time a row became available; none if the table has no such time."""
    event, known = (table.column(name) if name else None for name in (table.event_time, table.available_time))
    if step.join.at != "event" or not event or not known or (event.type, event.unit) != (known.type, known.unit):
        return ()
    aside = fsc_steps.ComputeStep(compute={"event_time_aside": f"`{event.name}`", event.name: f"`{known.name}`"})
    return aside, step, fsc_steps.ComputeStep(compute={event.name: "event_time_aside"})


def _membership(step: fsc_steps.MemberStep) -> Iterator[tuple[str, tuple[fsc_steps.Step, ...]]]:
    moment = "cutoff" if step.member.at == "event" else "event"
    yield f"{step.member.table} as known at the {moment}", (_step(step, "member", at=moment),)
    if step.member.where is not None:
        yield f"{step.member.column} without its condition", (_step(step, "member", where=None),)
    for what, where in text_deviations(step.member.where or "true"):
        yield f"in {step.member.column}, {what}", (_step(step, "member", where=where),)


def _looking_back(
    step: fsc_steps.PreviousStep | fsc_steps.GapStep | fsc_steps.SessionStep,
) -> Iterator[tuple[str, tuple[fsc_steps.Step, ...]]]:
    match step:
        case fsc_steps.SessionStep():
            yield "the timeout is longer", (_step(step, "session", timeout=step.session.timeout.stepped(1)),)
            yield "a gap of the timeout counts otherwise", (_step(step, "session", longer=not step.session.longer),)
            yield from _entity(step, "session", step.session.by)
        case fsc_steps.GapStep():
            yield from _entity(step, "gap", step.gap.by)
        case fsc_steps.PreviousStep():
            before = _step(step, "previous", offset=step.previous.offset + 1)
            yield "the event before the previous one", (before,)
            for what, sql in text_deviations(step.previous.of):
                yield f"in {step.previous.column}, {what}", (_step(step, "previous", of=sql),)
            yield from _entity(step, "previous", step.previous.by)


def _entity(step: fsc_steps.Step, name: str, by: tuple[str, ...]) -> Iterator[tuple[str, tuple[fsc_steps.Step, ...]]]:
    """Looks at other events without one of the keys."""
    for key in by if len(by) > 1 else ():
        yield f"{key} is not a key of {name}", (_step(step, name, by=tuple(each for each in by if each != key)),)


def _step(step: Any, name: str, **update: Any) -> Any:
    return step.model_copy(update={name: getattr(step, name).model_copy(update=update)})


def _categories(step: fsc_steps.CategoriseStep) -> Iterator[tuple[str, tuple[fsc_steps.Step, ...]]]:
    rule = step.categorise
    for index, bound in enumerate(rule.buckets):
        buckets = (*rule.buckets[:index], bound + 0.001, *rule.buckets[index + 1 :])
        yield f"{bound} belongs to the bucket below", (_step(step, "categorise", buckets=buckets),)
    for index, case in enumerate(rule.cases):
        rest = (*rule.cases[:index], *rule.cases[index + 1 :])
        if rest:
            yield f"{case.then!r} is forgotten", (_step(step, "categorise", cases=rest),)
        for what, sql in text_deviations(case.when):
            changed = (*rule.cases[:index], fsc_steps.CategoryCase(when=sql, then=case.then), *rule.cases[index + 1 :])
            yield f"in {case.then!r}, {what}", (_step(step, "categorise", cases=changed),)
    if rule.otherwise is not None:
        yield "otherwise is forgotten", (_step(step, "categorise", otherwise=None),)
