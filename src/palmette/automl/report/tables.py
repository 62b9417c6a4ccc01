"""The leaderboard, the table of columns, and the limits of the model."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from palmette.automl.artefacts import LeaderboardRow
from palmette.automl.formatting import decimals, fixed, many, number, share, short
from palmette.automl.plots import interval_bar
from palmette.automl.profile import ColumnProfile
from palmette.automl.report.figures import ClassificationResults
from palmette.automl.report.findings import ReportFindings
from palmette.automl.task_spec.request import name_words

FAR = 3.0  # baselines farther away than this many ranges of the candidates are drawn at the edge
MOST_VALUES = 3
FEW = 300  # hold-outs with fewer rows have noisy scores
FEW_OF_CLASS = 10
WEAK = 0.5  # recall below which a class is called weak
WIDE = 0.1  # calibration error above which probabilities are called unreliable
NAMED = 5  # most names in a sentence
PERSONAL = re.compile(
    r"(?<![a-z])(sex|gender|age|birth|race|ethnicity|ethnic|religion|nationality|native[ _.-]?country|disab\w*|"
    r"marital|married|pregnan\w*|orientation|caste)(?![a-z])",
    re.I,
)


class LeaderboardLine(NamedTuple):
    row: LeaderboardRow
    score: str
    interval: str
    drawing: Markup


def leaderboard(rows: Sequence[LeaderboardRow]) -> tuple[LeaderboardLine, ...]:
    """The lines of the leaderboard, with as many decimals as the intervals justify."""
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
    """The range of the drawings: all candidates, and baselines that are not far away."""
    ends = [end for one in candidates for end in (one.low, one.high, one.score) if math.isfinite(end)]
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    reach = FAR * (high - low)
    others = [end for one in rows for end in (one.low, one.high) if low - reach <= end <= high + reach]
    return min([low, *others]), max([high, *others])


def summary(column: ColumnProfile) -> str:
    """The range of a column's values, or the most frequent ones."""
    if column.numbers:
        facts = column.numbers
        return f"{number(facts.least)} to {number(facts.most)}, median {number(facts.median)}"
    if column.times:
        return " to ".join(time[:10] for time in column.times)
    if column.words:
        return f"{number(column.words, 2)} words on average"
    return ", ".join(f"{short(one.value, 20)} {share(one.share)}" for one in column.frequent[:MOST_VALUES])


def limits(findings: ReportFindings, classes: ClassificationResults | None) -> tuple[str, ...]:
    """Sentences about what to watch for, most important first."""
    found = [*_of_score(findings), *_of_classes(classes), *_of_rows(findings), *_of_use(findings)]
    return tuple(found) or ("The data come from one source and one period.",)


def _of_score(findings: ReportFindings) -> Iterator[str]:
    rows = findings.assessment.rows
    if not rows:
        yield "No rows were held out: the same scores have chosen the model."
    elif rows < FEW:
        yield f"The hold-out has only {many(rows, 'row')}: the score is uncertain."
    for leak in findings.profile.leaks:
        made = findings.profile.decision(leak)
        if leak.severity != "low" and (made is None or made.done == "kept"):
            yield f"{leak.text} It was not removed: if it is a leak, these scores are too good."


def _of_classes(found: ClassificationResults | None) -> Iterator[str]:
    if found is None:
        return
    tested = [one for one in found.classes if one.rows >= FEW_OF_CLASS]
    weak = sorted((one for one in tested if one.recall < WEAK), key=lambda one: one.recall)
    if weak:
        names = _listed(f"{short(one.name, 24)!r} ({share(one.recall)})" for one in weak)
        yield f"The model finds fewer than half of the rows of some classes: {names}."
    if found.gap > WIDE:
        yield f"Probabilities are off by {share(found.gap)} on average: use them for ranking only."
    rare = [one for one in found.classes if one.rows < FEW_OF_CLASS]
    if rare:
        names = _listed(repr(short(one.name, 24)) for one in rare)
        yield f"Classes with fewer than {FEW_OF_CLASS} held-out rows, too few to judge: {names}."


def _of_rows(findings: ReportFindings) -> Iterator[str]:
    holdout = findings.profile.holdout
    times = [one.name for one in findings.profile.columns if one.kind == "datetime"]
    if times and holdout.strategy in ("random", "stratified"):
        yield (
            f"Rows have times ({short(times[0], 40)}), but the split is not by time: scores hold for the same period, "
            "not for later rows."
        )
    if holdout.left_out:
        yield f"{many(holdout.left_out, 'row')} without a target were not scored; the model may do worse on them."
    if holdout.unused:
        yield f"{many(holdout.unused, 'row')} were not used because the budget was short; a larger one may help."
    yield from findings.data.limits


def _of_use(findings: ReportFindings) -> Iterator[str]:
    names = [one.name for one in findings.blueprint.columns]
    personal = [name for name in names if PERSONAL.search(" ".join(name_words(name)))]
    if personal:
        listed = _listed(short(name, 32) for name in personal)
        yield (
            f"By their names, some columns may hold protected personal traits: {listed}. Results were not compared "
            "between groups of people; do so before the model is used for decisions about them."
        )
    for repair in findings.assembly.repairs:
        if repair.by == "rules":
            yield f"{repair.path}, written by a language model, failed and was left out. {short(repair.reason, 200)}"


def _listed(words: Iterable[str]) -> str:
    found = list(words)
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return ", ".join(found[:NAMED]) + more
