"""Sections of quoted data about a feature run, which several agents show to a language model.

They do not depend on the machine, so equal runs give equal prompts.
"""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path

from palmette.documents import load_plain, read_text
from palmette.features.artefacts import Conventions, Utilities, Utility
from palmette.features.frame_json import encode
from palmette.features.oracle.reference import longest_window
from palmette.features.repository import Checkout, Neighbour, find_neighbours
from palmette.features.repository.checkout import is_python
from palmette.features.repository.readme import Stage, excerpt
from palmette.features.spec import AS_OF, Aggregate, RegisteredColumn, Table, View, ViewFeature, ViewSource, Window
from palmette.features.spec.phrases import definition, steps_of
from palmette.llm import NEEDED, Section, section
from palmette.llm.text import estimate_tokens

README_TOKENS: Mapping[Stage, int] = {"config": 600, "utilities": 600, "scripts": 1500, "tests": 1000}
"""Token limits of README excerpts, by stage."""
NEIGHBOUR_TOKENS = 2500
"""Token limit of a neighbouring file; longer files are cut."""


def facts(known: Mapping[str, str]) -> str:
    """Lists values by name, one per line, without empty ones."""
    return "\n".join(f"{name}: {text}" for name, text in known.items() if text)


def readme(checkout: Checkout, path: str, stage: Stage) -> Section:
    """The parts of the team's README that are relevant to the stage; `path` is that of the run file."""
    return section("readme", excerpt(checkout.text(path), stage, README_TOKENS[stage]), rank=1, language="markdown")


def utilities(chosen: Utilities | None, form: Callable[[Utility], str]) -> Section:
    """The proven utilities, formatted by `form`, and those that failed their proofs."""
    found, unfit = chosen or Utilities(), dict[str, list[str]]()
    for one in found.rejected:
        unfit.setdefault(f"for {one.need}: {one.reason}", []).append(f"{one.module}.{one.name}")
    lines = [f"not {', '.join(names)} {why}" for why, names in unfit.items()]
    return section("utilities", *map(form, found.chosen), *lines, rank=1)


def registry(tables: Iterable[Table], used: Collection[str] | None = None) -> Section:
    """Tables with their types, keys, times and partitions.

    Args:
        used: Columns, as `table.column`, to describe in full; others are only named. None describes all.
    """
    return section("registry", *(_table(table, used) for table in tables), rank=NEEDED)


def registry_of(view: View) -> Section:
    """The tables that the view reads; unused columns are only named."""
    used = {column for columns in view.lineage.values() for column in columns}
    used |= {f"{name}.{key}" for name in view.tables for key in (*view.grain, *view.kept)}
    return registry((view.tables[name] for name in sorted(view.tables)), used)


def meaning(view: View, *, for_inputs: bool = False) -> Section:
    """The view in words: rows, times, features and rules; `for_inputs` leaves out rules about computing values."""
    features = {name: view.feature(name) for name in view.derivation_order}
    columns = (name if name in features else f"{name} {kind}" for name, kind in view.output.items())
    blocks = [
        _block("Rows", _rows(view)),
        f"Columns of the output, in this order: {', '.join(columns)}",
        _block("Sources", [_source(source) for source in view.sources]),
        _block("Features, each after those it needs", [_feature(feature, view) for feature in features.values()]),
        _block("Rules", [*_time_rules(view), *(() if for_inputs else _value_rules(view))]),
    ]
    return section("meaning", *blocks, rank=NEEDED)


def neighbour(checkout: Checkout, view: View, *, outlined: bool = False) -> Section:
    """The team's script of another view that shares most tables with this one; the shortest in a tie.

    Args:
        outlined: Whether to replace the functions' bodies by `...`; otherwise its docstring and imports are left out.
    """
    found = min(
        _others(checkout, view),
        key=lambda other: (-sum(name in other.module.text for name in view.tables), len(other.module.text)),
        default=None,
    )
    text = _cut((_outline if outlined else _without_head)(found.module.text)) if found else ""
    return section("neighbour", text, rank=3, language="python")


