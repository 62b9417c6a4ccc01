"""Writes the steps of a source as method calls on a data frame."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from palmette.features.pyspark.code import (
    SUM,
    CodeFragment,
    call,
    column,
    literal,
    method,
    name_arguments,
    quoted,
    with_columns,
)
from palmette.features.pyspark.expressions import expr, sql_name
from palmette.features.pyspark.scope import ScriptScope, identifier
from palmette.features.pyspark.states import join_calls, member_calls
from palmette.features.pyspark.times import event_column, micros, timestamp
from palmette.features.spec import AS_OF, SparkType, Table, ViewSource, fsc_steps
from palmette.features.spec.literals import from_key

_DATE_PARTS = {"week": "weekofyear", "day": "dayofmonth", "day_of_year": "dayofyear", "date": "to_date"}
"""PySpark's names of parts that it calls otherwise."""


@dataclass
class Pipeline:
    """Accumulates the calls for the steps of a source."""

    scope: ScriptScope
    source: ViewSource
    schema: dict[str, SparkType]  # the current columns
    statements: list[str] = field(default_factory=list)  # definitions before the chain of calls
    calls: list[str] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    """Further data frames that the calls use: parameter name to argument."""

    @property
    def table(self) -> Table:
        return self.source.table

    def sql(self, text: str) -> CodeFragment:
        return self.scope.sql(text, self.schema)

    def set_columns(self, columns: Mapping[str, str]) -> None:
        self.calls += with_columns(columns)
        self.schema.update({name: self.source.schema.get(name, SparkType("string")) for name in columns})

    def know_cutoff(self) -> None:
        """Adds the cut-off as a column, unless it is one."""
        self.schema[AS_OF] = SparkType("timestamp")
        if not self.scope.per_row:
            self.calls += with_columns({AS_OF: self.scope.cutoff.text})

    def event(self) -> CodeFragment:
        """Code of the event time as a timestamp."""
        name = event_column(self.table)
        assert name is not None
        return timestamp(name, self.schema, self.table, self.scope.view.zone)

    def moment(self, at: str) -> CodeFragment:
        """Code of the time for which another table is looked up."""
        timeless = at == "cutoff" or event_column(self.table) is None
        return self.scope.cutoff if timeless else self.event()

    def entity_window(self, by: tuple[str, ...]) -> str:
        """A variable for the window over an entity's events in order."""
        keys = (*by, *self.scope.row_keys)
        name = identifier(f"{self.scope.keys_name(by)}_events")
        order = dict.fromkeys([event_column(self.table) or "", *(key for key in self.table.keys if key not in keys)])
        statement = f"{name} = Window.partitionBy({name_arguments(keys)}).orderBy({name_arguments(order)})"
        if statement not in self.statements:
            self.statements.append(statement)
        return name


def add_steps(pipeline: Pipeline, steps: tuple[fsc_steps.Step, ...]) -> None:
    for step in steps:
        _WRITERS[step.kind](pipeline, step.body)


def _replace(pipeline: Pipeline, rule: fsc_steps.Replace) -> None:
    target = rule.column
    kind = pipeline.schema[target]
    text = "F"
    for old, new in rule.values.items():
        text += f".when({column(target).text} == {_typed(old, kind)}, {literal(new).text})"
    pipeline.set_columns({target: f"{text}.otherwise({column(target).text})"})


def _typed(text: str, kind: SparkType) -> str:
    """A text value converted to a column's type."""
    value = from_key(text, kind)
    code = literal(value)
    is_typed = kind.name == "string" or not isinstance(value, str)
    return code.text if is_typed else method(code, "cast", quoted(str(kind))).text


def _convert(pipeline: Pipeline, rule: fsc_steps.Convert) -> None:
    kind, target = pipeline.schema[rule.column], rule.to.parsed
    lenient = rule.invalid == "null"
    registered = pipeline.table.column(rule.column)
    if rule.format is not None:
        text = _parsed(rule.column, target, rule.format, lenient)
    elif kind.is_integer and target.is_temporal and registered is not None and registered.unit:
        moment = timestamp(rule.column, pipeline.schema, pipeline.table, pipeline.scope.view.zone)
        text = moment.text if target.name == "timestamp" else method(moment, "cast", quoted(str(target))).text
    elif lenient:
        text = expr(f"try_cast({sql_name(rule.column)} as {target})").text
    else:
        text = method(column(rule.column), "cast", quoted(str(target))).text
    pipeline.set_columns({rule.column: text})


def _parsed(name: str, target: SparkType, pattern: str, lenient: bool) -> str:
    """Parses text by a pattern."""
    if lenient:
        parsed = f"F.try_to_timestamp({quoted(name)}, F.lit({quoted(pattern)}))"
        return parsed if target.name == "timestamp" else f"{parsed}.cast({quoted(str(target))})"
    functions = {"date": "F.to_date", "timestamp": "F.to_timestamp"}
    if target.name in functions:
        return f"{functions[target.name]}({quoted(name)}, {quoted(pattern)})"
    return f"F.to_timestamp_ntz({quoted(name)}, F.lit({quoted(pattern)}))"


