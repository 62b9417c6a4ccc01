"""The description of a feature pull request, with evidence for every statement.

The same facts give the same text, without times or local paths. Text from the specification is escaped.
"""

import ast
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from palmette.delivery.markdown import block, code, items, prose, sections, table, text
from palmette.engine.actor import Measurement, Violation
from palmette.features.artefacts import Need, RejectedUtility, Utilities, Utility
from palmette.features.frame import Frame, Row
from palmette.features.oracle import uncovered
from palmette.features.repository.checkout import dotted_name
from palmette.features.repository.rules import RuleReport
from palmette.features.spec.phrases import definition, helpers_of, steps_of
from palmette.features.spec.view import View, ViewFeature

PREVIEW_ROWS = 5
PREVIEW_CHARS = 40
MASK = "•••"
NEEDS: Mapping[Need, str] = {
    "read_table": "reading tables",
    "write_table": "writing the view",
    "load_config": "loading the configuration",
    "build_session": "the Spark session",
    "divide": "division",
    "latest_per_key": "the newest row of a key",
    "before_cutoff": "rows before the cut-off",
    "in_window": "windows",
}
"""The purpose of a utility, for the description."""


class ChangeClass(NamedTuple):
    """How much a change affects readers of the view's table."""

    kind: Literal["new view", "unchanged columns", "columns added", "breaking"]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts: list[str] = [self.kind]
        parts += [f"adds {', '.join(self.added)}"] if self.added and self.kind != "new view" else []
        parts += [f"removes {', '.join(self.removed)}"] if self.removed else []
        return "; ".join(parts)


@dataclass(frozen=True)
class BodyFacts:
    """The facts that the description is written from."""

    view: View
    files: tuple[str, ...]
    """Paths that the pull request adds or changes."""
    change: ChangeClass
    measurements: tuple[Measurement, ...] = ()
    survivors: tuple[Violation, ...] = ()
    """Mutants that no test detected."""
    preview: Frame | None = None
    """Rows that the script wrote when it ran on the sample."""
    utilities: Utilities = field(default_factory=Utilities)
    imported: frozenset[str] = frozenset()
    """Names that the script imports."""
    backfill: tuple[tuple[str, ...], ...] = ()
    """Commands, as argument lists, that build the cut-offs of the run file."""
    destination: str = ""
    """The output path or table."""
    questions: tuple[str, ...] = ()
    """Questions for a person, in addition to those that the facts leave open."""
    rules: tuple[RuleReport, ...] = ()
    """How the script follows each rule of the README."""
    model: str = ""
    """The script that the new one is modelled on."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Digest of the specification, version of palmette, model, seed, etc."""


def pull_request_body(facts: BodyFacts) -> str:
    """Returns the description in Markdown."""
    return sections(
        (
            ("What and why", _what(facts)),
            ("Features", _features(facts.view)),
            ("Lineage", _lineage(facts.view)),
            ("Verification", _verification(facts)),
            ("Surviving mutants", _survivors(facts)),
            ("Data preview", _preview(facts)),
            ("Change class", _change(facts)),
            ("Backfill and rollback", _backfill(facts)),
            ("Open questions", items(_questions(facts)) or "None."),
            ("Conventions", _conventions(facts)),
            ("Utilities", _utilities(facts)),
            ("Provenance", items(f"{text(name)}: {code(value)}" for name, value in facts.provenance.items())),
        )
    )


def _conventions(facts: BodyFacts) -> str:
    """The script that this one is modelled on, and the outcome of each rule of the README."""
    model = f"Modelled on {code(facts.model)}." if facts.model else ""
    rows = [[text(one.rule), one.status if one.status == "followed" else f"**{one.status}**", text(one.how)]
            for one in facts.rules]  # fmt: skip
    return "\n\n".join(filter(None, (model, table(("rule of the README", "status", "how"), rows) if rows else "")))


