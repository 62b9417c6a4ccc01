"""Definitions in words, for the reader of a pull request: of a feature, and of the rows of its source."""

from __future__ import annotations

from typing import assert_never

from palmette.features.spec.fsc import Aggregate, Expression, Lookup
from palmette.features.spec.fsc_steps import (
    CategoriseStep,
    ComputeStep,
    ConvertStep,
    ExtractStep,
    FilterStep,
    GapStep,
    JoinStep,
    PreviousStep,
    ReplaceStep,
    SessionStep,
    Step,
)
from palmette.features.spec.values import Window
from palmette.features.spec.view import View, ViewFeature, ViewSource

_PHRASES = {
    "count": "number of rows of",
    "exists": "whether there is a row of",
    "share": "share of rows of",
    "count_distinct": "number of different {of} in",
    "approx_count_distinct": "about the number of different {of} in",
    "sum": "sum of {of} over",
    "avg": "mean of {of} over",
    "min": "smallest {of} in",
    "max": "largest {of} in",
    "stddev": "sample deviation of {of} over",
    "percentile": "{p} percentile of {of} over",
    "first": "first {of} in",
    "last": "last {of} in",
    "last_k": "last {k} {of} in",
    "top_k": "{k} most frequent {of} in",
    "mode": "most frequent {of} in",
    "collect": "all {of} in order, from",
    "days_since_last": "days since the last row of",
    "vector_mean": "mean vector {of} over",
    "vector_sum": "sum of the vectors {of} over",
    "vector_weighted_mean": "mean vector {of}, weighted by {weight}, over",
}


def definition(feature: ViewFeature, view: View) -> str:
    """What the feature is, in words with its expressions in them; plain text."""
    computed = feature.computation
    match computed:
        case None:
            return f"{feature.derive}"
        case Lookup():
            keys = ", ".join(_pairs(computed))
            return f"{computed.column} of {computed.table} by {keys}, as known at the cut-off"
        case Expression():
            sentence = f"{computed.sql} over {computed.source}"
        case Aggregate():
            sentence = f"{_phrase(computed)} {computed.source}"
            if computed.function == "share" and computed.of:
                sentence += f" for which {computed.of}"
        case _:
            assert_never(computed)
    if computed.where:
        sentence += f" where {computed.where}"
    sentence += (
        " in all history" if computed.window == Window.ALL else f" in the {_length(computed.window)} before the cut-off"
    )
    by = computed.by or tuple(view.grain)
    return sentence if set(by) == set(view.grain) else f"{sentence}, per {', '.join(by)}"


def steps_of(source: ViewSource) -> list[str]:
    """What happens to the rows of a source, step by step; plain text."""
    return [_step(step) for step in (*source.early, *source.late)]


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
            return f"{step.categorise.column} = categories of {step.categorise.of or 'conditions'}"
        case ExtractStep():
            return f"{step.extract.column} = part of {step.extract.of}"
        case JoinStep():
            columns = ", ".join(step.join.columns)
            return f"{columns} from {step.join.table} ({step.join.cardinality.replace('_', ' ')})"
        case PreviousStep():
            return f"{step.previous.column} = {step.previous.of} of the event before"
        case GapStep():
            return f"{step.gap.column} = {step.gap.unit} since the event before"
        case SessionStep():
            return f"{step.session.column} = session, a new one after {step.session.timeout} of silence"
        case _:
            assert_never(step)


def _length(window: Window) -> str:
    unit = {"d": "day", "h": "hour"}[window.unit]
    return unit if window.amount == 1 else f"{window.amount} {unit}s"


def _phrase(aggregate: Aggregate) -> str:
    weight = f"recency (half-life {aggregate.half_life})" if aggregate.half_life else aggregate.weight
    percent = "" if aggregate.p is None else f"{aggregate.p * 100:g} %"
    kind = ("distinct " if aggregate.distinct else "") + str(aggregate.of)
    phrase = _PHRASES[aggregate.function].format(of=kind, p=percent, k=aggregate.k, weight=weight)
    return f"{phrase.removesuffix(' of')} of" if phrase.endswith(" of") else phrase


def _pairs(lookup: Lookup) -> list[str]:
    if isinstance(lookup.on, dict):
        return [here if here == there else f"{here} = {there}" for here, there in lookup.on.items()]
    return list(lookup.on or ())
