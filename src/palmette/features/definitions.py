"""Describes features, and the rows of their sources, for readers of a pull request."""

from __future__ import annotations

from itertools import pairwise
from typing import assert_never

from palmette.features.spec.fsc_steps import (
    Categorise,
    CategoriseStep,
    ComputeStep,
    ConvertStep,
    Extract,
    ExtractStep,
    FilterStep,
    GapStep,
    Join,
    JoinStep,
    Member,
    MemberStep,
    PreviousStep,
    ReplaceStep,
    SessionStep,
    Step,
    pairs,
)
from palmette.features.spec.phrases import key_pairs, statement
from palmette.features.spec.view import View, ViewFeature, ViewSource


def definition(feature: ViewFeature, view: View) -> str:
    """Describes a feature, including its expressions, as plain text."""
    return f"{feature.derive}" if feature.computation is None else statement(feature.computation, view.grain)


def steps_of(source: ViewSource) -> list[str]:
    """Describes what happens to the rows of a source, step by step, as plain text."""
    return [_step(step) for step in source.steps]


def _step(step: Step) -> str:
    match step:
        case FilterStep():
            return f"only where {step.filter}"
        case ComputeStep():
            return ", ".join(f"{name} = {expression}" for name, expression in step.compute.items())
        case ReplaceStep():
            pairs = ", ".join(
                f"{old!r} by {'null' if new is None else repr(new)}" for old, new in step.replace.values.items()
            )
            return f"in {step.replace.column}, {pairs}"
        case ConvertStep():
            return f"{step.convert.column} as {step.convert.to}"
        case CategoriseStep():
            return f"{step.categorise.column} = {_categories(step.categorise)}"
        case ExtractStep():
            return f"{step.extract.column} = {_extracted(step.extract)}"
        case JoinStep():
            return _joined(step.join)
        case MemberStep(member=one):
            return f"{one.column} = {_member(one)}"
        case PreviousStep(previous=one):
            which = "the event before" if one.offset == 1 else f"{one.offset} events before"
            return f"{one.column} = {one.of} of {which} of the same {', '.join(one.by)}"
        case GapStep(gap=one):
            return f"{one.column} = {one.unit} since the event before of the same {', '.join(one.by)}"
        case SessionStep(session=one):
            silence = f"more than {one.timeout} of silence" if one.longer else f"{one.timeout} of silence or more"
            return f"{one.column} = number of the session of {', '.join(one.by)}, a new one after {silence}"
        case _:
            assert_never(step)


def _categories(step: Categorise) -> str:
    if step.of is not None:
        edges = [f"{bound:g}" for bound in step.buckets]
        spans = [f"below {edges[0]}", *(f"from {low} to below {high}" for low, high in pairwise(edges))]
        labels = zip(step.labels, [*spans, f"from {edges[-1]}"], strict=True)
        return ", ".join(f"{label!r} where {step.of} is {span}" for label, span in labels)
    cases = [f"{case.then!r} where {case.when}" for case in step.cases]
    return f"{', else '.join(cases)}, else {'null' if step.otherwise is None else repr(step.otherwise)}"


def _extracted(step: Extract) -> str:
    if step.split is not None:
        part = f"part {step.split.part}" if step.split.part > 0 else f"part {-step.split.part} from the end"
        return f"{part} of {step.of} split at {step.split.by!r}, null where there is none"
    if step.regex is not None:
        return f"group {step.regex.group} of {step.regex.pattern!r} in {step.of}, null where it does not match"
    return f"{step.date_part or step.json_field} of {'' if step.date_part else 'the JSON in '}{step.of}"


def _joined(step: Join) -> str:
    taken = pairs(step.columns)
    columns = ", ".join(new if new == there else f"{there} as {new}" for new, there in taken.items())
    keys = ", ".join(key_pairs(step.on))
    more = ", as at the cut-off" if step.at == "cutoff" else ""
    more += ", rows without a match dropped" if step.unmatched == "drop" else ""
    return f"{columns} from {step.table} by {keys} ({step.cardinality.replace('_', ' ')}{more})"


def _member(step: Member) -> str:
    where = f" where {step.where}" if step.where else ""
    when = "event" if step.at == "event" else "cut-off"
    keys = ", ".join(key_pairs(step.on))
    return f"whether {step.table} has a row with the same {keys}{where}, as known at the {when}"
