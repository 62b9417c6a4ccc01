"""The values that a column can take in a frame: valid for the registry, and likely to expose errors."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from palmette.features.oracle.patterns import format_clock
from palmette.features.spec import RegisteredColumn, SparkType, View, fsc, fsc_steps
from palmette.features.spec.type_rules import BITS
from palmette.features.spec.values import EXACT

Literal = str | int | float | bool
_DATED = re.compile(r"'(\d{4})-\d\d?-\d\d?")
_COUNTING = ("count", "count_distinct", "approx_count_distinct", "exists", "share", "days_since_last")
"""Aggregates that do not depend on the magnitude of values."""


class PredicateValues:
    """Values in a view's expressions by column name, across all tables: literals, patterns, JSON paths, separators.

    Columns of steps and joins count under their new names. The values of a column that a step computes also apply to
    the columns it is computed from, so that a condition on a category leads to the raw values behind it. The same holds
    for features close to a raw value (a lookup, a maximum, a sum), so that a condition in a derived feature gets rows
    on both sides.
    """

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

    def origins(self, names: Iterable[str]) -> set[str]:
        """The names, and everything that they are computed from."""
        found, left = set[str](), list(names)
        while left:
            if (name := left.pop()) not in found:
                found.add(name)
                left += self.bases.get(name, ())
        return found

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


_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "string": str,
    "date": date.fromisoformat,
    "timestamp": lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC),
}
_DAYS = (date(2024, 2, 29), date(2023, 12, 31), date(2024, 1, 1), date(2024, 3, 31), date(2023, 6, 15))


def value_pool(column: RegisteredColumn, predicate_values: PredicateValues) -> list[Any]:
    """Distinct non-null values for the column, ordinary ones first."""
    kind = column.type.parsed
    if column.values:
        return [typed(kind, value) for value in column.values]
    return legal(kind, [*_near_literals(column, kind, predicate_values), *_usual(column, kind, predicate_values)])


def legal(kind: SparkType, values: Iterable[Any]) -> list[Any]:
    """The distinct values that a column of this type can hold, without null."""
    found: list[Any] = []
    for value in values:
        is_known = any(type(value) is type(other) and value == other for other in found)
        if value is not None and not is_known and _fits(kind, value):
            found.append(value)
    return found


def _fits(kind: SparkType, value: Any) -> bool:
    if kind.is_integer:
        return isinstance(value, int) and -(1 << BITS[kind.name] - 1) <= value < 1 << BITS[kind.name] - 1
    if kind.name == "decimal":
        return isinstance(value, Decimal) and abs(value) < Decimal(10) ** (kind.precision - kind.scale)
    return True


def typed(kind: SparkType, value: Literal) -> Any:
    """Converts a literal to the type; None if that fails."""
    if isinstance(value, bool) or kind.name == "boolean":
        return value if isinstance(value, bool) and kind.name == "boolean" else None
    try:
        if kind.name in _FROM_TEXT:
            return _FROM_TEXT[kind.name](value) if isinstance(value, str) else None
        if kind.name == "decimal":
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-kind.scale), context=EXACT)
        return int(value) if kind.is_integer else float(value) if kind.is_numeric else None
    except (ValueError, ArithmeticError):
        return None


def _near_literals(column: RegisteredColumn, kind: SparkType, predicate_values: PredicateValues) -> list[Any]:
    """Values at, just below and just above the literals; texts that match and miss the patterns."""
    literals = predicate_values.literals.get(column.name, [])
    if kind.name == "string":
        return _texts(column.name, literals, predicate_values)
    values = [typed(kind, value) for value in literals]
    return [near for value in values if value is not None for near in _around(value, step_of(kind))]


def _around(value: Any, step: Any) -> Iterator[Any]:
    """The value, and the next ones on both sides, except outside the calendar."""
    yield value
    for change in (step, -step) if step is not None else ():
        with suppress(OverflowError):
            yield value + change


def step_of(kind: SparkType) -> Any:
    """The smallest sensible difference between two values."""
    if kind.name in ("date", "timestamp"):
        return timedelta(days=1)
    if kind.name == "decimal":
        return Decimal(1).scaleb(-kind.scale)
    return 1 if kind.is_integer else 0.5 if kind.is_numeric else None


def _texts(name: str, literals: list[Literal], predicate_values: PredicateValues) -> list[str]:
    words = [value for value in literals if isinstance(value, str)]
    numbers = [str(value) for value in literals if not isinstance(value, str | bool)]
    found = [text for pattern in predicate_values.patterns.get(name, ()) if (text := example_of(pattern)) is not None]
    found += [sample for pattern in predicate_values.likes.get(name, ()) for sample in _like_examples(pattern)]
    for separator in predicate_values.separators.get(name, ()):
        parts = [*words, *found, *numbers, "north", "south", "7"]
        found += [separator.join(parts[i : i + 3]) for i in range(0, max(len(parts) - 2, 1))]
        found += [f"solo{separator}", "solo", separator, f"a{separator}{separator}c"]
    numeric = name in predicate_values.numbers and not predicate_values.formats.get(name)
    if paths := predicate_values.json_paths.get(name):
        return _documents(paths, [*words, *numbers, *(["12", "-4"] if numeric else [])])
    for pattern in predicate_values.formats.get(name, ()):
        found += [format_clock(datetime.combine(day, time(13, 5, 9)), pattern) for day in _DAYS]
    if numeric:
        found += ["12", "3.5", "-4", "0", *numbers]
    mixed = [text for word in words for text in (word, f"{word}s", word.swapcase())]
    return [*words, *found, *numbers, *mixed]


def _documents(paths: list[str], words: list[str]) -> list[str]:
    """JSON objects with each word at each path, objects without the path, and invalid JSON."""
    documents = []
    for word in [*words, "alpha", "beta"]:
        document: dict[str, Any] = {}
        for path in paths:
            *outer, last = path.split(".")
            place = document
            for key in outer:
                place = place.setdefault(key, {})
            place[last] = int(word) if re.fullmatch(r"-?\d{1,9}", word) else word
        documents.append(json.dumps(document))
    *_, last = paths[0].split(".")
    empty = ["{}", json.dumps({paths[0].split(".")[0]: None}), json.dumps({"unrelated": last})]
    return [*documents, *empty, "not json", ""]


def _like_examples(pattern: str) -> list[str]:
    return [pattern.replace("%", filler).replace("_", "x") for filler in ("", "mid")] + [pattern.strip("%_")[:-1]]


def _usual(column: RegisteredColumn, kind: SparkType, predicate_values: PredicateValues) -> list[Any]:
    """Typical values of the column's type, including problematic ones."""
    match kind.name:
        case "boolean":
            return [True, False]
        case "string":
            special = any(column.name in known for known in (predicate_values.json_paths, predicate_values.formats))
            plain = [] if special and column.name not in predicate_values.formats else ["alpha", "beta", "gamma"]
            return [*plain, "n/a", ""] if column.name in predicate_values.numbers else [*plain, "Émile", " alpha", ""]
        case "float" | "double":
            return [1.0, 2.5, 0.0, -2.5, 0.1, 0.2, 1_000_000.25]
        case "decimal":
            whole = min(kind.precision - kind.scale, 7)
            large = Decimal(10) ** whole - 1
            cent = Decimal(1).scaleb(-kind.scale)
            return [*(Decimal(value).quantize(cent, context=EXACT) for value in (3, 12, 0, -5, large)), cent]
        case "date":
            return list(_DAYS)
        case "timestamp":
            return [datetime.combine(day, time(10, 30), UTC) for day in _DAYS]
        case "timestamp_ntz":
            return [datetime.combine(day, time(10, 30)) for day in _DAYS]
        case "binary":
            return [b"ab", b""]
        case "array":
            return _arrays(column, kind)
        case "map":
            assert kind.element is not None
            return [{"a": value} for value in _usual(column, kind.element, predicate_values)[:2]] + [{}]
        case _:
            return [3, 1, 0, -2, 7, 100, 100_000]


