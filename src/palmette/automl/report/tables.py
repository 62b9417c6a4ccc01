"""Rows of the leaderboard and of the table of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from palmette.automl.artefacts import LeaderboardRow
from palmette.automl.formatting import decimals, fixed, number, share, short
from palmette.automl.profile import ColumnProfile
from palmette.automl.report.findings import Findings
from palmette.automl.report.plots import interval_bar

FAR = 3.0
"""A baseline is drawn to scale up to so many ranges of the candidates away."""
MOST_VALUES = 3


class LeaderboardLine(NamedTuple):
    row: LeaderboardRow
    score: str
    interval: str
    drawing: Markup


class ColumnLine(NamedTuple):
    column: ColumnProfile
    summary: str
    left_out: str
    """The reason; empty for a column that is used."""


def leaderboard(rows: Sequence[LeaderboardRow]) -> tuple[LeaderboardLine, ...]:
    """In the order of the rows, with as many decimals as their intervals are worth."""
    candidates = [one for one in rows if one.track != "baseline"] or list(rows)
    places = decimals([one.high - one.low for one in candidates])
    span = _span(rows, candidates)
    return tuple(
        LeaderboardLine(
            one,
            fixed(one.score, places),
            f"{fixed(one.low, places)} to {fixed(one.high, places)}",
            interval_bar(one.score, one.low, one.high, span, "c1" if one.chosen else "c0"),
        )
        for one in rows
    )


def _span(rows: Sequence[LeaderboardRow], candidates: Sequence[LeaderboardRow]) -> tuple[float, float]:
    """The ends of the drawings: those of all candidates, and of the baselines that are not far off."""
    ends = [end for one in candidates for end in (one.low, one.high, one.score) if math.isfinite(end)]
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    reach = FAR * (high - low)
    others = [end for one in rows for end in (one.low, one.high) if low - reach <= end <= high + reach]
    return min([low, *others]), max([high, *others])


def column_lines(findings: Findings) -> tuple[ColumnLine, ...]:
    """The strongest first, then as in the file."""
    used = {one.name for one in findings.blueprint.columns}
    reasons = findings.profile.dropped | {one.name: one.reason for one in findings.blueprint.dropped}
    return tuple(
        ColumnLine(one, _summary(one), "" if one.name in used else reasons.get(one.name, "not used"))
        for one in sorted(findings.profile.columns, key=lambda one: one.rank or math.inf)
    )


def _summary(column: ColumnProfile) -> str:
    if column.numbers:
        facts = column.numbers
        return f"{number(facts.least)} to {number(facts.most)}, median {number(facts.median)}"
    if column.times:
        return f"{column.times.first[:10]} to {column.times.last[:10]}"
    if column.text:
        return f"{number(column.text.words, 2)} words on average"
    return ", ".join(f"{short(one.value, 20)} {share(one.share)}" for one in column.frequent[:MOST_VALUES])
