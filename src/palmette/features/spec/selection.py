"""Which rows an aggregation takes: its condition, window, grouping keys and order."""

from __future__ import annotations

from palmette.features.spec.aggregates import ORDERED
from palmette.features.spec.expressions import check
from palmette.features.spec.fsc import Aggregate, Expression
from palmette.features.spec.joins import state_origins
from palmette.features.spec.scope import Origins, Scope
from palmette.features.spec.sources import ResolvedSource
from palmette.features.spec.type_rules import comparable
from palmette.features.spec.values import Window


class RowSelection:
    """Checks and completes what aggregates and expressions have in common."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.report = scope, scope.report

    def rows(self, computation: Aggregate | Expression, source: ResolvedSource, path: str) -> Origins:
        """Checks `where` and the window; gives what decides which rows count."""
        used, table = source.rows, source.view.table
        if computation.where is not None:
            checked = self.scope.expression(computation.where, source.columns, f"{path}.where", wanted="boolean")
            used |= source.columns.origins_of(checked.columns)
        used |= state_origins(table, source.columns)
        window = computation.window
        if window == Window.ALL:
            return used
        if not source.view.is_event:
            self.report(
                "window-without-events",
                f"{table.name!r} is a {table.kind} table, which has no events to put a window of {window} on.",
                "Leave `window` out.",
                f"{path}.window",
                window,
            )
            return used
        length, kept = window.timedelta, table.retention
        if kept is not None and length is not None and length > kept.timedelta:
            self.report(
                "window-beyond-retention",
                f"The window of {window} is longer than {table.name!r} is kept ({kept.amount}{kept.unit}).",
                f"Use at most {kept.amount}{kept.unit}.",
                f"{path}.window",
                window,
            )
        time = source.columns.types.get(table.event_time or "")
        if window.unit == "h" and time is not None and time.name == "date":
            self.report(
                "window-finer-than-time",
                f"The event time {table.event_time!r} is a date; hours cannot be told apart.",
                "Use a window in days.",
                f"{path}.window",
                window,
            )
        return used

    def by(self, computation: Aggregate | Expression, source: ResolvedSource, path: str) -> tuple[str, ...]:
        grain, columns = self.scope.grain, source.columns
        if computation.by is None:
            present = [key for key in grain if key in columns]
            if len(present) < len(grain):
                missing = [key for key in grain if key not in present]
                remedy = (
                    f"Write `by: [{', '.join(present)}]` to give each row the value of its {', '.join(present)}."
                    if present
                    else "Rename or join the key in a step of the source."
                )
                self.report(
                    "grain-key-missing",
                    f"Source {source.view.name!r} has no column {', '.join(map(repr, missing))}, which the grain has.",
                    remedy,
                    f"{path}.source",
                    source.view.name,
                )
            by = tuple(present)
        else:
            by = computation.by
            if not by:
                self.report("empty-value", "'by' must not be empty.", "Leave it out, or name keys.", f"{path}.by")
        for index, key in enumerate(by):
            if key not in grain:
                self.report(
                    "by-outside-grain",
                    f"{key!r} is not in the grain of the view.",
                    f"Group by keys of the grain: {', '.join(grain)}.",
                    f"{path}.by[{index}]",
                    key,
                    list(grain),
                )
                continue
            kind = self.scope.column(key, columns, f"{path}.by[{index}]" if computation.by else f"{path}.source")
            if kind is not None and not comparable(kind, grain[key]):
                self.report(
                    "key-type-differs",
                    f"{key!r} is {kind} in {source.view.name!r} and {grain[key]} in the grain.",
                    "Convert it in a step of the source.",
                    f"{path}.source",
                    key,
                )
        return by

    def order(self, aggregate: Aggregate, source: ResolvedSource, path: str) -> tuple[str, ...] | None:
        """The full order: what the author gives, and the source's own order behind it where it is unique."""
        if aggregate.function not in ORDERED:
            return aggregate.order
        entries = aggregate.order or ()
        for index, entry in enumerate(entries):
            words = entry.split()
            if not words or len(words) > 2 or words[1:] not in ([], ["asc"], ["desc"]):
                self.report(
                    "bad-order",
                    f"{entry!r} is not a column, or a column and `desc`.",
                    "Write `name` or `name desc`.",
                    f"{path}.order[{index}]",
                    entry,
                )
            else:
                kind = self.scope.column(words[0], source.columns, f"{path}.order[{index}]")
                if kind is not None and kind.name == "map":
                    self.report(
                        "illegal-type",
                        f"{words[0]!r} is {kind}, which has no order.",
                        "Order by something else.",
                        f"{path}.order[{index}]",
                        entry,
                    )
        named = {entry.split()[0] for entry in entries if entry.strip()}
        why = ""
        if not entries and not source.view.is_event:
            why = "rows of a table without events have no order"
        elif source.order is None and not self._names_the_value(aggregate, source, named):
            why = f"the keys of {source.view.table.name!r} do not make its rows unique here"
        if why:
            self.report(
                "no-unique-order",
                f"{aggregate.function!r} needs an order without ties, and {why}.",
                "Add `order: [...]` with columns that together are unique; where no columns are, with those of the "
                "value as the last: then rows that tie have equal values.",
                f"{path}.order" if entries else f"{path}.function",
                list(entries) or aggregate.function,
            )
        plain = tuple(entry.removesuffix(" asc") for entry in entries)
        return (*plain, *(name for name in source.order or () if name not in named))

    def _names_the_value(self, aggregate: Aggregate, source: ResolvedSource, order: set[str]) -> bool:
        """Whether rows that tie in the order have equal values: the value is made of columns of the order."""
        return aggregate.of is not None and order >= set(check(aggregate.of, source.columns.types).columns)

    def events_only(self, what: str, source: ResolvedSource, path: str) -> None:
        if not source.view.is_event:
            self.report(
                "not-events",
                f"{what!r} needs events, and {source.view.table.name!r} is a {source.view.table.kind} table.",
                "Use it on an event table.",
                path,
                what,
            )
