"""Writes transforms that compute features: a `groupBy().agg()` per source and keys, a lookup per table and keys."""

import re
from dataclasses import dataclass

from palmette.features.pyspark.aggregates import Rows, aggregation, directions, is_mixed, weight_of, weighted
from palmette.features.pyspark.code import (
    PRODUCT,
    CodeFragment,
    chain,
    conjunction,
    method,
    name_arguments,
    quoted,
    renamed,
    with_columns,
)
from palmette.features.pyspark.expressions import expr, sql_name
from palmette.features.pyspark.layout import FeatureGroup
from palmette.features.pyspark.output import needs_presence, presence_column
from palmette.features.pyspark.scope import ScriptScope, free_name, identifier
from palmette.features.pyspark.sources import SourceTransforms
from palmette.features.pyspark.states import current_function, current_state, join_keys, selected
from palmette.features.pyspark.times import in_window, is_dated, window_name
from palmette.features.spec import Aggregate, Expression, Lookup, Table, ViewFeature, Window


@dataclass(frozen=True)
class FeatureTransform:
    """A generated function that computes features."""

    function: str
    by: tuple[str, ...]
    """The columns it is joined on; includes the cut-off if each row has its own."""
    takes_as_of: bool


def write_group(scope: ScriptScope, group: FeatureGroup, known: SourceTransforms) -> FeatureTransform:
    """Adds the function for a group to the script."""
    writer = _Writer(scope, group, known)
    return writer.write_alone() if group.is_alone else writer.write_shared()


