"""Resolves features: each computation is fully determined, its type and lineage are known, and errors are reported."""

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from palmette.features.spec import type_rules as c
from palmette.features.spec.expressions import check, never_null
from palmette.features.spec.fsc import Aggregate, Categories, Expression, Feature, Lookup
from palmette.features.spec.fsc_steps import pairs
from palmette.features.spec.literals import lint_value, quoted, sql_literal, to_python
from palmette.features.spec.scope import NOTHING, ColumnSet, Origins, ResolutionScope
from palmette.features.spec.sources import ResolvedSource, Sources
from palmette.features.spec.sql import ExpressionError, parse
from palmette.features.spec.values import SparkType, Window
from palmette.features.spec.view import AS_OF, Computation, ViewFeature

FORMS = ("aggregate", "expression", "lookup", "derive", "words")


@dataclass(frozen=True)
class ResolvedFeature:
    """A resolved feature with what the view needs: field, origins, inputs and nullability."""

    view: ViewFeature
    field: str  # the feature's path in the FSC
    origins: Origins
    """The columns it depends on; empty for a derived feature until its inputs are resolved."""
    inputs: tuple[str, ...] = ()  # names that a derived feature refers to
    tables: Collection[str] = ()
    can_be_null: bool = True  # whether the value can be null before the default is applied


