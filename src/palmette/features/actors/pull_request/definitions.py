"""A feature's definition in one sentence, for the reader of a pull request."""

from __future__ import annotations

from typing import assert_never

from palmette.features.spec.fsc import Aggregate, Expression, Lookup
from palmette.features.spec.values import Window
from palmette.features.spec.view import View, ViewFeature

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
        " in all history"
        if computed.window == Window.ALL
        else f" in the {computed.window} before the cut-off"
    )
    by = computed.by or tuple(view.grain)
    return sentence if set(by) == set(view.grain) else f"{sentence}, per {', '.join(by)}"


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
