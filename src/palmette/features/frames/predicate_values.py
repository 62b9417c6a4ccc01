"""Collects the values in a view's expressions by column: literals, patterns, JSON paths, separators.

The values of a column that a step computes also apply to the columns it is computed from, so that a condition on a
category leads to the raw values behind it. The same holds for features close to a raw value (a lookup, a maximum, a
sum), so that a condition in a derived feature gets rows on both sides.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from palmette.features.spec import fsc, fsc_steps
from palmette.features.spec.view import View

Literal = str | int | float | bool
_DATED = re.compile(r"'(\d{4})-\d\d?-\d\d?")
_COUNTING = ("count", "count_distinct", "approx_count_distinct", "exists", "share", "days_since_last")
"""Aggregates that do not depend on the magnitude of values."""


@dataclass
class PredicateValues:
    """Values by column name, across all tables; columns of steps and joins count under their new names."""

    literals: dict[str, list[Literal]] = field(default_factory=lambda: defaultdict(list))
    """Literals that the column is compared or combined with."""
    patterns: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Java regular expressions that it is matched against."""
    likes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    separators: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    json_paths: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    formats: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Date patterns that parse it."""
    numbers: set[str] = field(default_factory=set)
    """Text columns that are converted to other types."""
    years: set[int] = field(default_factory=set)
    """Years of the dates in expressions."""
    bases: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Column or feature to the columns and features it is computed from."""

    def closed(self) -> PredicateValues:
        """Propagates the values of derived columns to the columns they are computed from."""
        for _ in range(len(self.bases)):
            for name, bases in self.bases.items():
                for base in bases - {name}:
                    _extend(self.literals[base], self.literals[name])
                    _extend(self.likes[base], self.likes[name])
                    _extend(self.patterns[base], self.patterns[name])
                    if name in self.numbers:
                        self.numbers.add(base)
        return self


def _extend(target: list[Any], values: Iterable[Any]) -> None:
    target += [value for value in values if value not in target]


def predicate_values_of(view: View) -> PredicateValues:
    """Collects from all steps, conditions and computations of the view."""
    predicate_values = PredicateValues()
    for source in view.sources:
        for step in source.steps:
            _step(predicate_values, step)
    for feature in view.features:
        computation = feature.computation
        if isinstance(computation, fsc.Aggregate):
            of = _read(predicate_values, computation.of)
            predicate_values.bases[feature.name] |= set() if computation.function in _COUNTING else of
            _read(predicate_values, computation.where)
            _read(predicate_values, computation.weight)
            _read(predicate_values, computation.rank_by)
        elif isinstance(computation, fsc.Expression):
            _read(predicate_values, computation.sql)
            _read(predicate_values, computation.where)
        elif isinstance(computation, fsc.Lookup):
            predicate_values.bases[feature.name].add(computation.column)
        predicate_values.bases[feature.name] |= _read(predicate_values, feature.derive)
    if view.spine is not None:
        _read(predicate_values, view.spine.where)
    return predicate_values.closed()


def _step(predicate_values: PredicateValues, step: fsc_steps.Step) -> None:
    match step:
        case fsc_steps.FilterStep():
            _read(predicate_values, step.filter)
        case fsc_steps.ComputeStep():
            for name, text in step.compute.items():
                predicate_values.bases[name] |= _read(predicate_values, text)
        case fsc_steps.ReplaceStep():
            _extend(predicate_values.literals[step.replace.column], step.replace.values)
        case fsc_steps.ConvertStep():
            predicate_values.numbers.add(step.convert.column)
            if step.convert.format:
                _extend(predicate_values.formats[step.convert.column], [step.convert.format])
        case fsc_steps.CategoriseStep():
            _categorise(predicate_values, step.categorise)
        case fsc_steps.ExtractStep():
            _extract(predicate_values, step.extract)
        case _:
            _relation(predicate_values, step)


def _relation(predicate_values: PredicateValues, step: fsc_steps.Step) -> None:
    """Records which columns a step takes from other rows."""
    if isinstance(step, fsc_steps.PreviousStep):
        predicate_values.bases[step.previous.column] |= _read(predicate_values, step.previous.of)
    if isinstance(step, fsc_steps.MemberStep):
        _read(predicate_values, step.member.where)
    if isinstance(step, fsc_steps.JoinStep) and isinstance(step.join.columns, dict):
        for new, there in step.join.columns.items():
            predicate_values.bases[new].add(there)


def _categorise(predicate_values: PredicateValues, rule: fsc_steps.Categorise) -> None:
    for case in rule.cases:
        predicate_values.bases[rule.column] |= _read(predicate_values, case.when)
    if rule.of is not None:
        names = _read(predicate_values, rule.of)
        predicate_values.bases[rule.column] |= names
        for name in names:
            _extend(predicate_values.literals[name], rule.buckets)


def _extract(predicate_values: PredicateValues, rule: fsc_steps.Extract) -> None:
    if rule.column != rule.of:
        predicate_values.bases[rule.column].add(rule.of)
    if rule.split is not None:
        _extend(predicate_values.separators[rule.of], [rule.split.by])
    if rule.regex is not None:
        _extend(predicate_values.patterns[rule.of], [rule.regex.pattern])
    if rule.json_field is not None:
        _extend(predicate_values.json_paths[rule.of], [rule.json_field])


def _read(predicate_values: PredicateValues, text: str | None) -> set[str]:
    """Records the values in an expression; returns the columns it uses."""
    if text is None:
        return set()
    try:
        tree = parse_one(text, dialect="spark")
    except SqlglotError:
        return set()
    predicate_values.years |= {int(year) for year in _DATED.findall(text)}
    for node in tree.walk():
        match node:
            case exp.Like() | exp.ILike():
                _note(predicate_values.likes, node.this, node.expression)
            case exp.RegexpLike() | exp.RegexpExtract() | exp.RegexpReplace():
                _note(predicate_values.patterns, node.this, node.expression)
            case exp.JSONExtractScalar() | exp.JSONExtract():
                path = ".".join(key.name for key in node.expression.find_all(exp.JSONPathKey))
                for name in _names(node.this):
                    _extend(predicate_values.json_paths[name], [path])
            case exp.Cast() | exp.TryCast():
                predicate_values.numbers |= _names(node.this)
            case exp.Predicate() | exp.Func() | exp.Binary() | exp.If():
                for name in _names(node):
                    _extend(predicate_values.literals[name], _own_literals(node))
            case _:
                pass
    return _names(tree)


def _note(target: dict[str, list[str]], subject: Any, pattern: Any) -> None:
    if isinstance(pattern, exp.Literal) and pattern.is_string:
        for name in _names(subject):
            _extend(target[name], [pattern.this])


def _names(node: Any) -> set[str]:
    return {column.name for column in node.find_all(exp.Column)}


def _own_literals(node: Any) -> Iterator[Literal]:
    """Literals directly under a node, also in a negation, a bracket or a list."""
    for child in node.iter_expressions():
        match child:
            case exp.Literal():
                yield child.this if child.is_string else _number(child.this)
            case exp.Neg() if isinstance(child.this, exp.Literal) and not child.this.is_string:
                yield -_number(child.this.this)
            case exp.Boolean():
                yield bool(child.this)
            case exp.Paren() | exp.Tuple():
                yield from _own_literals(child)
            case _:
                pass


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)
