"""Rows of tables as they are written: the leaderboard, columns, classes of the target, importances, traits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from palmette.automl.artefacts import Plan, Standing, Worth
from palmette.automl.evidence import Grouping, Trait
from palmette.automl.profile import ColumnProfile, Leak, TargetProfile
from palmette.automl.report.findings import Findings
from palmette.automl.report.plots import bar, interval_bar
from palmette.automl.wording import decimals, fixed, number, share, short

FAR = 3.0
"""Times the range of the candidates that a baseline may be away and still be drawn to scale."""
MOST_VALUES = 3


class Place(NamedTuple):
    """A line of the leaderboard."""

    standing: Standing
    score: str
    interval: str
    drawing: Markup


class ColumnRow(NamedTuple):
    """A column of the data."""

    column: ColumnProfile
    summary: str
    use: str
    is_used: bool


class LeakRow(NamedTuple):
    leak: Leak
    done: str


class PlanCard(NamedTuple):
    plan: Plan
    is_chosen: bool
    why: str
    """Why it was chosen, or was not; empty where nobody said."""


class Weighed(NamedTuple):
    """A column with what it is worth to the model."""

    name: str
    drop: str
    drawing: Markup


class Frequency(NamedTuple):
    """A class of the target."""

    name: str
    rows: int
    share: str
    drawing: Markup


def leaderboard(lines: Sequence[Standing]) -> tuple[Place, ...]:
    """In the order that it has."""
    candidates = [one for one in lines if one.track != "baseline"] or list(lines)
    places = decimals([one.high - one.low for one in candidates])
    span = _span(lines, candidates)
    return tuple(
        Place(
            one,
            fixed(one.score, places),
            f"{fixed(one.low, places)} to {fixed(one.high, places)}",
            interval_bar(one.score, one.low, one.high, span, "c1" if one.chosen else "c0"),
        )
        for one in lines
    )


def _span(lines: Sequence[Standing], candidates: Sequence[Standing]) -> tuple[float, float]:
    """What the drawings reach over: all candidates, and the baselines that are not far off."""
    ends = [end for one in candidates for end in (one.low, one.high, one.score) if math.isfinite(end)]
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    reach = FAR * (high - low)
    others = [end for one in lines for end in (one.low, one.high) if low - reach <= end <= high + reach]
    return min([low, *others]), max([high, *others])


def column_rows(findings: Findings) -> tuple[ColumnRow, ...]:
    """The most telling first, then as in the file."""
    blueprint, dropped = findings.blueprint, dict(findings.profile.dropped)
    used = {one.name for one in blueprint.columns} if blueprint else None
    reasons = dropped | ({one.name: one.reason for one in blueprint.dropped} if blueprint else {})

    def row(column: ColumnProfile) -> ColumnRow:
        is_used = column.name not in reasons and (used is None or column.name in used)
        return ColumnRow(column, _summary(column), reasons.get(column.name, "" if is_used else "not used"), is_used)

    ordered = sorted(findings.profile.columns, key=lambda one: one.rank or math.inf)
    return tuple(row(column) for column in ordered)


def leaks(findings: Findings) -> tuple[LeakRow, ...]:
    """With what was done about each."""
    settled = {(one.code, one.columns): f"{one.done}, by {one.by}" for one in findings.profile.settled}
    return tuple(LeakRow(one, settled.get((one.code, one.columns), "reported")) for one in findings.profile.leaks)


def plan_cards(findings: Findings) -> tuple[PlanCard, ...]:
    """The chosen one first."""
    choice, plans = findings.choice, findings.plans.plans if findings.plans else ()
    chosen = choice.proposal.data.plan.name if choice else ""
    why = {one.plan: one.reason for one in choice.rejected} | {chosen: choice.reason} if choice else {}
    cards = [PlanCard(one, one.name == chosen, why.get(one.name, "")) for one in plans]
    return tuple(sorted(cards, key=lambda card: not card.is_chosen))


def _summary(column: ColumnProfile) -> str:
    if column.numbers:
        facts = column.numbers
        return f"{number(facts.least)} to {number(facts.most)}, median {number(facts.median)}"
    if column.times:
        return f"{column.times.first[:10]} to {column.times.last[:10]}"
    if column.text:
        return f"{number(column.text.words, 2)} words on average"
    return ", ".join(f"{short(one.value, 20)} {share(one.share)}" for one in column.frequent[:MOST_VALUES])


def importances(found: Sequence[Worth]) -> tuple[Weighed, ...]:
    """With bars to the scale of the largest."""
    most = max((one.drop for one in found), default=0.0)
    places = min(4, decimals([2 * one.deviation for one in found if one.deviation > 0])) if found else 0
    return tuple(
        Weighed(
            one.column,
            f"{fixed(one.drop, places)} ± {fixed(one.deviation, places)}",
            bar(one.drop / most if most > 0 else 0.0, "c0" if one.drop > one.deviation else "faint"),
        )
        for one in found
    )


def traits(grouping: Grouping | None) -> tuple[Trait, ...]:
    """What sets the groups apart most comes first."""
    return tuple(sorted(grouping.traits, key=lambda one: -one.apart) if grouping else ())


def target_classes(target: TargetProfile | None) -> tuple[Frequency, ...]:
    """With bars to the scale of all rows."""
    classes = target.classes if target else ()
    return tuple(Frequency(one.value, one.count, share(one.share), bar(one.share)) for one in classes)
