"""What the model must not be trusted with, derived from what is known of data, hold-out and results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import hypot

from palmette.automl.report.classification import Classified
from palmette.automl.report.findings import Findings
from palmette.automl.report.headline import is_greater_better, score_line
from palmette.automl.wording import many, number, share, short

FEW = 300
"""Rows of a hold-out below which its score is mostly noise."""
FEW_OF_CLASS = 10
WEAK = 0.5
"""Recall."""
WIDE = 0.1
"""Gap of the calibration."""
NAMED = 5
"""Columns or classes that a sentence lists."""
TRAITS = re.compile(
    r"(?<![a-z])(sex|gender|age|birth|race|ethnicity|ethnic|religion|nationality|native[ _.-]?country|disab\w*|"
    r"marital|married|pregnan\w*|orientation|caste)(?![a-z])",
    re.I,
)
WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def limits(findings: Findings, of_classes: Classified | None) -> tuple[str, ...]:
    """Sentences, the weightiest first."""
    of_scores = (*_of_score(findings), *_of_leaks(findings), *_of_classes(of_classes))
    found = (*of_scores, *_of_rows(findings), *_of_use(findings), *_of_code(findings))
    return found or ("No limit was found beyond those of the data: they are the past, and one source of it.",)


def _of_score(findings: Findings) -> Iterator[str]:
    assessment = findings.assessment
    if not assessment.rows:
        yield f"No rows were held out: scores are of the {findings.rows_are}, by which the model was chosen."
    elif assessment.rows < FEW and assessment.scores:
        line, rows = score_line(assessment.scores[0]), many(assessment.rows, "row")
        yield f"The hold-out has only {rows}: {line.metric} may be anywhere from {line.interval}."
    yield from _of_choosing(findings)
    if findings.comparison and not findings.comparison.better:
        yield "The model is not better than a baseline by more than chance; the baseline may do."


def _of_choosing(findings: Findings) -> Iterator[str]:
    """Where the hold-out says less than the score that the model was chosen by, and both intervals cannot tell why."""
    assessment, comparison = findings.assessment, findings.comparison
    chosen = [one for one in comparison.leaderboard if one.chosen] if comparison else []
    if not assessment.rows or not assessment.scores or not chosen or comparison is None:
        return
    score, told = assessment.scores[0], chosen[0]
    fall = told.score - score.value if is_greater_better(score.metric) else score.value - told.score
    if comparison.selection.metric == score.metric and fall > hypot(score.high - score.low, told.high - told.low) / 2:
        line = score_line(score)
        yield (
            f"Out of fold, where the model was chosen, {line.metric} was {number(told.score, 3)}: better than on the "
            f"hold-out ({line.value}) by more than chance. Expect what the hold-out says, or less."
        )


def _of_leaks(findings: Findings) -> Iterator[str]:
    profile = findings.profile
    settled = {(one.code, one.columns): one for one in profile.settled}
    for leak in profile.leaks:
        done = settled.get((leak.code, leak.columns))
        if leak.severity != "low" and (done is None or done.done == "kept"):
            yield f"{leak.text} It was not removed: if this is a leak, scores here are too good."


def _of_classes(found: Classified | None) -> Iterator[str]:
    if found is None:
        return
    weak = [one for one in found.classes if one.rows >= FEW_OF_CLASS and one.recall < WEAK]
    if weak:
        worst = sorted(weak, key=lambda one: one.recall)
        named = ", ".join(f"{short(one.name, 24)} ({share(one.recall)})" for one in worst[:NAMED])
        more = f" and {len(weak) - NAMED} more" if len(weak) > NAMED else ""
        yield f"Fewer than half of the rows of some classes are found: {named}{more}."
    if found.gap > WIDE:
        yield f"Probabilities miss what comes true by {share(found.gap)} on average: take them as a ranking only."
    rare = [one for one in found.classes if one.rows < FEW_OF_CLASS]
    if rare:
        named = ", ".join(short(one.name, 24) for one in rare[:NAMED])
        more = f" and {len(rare) - NAMED} more" if len(rare) > NAMED else ""
        yield f"Classes with fewer than {FEW_OF_CLASS} rows to test on, about which little can be said: {named}{more}."


def _of_rows(findings: Findings) -> Iterator[str]:
    holdout = findings.profile.holdout
    times = [one.name for one in findings.profile.columns if one.kind == "datetime"]
    if times and holdout.strategy in ("random", "stratified"):
        yield (
            f"The rows have times ({short(times[0], 40)}), but the hold-out was not cut by time: scores say how the "
            "model does on rows of the same period, not on later ones."
        )
    if holdout.left_out:
        yield f"{many(holdout.left_out, 'row')} without a target value are in no score; the model may do worse on such."
    if holdout.unused:
        yield (
            f"{many(holdout.unused, 'row')} were not learnt from, as there was no time for them: with a larger budget "
            "the model may be better."
        )
    yield from findings.evidence.limits


def _of_use(findings: Findings) -> Iterator[str]:
    used = findings.blueprint.columns if findings.blueprint else findings.profile.columns
    traits = [one.name for one in used if TRAITS.search(WORD.sub(" ", one.name).replace("_", " "))]
    if traits:
        named = ", ".join(short(name, 32) for name in traits[:NAMED])
        more = f" and {len(traits) - NAMED} more" if len(traits) > NAMED else ""
        yield (
            f"By their names, columns may describe personal traits that the law protects: {named}{more}. Results were "
            "not compared between groups of people; do so before the model decides about any."
        )
    assumed = findings.requirements.assumptions
    if assumed:
        yield f"Assumed, as the request does not say: {', '.join(dict.fromkeys(one.field for one in assumed))}."
    if findings.requirements.unread:
        unread = "; ".join(f"`{short(one, 80)}`" for one in findings.requirements.unread)
        yield f"Words of the request that look like a wish and were not understood, so nothing keeps to them: {unread}."


def _of_code(findings: Findings) -> Iterator[str]:
    """What a model was to write and could not."""
    for one in findings.repairs:
        if one.by == "rules":
            yield f"{one.path} is as the built-in rules write it: what a model wrote failed. {short(one.reason, 200)}"
