"""Sources: a registry table and what the steps make of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Source
from palmette.features.spec.fsc_steps import (
    GapStep,
    JoinStep,
    PreviousStep,
    SessionStep,
    Step,
)
from palmette.features.spec.scope import Columns, Origins, Scope
from palmette.features.spec.steps import StepWalk
from palmette.features.spec.view import AS_OF, ViewSource, mentions_cutoff


@dataclass(frozen=True)
class ResolvedSource:
    """A source with what features need to know about it."""

    view: ViewSource
    columns: Columns
    rows: Origins
    """What decides which rows there are, beside the grouping keys."""
    order: tuple[str, ...] | None
    """Columns that order the rows uniquely; None when none are known."""
    tables: frozenset[str]
    """Registry tables that it reads."""
    added: Mapping[str, str]
    """Columns that its steps add or replace, and where."""

    @property
    def values(self) -> Mapping[str, tuple[str | int | bool, ...]]:
        """Closed sets of values, of the columns that have one after the steps."""
        return self.columns.values


class Sources:
    """The sources of a view by name: declared ones, and registry tables that are used as they are."""

    def __init__(self, scope: Scope, omitted: Collection[str] = ()) -> None:
        self.scope = scope
        self.omitted = omitted
        """Names of those that cannot be examined."""
        self._declared: dict[str, tuple[Source, str]] = {}
        for index, source in enumerate(scope.spec.sources):
            field = f"sources[{index}]"
            if source.name in self._declared:
                scope.findings.in_spec(
                    "duplicate-source",
                    f"There are two sources named {source.name!r}.",
                    "Rename one.",
                    field=f"{field}.name",
                    value=source.name,
                )
            else:
                self._declared[source.name] = (source, field)
        self._resolved = {name: self._resolve(*entry) for name, entry in self._declared.items()}

    @property
    def names(self) -> list[str]:
        """Every name that a feature may give as its source."""
        return list(dict.fromkeys([*self._declared, *(table.name for table in self.scope.registry.tables)]))

    @property
    def resolved(self) -> Mapping[str, ResolvedSource]:
        """Those that could be resolved so far, declared ones first."""
        return {name: source for name, source in self._resolved.items() if source is not None}

    def get(self, name: str, field: str | None = None) -> ResolvedSource | None:
        """The source of this name; with `field`, an unknown one is reported."""
        if name in self.omitted:
            return None
        if name not in self._resolved:
            if self.scope.registry.table(name) is None:
                if field is not None:
                    self.scope.findings.in_spec(
                        "unknown-source",
                        f"There is no source and no table {name!r}.",
                        "Declare it under `sources`, or name a table of the registry.",
                        field=field,
                        value=name,
                        known=self.names,
                    )
                return None
            self._resolved[name] = self._resolve(Source(name=name), "")
        return self._resolved[name]

    def _resolve(self, source: Source, field: str) -> ResolvedSource | None:
        table_name = source.table or source.name
        table = self.scope.table(table_name, f"{field}.table" if source.table else f"{field}.name")
        if table is None:
            return None
        walk = StepWalk(table, self.scope)
        registered = dict(walk.columns.types)
        for index, step in enumerate(source.steps):
            walk.apply(step, f"{field}.steps[{index}]")
        late = (index for index, step in enumerate(source.steps) if _is_late(step, table))
        first_late = next(late, len(source.steps))
        view = ViewSource(
            source.name,
            table,
            source.steps[:first_late],
            source.steps[first_late:],
            registered,
            dict(walk.columns.types),
            self._late_by(source, field),
        )
        return ResolvedSource(
            view,
            walk.columns,
            walk.rows,
            walk.order,
            frozenset(walk.tables),
            walk.added,
        )

    def _late_by(self, source: Source, field: str) -> tuple[str, ...] | None:
        """The `by` that the steps share that look at other events."""
        shared: tuple[str, ...] | None = None
        for index, step in enumerate(source.steps):
            by = _by(step)
            if by is None:
                continue
            path = f"{field}.steps[{index}]"
            if shared is not None and set(by) != set(shared):
                self.scope.findings.in_spec(
                    "by-differs",
                    f"The steps of source {source.name!r} look at events of {list(shared)} and of {list(by)}.",
                    "Give them the same `by`, or make two sources.",
                    field=path,
                    value=", ".join(by),
                )
            if self.scope.spec.time.cutoff == "spine" and self.scope.grain and not set(by) <= set(self.scope.grain):
                outside = [name for name in by if name not in self.scope.grain]
                self.scope.findings.in_spec(
                    "by-outside-grain",
                    f"With one cut-off for each row of the spine, steps can look only at events of the "
                    f"spine's own entities; {outside[0]!r} is not in the grain.",
                    f"Use keys of the grain: {', '.join(self.scope.grain)}.",
                    field=path,
                    value=outside[0],
                )
            shared = shared or by
        return shared


def _by(step: Step) -> tuple[str, ...] | None:
    match step:
        case PreviousStep():
            return step.previous.by
        case GapStep():
            return step.gap.by
        case SessionStep():
            return step.session.by
    return None


def _is_late(step: Step, table: Table) -> bool:
    """Whether the step looks at other events, at the state at the cut-off, or at the cut-off."""
    at_cutoff = isinstance(step, JoinStep) and step.join.at == "cutoff"
    return _by(step) is not None or at_cutoff or (table.column(AS_OF) is None and mentions_cutoff(step))
