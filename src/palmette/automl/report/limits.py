"""Limits of the model: facts about data, hold-out and results that its users must know. They judge nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from palmette.automl.formatting import many, share, short
from palmette.automl.report.classification import ClassificationResults
from palmette.automl.report.findings import Findings

FEW = 300
"""Rows of a hold-out below which its score is mostly noise."""
FEW_OF_CLASS = 10
WEAK = 0.5
"""Recall."""
WIDE = 0.1
"""Mean gap of the calibration."""
NAMED = 5
"""Columns or classes that a sentence lists."""
PERSONAL = re.compile(
    r"(?<![a-z])(sex|gender|age|birth|race|ethnicity|ethnic|religion|nationality|native[ _.-]?country|disab\w*|"
    r"marital|married|pregnan\w*|orientation|caste)(?![a-z])",
    re.I,
)
WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def limits(findings: Findings, classes: ClassificationResults | None) -> tuple[str, ...]:
    """Sentences, the weightiest first."""
    found = [*_of_score(findings), *_of_classes(classes), *_of_rows(findings), *_of_use(findings)]
    return tuple(found) or ("The data are from the past and from one source; nothing else was found.",)


def _of_score(findings: Findings) -> Iterator[str]:
    rows = findings.assessment.rows
    if not rows:
        yield "No rows were held out: the scores that are shown have also chosen the model."
    elif rows < FEW:
        yield f"The hold-out has only {many(rows, 'row')}: other rows may give quite another score."
    done = {(one.code, one.columns): one.done for one in findings.profile.decisions}
    for leak in findings.profile.leaks:
        if leak.severity != "low" and done.get((leak.code, leak.columns), "kept") == "kept":
            yield f"{leak.text} It was not removed: if this is a leak, scores here are too good."


def _of_classes(found: ClassificationResults | None) -> Iterator[str]:
    if found is None:
        return
    tested = [one for one in found.classes if one.rows >= FEW_OF_CLASS]
    weak = sorted((one for one in tested if one.recall < WEAK), key=lambda one: one.recall)
    if weak:
        names = _listed(f"{short(one.name, 24)} ({share(one.recall)})" for one in weak)
        yield f"Fewer than half of the rows of some classes are found: {names}."
    if found.gap > WIDE:
        yield f"Probabilities miss what comes true by {share(found.gap)} on average: use them as a ranking only."
    rare = [one for one in found.classes if one.rows < FEW_OF_CLASS]
    if rare:
        names = _listed(short(one.name, 24) for one in rare)
        yield f"Classes with fewer than {FEW_OF_CLASS} rows to test on, too few for a result: {names}."


def _of_rows(findings: Findings) -> Iterator[str]:
    holdout = findings.profile.holdout
    times = [one.name for one in findings.profile.columns if one.kind == "datetime"]
    if times and holdout.strategy in ("random", "stratified"):
        yield (
            f"The rows have times ({short(times[0], 40)}), but the hold-out was not cut by time: scores hold for rows "
            "of the same period, not for later ones."
        )
    if holdout.left_out:
        yield f"{many(holdout.left_out, 'row')} without a target value are in no score; the model may do worse on them."
    if holdout.unused:
        yield f"{many(holdout.unused, 'row')} were not used, as the budget was too short; a larger one may help."
    yield from findings.data.limits


def _of_use(findings: Findings) -> Iterator[str]:
    named = ((one.name, WORD.sub(" ", one.name).replace("_", " ")) for one in findings.blueprint.columns)
    personal = [name for name, words in named if PERSONAL.search(words)]
    if personal:
        names = _listed(short(name, 32) for name in personal)
        yield (
            f"By their names, columns may describe personal traits that the law protects: {names}. Results were not "
            "compared between groups of people; do so before the model decides about any."
        )
    for repair in findings.assembly.repairs:
        if repair.by == "rules":
            yield f"{repair.path}, written by a language model, failed and was left out. {short(repair.reason, 200)}"


def _listed(words: Iterable[str]) -> str:
    found = list(words)
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return ", ".join(found[:NAMED]) + more
