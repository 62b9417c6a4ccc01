"""The sources of a view by name, and the rows of one that an aggregation selects."""

from collections.abc import Mapping

from palmette.features.spec.expressions import check
from palmette.features.spec.fsc import Aggregate, Expression, SourceSpec
from palmette.features.spec.scope import Origins, ResolutionScope
from palmette.features.spec.steps import ResolvedSource
from palmette.features.spec.type_rules import ORDERED, comparable
from palmette.features.spec.values import Window


class Sources:
    """The sources of a view by name: declared ones, and registry tables used without steps."""

    def __init__(self, scope: ResolutionScope) -> None:
        self.scope = scope
        self._declared: dict[str, tuple[SourceSpec, str]] = {}
        for index, source in enumerate(scope.spec.sources):
            field = f"sources[{index}]"
            if source.name in self._declared:
                scope.report("duplicate-source", f"{field}.name", source.name)
            else:
                self._declared[source.name] = (source, field)
        self._resolved = {name: self._resolve(*entry) for name, entry in self._declared.items()}

    @property
    def names(self) -> list[str]:
        """All names that a feature may use as its source."""
        return list(dict.fromkeys([*self._declared, *(table.name for table in self.scope.registry.tables)]))

    @property
    def resolved(self) -> Mapping[str, ResolvedSource]:
        """The sources resolved so far, declared ones first."""
        return {name: source for name, source in self._resolved.items() if source is not None}

    def get(self, name: str, field: str | None = None) -> ResolvedSource | None:
        """The source with this name; with `field`, an unknown name is reported."""
        if name not in self._resolved:
            if self.scope.registry.table(name) is None:
                if field is not None:
                    self.scope.report("unknown-source", field, name, self.names)
                return None
            self._resolved[name] = self._resolve(SourceSpec(name=name), "")
        return self._resolved[name]

    def add(self, source: SourceSpec, field: str) -> None:
        """Declares a source that the words of a feature need; `field` is where its errors are reported."""
        if source.name not in self._declared:
            self._declared[source.name] = (source, field)
            self._resolved[source.name] = self._resolve(source, field)

    def _resolve(self, source: SourceSpec, field: str) -> ResolvedSource | None:
        table_name = source.table or source.name
        table = self.scope.table(table_name, f"{field}.table" if source.table else f"{field}.name")
        if table is None:
            return None
        self._lint_by(source, field)
        return ResolvedSource(source, table, self.scope, field)

    def _lint_by(self, source: SourceSpec, field: str) -> None:
        """Checks that all steps that look at other events share their `by`."""
        shared: tuple[str, ...] | None = None
        for index, step in enumerate(source.steps):
            by = getattr(step.body, "by", None)
            if by is None:
                continue
            path = f"{field}.steps[{index}]"
            if shared is not None and set(by) != set(shared):
                facts = {"source": source.name, "shared": str(list(shared)), "by": str(list(by))}
                self.scope.report("by-differs", path, ", ".join(by), **facts)
            if self.scope.spec.time.cutoff == "spine" and self.scope.grain and not set(by) <= set(self.scope.grain):
                outside = [name for name in by if name not in self.scope.grain]
                self.scope.report("by-outside-grain/spine", path, outside[0], grain=self.scope.grain)
            shared = shared or by


class RowSelection:
    """Checks and completes the parts that `Aggregate` and `Expression` share."""

    def __init__(self, scope: ResolutionScope) -> None:
        self.scope, self.report = scope, scope.report

    def rows(self, computation: Aggregate | Expression, source: ResolvedSource, path: str) -> Origins:
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

    def by(self, computation: Aggregate | Expression, source: ResolvedSource, path: str) -> tuple[str, ...]:
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
            if kind is not None and not comparable(kind, grain[key]):
                facts = {"kind": kind, "source": source.view.name, "wanted": grain[key]}
                self.report("key-type-differs", f"{path}.source", key, **facts)
        return by

    def order(self, aggregate: Aggregate, source: ResolvedSource, path: str) -> tuple[str, ...] | None:
        """The author's order, which must be free of ties, or else the source's own."""
        if aggregate.function not in ORDERED:
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