class _Writer:
    def __init__(self, scope: ScriptScope, group: FeatureGroup, known: SourceTransforms) -> None:
        self.scope, self.group, self.known = scope, group, known
        self.rows = identifier(group.source.name)
        self.by = (*group.by, *scope.row_keys)
        self.statements: dict[str, str] = {}  # code of named conditions, by variable name
        self.flags: dict[str, str] = {}  # conditions that are also added as columns: column name to variable name

    def write_shared(self) -> FeatureTransform:
        positions = self._positions()
        columns = []
        for feature in self.group.features:
            code = self._code(feature, positions)
            columns.append(f"{method(code, 'alias', quoted(feature.name)).text}")
            if needs_presence(feature):
                columns.append(f"F.lit(True).alias({quoted(presence_column(feature))})")
        added = {name: f"F.row_number().over({window})" for window, name in positions.items()} | self._flags(columns)
        grouped = [f"groupBy({name_arguments(self.by)})", f"agg({', '.join(columns)})"]
        calls = [*self._filter(), *with_columns(added), *grouped]
        subject = self.scope.keys_name(self.group.by)
        by_expression = all(isinstance(feature.computation, Expression) for feature in self.group.features)
        single = self.group.features[0].name if by_expression else self.group.source.name
        name = self.scope.fresh(f"{'distinct_' * self.group.is_distinct}{single}_by_{subject}")
        what = "Distinct counts" if self.group.is_distinct else "Features"
        what = " and ".join(f"`{feature.name}`" for feature in self.group.features) if by_expression else what
        doc = f"{what} of each {self._whom()} over rows of `{self.group.source.name}`."
        return self._function(name, doc, [f"return {chain(self.rows, calls)}"])

    def write_alone(self) -> FeatureTransform:
        feature = self.group.features[0]
        aggregate = feature.computation
        assert isinstance(aggregate, Aggregate)
        name = self.scope.fresh(f"{feature.name}_by_{self.scope.keys_name(self.group.by)}")
        if aggregate.function in ("top_k", "mode"):
            values = f"values of `{aggregate.of}`"
            plain = f"{aggregate.k} most frequent {values}"
            what = f"{values} with the highest {aggregate.rank_by}" if aggregate.rank_by else plain
            doc = f"The {what} of each {self._whom()}."
            return self._function(name, doc, self._ranked(feature, aggregate))
        return self._function(
            name,
            f"`{feature.name}` of each {self._whom()}, position by position.",
            self._by_position(feature, aggregate),
        )

    def _whom(self) -> str:
        return " and ".join(key.removesuffix("_id") for key in self.group.by)

    def _function(self, name: str, doc: str, body: list[str]) -> FeatureTransform:
        body = [*(f"{key} = {text}" for key, text in self.statements.items()), *body]
        return FeatureTransform(name, self.by, self.scope.write(name, [self.rows], doc, body))

    def _code(self, feature: ViewFeature, positions: dict[str, str]) -> CodeFragment:
        if isinstance(feature.computation, Expression):
            return self.scope.sql(feature.computation.sql, self.group.source.schema).as_column
        assert isinstance(feature.computation, Aggregate)
        if self._counts_among_others(feature.computation) and (conditions := self._conditions(feature)):
            # Spark processes the rows once per distinct expression; with FILTER, only once per column.
            flags = " AND ".join(self._flag(condition) for condition in conditions)
            return expr(f"count(DISTINCT {sql_name(feature.computation.of or '')}) FILTER (WHERE {flags})")
        position = positions.get(self._position_window(feature.computation))
        condition = conjunction(self._conditions(feature))
        source, event = self.group.source, self.known.event
        return aggregation(
            feature.computation, Rows(self.scope, source, feature.dtype, event, condition, self._named, position)
        )

    def _conditions(self, feature: ViewFeature) -> list[CodeFragment]:
        """The feature's named conditions on rows, in addition to the group's filter."""
        computation = feature.computation
        assert isinstance(computation, Aggregate)
        parts = []
        if computation.window != Window.ALL and computation.window not in (self.group.window, self.known.window):
            parts.append(self._named(window_name(computation.window), self._in_window(computation.window)))
        if computation.where is not None and computation.where != self.group.where:
            code = self.scope.sql(computation.where, self.group.source.schema).as_column
            parts.append(self._named(_condition_name(computation.where, feature.name), code))
        return parts

    def _counts_among_others(self, aggregate: Aggregate) -> bool:
        """Whether other features of the group also count distinct values of the same column."""
        others = (one.computation for one in self.group.features if isinstance(one.computation, Aggregate))
        same = [one for one in others if (one.function, one.of) == ("count_distinct", aggregate.of)]
        return aggregate.function == "count_distinct" and aggregate.of in self.group.source.schema and len(same) > 1

    def _flags(self, columns: list[str]) -> dict[str, str]:
        """The code of each flag column; a condition used nowhere else gets no variable."""
        found: dict[str, str] = {}
        for name, condition in self.flags.items():
            others = [*columns, *(text for key, text in self.statements.items() if key != condition)]
            is_used = any(renamed(text, condition, "") != text for text in others)
            found[name] = condition if is_used else self.statements.pop(condition)
        return found

    def _flag(self, condition: CodeFragment) -> str:
        """The column that contains a named condition."""
        name, taken = condition.text, {column.lower() for column in self.group.source.schema}
        while name.lower() in taken or self.flags.get(name, condition.text) != condition.text:
            name += "_"
        self.flags[name] = condition.text
        return name

    def _in_window(self, window: Window) -> CodeFragment:
        assert self.known.event is not None
        return in_window(self.scope, window, self.known.event)

    def _named(self, wanted: str, code: CodeFragment) -> CodeFragment:
        """The variable for a condition; equal conditions share one."""
        for name, text in self.statements.items():
            if text == code.text:
                return CodeFragment(name)
        name = free_name(identifier(wanted), {*self.statements, self.rows})
        self.statements[name] = code.text
        return CodeFragment(name)

    def _filter(self, *further: CodeFragment) -> list[str]:
        conditions: list[CodeFragment] = []
        if self.group.window is not None and self.group.window != self.known.window:
            conditions.append(self._in_window(self.group.window))
        if self.group.where is not None:
            conditions.append(self.scope.sql(self.group.where, self.group.source.schema).as_column)
        condition = conjunction([*conditions, *further])
        return [] if condition is None else [f"where({condition.text})"]

    def _positions(self) -> dict[str, str]:
        """Columns that number the rows in orders of mixed directions, with the code of their windows."""
        computations = [feature.computation for feature in self.group.features]
        mixed = [one for one in computations if isinstance(one, Aggregate) and is_mixed(one)]
        found: dict[str, str] = {}
        for window in dict.fromkeys(map(self._position_window, mixed)):
            found[window] = free_name("position", found.values())
        return found

    def _position_window(self, aggregate: Aggregate) -> str:
        order = ", ".join(
            f"F.col({quoted(name)}).{'asc' if ascending else 'desc'}()" for name, ascending in directions(aggregate)
        )
        return f"Window.partitionBy({name_arguments(self.by)}).orderBy({order})"

    def _ranked(self, feature: ViewFeature, aggregate: Aggregate) -> list[str]:
        """Ranks the values, then takes the first k as an array, or for `mode` the first."""
        value, rank = self.scope.sql(aggregate.of or "", self.group.source.schema), 'F.count("*")'
        if aggregate.rank_by is not None:
            rank = self.scope.sql(aggregate.rank_by, self.group.source.schema).as_column.within(PRODUCT + 1)
        name = value.column if value.column and value.column not in self.by else "value"
        present = method(value, "isNotNull")
        given = [] if value.column == name else [f"withColumn({quoted(name)}, {value.as_column.text})"]
        calls = [
            *self._filter(present),
            *given,
            f"groupBy({name_arguments((*self.by, name))})",
            f'agg((-{rank}).alias("rank"))',
            *(['where(F.col("rank").isNotNull())'] if aggregate.rank_by else []),
        ]
        listed = f'F.sort_array(F.collect_list(F.struct("rank", {quoted(name)})))[{quoted(name)}]'
        top = f"F.slice({listed}, 1, {aggregate.k})" if aggregate.function == "top_k" else f"{listed}[0]"
        return [
            f"ranks = {chain(self.rows, calls)}",
            f"return ranks.groupBy({name_arguments(self.by)}).agg({top}.alias({quoted(feature.name)}))",
        ]

    def _by_position(self, feature: ViewFeature, aggregate: Aggregate) -> list[str]:
        vector = self.scope.sql(aggregate.of or "", self.group.source.schema)
        rows = Rows(self.scope, self.group.source, feature.dtype, self.known.event, None, lambda _, code: code)
        counted = [method(vector, "isNotNull"), *weighted(aggregate, rows)]
        is_weighted = aggregate.function == "vector_weighted_mean"
        weight = [method(weight_of(aggregate, rows), "alias", quoted("weight")).text] if is_weighted else []
        items = [name_arguments(self.by), *weight, f'F.posexplode({vector.argument}).alias("position", "element")']
        select = f"select({', '.join(items)})"
        value = {"vector_mean": 'F.avg("element")', "vector_sum": 'F.sum("element")'}.get(
            aggregate.function, 'F.try_divide(F.sum(F.col("element") * F.col("weight")), F.sum("weight"))'
        )
        listed = 'F.sort_array(F.collect_list(F.struct("position", "element")))["element"]'
        per_position = name_arguments((*self.by, "position"))
        return [
            f"elements = {chain(self.rows, [*self._filter(*counted), select])}",
            f'positions = elements.groupBy({per_position}).agg({value}.alias("element"))',
            f"return positions.groupBy({name_arguments(self.by)}).agg({listed}.alias({quoted(feature.name)}))",
        ]