def _categorise(pipeline: Pipeline, rule: fsc_steps.Categorise) -> None:
    text = "F"
    if rule.of is None:
        for case in rule.cases:
            text += f".when({pipeline.sql(case.when).as_column.text}, {literal(case.then).text})"
        text += "" if rule.otherwise is None else f".otherwise({literal(rule.otherwise).text})"
    else:
        value = pipeline.sql(rule.of).as_column.within(SUM)
        bounds = [str(int(bound)) if bound == int(bound) else repr(bound) for bound in rule.buckets]
        for bound, label in zip(bounds, rule.labels, strict=False):
            text += f".when({value} < {bound}, {quoted(label)})"
        text += f".when({value} >= {bounds[-1]}, {quoted(rule.labels[-1])})"
    pipeline.set_columns({rule.column: text})


def _extract(pipeline: Pipeline, rule: fsc_steps.Extract) -> None:
    of = quoted(rule.of)
    if rule.split is not None:
        pattern = re.sub(r"([\\.\[\]{}()*+?^$|])", r"\\\1", rule.split.by)
        text = f"F.try_element_at(F.split({of}, {quoted(pattern)}), F.lit({rule.split.part}))"
    elif rule.regex is not None:
        pattern = quoted(rule.regex.pattern)
        text = f"F.when(F.col({of}).rlike({pattern}), F.regexp_extract({of}, {pattern}, {rule.regex.group}))"
    elif rule.json_field is not None:
        text = f"F.get_json_object({of}, {quoted('$.' + rule.json_field)})"
    else:
        moment = column(rule.of)
        if pipeline.schema[rule.of].is_integer:
            moment = timestamp(rule.of, pipeline.schema, pipeline.table, pipeline.scope.view.zone)
        part = rule.date_part or "date"
        text = f"F.{_DATE_PARTS.get(part, part)}({moment.argument})"
        text = f"F.weekday({moment.argument}) + 1" if part == "day_of_week" else text
    pipeline.set_columns({rule.column: text})


def _join(pipeline: Pipeline, rule: fsc_steps.Join) -> None:
    table = pipeline.scope.view.tables[rule.table]
    pipeline.calls += join_calls(pipeline.scope, rule, pipeline.moment(rule.at), pipeline.schema)
    pipeline.parameters[identifier(rule.table)] = rule.table
    pipeline.schema.update({name: table.column_types[there] for name, there in fsc_steps.pairs(rule.columns).items()})


def _member(pipeline: Pipeline, rule: fsc_steps.Member) -> None:
    parameter = identifier("all_" * (rule.table == pipeline.table.name) + rule.table)
    pipeline.calls += member_calls(pipeline.scope, rule, pipeline.moment(rule.at), parameter)
    pipeline.parameters[parameter] = rule.table
    pipeline.schema[rule.column] = SparkType("boolean")


def _previous(pipeline: Pipeline, rule: fsc_steps.Previous) -> None:
    window = pipeline.entity_window(rule.by)
    offset = [] if rule.offset == 1 else [str(rule.offset)]
    lag = call("F.lag", pipeline.sql(rule.of).argument, *offset)
    pipeline.set_columns({rule.column: f"{lag.text}.over({window})"})


def _elapsed(pipeline: Pipeline, by: tuple[str, ...]) -> str:
    """Code of the microseconds since the entity's previous event."""
    window = pipeline.entity_window(by)
    micros = call("F.unix_micros", pipeline.event().argument).text
    return f"{micros} - F.lag({micros}).over({window})"


def _gap(pipeline: Pipeline, rule: fsc_steps.Gap) -> None:
    unit = {"seconds": "SECOND", "minutes": "MINUTE", "hours": "HOUR", "days": "DAY"}[rule.unit]
    pipeline.set_columns({rule.column: f"({_elapsed(pipeline, rule.by)}) / MICROS_PER_{unit}"})


def _session(pipeline: Pipeline, rule: fsc_steps.Session) -> None:
    gap, window = f"{rule.column}_gap", pipeline.entity_window(rule.by)
    pipeline.calls.append(f"withColumn({quoted(gap)}, {_elapsed(pipeline, rule.by)})")
    starts = f"F.col({quoted(gap)}) {'>' if rule.longer else '>='} {micros(rule.timeout)}"
    running = f"{window}.rowsBetween(Window.unboundedPreceding, Window.currentRow)"
    pipeline.set_columns({rule.column: f"F.count_if({starts}).over({running}) + 1"})
    pipeline.calls.append(f"drop({quoted(gap)})")


_WRITERS: Mapping[str, Callable[[Pipeline, Any], None]] = {
    "filter": lambda pipeline, text: pipeline.calls.append(f"where({pipeline.sql(text).as_column.text})"),
    "compute": lambda pipeline, columns: pipeline.set_columns(
        {name: pipeline.sql(text).as_column.text for name, text in columns.items()}
    ),
    "replace": _replace,
    "convert": _convert,
    "categorise": _categorise,
    "extract": _extract,
    "join": _join,
    "member": _member,
    "previous": _previous,
    "gap": _gap,
    "session": _session,
}