def neighbour_test(checkout: Checkout, view: View, conventions: Conventions) -> Section:
    """The outline of the shortest test file of another view."""
    paths = [conventions.test_path.replace("{view}", other.view) for other in _others(checkout, view)]
    texts = sorted(filter(is_python, map(checkout.text, paths)), key=len)
    return section("neighbour", *(_cut(_outline(text)) for text in texts[:1]), rank=3, language="python")


def _cut(text: str) -> str:
    """The first lines of a text, with a note about omitted ones."""
    lines = text.splitlines()
    while lines and estimate_tokens("\n".join(lines)) > NEIGHBOUR_TOKENS:
        lines = lines[: len(lines) * 3 // 4]
    left = len(text.splitlines()) - len(lines)
    return "\n".join([*lines, *([f"[... {left} lines more]"] if left else [])])


def _without_head(text: str) -> str:
    """A module without its docstring and imports."""
    head = (ast.Expr, ast.Import, ast.ImportFrom)
    ends = [0, *(node.end_lineno or 0 for node in takewhile(lambda node: isinstance(node, head), ast.parse(text).body))]
    return "\n".join(text.splitlines()[ends[-1] :]).strip("\n")


def _outline(text: str) -> str:
    """A module with function bodies replaced by a docstring and `...`."""
    lines = text.splitlines()
    for node in reversed(ast.parse(text).body):
        if not isinstance(node, ast.FunctionDef):
            continue
        first = node.body[min(ast.get_docstring(node) is not None, len(node.body) - 1)]
        if first.lineno > node.lineno:
            lines[first.lineno - 1 : node.end_lineno] = [f"{' ' * first.col_offset}..."]
    return "\n".join(lines)


def _others(checkout: Checkout, view: View) -> list[Neighbour]:
    return [other for other in find_neighbours(checkout) if other.view != view.name]


def _block(title: str, lines: Iterable[str]) -> str:
    listed = [f"- {line}" for line in lines]
    return "\n".join([f"{title}:", *listed]) if listed else ""


def _table(table: Table, used: Collection[str] | None) -> str:
    kinds = {
        "event": f"event table, time `{table.event_time}`",
        "snapshot": f"snapshot table, states as of `{table.event_time}`",
        "scd2": f"scd2 table, states in [{table.valid_from}, {table.valid_to or 'now'})",
        "dimension": "dimension table, current states",
    }
    facts = [
        f"{kinds[table.kind]}; keys: {', '.join(table.keys)}{'' if table.keys_enforced else ' (may repeat)'}",
        *([f"available from `{table.available_time}`"] if table.available_time else []),
        *(f"partitioned by `{one.column}`{f', the UTC day of {one.of}' if one.of else ''}" for one in table.partitions),
    ]
    needed = {*table.keys, *table.times, *(one.column for one in table.partitions)}
    full = [c for c in table.columns if used is None or c.name in needed or f"{table.name}.{c.name}" in used]
    rest = [f"{column.name} {column.type}" for column in table.columns if column not in full]
    about = f": {table.description}" if table.description else ""
    lines = [f"table {table.name}{about}", *(f"  {fact}" for fact in facts), *(f"  - {_column(one)}" for one in full)]
    return "\n".join([*lines, *([f"  other columns: {', '.join(rest)}"] if rest else [])])


def _column(column: RegisteredColumn) -> str:
    values = "" if column.personal else ", ".join(map(repr, column.values))
    return "".join(
        [
            f"{column.name} {column.type}",
            "" if column.nullable else " not null",
            f", {column.unit} since the epoch" if column.unit else "",
            f", {column.length} elements" if column.length else "",
            ", personal data" if column.personal else "",
            f", one of {values}" if values else "",
            f": {column.description}" if column.description else "",
        ]
    )


def _rows(view: View) -> Iterator[str]:
    if view.spine:
        grain = ", ".join(view.identity)
        where = f" where {view.spine.where}" if view.spine.where else ""
        yield f"exactly those of {view.spine.table}{where}, repeated and null keys too; grain: {grain}"
    else:
        windows = ((source, longest_window(view, source)) for source in view.sources)
        places = [f"{one.name} {_reach(window)}" for one, window in windows if window is not None]
        yield (
            f"one for every {' and '.join(view.grain)} that has a row that counts in {' or in '.join(places)}, "
            "whatever the conditions of features; a null key makes no row"
        )
    own = view.spine.cutoff if view.spine else ""
    cutoff = {
        "run": "one instant for all rows, given to the script",
        "spine": f"each row's own, `{own}`, so an entity may have several; the script is given none",
        "partition": f"the midnight (in {view.zone}) that ends the partition's day, given to the script",
    }[view.cutoff]
    shown = f"it is the column `{AS_OF}`" if AS_OF in view.output else "it is no column of the output"
    yield f"cut-off T: {cutoff}; {shown}"
    if view.partition:
        yield f"`{view.partition}`: the calendar day (in {view.zone}) of the last instant before T"


def _reach(window: Window) -> str:
    return "at any time before T" if window == Window.ALL else f"in [T - {window}, T)"


def _source(source: ViewSource) -> str:
    steps = steps_of(source)
    seen = steps[len(source.early) :]
    parts = [f"{source.name}: rows of {source.table.name}", *steps[: len(source.early)]]
    if seen:
        by = ", ".join(source.late_by or ())
        parts += [f"then, among the rows visible at T only{f', per {by}' if by else ''}", *seen]
    return "; ".join(parts)


def _feature(feature: ViewFeature, view: View) -> str:
    kind = "".join(
        [
            str(feature.dtype),
            "" if feature.nullable else " not null",
            f", {encode(feature.dtype, feature.default)!r} where null" if feature.default is not None else "",
            ", only for other features" if feature.internal else "",
        ]
    )
    about = f" ({feature.description})" if feature.description else ""
    words = f"; in the author's words: {feature.words}" if feature.words else ""
    return f"{feature.name} [{kind}]: {definition(feature, view)}{about}{words}"


_FUNCTION_RULES = load_plain(read_text(Path(__file__).with_name("function_rules.yaml")))


def _time_rules(view: View) -> Iterator[str]:
    kinds = {table.kind for table in view.tables.values()}
    if any(source.is_event for source in view.sources):
        yield "A window w holds event times in [T - w, T). All history ends before T. A null event time never counts."
    if any(table.available_time for table in view.tables.values()):
        yield "A row counts only when its availability time is before T, too; a null one never is."
    if any(feature.window and feature.window.days for feature in view.features):
        yield f"N days go back N calendar days in {view.zone}, to the same time of day."
    if kinds - {"event"}:
        yield (
            "The state at an instant E: the newest snapshot of each key with a time before E; the scd2 row with "
            "valid_from < E <= valid_to (null: still valid); of a dimension, its row."
        )
    if any(_is_no_instant(source.table) for source in view.sources):
        yield f"A date as an event time is that day's midnight in {view.zone}; a wall clock reading is one there."
    yield f"Hours, days and dates are those of {view.zone}, whatever time zone the Spark session has."


def _value_rules(view: View) -> Iterator[str]:
    if view.sources:
        yield "Aggregations ignore nulls of what they are of; on no rows counts are 0, `exists` false, all else null."
    used = {one.computation.function for one in view.features if isinstance(one.computation, Aggregate)}
    yield from (text for name, text in _FUNCTION_RULES.items() if name in used)
    yield "`/` and `%` are null where the divisor is zero."
    yield "A value is computed, then cast to its type, then its default takes the place of null."


def _is_no_instant(table: Table) -> bool:
    column = table.column(table.event_time) if table.event_time else None
    return column is not None and column.type in ("date", "timestamp_ntz")
