"""Writes lookups in tables of states: what was known about a key at a given time."""

from palmette.features.pyspark.code import (
    CodeFragment,
    chain,
    conjunction,
    method,
    name_arguments,
    names,
    quoted,
)
from palmette.features.pyspark.scope import ScriptScope, identifier
from palmette.features.pyspark.times import Pruning, event_column, is_dated, pruning, timestamp, visible
from palmette.features.spec import Schema, Table
from palmette.features.spec.fsc_steps import Join, Member, pairs


def selected(items: dict[str, str]) -> list[str]:
    """Arguments of a select: new name to column."""
    return [quoted(old) if new == old else f"F.col({quoted(old)}).alias({quoted(new)})" for new, old in items.items()]


def join_keys(keys: list[str]) -> str:
    return quoted(keys[0]) if len(keys) == 1 else names(keys)


def join_calls(scope: ScriptScope, join: Join, moment: CodeFragment, schema: Schema) -> list[str]:
    """The calls that join columns of a table as known at `moment`."""
    table = scope.view.tables[join.table]
    how = {"keep": "left", "drop": "inner"}[join.unmatched]
    on = pairs(join.on)
    taken = {new: there for new, there in pairs(join.columns).items() if not (new in on and on[new] == there)}
    parameter = identifier(table.name)
    replaced = [name for name in taken if name in schema]
    calls = [f"drop({name_arguments(replaced)})"] if replaced else []
    if is_dated(table) and (scope.per_row or moment != scope.cutoff):
        states = states_function(scope, table, on, taken)
        mine = {name: f"{table.name}_{name}" for name in (*on, "known_from", "known_until")}
        until = f"F.col({quoted(mine['known_until'])})"
        condition = " & ".join(
            [
                *(f"(F.col({quoted(here)}) == F.col({quoted(mine[here])}))" for here in on),
                f"(F.col({quoted(mine['known_from'])}) < {moment.text})",
                f"({until}.isNull() | ({until} >= {moment.text}))",
            ]
        )
        calls.append(f"join({states}({parameter}), on={condition}, how={quoted(how)})")
        calls.append(f"drop({name_arguments(mine.values())})")
    else:
        right = f"{current_function(scope, table)}({parameter}, as_of)" if is_dated(table) else parameter
        columns = ", ".join(selected({**on, **taken}))
        calls.append(f"join({right}.select({columns}), on={join_keys(list(on))}, how={quoted(how)})")
    return calls


def member_calls(scope: ScriptScope, member: Member, moment: CodeFragment, parameter: str) -> list[str]:
    """The calls that add whether a row of a table, the data frame `parameter`, had the same values before `moment`."""
    table = scope.view.tables[member.table]
    schema, on = table.column_types, pairs(member.on)
    times = [name for name in (table.event_time, table.available_time) if name]
    known = [timestamp(name, schema, table, scope.view.zone) for name in times]
    conditions = [method(CodeFragment(f"F.col({quoted(name)})"), "isNotNull") for name in times]
    conditions += [scope.sql(member.where, schema).as_column] if member.where is not None else []
    condition = conjunction(conditions)
    first = known[0].text if len(known) == 1 else f"F.greatest({', '.join(each.argument for each in known)})"
    calls = [] if condition is None else [f"where({condition.text})"]
    keys = ", ".join(selected(on))
    if known:
        calls += [f"groupBy({keys})", f"agg(F.min({first}).alias({quoted(member.column)}))"]
    else:
        calls += [f"select({keys})", "distinct()", f"withColumn({quoted(member.column)}, F.lit(True))"]
    name = scope.fresh(f"{member.column}_since")
    doc = f"Each {', '.join(on.values())} that {table.name} has{', since when' if known else ''}."
    scope.write(name, [parameter], doc, [f"return {chain(parameter, calls)}"])
    since = f"F.col({quoted(member.column)})"
    value = f"{since} < {moment.text}" if known else since
    return [
        f'join({name}({parameter}), on={join_keys(list(on))}, how="left")',
        f"withColumn({quoted(member.column)}, F.coalesce({value}, F.lit(False)))",
    ]