def _what(facts: BodyFacts) -> str:
    view = facts.view
    cutoff = {
        "run": "one cut-off for the whole run, `as_of`",
        "spine": f"each row of {code(view.spine.table)} at its own cut-off" if view.spine else "",
        "partition": "the end of each day",
    }[view.cutoff]
    rows = (
        f"the rows of {code(view.spine.table)}"
        if view.spine
        else "every key that a visible row has in the longest window"
    )
    lines = [
        f"Feature view {code(view.name)}: {len(view.public)} features.",
        f"Rows: {rows}. Grain: {', '.join(map(code, view.grain))}.",
        f"Time: {cutoff}; days and hours in {text(view.zone)}; windows end before the cut-off.",
        f"Owner: {text(view.owner) if view.owner else 'not named'}.",
        f"Files: {', '.join(map(code, facts.files))}.",
    ]
    return f"{text(view.description)}\n\n{items(lines)}" if view.description else items(lines)


def _features(view: View) -> str:
    unknown = uncovered(view)

    def row(feature: ViewFeature) -> list[str]:
        null = "" if feature.nullable else " not null"
        default = "" if feature.default is None else code(feature.default)
        meaning = f"{text(feature.description)}<br>" if feature.description else ""
        why = unknown.get(feature.name)
        warning = "" if why is None else f"<br>**Not recomputed** ({text(why)}): only examples of the author test it."
        return [
            code(feature.name),
            code(feature.dtype) + null,
            default,
            meaning + code(definition(feature, view)) + warning,
        ]

    return table(("feature", "type", "default", "definition"), [row(feature) for feature in view.public])


def _lineage(view: View) -> str:
    def row(feature: ViewFeature) -> list[str]:
        by_table = groupby(view.lineage.get(feature.name, ()), key=lambda column: column.split(".", 1)[0])
        tables = [
            f"{code(name)}: {', '.join(code(column.split('.', 1)[1]) for column in columns)}"
            for name, columns in by_table
        ]
        return [code(feature.name), "<br>".join(tables)]

    made = table(("feature", "depends on"), [row(feature) for feature in view.public])
    forbidden = f"Forbidden, and in no lineage: {', '.join(map(code, view.forbidden))}." if view.forbidden else ""
    sources = [
        f"{code(source.name)}: {code(source.table.name)}{''.join(f'; {code(step)}' for step in steps_of(source))}"
        for source in view.sources
    ]
    return "\n\n".join(filter(None, (items(sources), made, forbidden)))


def _verification(facts: BodyFacts) -> str:
    if not facts.measurements:
        return "Nothing was measured."
    rows = [
        [text(item.name), f"**{item.status}**" if item.status != "passed" else "passed", text(item.detail)]
        for item in facts.measurements
    ]
    return table(("check", "status", "evidence"), rows)


def _survivors(facts: BodyFacts) -> str:
    if facts.survivors:
        return "No test notices these changes of the script:\n\n" + "\n\n".join(
            f"{prose(item.message)}\n\n{block(item.evidence, 'diff')}" for item in facts.survivors
        )
    tried = any("mutant" in item.detail and item.status != "skipped" for item in facts.measurements)
    if not tried:
        return "Not measured."
    if names := [code(name) for name in uncovered(facts.view)]:
        return f"None among the mutants that could be judged; those that change only {', '.join(names)} could not."
    return "None: the tests notice every mutant that was tried."


def _preview(facts: BodyFacts) -> str:
    frame = facts.preview
    if frame is None:
        return "No rows to show: the script was not run on sample data."
    if not frame.rows:
        return "The sample gives no rows."
    masked = facts.view.personal & set(frame.schema)
    fullest = sorted(frame.rows, key=lambda row: _emptiest_last(row, facts.view))[:PREVIEW_ROWS]
    rows = [[MASK if name in masked else code(_short(row[name])) for name in frame.schema] for row in fullest]
    hidden = f" {', '.join(map(code, sorted(masked)))} hidden: personal data." if masked else ""
    return f"Rows that the script wrote from the sample.{hidden}\n\n" + table(tuple(map(code, frame.schema)), rows)


def _emptiest_last(row: Row, view: View) -> tuple[object, ...]:
    """Sorts rows by the number of nulls, then by the keys of the grain, then by everything else."""
    keys = [row[name] for name in view.grain if row.get(name) is not None]
    return sum(value is None for value in row.values()), keys, repr(list(row.values()))


def _short(value: object) -> str:
    shown = _cell_text(value)
    return shown if len(shown) <= PREVIEW_CHARS else shown[: PREVIEW_CHARS - 1] + "…"