def _arrays(column: RegisteredColumn, kind: SparkType) -> list[Any]:
    assert kind.element is not None
    element = kind.element
    if not element.is_numeric:
        return [["a", "b"], ["b"], []] if element.name == "string" else [[]]
    number = {"decimal": Decimal, "float": float, "double": float}.get(element.name, int)
    length = column.length or 3
    vectors = [[number((i + shift) % 5 - shift) for i in range(length)] for shift in (0, 1, 2)]
    return [*vectors, [number(0)] * length]


def example_of(pattern: str) -> str | None:
    """A text that matches a simple regular expression; None if it is too complex."""
    text = re.sub(r"\(\?i\)|(?<!\[)\^|\$|\\b", "", pattern)
    text = re.sub(r"\(\?(?::|<\w+>)", "(", text)
    for _ in range(10):
        group = rf"\(([^()|]*)(?:\|[^()]*)?\)({_REPEATED})?"
        text, changed = re.subn(group, lambda found: found[1] * _times(found[2]), text)
        if not changed:
            break
    parts = []
    for token, count in re.findall(
        rf"(\\.|\[[^\]]*\]|[^\\\[\]*+?{{}}|])({_REPEATED})?", re.split(r"(?<!\\)\|", text)[0]
    ):
        parts.append(_sample(token) * _times(count))
    made = "".join(parts)
    try:
        return made if re.search(pattern, made) else None
    except re.error:
        return None


_REPEATED = r"\{\d+(?:,\d*)?\}|[*+?]"


def _times(count: str | None) -> int:
    """How often to repeat a token followed by a quantifier: its minimum, but at least once."""
    return max(int(match[1]), 1) if (match := re.match(r"\{(\d+)", count or "")) else 1


def _sample(token: str) -> str:
    if token.startswith("[") and not token.startswith("[^"):
        inner = token[1:]
        return _sample(inner[:2]) if inner[0] == "\\" else inner[0]
    return {"\\d": "7", "\\w": "w", "\\s": " ", ".": "m", "\\D": "d", "\\S": "s", "\\W": "-"}.get(
        token, token[1:] if token[0] == "\\" else "q" if token.startswith("[^") else token
    )