def current_function(scope: ScriptScope, table: Table) -> str:
    """Name of the transform that returns each key's state at the run's cut-off; writes it on first use."""
    name = f"current_{identifier(table.name)}"
    if name not in scope.taken:
        scope.taken.add(name)
        parameter = identifier(table.name)
        statements, calls = current_state(scope, table, table.column_types, parameter)
        doc = f"The state of each {', '.join(table.keys)} that was known at the cut-off."
        scope.write(name, [parameter], doc, [*statements, f"return {chain(parameter, calls)}"])
    return name


def current_state(scope: ScriptScope, table: Table, schema: Schema, start: str) -> tuple[list[str], list[str]]:
    """Statements and calls that keep the states known at the cut-off."""
    statements, calls = pruning(scope, table, None) if start == identifier(table.name) else Pruning([], [])
    condition = conjunction(visible(table, schema, scope.cutoff, scope.view.zone))
    if condition is not None:
        calls.append(f"where({condition.text})")
    keys = (*table.keys, *scope.row_keys)
    latest = None
    if table.kind == "snapshot" and table.keys_enforced:
        latest = scope.utility_transform("latest_per_key", keys=names(keys), order=quoted(table.event_time or ""))
    if latest is not None:
        calls.append(latest)
    elif table.kind == "snapshot" or (table.kind == "scd2" and not table.keys_enforced):
        order = ", ".join(f"F.col({quoted(name)}).desc()" for name in recency(table))
        statements.append(f"newest_first = Window.partitionBy({name_arguments(keys)}).orderBy({order})")
        calls += [
            'withColumn("recency", F.row_number().over(newest_first))',
            'where(F.col("recency") == 1)',
            'drop("recency")',
        ]
    return statements, calls


def recency(table: Table) -> list[str]:
    """Columns that order the states of one key: all comparable columns if keys may repeat."""
    first = [name for name in (event_column(table), table.available_time) if name]
    if table.keys_enforced:
        return first[:1]
    others = [column.name for column in table.columns if column.type.parsed.name != "map"]
    return first + [name for name in others if name not in first and name not in table.keys]


def states_function(scope: ScriptScope, table: Table, on: dict[str, str], taken: dict[str, str]) -> str:
    """Writes the transform that returns every state with the period in which it was the latest known."""
    parameter, schema, zone = identifier(table.name), table.column_types, scope.view.zone
    name = scope.fresh(f"{table.name}_states")
    known_from, known_until = (f"{table.name}_known_{end}" for end in ("from", "until"))
    start = timestamp(event_column(table) or table.available_time or "", schema, table, zone)
    begins, needed = start.text, [start]
    if table.available_time is not None and event_column(table) is not None:
        available = timestamp(table.available_time, schema, table, zone)
        begins, needed = f"F.greatest({start.argument}, {available.argument})", [start, available]
    order = [*([known_from] if table.available_time else []), *recency(table)]
    statements = [f"by_key = Window.partitionBy({name_arguments(table.keys)}).orderBy({name_arguments(order)})"]
    until = f"F.lead({quoted(known_from)}).over(by_key)"
    if table.kind != "snapshot":
        none = CodeFragment('F.lit(None).cast("timestamp")')
        end = timestamp(table.valid_to, schema, table, zone) if table.valid_to else none
        until = end.text if table.keys_enforced else f"F.least({end.argument}, {until})"
        statements = [] if table.keys_enforced else statements
    calls = [
        f"where({' & '.join(f'{code.text}.isNotNull()' for code in needed)})",
        f"withColumn({quoted(known_from)}, {begins})",
        f"withColumn({quoted(known_until)}, {until})",
    ]
    values = selected(taken)
    if table.kind == "snapshot" and table.available_time is not None:
        fields = name_arguments(dict.fromkeys([table.event_time or "", *taken.values()]))
        so_far = "by_key.rowsBetween(Window.unboundedPreceding, Window.currentRow)"
        calls.append(f'withColumn("newest", F.max(F.struct({fields})).over({so_far}))')
        values = [f"F.col({quoted('newest.' + there)}).alias({quoted(new)})" for new, there in taken.items()]
    keys = selected({f"{table.name}_{here}": there for here, there in on.items()})
    calls.append(f"select({', '.join([*keys, *values, quoted(known_from), quoted(known_until)])})")
    doc = f"States of {table.name}, each with the span in which it was the latest known."
    scope.write(name, [parameter], doc, [*statements, f"return {chain(parameter, calls)}"])
    return name
