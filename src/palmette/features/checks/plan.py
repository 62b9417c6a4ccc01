"""Checks the query plan of the script's result: schema, joins, and partition pruning."""

import ast
import re
from collections.abc import Iterator
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.errors import nearest
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.examples import failure
from palmette.features.harness.connect import CaseResult
from palmette.features.script_tree import calls, parse, texts
from palmette.features.spec import Schema, Table, View, Window
from palmette.features.spec.view import ddl

_JOIN = re.compile(r"(?m)^[ :+\-|]*Join (?!LeftSemi\b|LeftAnti\b)\w+(, )?$")
_FILTER = re.compile(r"(?m)^[ :+\-|]*Filter (?P<condition>.*)$")
_ATTRIBUTE = re.compile(r"\b(\w+)#\d+L?")
_PYTHON = re.compile(r"(?m)^.*(PythonUDF|(Batch|Arrow)EvalPython|MapIn(Pandas|Arrow)|FlatMapGroupsInPandas).*$")


class PlanCheck:
    """The schema is the contract; no join pairs all rows; partitions outside the windows are skipped."""

    code: ClassVar[str] = "plan"
    codes: ClassVar[tuple[str, ...]] = ("schema", "cross-join", "python-udf", "unpruned", "crash")
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 5

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        if not subject.scenarios:
            return CheckResult(skipped="no scenario could be made for this view")
        result = subject.outputs.scenarios[0]
        if result.frame is None:
            return CheckResult((failure(result),))
        violations = [*schema_violations(subject.view.output, result.frame.schema), *_plan_violations(result)]
        tables = prunable(subject.view)
        unpruned = [table for table in tables if not prunes(table, result.plan)]
        text = subject.text
        elsewhere = [table for table in unpruned if _pruned_elsewhere(table, text, subject)]
        violations += [_unpruned(table, result.plan) for table in unpruned if table not in elsewhere]
        pruned = f"; {len(tables) - len(elsewhere)} of {len(tables)} partitioned tables pruned in the transforms"
        return CheckResult(tuple(violations), detail=f"{len(subject.view.output)} columns{pruned if tables else ''}")


def schema_violations(expected: Schema, actual: Schema) -> Iterator[Violation]:
    """Differences from the contract in names, types or order of columns."""
    evidence = f"contract: {ddl(expected)}\nscript:   {ddl(actual)}"

    def violation(message: str, name: str = "") -> Violation:
        return Violation(code="schema", message=message, evidence=evidence, subject=name)

    for name, kind in expected.items():
        if name not in actual:
            hint = nearest(name, set(actual) - set(expected))
            yield violation(f"Column {name!r} is missing" + (f"; is it the script's {hint!r}?" if hint else "."), name)
        elif actual[name] != kind:
            yield violation(f"Column {name!r} is {actual[name]}, not {kind}.", name)
    for name in actual:
        if name not in expected:
            yield violation(f"Column {name!r} is not in the contract.", name)
    if list(expected) != list(actual) and set(expected) == set(actual):
        yield violation("The columns are not in the order of the contract.")


def analysed(plan: str) -> str:
    """The analyzed plan, in which names are resolved and constants are not folded yet."""
    _, _, rest = plan.partition("== Analyzed Logical Plan ==")
    return (rest or plan).partition("== Optimized Logical Plan ==")[0]


def _plan_violations(result: CaseResult) -> Iterator[Violation]:
    plan = analysed(result.plan)
    if cross := _JOIN.search(plan):
        message = "A join without keys pairs every row with every row."
        yield Violation(code="cross-join", message=message, evidence=cross[0].strip())
    if python := _PYTHON.search(plan):
        yield Violation(code="python-udf", message="The plan runs Python on rows.", evidence=python[0].strip())


def prunable(view: View) -> list[Table]:
    """Event tables partitioned by the day of the event, if all windows on them are bounded."""
    if view.cutoff == "spine":
        return []
    tables = []
    for source in view.sources:
        days = [partition for partition in source.table.partitions if partition.of == "event_time"]
        windows = [feature.window for feature in view.features if feature.source == source.name]
        bounded = all(window not in (None, Window.ALL) for window in windows)
        if days and windows and bounded and not source.late and source.table not in tables:
            tables.append(source.table)
    return tables


def prunes(table: Table, plan: str) -> bool:
    """Whether a filter uses only the table's partition columns, so that Spark skips files."""
    columns = {partition.column for partition in table.partitions}
    for match in _FILTER.finditer(analysed(plan)):
        for condition in re.split(r"\bAND\b", match["condition"]):
            names = set(_ATTRIBUTE.findall(condition))
            if names and names <= columns and not re.search(r"UDF|python", condition, re.IGNORECASE):
                return True
    return False


def _pruned_elsewhere(table: Table, text: str, subject: ScriptUnderTest) -> bool:
    """Whether code outside the transforms filters by a partition column; pruning may then happen while reading."""
    source = parse(text, subject.view, subject.entry)
    inside = {id(node) for node in source.transform_nodes}
    columns = {partition.column for partition in table.partitions}
    outside = [node for node in calls(source.nodes, {"where", "filter"}) if id(node) not in inside]
    found = texts(item for node in outside for argument in node.args for item in ast.walk(argument))
    return any(columns & set(re.findall(r"\w+", text)) for _, text in found)


def _unpruned(table: Table, plan: str) -> Violation:
    columns = ", ".join(partition.column for partition in table.partitions)
    filters = [match[0].strip() for match in _FILTER.finditer(analysed(plan))]
    return Violation(
        code="unpruned",
        subject=table.name,
        evidence="\n".join(filters[:10]),
        message=f"Every partition of {table.name!r} is read: no filter is on {columns} alone.",
    )