_VERBS = {
    "=": "is", "==": "is", "<>": "is_not", "!=": "is_not",
    "<": "below", "<=": "at_most", ">": "above", ">=": "at_least",
}  # fmt: skip
_LONGEST_NAME = 40


def _condition_name(where: str, feature: str) -> str:
    """A readable name for a condition: from its comparisons if they are simple, else from the feature's name.

    >>> _condition_name("status = 'Pre-paid' and amount >= 2", "n"), _condition_name("a + b > c", "n")
    ('status_is_pre_paid_and_amount_at_least_2', 'counts_for_n')
    """
    parts = []
    for condition in re.split(r"\s+and\s+", where.strip(), flags=re.IGNORECASE):
        match = re.fullmatch(r"(\w+)\s*(<=|>=|<>|!=|==|=|<|>)\s*(?:'(\w[^']*)'|(\w+(?:\.\d+)?))", condition)
        if match:
            value = re.sub(r"\W+", "_", match[3] or match[4])
            parts.append(f"{match[1]}_{_VERBS[match[2]]}_{value}")
        elif re.fullmatch(r"\w+", condition):
            parts.append(f"is_{condition.removeprefix('is_')}")
        else:
            return f"counts_for_{feature}"
    name = "_and_".join(parts).lower()
    return name if len(name) <= _LONGEST_NAME else f"counts_for_{feature}"


def write_lookup(scope: ScriptScope, table: Table, on: dict[str, str], features: list[ViewFeature]) -> FeatureTransform:
    """Adds the transform that looks up columns by grain keys (and by cut-off, if each row has its own)."""
    timeless, rows = not is_dated(table), identifier(table.name)
    row_keys = () if timeless else scope.row_keys
    columns = {
        feature.name: feature.computation.column for feature in features if isinstance(feature.computation, Lookup)
    }
    select = f"select({', '.join([*selected(on), *map(quoted, row_keys), *selected(columns)])})"
    if timeless:
        body = [f"return {rows}.{select}"]
    elif not row_keys:
        body = [f"return {current_function(scope, table)}({rows}, as_of).{select}"]
    else:
        statements, calls = current_state(scope, table, table.column_types, rows)
        there = {column: key for key, column in on.items()}
        keys = f'select({", ".join(selected(there))}, "as_of")'
        meet = [keys, "distinct()", f'join({rows}, on={join_keys([*there])}, how="inner")']
        body = [*statements, f"return {chain('spine', [*meet, *calls, select])}"]
    name = scope.fresh(f"{table.name}_of_{scope.keys_name(tuple(on))}")
    when = "" if timeless else " as known at the cut-off"
    doc = f"Columns of {table.name.replace('_', ' ')}{when}, by {', '.join(on)}."
    frames = [rows, *(["spine"] if row_keys else [])]
    return FeatureTransform(name, (*on, *row_keys), scope.write(name, frames, doc, body))