class FeatureResolver:
    """Resolves features one by one."""

    def __init__(self, scope: ResolutionScope, sources: Sources) -> None:
        self.scope, self.report = scope, scope.report
        self.sources = sources

    def resolve(self, feature: Feature, field: str) -> list[ResolvedFeature]:
        """Resolves one entry of the FSC, which may expand to several features; returns none if an error prevents it."""
        form = next(form for form in FORMS if getattr(feature, form) is not None)
        resolve, computation = getattr(self, f"_{form}"), getattr(feature, form)
        return list(resolve(feature, computation, f"{field}.{form}", field))

    def _aggregate(self, feature: Feature, aggregate: Aggregate, path: str, field: str) -> list[ResolvedFeature]:
        before = len(self.scope.findings)
        c.lint_aggregate(aggregate, path, self.report)
        source = self.sources.get(aggregate.source, f"{path}.source")
        if source is None:
            return []
        if aggregate.categories is not None:
            self._categories(aggregate.categories, source, f"{path}.categories")
            if len(self.scope.findings) > before:
                return []
            parts = spread(feature, aggregate, aggregate.categories)
            return [one for part, computed in parts for one in self._single(part, computed, source, path, field)]
        return self._single(feature, aggregate, source, path, field)

    def _single(
        self, feature: Feature, aggregate: Aggregate, source: ResolvedSource, path: str, field: str
    ) -> list[ResolvedFeature]:
        columns = source.columns
        used: Origins = self._rows(aggregate, source, path)
        kind: SparkType | None = None
        if aggregate.of is not None:
            checked = self.scope.expression(aggregate.of, columns, f"{path}.of")
            kind = checked.type
            used |= checked.origins
            if kind is not None and not c.has_type(aggregate, kind, path, self.report):
                kind = None
        if aggregate.weight is not None:
            used |= self.scope.expression(aggregate.weight, columns, f"{path}.weight", wanted="numeric").origins
        if aggregate.rank_by is not None:
            at = f"{path}.rank_by"
            checked = self.scope.expression(aggregate.rank_by, columns, at, kind="aggregate", wanted="numeric")
            used |= checked.origins
        order = self._order(aggregate, source, path)
        used |= columns.origins_of(entry.split()[0] for entry in order or () if entry.strip())
        if aggregate.function == "days_since_last" or aggregate.half_life is not None:
            table = source.table
            if not source.view.is_event:
                facts = {"table": table.name, "table_kind": table.kind}
                self.report("not-events", f"{path}.function", aggregate.function, **facts)
            used |= columns.origins_of([table.event_time or ""])
        given = c.result_type(aggregate, kind) if kind is not None or aggregate.of is None else None
        filled = aggregate.model_copy(update={"by": self._by(aggregate, source, path), "order": order})
        can_be_null = aggregate.function not in c.NEVER_NULL
        return self._resolved(feature, field, filled, given, used, source.tables, can_be_null)

    def _expression(self, feature: Feature, expression: Expression, path: str, field: str) -> list[ResolvedFeature]:
        source = self.sources.get(expression.source, f"{path}.source")
        if source is None:
            return []
        checked = self.scope.expression(expression.sql, source.columns, f"{path}.sql", kind="aggregate")
        used = self._rows(expression, source, path) | checked.origins
        filled = expression.model_copy(update={"by": self._by(expression, source, path)})
        certain = checked.tree is not None and never_null(checked.tree, ())
        return self._resolved(feature, field, filled, checked.type, used, source.tables, not certain)

    def _rows(self, computation: Aggregate | Expression, source: ResolvedSource, path: str) -> Origins:
        """Checks `where` and the window; returns the columns that determine which rows count."""
        table = source.view.table
        used = source.rows | self.scope.condition(computation.where, source.columns, f"{path}.where")
        used |= source.columns.origins_of(table.times)
        window = computation.window
        if window == Window.ALL:
            return used
        if not source.view.is_event:
            self.report("window-without-events", f"{path}.window", window, table=table.name, table_kind=table.kind)
            return used
        length, kept = window.timedelta, table.retention
        if kept is not None and length > kept.timedelta:
            self.report("window-beyond-retention", f"{path}.window", window, table=table.name, kept=kept)
        time = source.columns.types.get(table.event_time or "")
        if window.seconds and time is not None and time.name == "date":
            self.report("window-finer-than-time", f"{path}.window", window, event_time=table.event_time)
        return used

    def _by(self, computation: Aggregate | Expression, source: ResolvedSource, path: str) -> tuple[str, ...]:
        grain, columns = self.scope.grain, source.columns
        if computation.by is None:
            present = [key for key in grain if key in columns]
            if len(present) < len(grain):
                missing = [key for key in grain if key not in present]
                listed, remedy = ", ".join(present), "Rename or join the key in a step of the source."
                if present:
                    remedy = f"Write `by: [{listed}]` to give each row the value of its {listed}."
                self.report("grain-key-missing", f"{path}.source", source.view.name, missing=missing, remedy=remedy)
            by = tuple(present)
        else:
            by = computation.by
            if not by:
                self.report("empty-value/by", f"{path}.by")
        for index, key in enumerate(by):
            if key not in grain:
                self.report("by-outside-grain", f"{path}.by[{index}]", key, grain)
                continue
            kind = self.scope.column(key, columns, f"{path}.by[{index}]" if computation.by else f"{path}.source")
            if not c.comparable(kind, grain[key]):
                facts = {"kind": kind, "source": source.view.name, "wanted": grain[key]}
                self.report("key-type-differs", f"{path}.source", key, **facts)
        return by

    def _order(self, aggregate: Aggregate, source: ResolvedSource, path: str) -> tuple[str, ...] | None:
        """The author's order, which must be free of ties, or else the source's own."""
        if aggregate.function not in c.ORDERED:
            return aggregate.order
        entries = aggregate.order or ()
        for index, entry in enumerate(entries):
            words = entry.split()
            if not words or len(words) > 2 or words[1:] not in ([], ["asc"], ["desc"]):
                self.report("bad-order", f"{path}.order[{index}]", entry)
            else:
                kind = self.scope.column(words[0], source.columns, f"{path}.order[{index}]")
                if kind is not None and kind.name == "map":
                    self.report("illegal-type/order", f"{path}.order[{index}]", entry, column=words[0], kind=kind)
        named = {entry.split()[0] for entry in entries if entry.strip()}
        why = ""
        if not entries and not source.view.is_event:
            why = "rows of a table without events have no order"
        elif source.order is None and not self._names_the_value(aggregate, source, named):
            why = f"the keys of {source.view.table.name!r} do not make its rows unique here"
        if why:
            at, value = ("order", list(entries)) if entries else ("function", aggregate.function)
            self.report("no-unique-order", f"{path}.{at}", value, function=aggregate.function, why=why)
        elif entries and not self._names_the_value(aggregate, source, named):
            table = source.view.table
            time = {table.event_time, table.valid_from} - {*table.keys}
            if missing := [name for name in source.order or () if name not in named and name not in time]:
                self.report("no-unique-order/tie", f"{path}.order", list(entries), missing=missing)
        return tuple(entry.removesuffix(" asc") for entry in entries) if entries else source.order

    def _names_the_value(self, aggregate: Aggregate, source: ResolvedSource, order: set[str]) -> bool:
        """Whether rows that tie in the order have equal values because `of` uses only columns of the order."""
        return aggregate.of is not None and order >= set(check(aggregate.of, source.columns.types).columns)

    def _lookup(self, feature: Feature, lookup: Lookup, path: str, field: str) -> list[ResolvedFeature]:
        table = self.scope.table(lookup.table, f"{path}.table")
        if table is None:
            return []
        there = ColumnSet.of_table(table)
        kind = self.scope.column(lookup.column, there, f"{path}.column")
        if table.kind == "event":
            self.report("lookup-of-events", f"{path}.table", table.name)
        on = pairs(lookup.on) if lookup.on is not None else {key: key for key in table.keys}
        self._lookup_keys(lookup, on, there, path)
        missing = [key for key in table.keys if key not in on.values()]
        if missing:
            self.report("lookup-not-on-keys", f"{path}.on", table.name, missing=missing)
        elif not table.keys_enforced:
            self.report("keys-not-enforced/lookup", f"{path}.table", table.name)
        used = there.origins_of([lookup.column, *table.times])
        filled = lookup.model_copy(update={"on": on})
        return self._resolved(feature, field, filled, kind, used, (table.name,))

    def _lookup_keys(self, lookup: Lookup, on: Mapping[str, str], there: ColumnSet, path: str) -> None:
        grain = self.scope.grain
        is_whole = all(key in grain for entity in self.scope.spec.entities for key in entity.keys)
        for here, column in on.items():
            if here not in grain and not is_whole:
                continue  # follows from a key that was reported
            if here not in grain:
                at = "on" if lookup.on is not None else "table"
                self.report("lookup-outside-grain", f"{path}.{at}", here, grain, table=lookup.table)
                continue
            kind = self.scope.column(column, there, f"{path}.on")
            if not c.comparable(kind, grain[here]):
                facts = {"wanted": grain[here], "table": lookup.table, "column": column, "kind": kind}
                self.report("key-type-differs/lookup", f"{path}.on", here, **facts)

    def _derive(self, feature: Feature, text: str, path: str, field: str) -> list[ResolvedFeature]:
        """Resolves a derived feature; its expression is checked later, when the types of its inputs are known."""
        try:
            inputs = parse(text).columns
        except ExpressionError as error:
            self.scope.findings.add([error.fault], path)
            return []
        return [ResolvedFeature(self._view(feature, text, field), field, NOTHING, inputs, can_be_null=False)]

    def _categories(self, categories: Categories, source: ResolvedSource, path: str) -> None:
        kind = self.scope.column(categories.of, source.columns, f"{path}.of")
        if kind is None:
            return
        closed = source.columns.values.get(categories.of, ())
        seen: dict[str, object] = {}
        for index, value in enumerate(categories.values):
            at = f"{path}.values[{index}]"
            if not lint_value(value, kind, categories.of, at, self.report, self.scope.zone):
                continue
            self.scope.among(value, categories.of, closed, at)
            name = suffix(value)
            if name in seen or (name == "other" and categories.other):
                self.report("name-collision/category", at, value, name=name)
            seen[name] = value

    def _resolved(
        self,
        feature: Feature,
        field: str,
        work: Computation,
        given: SparkType | None,
        used: Origins,
        tables: Collection[str],
        can_be_null: bool = True,
    ) -> list[ResolvedFeature]:
        """The feature with its computation of type `given`; reports a type or nullability that does not fit."""
        dtype, may_round = feature.dtype.parsed, getattr(work, "function", "") == "days_since_last"
        if given is not None and (reason := c.dtype_fault(dtype, given, may_round=may_round)) is not None:
            self.report("dtype-mismatch", f"{field}.dtype", dtype, feature=feature.name, reason=reason)
        self.nullability(feature, field, can_be_null)
        return [ResolvedFeature(self._view(feature, work, field), field, used, (), tables, can_be_null)]

    def _view(self, feature: Feature, work: Computation | str, field: str) -> ViewFeature:
        """The feature with its computation, or with the expression that derives it."""
        dtype, default = feature.dtype.parsed, None
        try:
            default = to_python(feature.default, dtype, self.scope.zone)
        except ValueError as error:
            facts = {"feature": feature.name, "dtype": dtype, "error": error}
            self.report("default-does-not-fit", f"{field}.default", feature.default, **facts)
        derive, computation = (work, None) if isinstance(work, str) else (None, work)
        about = (feature.internal, feature.description, feature.words)
        return ViewFeature(feature.name, dtype, feature.nullable, default, computation, derive, *about)

    def nullability(self, feature: Feature | ViewFeature, field: str, can_be_null: bool) -> None:
        """Reports a feature that is declared not nullable but can be null."""
        if not feature.nullable and can_be_null and feature.default is None:
            self.report("null-without-default", f"{field}.nullable", "false", feature=feature.name)


