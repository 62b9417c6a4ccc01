"""Describes features and steps for readers of a pull request, and parses the sentences for features."""

import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from pathlib import Path
from typing import get_args

from sqlglot import exp

from palmette.documents import read_plain
from palmette.features.spec import fsc_steps
from palmette.features.spec.fsc import Aggregate, AggregateFunction, Expression, Lookup, SourceSpec
from palmette.features.spec.fsc_steps import pairs
from palmette.features.spec.sql import ExpressionError, ParsedExpression, parse
from palmette.features.spec.values import Window
from palmette.features.spec.view import AS_OF, View, ViewFeature, ViewSource

_TEXTS: dict[str, dict[str, str]] = read_plain(Path(__file__).with_name("phrases.yaml"))
_PHRASES, _VALUED, _RANKED = (_TEXTS[kind] for kind in ("functions", "valued", "ranked"))
assert set(_PHRASES) == set(get_args(AggregateFunction))
_FIELDS = {
    "of": r"(?P<distinct>distinct )?(?P<of>.+?)",
    "k": r"(?P<k>\d+)",
    "p": r"(?P<p>\d+(?:\.\d+)?)",
    "rank_by": r"(?P<rank_by>.+?)",
    "weight": r"(?:recency \(half-life (?P<half_life>\w+)\)|(?P<weight>.+?))",
}
_PART = r"(?:\d+ )?(?:day|hour|minute|second)s?"
_TAIL = (
    r" (?P<source>\w+)(?: for which (?P<condition>.+?))?(?: in the order of (?P<order>[\w, ]+?))?"
    r"(?: where (?P<where>.+))?"
    rf" (?:in all history|in the (?:last )?(?P<window>{_PART}(?: {_PART})*) before the cut-off)"
    r"(?:, per (?P<by>[\w, ]+))?"
)
_UNITS = {"d": "day", "h": "hour", "m": "minute", "s": "second"}


_LOOKUP = re.compile(r"(?P<column>\w+) of (?P<table>\w+) by (?P<on>[\w, =]+), as known at the cut-off")


def statement(computation: Aggregate | Expression | Lookup, grain: Collection[str]) -> str:
    """The computation in words, including its expressions."""
    if isinstance(computation, Lookup):
        keys = ", ".join(key_pairs(computation.on or ()))
        return f"{computation.column} of {computation.table} by {keys}, as known at the cut-off"
    if isinstance(computation, Expression):
        sentence = f"{computation.sql} over {computation.source}"
    else:
        sentence = f"{_phrase(computation)} {computation.source}"
        if computation.function == "share" and computation.of:
            sentence += f" for which {computation.of}"
        if computation.order:
            sentence += f" in the order of {', '.join(computation.order)}"
    if computation.where:
        sentence += f" where {computation.where}"
    whole = computation.window == Window.ALL
    sentence += " in all history" if whole else f" in the {length(computation.window)} before the cut-off"
    by = computation.by or tuple(grain)
    return sentence if set(by) == set(grain) else f"{sentence}, per {', '.join(by)}"


def length(window: Window) -> str:
    """A window in words: `30 days`, `1 hour 30 minutes`, `day`."""
    parts = [(int(amount), _UNITS[unit]) for amount, unit in re.findall(r"(\d+)([dhms])", str(window))]
    if parts[0][0] == len(parts) == 1:
        return parts[0][1]
    return " ".join(f"{amount} {unit}{'s' * (amount > 1)}" for amount, unit in parts)


def _phrase(aggregate: Aggregate) -> str:
    weight = f"recency (half-life {aggregate.half_life})" if aggregate.half_life else aggregate.weight
    kind = ("distinct " if aggregate.distinct else "") + str(aggregate.of)
    texts = {**_PHRASES, **(_VALUED if aggregate.of else {}), **(_RANKED if aggregate.rank_by else {})}
    percent = f"{(aggregate.p or 0) * 100:g}"
    return texts[aggregate.function].format(of=kind, p=percent, k=aggregate.k, weight=weight, rank_by=aggregate.rank_by)


def key_pairs(on: Mapping[str, str] | tuple[str, ...]) -> list[str]:
    """Keys in words: a column, or `column here = column there`."""
    return [here if here == there else f"{here} = {there}" for here, there in pairs(on).items()]


def read_statement(
    text: str, sources: Collection[str], features: Collection[str]
) -> Mapping[str, Aggregate | Expression | Lookup | str] | None:
    """Parses a sentence written by `statement`, or an expression over features; None if it is neither.

    Returns:
        One of the feature fields `aggregate`, `expression`, `lookup`, `derive`, with its value.
    """
    if (found := _LOOKUP.fullmatch(text)) and found["table"] in sources:
        on = {here: there or here for here, _, there in (each.partition(" = ") for each in found["on"].split(", "))}
        return {"lookup": Lookup(table=found["table"], column=found["column"], on=on)}
    if (parsed := _parsed(text)) and parsed.columns and set(parsed.columns) <= {*features, AS_OF}:
        return None if isinstance(parsed.tree, exp.Column) else {"derive": text}
    phrases = [*_PHRASES.items(), *_VALUED.items(), *_RANKED.items()]
    for function, phrase in sorted(phrases, key=lambda one: -len(one[1])):
        found = re.fullmatch(phrase.format(**_FIELDS) + _TAIL, text)
        if found and found["source"] in sources:
            parts = {key: value for key, value in found.groupdict().items() if value is not None}
            return {"aggregate": _aggregate(function, parts)}
    found = re.fullmatch(rf"(?P<sql>.+) over{_TAIL}", text)
    if found is None or found["source"] not in sources or not ((sql := _parsed(found["sql"])) and sql.aggregates):
        return None
    return {"expression": Expression.model_validate({"sql": found["sql"], **_shared(found.groupdict())})}


