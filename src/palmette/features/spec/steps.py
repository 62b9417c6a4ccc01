"""What each step of a source does to the columns, and what can be wrong with it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import assert_never

from palmette.features.spec.dfr import Table
from palmette.features.spec.expressions import Checked
from palmette.features.spec.fsc_steps import (
    Categorise,
    CategoriseStep,
    ComputeStep,
    ConvertStep,
    Extract,
    ExtractStep,
    FilterStep,
    GapStep,
    JoinStep,
    PreviousStep,
    ReplaceStep,
    SessionStep,
    Step,
)
from palmette.features.spec.joins import apply_join
from palmette.features.spec.literals import from_key, literal_type, to_python
from palmette.features.spec.oversights import pattern_error
from palmette.features.spec.registry_lint import TIME_FIELDS
from palmette.features.spec.scope import NOTHING, Columns, Origins, Scope
from palmette.features.spec.type_rules import castable
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import AS_OF

INT, DOUBLE, BIGINT, STRING, DATE, TIMESTAMP = map(
    SparkType, ("int", "double", "bigint", "string", "date", "timestamp")
)


class StepWalk:
    """Applies steps one after the other; mistakes are reported and the walk goes on."""

    def __init__(self, table: Table, scope: Scope) -> None:
        self.table = table
        self.scope, self.report = scope, scope.report
        self.columns = Columns.of_table(table)
        self.rows: Origins = NOTHING
        """What decides which rows there are."""
        order = tuple(dict.fromkeys((*_times(table)[:1], *table.keys)))
        self.order: tuple[str, ...] | None = order if table.keys_enforced else None
        """Columns that give the rows a unique order; None when none are known."""
        self.tables: set[str] = {table.name}
        self.added: dict[str, str] = {}
        """Where in the FSC columns are added or replaced."""
        self.times = frozenset(_times(table))

    @property
    def known(self) -> Columns:
        """The columns, and the cut-off, which expressions may name."""
        return replace(self.columns, types={AS_OF: TIMESTAMP, **self.columns.types})

    def apply(self, step: Step, field: str) -> None:
        """Takes one step; `field` is its path in the FSC."""
        match step:
            case FilterStep():
                self._filter(step, field)
            case ComputeStep():
                self._compute(step, field)
            case ReplaceStep():
                self._replace(step, field)
            case ConvertStep():
                self._convert(step, field)
            case CategoriseStep():
                self._categorise(step, field)
            case ExtractStep():
                self._extract(step, field)
            case JoinStep():
                apply_join(self, step.join, f"{field}.join")
            case PreviousStep():
                self._previous(step, field)
            case GapStep():
                gap = step.gap
                self._by_events("gap", gap.by, gap.column, DOUBLE, f"{field}.gap")
            case SessionStep():
                session = step.session
                self._by_events("session", session.by, session.column, BIGINT, f"{field}.session")
            case _:
                assert_never(step)

    def put(self, name: str, kind: SparkType | None, origins: Origins, field: str) -> None:
        """Adds or replaces a column, if its name may be taken."""
        if name in self.times:
            self.report(
                "replaces-time",
                f"{name!r} is a time of table {self.table.name!r}; a step must not change it.",
                "Give the column another name.",
                field,
                name,
            )
            return
        if name == AS_OF and name not in self.columns:
            self.report("name-collision", "'as_of' is the cut-off.", "Give the column another name.", field, name)
            return
        twin = next(
            (other for other in self.columns.types if other != name and other.casefold() == name.casefold()),
            None,
        )
        if twin:
            self.report(
                "name-collision",
                f"{name!r} differs from {twin!r} only in upper and lower case.",
                "Spark takes them for one column: rename it.",
                field,
                name,
            )
        if self.order and name in self.table.keys:
            self.order = None
        self.columns.put(name, kind, origins)
        self.added[name] = field

    def _filter(self, step: FilterStep, field: str) -> None:
        checked = self.scope.expression(step.filter, self.known, f"{field}.filter", wanted="boolean")
        self.rows |= self.columns.origins_of(checked.columns)

    def _compute(self, step: ComputeStep, field: str) -> None:
        results = []
        for name, text in step.compute.items():
            path = f"{field}.compute.{name}"
            checked = self.scope.expression(text, self.known, path)
            kind = self._column_type(checked, text, path)
            results.append((name, kind, self.columns.origins_of(checked.columns), path))
        for name, kind, origins, path in results:
            self.put(name, kind, origins, path)

    def _column_type(self, checked: Checked, text: str, path: str) -> SparkType | None:
        """The type that a new column has; None, and reported, when no column can have it."""
        kind = checked.type
        if kind is not None and kind.name in ("null", "interval"):
            self.report("bad-type", f"{text!r} is {kind}, which no column can be.", "Cast it to a type.", path, text)
            return None
        if kind is None and not checked.faults and not set(checked.columns) & self.columns.broken:
            message = f"The type of {text!r} cannot be told."
            self.report("unknown-type", message, "Write CAST(... AS type) around it.", path, text)
        return kind

    def _replace(self, step: ReplaceStep, field: str) -> None:
        name, path = step.replace.column, f"{field}.replace.column"
        kind = self.scope.column(name, self.columns, path)
        if kind is None:
            return
        if kind.element:
            self.report(
                "illegal-type",
                f"Column {name!r} is {kind}; only single values can be replaced.",
                "Use a `compute` step.",
                path,
                name,
            )
            return
        closed = self.columns.values.get(name, ())
        for old, new in step.replace.values.items():
            if closed and from_key(old, kind) not in closed:
                self.report(
                    "unknown-value",
                    f"{old!r} is not among the values of {name!r}.",
                    f"Its values are {', '.join(map(str, closed))}.",
                    f"{field}.replace.values",
                    old,
                    [str(one) for one in closed],
                )
            for value in (from_key(old, kind), new):
                try:
                    to_python(value, kind, self.scope.zone)
                except ValueError as error:
                    self.report(
                        "value-does-not-fit",
                        f"Column {name!r} is {kind}: {error}.",
                        "Mend the value.",
                        f"{field}.replace.values",
                        value,
                    )
        self.put(name, kind, self.columns.origins_of([name]), path)

    def _convert(self, step: ConvertStep, field: str) -> None:
        convert, path = step.convert, f"{field}.convert"
        kind = self.scope.column(convert.column, self.columns, f"{path}.column")
        target = convert.to.parsed
        if kind is None:
            return
        if not castable(kind, target) or target.name == "null" or (target.element and kind.name == "string"):
            self.report(
                "illegal-type",
                f"Column {convert.column!r} is {kind}, which cannot become {target}.",
                "Choose another type.",
                f"{path}.to",
                target,
            )
        if convert.format is not None and not (kind == STRING and target.is_temporal):
            self.report(
                "superfluous-format",
                f"A format is for text that becomes a date or time, not for {kind} to {target}.",
                "Leave `format` out.",
                f"{path}.format",
                convert.format,
            )
        self.put(convert.column, target, self.columns.origins_of([convert.column]), f"{path}.column")

    def _categorise(self, step: CategoriseStep, field: str) -> None:
        categorise, path = step.categorise, f"{field}.categorise"
        if bool(categorise.cases) == (categorise.of is not None):
            self.report(
                "cases-or-buckets",
                "A category has either `cases`, or `of` with `buckets` and `labels`.",
                "Give one of the two.",
                path,
            )
            self.columns.put(categorise.column, None, NOTHING)
        elif categorise.cases:
            self._cases(categorise, path)
        else:
            self._buckets(categorise, path)

    def _cases(self, categorise: Categorise, path: str) -> None:
        used: Origins = NOTHING
        for index, case in enumerate(categorise.cases):
            checked = self.scope.expression(case.when, self.known, f"{path}.cases[{index}].when", wanted="boolean")
            used |= self.columns.origins_of(checked.columns)
        values = [case.then for case in categorise.cases]
        kind = literal_type([*values, *([categorise.otherwise] if categorise.otherwise is not None else [])])
        if kind is None:
            self.report(
                "mixed-types",
                f"The values of {categorise.column!r} are of several types: {values}.",
                "Give values of one type.",
                path,
                categorise.column,
            )
        if categorise.buckets or categorise.labels:
            self.report(
                "cases-or-buckets",
                "`buckets` and `labels` do not belong to `cases`.",
                "Leave them out.",
                path,
            )
        self.put(categorise.column, kind, used, f"{path}.column")
        found = [*values, *([categorise.otherwise] if categorise.otherwise is not None else [])]
        self.columns.values[categorise.column] = tuple(value for value in found if not isinstance(value, float))

    def _buckets(self, categorise: Categorise, path: str) -> None:
        assert categorise.of is not None
        checked = self.scope.expression(categorise.of, self.known, f"{path}.of", wanted="numeric")
        bounds, labels = categorise.buckets, categorise.labels
        if not bounds or list(bounds) != sorted(set(bounds)):
            self.report(
                "bad-buckets",
                f"The bounds {list(bounds)} are not ascending.",
                "Give at least one bound, each larger than the one before.",
                f"{path}.buckets",
                list(bounds),
            )
        if len(labels) != len(bounds) + 1:
            self.report(
                "bad-labels",
                f"{len(bounds)} bounds make {len(bounds) + 1} buckets; there are {len(labels)} labels.",
                "Give one label for each bucket.",
                f"{path}.labels",
                list(labels),
            )
        if categorise.otherwise is not None:
            self.report(
                "superfluous-otherwise",
                "`otherwise` belongs to `cases`: every number is in some bucket.",
                "Leave it out.",
                f"{path}.otherwise",
                categorise.otherwise,
            )
        self.put(categorise.column, STRING, self.columns.origins_of(checked.columns), f"{path}.column")
        self.columns.values[categorise.column] = labels

    def _extract(self, step: ExtractStep, field: str) -> None:
        extract, path = step.extract, f"{field}.extract"
        given = [name for name in ("split", "regex", "date_part", "json_field") if getattr(extract, name) is not None]
        kind = self.scope.column(extract.of, self.columns, f"{path}.of")
        if len(given) != 1:
            self.report(
                "one-extraction",
                f"An extraction is one of split, regex, date_part, json_field; here are {given}.",
                "Give exactly one.",
                path,
            )
            self.columns.put(extract.column, None, NOTHING)
            return
        if kind is not None:
            self._extractable(extract, kind, path)
        result = STRING if extract.date_part is None else DATE if extract.date_part == "date" else INT
        self.put(extract.column, result, self.columns.origins_of([extract.of]), f"{path}.column")

    def _extractable(self, extract: Extract, kind: SparkType, path: str) -> None:
        if extract.date_part is not None and not kind.is_temporal:
            self.report(
                "illegal-type",
                f"Column {extract.of!r} is {kind}, not a date or time.",
                f"Compute a time from it first, e.g. timestamp_millis({extract.of})."
                if kind.is_integer
                else "Convert it first.",
                f"{path}.of",
                extract.of,
            )
        elif extract.date_part in ("hour", "minute") and kind == DATE:
            self.report(
                "illegal-type",
                f"Column {extract.of!r} is a date, which has no {extract.date_part}.",
                "Use a timestamp.",
                f"{path}.date_part",
                extract.date_part,
            )
        elif extract.date_part is None and kind != STRING:
            self.report(
                "illegal-type",
                f"Column {extract.of!r} is {kind}, not text.",
                "Convert it first.",
                f"{path}.of",
                extract.of,
            )
        if extract.split is not None and (extract.split.part == 0 or not extract.split.by):
            self.report(
                "out-of-range",
                "The parts of a split are counted from 1, or from -1 at the end, and the separator is not empty.",
                "Mend it.",
                f"{path}.split",
                extract.split.part,
            )
        if extract.regex is not None:
            self._pattern(extract.regex.pattern, extract.regex.group, f"{path}.regex")

    def _pattern(self, pattern: str, group: int, path: str) -> None:
        reason = pattern_error(pattern)
        if reason is not None:
            message = f"{pattern!r} is not a regular expression: {reason}."
            self.report("bad-pattern", message, "Mend it.", f"{path}.pattern", pattern)
            return
        try:
            groups = re.compile(pattern).groups
        except re.error:
            return  # Java knows more than Python does
        if not 0 <= group <= groups:
            self.report(
                "out-of-range",
                f"{pattern!r} has {groups} groups; there is no group {group}.",
                "Add parentheses to the pattern, or use group 0 for the whole match.",
                f"{path}.group",
                group,
            )

    def _previous(self, step: PreviousStep, field: str) -> None:
        previous, path = step.previous, f"{field}.previous"
        if not self._events("previous", previous.by, path):
            return
        if self.order is None:
            self.report(
                "no-unique-order",
                f"'previous' needs a unique order of events, and the keys of {self.table.name!r} are not unique here.",
                "Choose keys that are enforced in the registry.",
                path,
                self.table.name,
            )
        checked = self.scope.expression(previous.of, self.columns, f"{path}.of")
        origins = self.columns.origins_of([*checked.columns, *previous.by]) | self._time_origins()
        kind = self._column_type(checked, previous.of, f"{path}.of")
        self.put(previous.column, kind, origins, f"{path}.column")

    def _by_events(self, kind: str, by: tuple[str, ...], column: str, result: SparkType, path: str) -> None:
        if self._events(kind, by, path):
            origins = self.columns.origins_of(by) | self._time_origins()
            self.put(column, result, origins, f"{path}.column")

    def _events(self, kind: str, by: tuple[str, ...], path: str) -> bool:
        for index, name in enumerate(by):
            self.scope.column(name, self.columns, f"{path}.by[{index}]")
        if self.table.kind != "event":
            self.report(
                "not-events",
                f"'{kind}' looks at other events, and {self.table.name!r} is a {self.table.kind} table.",
                "Use it on an event table.",
                path,
                self.table.name,
            )
        return self.table.kind == "event"

    def _time_origins(self) -> Origins:
        return self.columns.origins_of(self.times)


def _times(table: Table) -> tuple[str, ...]:
    names = (getattr(table, field) for field in TIME_FIELDS)
    return tuple(name for name in names if name)
