"""Collects the values in a view's expressions by column: literals, patterns, JSON paths, separators.

The values of a column that a step computes also apply to the columns it is computed from, so that a condition on a
category leads to the raw values behind it. The same holds for features close to a raw value (a lookup, a maximum, a
sum), so that a condition in a derived feature gets rows on both sides.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from palmette.features.spec import fsc, fsc_steps
from palmette.features.spec.view import View

Literal = str | int | float | bool
_DATED = re.compile(r"'(\d{4})-\d\d?-\d\d?")
_COUNTING = ("count", "count_distinct", "approx_count_distinct", "exists", "share", "days_since_last")
"""Aggregates that do not depend on the magnitude of values."""


class PredicateValues:
    """Values by column name, across all tables; columns of steps and joins count under their new names."""

    def __init__(self, view: View) -> None:
        self.literals: dict[str, list[Literal]] = defaultdict(list)
        """Literals that the column is compared or combined with."""
        self.patterns: dict[str, list[str]] = defaultdict(list)
        """Java regular expressions that it is matched against."""
        self.likes: dict[str, list[str]] = defaultdict(list)
        self.separators: dict[str, list[str]] = defaultdict(list)
        self.json_paths: dict[str, list[str]] = defaultdict(list)
        self.formats: dict[str, list[str]] = defaultdict(list)
        """Date patterns that parse it."""
        self.numbers: set[str] = set()
        """Text columns that are converted to other types."""
        self.years: set[int] = set()
        """Years of the dates in expressions."""
        self.bases: dict[str, set[str]] = defaultdict(set)
        """Column or feature to the columns and features it is computed from."""
        for source in view.sources:
            for step in source.steps:
                self._step(step)
        for feature in view.features:
            self.bases[feature.name] |= self._computation(feature.computation) | self._read(feature.derive)
        if view.spine is not None:
            self._read(view.spine.where)
        self._propagate()

    def _propagate(self) -> None:
        """Gives the values of derived columns to the columns they are computed from."""
        for _ in range(len(self.bases)):
            for name, bases in self.bases.items():
                for base in bases - {name}:
                    _extend(self.literals[base], self.literals[name])
                    _extend(self.likes[base], self.likes[name])
                    _extend(self.patterns[base], self.patterns[name])
                    if name in self.numbers:
                        self.numbers.add(base)

    def _computation(self, computation: fsc.Aggregate | fsc.Expression | fsc.Lookup | None) -> set[str]:
        """Reads a computation; returns the columns that its value is close to."""
        match computation:
            case fsc.Aggregate():
                of = self._read(computation.of)
                for text in (computation.where, computation.weight, computation.rank_by):
                    self._read(text)
                return set() if computation.function in _COUNTING else of
            case fsc.Expression():
                self._read(computation.sql)
                self._read(computation.where)
            case fsc.Lookup():
                return {computation.column}
        return set()

    def _step(self, step: fsc_steps.Step) -> None:
        for column, text in fsc_steps.expressions_of(step):
            self.bases[column] |= self._read(text)
        match step.body:
            case fsc_steps.Replace() as rule:
                _extend(self.literals[rule.column], rule.values)
            case fsc_steps.Convert() as rule:
                self.numbers.add(rule.column)
                if rule.format:
                    _extend(self.formats[rule.column], [rule.format])
            case fsc_steps.Categorise(of=str()) as rule:
                for name in self._read(rule.of):
                    _extend(self.literals[name], rule.buckets)
            case fsc_steps.Extract() as rule:
                self._extract(rule)
            case fsc_steps.Join() as rule:
                for new, there in fsc_steps.pairs(rule.columns).items():
                    self.bases[new].add(there)

    def _extract(self, rule: fsc_steps.Extract) -> None:
        self.bases[rule.column].add(rule.of)
        if rule.split is not None:
            _extend(self.separators[rule.of], [rule.split.by])
        if rule.regex is not None:
            _extend(self.patterns[rule.of], [rule.regex.pattern])
        if rule.json_field is not None:
            _extend(self.json_paths[rule.of], [rule.json_field])

    def _read(self, text: str | None) -> set[str]:
        """Records the values in an expression; returns the columns it uses."""
        try:
            tree = parse_one(text or "NULL", dialect="spark")
        except SqlglotError:
            return set()
        self.years |= {int(year) for year in _DATED.findall(text or "")}
        for node in tree.walk():
            match node:
                case exp.Like() | exp.ILike():
                    _note(self.likes, node)
                case exp.RegexpLike() | exp.RegexpExtract() | exp.RegexpReplace():
                    _note(self.patterns, node)
                case exp.JSONExtractScalar() | exp.JSONExtract():
                    path = ".".join(key.name for key in node.expression.find_all(exp.JSONPathKey))
                    for name in _names(node.this):
                        _extend(self.json_paths[name], [path])
                case exp.Cast() | exp.TryCast():
                    self.numbers |= _names(node.this)
                case exp.Predicate() | exp.Func() | exp.Binary() | exp.If():
                    for name in _names(node):
                        _extend(self.literals[name], _own_literals(node))
        return _names(tree)


def _extend(target: list[Any], values: Iterable[Any]) -> None:
    target += [value for value in values if value not in target]


def _note(target: dict[str, list[str]], node: Any) -> None:
    """Records the pattern that a node matches its columns against."""
    if isinstance(node.expression, exp.Literal) and node.expression.is_string:
        for name in _names(node.this):
            _extend(target[name], [node.expression.this])


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


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)