def _parsed(text: str) -> ParsedExpression | None:
    try:
        return parse(text)
    except ExpressionError:
        return None


def _aggregate(function: str, parts: dict[str, str]) -> Aggregate:
    own: dict[str, object] = {key: parts[key] for key in ("of", "k", "weight", "half_life", "rank_by") if key in parts}
    if "condition" in parts:
        own["of"] = parts["condition"]
    if "p" in parts:
        own["p"] = float(parts["p"]) / 100
    if "order" in parts:
        own["order"] = parts["order"].split(", ")
    return Aggregate.model_validate({"function": function, "distinct": "distinct" in parts, **own, **_shared(parts)})


def _shared(parts: dict[str, str]) -> dict[str, object]:
    found: dict[str, object] = {"source": parts["source"], "where": parts.get("where")}
    if by := parts.get("by"):
        found["by"] = by.split(", ")
    if window := parts.get("window"):
        units = {name: unit for unit, name in _UNITS.items()}
        amounts = re.findall(r"(?:(\d+) )?(day|hour|minute|second)s?", window)
        found["window"] = "".join(f"{amount or 1}{units[unit]}" for amount, unit in amounts)
    return found


def definition(feature: ViewFeature, view: View) -> str:
    """Describes a feature, including its expressions, as plain text."""
    return f"{feature.derive}" if feature.computation is None else statement(feature.computation, view.grain)


def helpers_of(feature: ViewFeature, view: View) -> list[ViewFeature]:
    """The internal features that a derivation uses and the author did not write."""
    written = {one.name for one in view.spec.features}
    named = set(re.findall(r"\w+", feature.derive or ""))
    return [one for one in view.features if one.internal and one.name in named - written]


def sentence_forms() -> str:
    """The beginnings of the sentences that `read_statement` parses, with placeholders in capital letters."""
    shown = {"of": "X", "k": "K", "p": "P", "rank_by": "AGGREGATE", "weight": "WEIGHT"}
    phrases = [*_PHRASES.values(), *_VALUED.values(), *_RANKED.values()]
    return "; ".join(f"{phrase.format(**shown)} S" for phrase in phrases)


def steps_of(source: ViewSource | SourceSpec) -> list[str]:
    """Describes what happens to the rows of a source, step by step, as plain text."""
    return [_step(step) for step in source.steps]


def _step(step: fsc_steps.Step) -> str:
    match step.body:
        case str() as condition:
            return f"only where {condition}"
        case dict() as columns:
            return ", ".join(f"{name} = {expression}" for name, expression in columns.items())
        case fsc_steps.Replace() as one:
            values = one.values.items()
            return f"in {one.column}, {', '.join(f'{old!r} by {_value(new)}' for old, new in values)}"
        case fsc_steps.Convert() as one:
            return f"{one.column} as {one.to}"
        case fsc_steps.Categorise() as one:
            return f"{one.column} = {_categories(one)}"
        case fsc_steps.Extract() as one:
            return f"{one.column} = {_extracted(one)}"
        case fsc_steps.Join() as one:
            return _joined(one)
        case fsc_steps.Member() as one:
            return f"{one.column} = {_member(one)}"
        case fsc_steps.Previous() as one:
            which = "the event before" if one.offset == 1 else f"{one.offset} events before"
            return f"{one.column} = {one.of} of {which} of the same {', '.join(one.by)}"
        case fsc_steps.Gap() as one:
            return f"{one.column} = {one.unit} since the event before of the same {', '.join(one.by)}"
        case fsc_steps.Session() as one:
            silence = f"more than {one.timeout} of silence" if one.longer else f"{one.timeout} of silence or more"
            return f"{one.column} = number of the session of {', '.join(one.by)}, a new one after {silence}"
    raise AssertionError(step)


def _value(value: object) -> str:
    return "null" if value is None else repr(value)


def _categories(step: fsc_steps.Categorise) -> str:
    if step.of is not None:
        edges = [f"{bound:g}" for bound in step.buckets]
        spans = [f"below {edges[0]}", *(f"from {low} to below {high}" for low, high in pairwise(edges))]
        labels = zip(step.labels, [*spans, f"from {edges[-1]}"], strict=True)
        return ", ".join(f"{label!r} where {step.of} is {span}" for label, span in labels)
    cases = [f"{case.then!r} where {case.when}" for case in step.cases]
    return f"{', else '.join(cases)}, else {_value(step.otherwise)}"


def _extracted(step: fsc_steps.Extract) -> str:
    if step.split is not None:
        part = f"part {step.split.part}" if step.split.part > 0 else f"part {-step.split.part} from the end"
        return f"{part} of {step.of} split at {step.split.by!r}, null where there is none"
    if step.regex is not None:
        return f"group {step.regex.group} of {step.regex.pattern!r} in {step.of}, null where it does not match"
    return f"{step.date_part or step.json_field} of {'' if step.date_part else 'the JSON in '}{step.of}"


def _joined(step: fsc_steps.Join) -> str:
    taken = pairs(step.columns)
    columns = ", ".join(new if new == there else f"{there} as {new}" for new, there in taken.items())
    keys = ", ".join(key_pairs(step.on))
    more = ", as at the cut-off" if step.at == "cutoff" else ""
    more += ", rows without a match dropped" if step.unmatched == "drop" else ""
    return f"{columns} from {step.table} by {keys} ({step.cardinality.replace('_', ' ')}{more})"


def _member(step: fsc_steps.Member) -> str:
    where = f" where {step.where}" if step.where else ""
    when = "the event" if step.at == "event" else "the cut-off"
    keys = ", ".join(key_pairs(step.on))
    return f"whether {step.table} has a row with the same {keys}{where}, as known at {when}"