def derivation_order(features: Sequence[ResolvedFeature], scope: ResolutionScope) -> tuple[str, ...]:
    """Orders names so that each follows its inputs; reports cycles with their members."""
    by_name = {feature.view.name: feature for feature in features}
    repeated = {name for name, number in Counter(feature.view.name for feature in features).items() if number > 1}
    done: dict[str, None] = {}
    path: list[str] = []

    def visit(name: str) -> None:
        feature = by_name.get(name)
        if feature is None or name in done:
            return
        if name in path:
            cycle = [*path[path.index(name) :], name]
            if repeated.intersection(cycle):
                return  # follows from a name that was reported
            scope.report("derivation-cycle", f"{by_name[cycle[0]].field}.derive", name, cycle=" -> ".join(cycle))
            return
        path.append(name)
        for used in feature.inputs:
            visit(used)
        path.pop()
        done[name] = None

    for feature in features:
        visit(feature.view.name)
    return tuple(done)


class Derivations:
    """Completes derived features once all their possible inputs are known."""

    def __init__(
        self, scope: ResolutionScope, resolver: FeatureResolver, kept: Mapping[str, SparkType], broken: set[str]
    ) -> None:
        self.scope = scope
        self.resolver = resolver
        spine = scope.spec.spine
        table = spine.table if spine else ""
        origins = {name: frozenset({f"{table}.{name}"}) for name in kept}
        origins[AS_OF] = frozenset({f"{table}.{spine.cutoff}"}) if spine and spine.cutoff else NOTHING
        self.columns = ColumnSet({**scope.grain, **kept, AS_OF: SparkType("timestamp")}, origins, broken)
        self.certain: set[str] = {AS_OF}
        if spine is None:
            self.certain |= set(scope.grain)

    def complete(self, features: Sequence[ResolvedFeature], order: Sequence[str]) -> dict[str, ResolvedFeature]:
        """All features by name; derived ones have their origins filled in."""
        by_name = {feature.view.name: feature for feature in features}
        for name in order:
            feature = by_name[name]
            if feature.view.derive is not None:
                feature = by_name[name] = self._derived(feature, feature.view.derive, by_name)
            self.columns.put(name, feature.view.dtype, feature.origins)
            if not feature.can_be_null or feature.view.default is not None:
                self.certain.add(name)
        return by_name

    def _derived(self, feature: ResolvedFeature, text: str, by_name: Mapping[str, ResolvedFeature]) -> ResolvedFeature:
        later = {name for name in feature.inputs if name in by_name and name not in self.columns}
        columns = dataclasses.replace(self.columns, broken=self.columns.broken | later)
        checked = self.scope.expression(text, columns, f"{feature.field}.derive")
        known = checked.type if not checked.faults else None
        if known is not None and (reason := c.dtype_fault(feature.view.dtype, known)):
            facts = {"feature": feature.view.name, "reason": reason}
            self.scope.report("dtype-mismatch/derive", f"{feature.field}.dtype", feature.view.dtype, **facts)
        can_be_null = checked.tree is None or not never_null(checked.tree, self.certain)
        if not checked.faults:
            self.resolver.nullability(feature.view, feature.field, can_be_null)
        return dataclasses.replace(feature, origins=checked.origins, can_be_null=can_be_null)


