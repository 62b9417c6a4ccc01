"""How a view uses a table: its windows, the times of state lookups, and the distances between events that matter."""

from __future__ import annotations

from datetime import timedelta

from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Aggregate, Expression, Lookup
from palmette.features.spec.fsc_steps import GapStep, JoinStep, SessionStep, reads_of
from palmette.features.spec.values import Window
from palmette.features.spec.view import View


def windows_of(view: View, table: Table) -> list[Window]:
    """The distinct windows of features on a table."""
    found = []
    for feature in view.features:
        computation = feature.computation
        if isinstance(computation, Aggregate | Expression) and view.source(computation.source).table == table:
            found.append(computation.window)
    return list(dict.fromkeys(found))


def state_moments(view: View, table: Table) -> set[str]:
    """The times at which the table is looked into: `event`, `cutoff` or both."""
    lookups = [each.computation for each in view.features if isinstance(each.computation, Lookup)]
    moments = {"cutoff" for lookup in lookups if lookup.table == table.name}
    moments |= {"cutoff" for source in view.sources if source.table == table}
    return moments | {read.at for source in view.sources for read in reads_of(source.steps) if read.table == table.name}


def joined_to(view: View, table: Table) -> list[Table]:
    """Tables whose rows look up states of the table at their own event time."""
    reads = [(source.table, read) for source in view.sources for read in reads_of(source.steps)]
    found = {one.name: one for one, read in reads if read.table == table.name and read.at == "event"}
    return list(found.values())


def columns_joined(view: View, table: Table) -> dict[str, set[str]]:
    """By joined table: the columns that rows of the table take from it."""
    found: dict[str, set[str]] = {}
    for source in view.sources:
        for step in source.steps:
            if isinstance(step, JoinStep) and source.table == table:
                taken = step.join.columns
                found.setdefault(step.join.table, set()).update(taken.values() if isinstance(taken, dict) else taken)
    return found


def lengths_of(view: View, table: Table) -> list[timedelta]:
    """The durations between events that matter to session and gap steps."""
    found: list[timedelta] = []
    for source in view.sources:
        for step in source.late:
            if isinstance(step, SessionStep) and source.table == table:
                found.append(step.session.timeout.timedelta)
            elif isinstance(step, GapStep) and source.table == table:
                found.append(timedelta(**{step.gap.unit: 1}))
    return list(dict.fromkeys(found))