def _cell_text(value: object) -> str:
    """Formats a value for a data table rather than as Python source."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case list() | tuple():
            return f"[{', '.join(map(_cell_text, value))}]"
        case dict():
            return f"{{{', '.join(f'{name}: {_cell_text(item)}' for name, item in value.items())}}}"
        case _:
            return str(value)


def _change(facts: BodyFacts) -> str:
    advice = {
        "new view": "It has no readers yet.",
        "unchanged columns": "Readers go on as before; values can differ where the definition changed.",
        "columns added": "Readers that name their columns go on as before.",
        "breaking": "Readers of the removed columns must change first.",
    }[facts.change.kind]
    return f"**{text(facts.change)}**. {advice}"


def _backfill(facts: BodyFacts) -> str:
    commands = "\n".join(shlex.join(command) for command in facts.backfill)
    place = code(facts.destination) if facts.destination else "the configured output"
    rollback = f"Roll back by reverting this pull request; it writes only to {place}."
    written = (
        "only the partition of the cut-off's day is replaced"
        if facts.view.partition
        else "the output is replaced as a whole"
    )
    return f"{block(commands, 'sh')}\n\nRepeating a command is safe: {written}. {rollback}" if commands else rollback


def _questions(facts: BodyFacts) -> list[str]:
    read = [f"  - {_reading(feature, facts.view)}" for feature in facts.view.public if feature.words]
    skipped = [
        f"The check “{text(item.name)}” was skipped: {text(item.detail) or 'no reason given'}."
        for item in facts.measurements
        if item.status == "skipped"
    ]
    survivors = ["Do the surviving mutants matter? Each is a change that no test notices."] if facts.survivors else []
    meant = ["\n".join(["Were the words read as they were meant?", *read])] if read else []
    return [*map(prose, facts.questions), *meant, *skipped, *survivors]


def _reading(feature: ViewFeature, view: View) -> str:
    """How the author's words were read, with the helpers that the reading added."""
    helpers = [f", where {code(one.name)} is {code(definition(one, view))}" for one in helpers_of(feature, view)]
    read = f"{code(definition(feature, view))}{''.join(helpers)}"
    doubt = text(view.doubts.get(feature.name, ""))
    return f"{code(feature.name)}: “{text(feature.words)}” was read as {read}. {doubt}".rstrip()


def _utilities(facts: BodyFacts) -> str:
    """The utilities that the script imports from the repository, and why others were rejected."""

    def purpose(item: Utility | RejectedUtility) -> str:
        return f"{code(f'{item.module}.{item.name}')} for {NEEDS[item.need]}"

    used = [one for one in facts.utilities.chosen if one.name in facts.imported]
    left = [one for one in facts.utilities.chosen if one.name not in facts.imported]
    lines = [f"used: {purpose(one)}" for one in used]
    lines += [f"not used: {purpose(one)}; it fits, but the script has no place for it" for one in left]
    lines += [f"not used: {purpose(one)}: {text(one.reason)}" for one in facts.utilities.rejected]
    return items(lines)


def change_class(view: View, before: str | None) -> ChangeClass:
    """Compares the view's output with `before`, the script's text on the base branch (None if it is new).

    Not covered: columns that keep their name but change their type or meaning.
    """
    if before is None:
        return ChangeClass("new view", tuple(view.output))
    old = output_columns(before)
    added = tuple(name for name in view.output if name not in old)
    removed = tuple(sorted(old - set(view.output)))
    if removed:
        return ChangeClass("breaking", added, removed)
    return ChangeClass("columns added" if added else "unchanged columns", added)


def output_columns(source: str) -> frozenset[str]:
    """Names in the widest `select` of a script or query, which defines its output; empty if the text is neither."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        query = None
        with suppress(SqlglotError):
            query = sqlglot.parse_one(source, read="spark").find(exp.Query)
        return frozenset(query.named_selects if query else ())
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    selects = [node for node in calls if dotted_name(node.func).endswith(".select")]
    return max((frozenset(filter(None, map(_name, node.args))) for node in selects), key=len, default=frozenset())


def _name(node: ast.expr) -> str | None:
    """The output column of a `select` argument: its alias, or the column that it casts or passes through."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    called = dotted_name(node.func).rpartition(".")[2]
    if called in ("alias", "name", "col", "column") and node.args and isinstance(node.args[0], ast.Constant):
        return str(node.args[0].value)
    return _name(node.func.value) if isinstance(node.func, ast.Attribute) else None