def spread(feature: Feature, aggregate: Aggregate, categories: Categories) -> Iterator[tuple[Feature, Aggregate]]:
    """Yields the features `<name>_<value>` in the order of the values, then `<name>_other`, each with its aggregate.

    `<name>_other` covers all other values and null, so the counts of all categories add up to the total count. A
    `share` becomes the category's share of all rows.
    """
    of, literals = quoted(categories.of), [sql_literal(value) for value in categories.values]
    parts = [
        (suffix(value), value, f"{of} = {literal}", f"{of} <=> {literal}")
        for value, literal in zip(categories.values, literals, strict=True)
    ]
    if categories.other:
        others = f"{of} IS NULL OR {of} NOT IN ({', '.join(literals)})"
        parts.append(("other", "other", others, others))
    for name, label, condition, exact in parts:
        where = condition if aggregate.where is None else f"({aggregate.where}) AND ({condition})"
        restricted = {"of": exact} if aggregate.function == "share" else {"where": where}
        description = f"{feature.description} ({label})" if feature.description else ""
        named = feature.model_copy(update={"name": f"{feature.name}_{name}", "description": description})
        yield named, aggregate.model_copy(update={"categories": None, **restricted})


def suffix(value: str | int | bool) -> str:
    """Converts a category value to a column name suffix.

    >>> suffix("Food & Drink"), suffix(-3), suffix(True)
    ('food_drink', 'minus_3', 'true')
    """
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        return f"minus_{-value}"
    return re.sub(r"[^a-z0-9]+", "_", str(value).lower()).strip("_") or "blank"
