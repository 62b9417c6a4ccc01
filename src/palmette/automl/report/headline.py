"""What a run comes to, in a few words: the score with its interval, whether it beats a baseline, what was wished."""

from __future__ import annotations

from typing import NamedTuple

from palmette.automl.artefacts import Assessment, Comparison, Score, Status
from palmette.automl.measure import METRICS
from palmette.automl.report.findings import Findings
from palmette.automl.wording import (
    algorithm,
    constraint,
    decimals,
    fixed,
    many,
    metric,
    price,
    seconds,
    share,
    short,
    size,
)


class Verdict(NamedTuple):
    """A judgement in words."""

    status: Status
    text: str
    detail: str = ""


class ScoreLine(NamedTuple):
    """A score as it is written; texts."""

    metric: str
    value: str
    interval: str
    baseline: str
    smaller_is_better: bool


class Tile(NamedTuple):
    label: str
    value: str


class Gauge(NamedTuple):
    """Where the score is between the best baseline, 0, and a perfect one, 1."""

    at: float
    low: float
    """Of its interval."""
    high: float
    perfect: str


class Headline(NamedTuple):
    doing: str
    """E.g. `Predicting`."""
    subject: str
    """What follows: the target, or the table."""
    sentence: str
    score: ScoreLine | None
    """The metric of the run."""
    gauge: Gauge | None
    verdicts: tuple[Verdict, ...]
    tiles: tuple[Tile, ...]


def headline(findings: Findings) -> Headline:
    """What is said first."""
    scores = findings.assessment.scores
    score = scores[0] if scores and not findings.assessment.unmeasured else None
    return Headline(
        doing="Predicting" if findings.profile.aim.target else "Groups in",
        subject=str(findings.dataset.threshold or findings.profile.aim.target or ", ".join(_files(findings))),
        sentence=_sentence(findings),
        score=score_line(score) if score else None,
        gauge=_gauge(score),
        verdicts=(_beside_baseline(findings), _wishes(findings.assessment)),
        tiles=tuple(_tiles(findings)),
    )


def score_line(score: Score) -> ScoreLine:
    """A score, to as many decimals as its interval is worth; three at least, where it is at most 1."""
    places = max(decimals([score.high - score.low]), 3 if abs(score.value) <= 1 else 0)
    greater = is_greater_better(score.metric)
    return ScoreLine(
        metric=metric(score.metric),
        value=fixed(score.value, places),
        interval=f"{fixed(score.low, places)} to {fixed(score.high, places)}",
        baseline=fixed(score.baseline, places),
        smaller_is_better=not greater,
    )


def is_greater_better(name: str) -> bool:
    """Whether a larger value of the metric is better; true of those that are not known here."""
    return METRICS[name].greater_is_better if name in METRICS else True


def why_chosen(comparison: Comparison) -> str:
    """What is delivered, and by how much it is ahead of the best baseline."""
    selection, sign = comparison.selection, 1 if is_greater_better(comparison.selection.metric) else -1
    places = decimals([one.high - one.low for one in comparison.leaderboard if one.track != "baseline"])
    names = " and ".join(
        algorithm(one.algorithm) + (f" ({share(one.weight)})" if len(selection.members) > 1 else "")
        for one in selection.members
    )
    what = f"the mean of {names}" if len(selection.members) > 1 else names
    said = f"Chosen is {what}: {metric(selection.metric)} {fixed(selection.score, places)} {comparison.measured}"
    others = [one for one in comparison.leaderboard if one.track == "baseline"]
    if not others:
        return f"{said}. No baseline finished."
    best = max(others, key=lambda one: sign * one.score)
    beside = f"the best baseline ({algorithm(best.algorithm)}) has {fixed(best.score, places)}"
    return f"{said}; {beside}." if comparison.better else f"{said}; {beside}, and the lead may be chance."


def _files(findings: Findings) -> list[str]:
    return [file.path.rsplit("/", 1)[-1] for file in findings.dataset.files[:3]]


def _sentence(findings: Findings) -> str:
    rows = findings.profile.holdout.training_rows
    columns = len(findings.blueprint.columns) if findings.blueprint else len(findings.profile.columns)
    source = f"{many(rows, 'row')} and {many(columns, 'column')} of {', '.join(_files(findings)) or 'the data'}"
    if findings.comparison is None:
        return f"Made from {source}."
    members = findings.comparison.selection.members
    names = ", ".join(algorithm(name) for name in dict.fromkeys(member.algorithm for member in members))
    what = f"A weighted mean of {many(len(members), 'model')} ({names})" if len(members) > 1 else f"One model ({names})"
    return f"{what}, learnt from {source}."


def _gauge(score: Score | None) -> Gauge | None:
    """None without a baseline, or where that is perfect."""
    perfect = METRICS[score.metric].perfect if score and score.metric in METRICS else 1.0
    if score is None or score.baseline is None or score.baseline == perfect:
        return None
    baseline = score.baseline
    at, *ends = [(one - baseline) / (perfect - baseline) for one in (score.value, score.low, score.high)]
    return Gauge(at, min(ends), max(ends), fixed(perfect, 0))


def _beside_baseline(findings: Findings) -> Verdict:
    """Whether the model is worth having: ahead of the best baseline, and by more than chance."""
    score, compared = next(iter(findings.assessment.scores), None), findings.comparison
    why = why_chosen(compared) if compared else ""
    if missing := findings.assessment.unmeasured:
        return Verdict("partly", "The metric of the run has no value on the hold-out", missing)
    if score is None or (baseline := score.baseline) is None:
        return Verdict("partly", "Not compared with a baseline", "No baseline was measured on the same rows.")
    line = score_line(score)
    sign = 1 if is_greater_better(score.metric) else -1
    numbers = f"{line.metric} {line.value} against {line.baseline} on the same {findings.rows_are}."
    ahead = sign * (score.value - baseline) > 0
    worst = score.low if sign > 0 else score.high
    if not ahead or (compared is not None and not compared.better):
        text = "Ahead of the best baseline by no more than chance" if ahead else "Does not beat the best baseline"
        return Verdict("fail", text, " ".join(filter(None, (numbers, why))))
    if sign * (worst - baseline) <= 0:
        return Verdict("partly", "Ahead of the best baseline, but perhaps by chance", numbers)
    return Verdict("pass", "Beats the best baseline", numbers)


def _wishes(assessment: Assessment) -> Verdict:
    judged = assessment.judged
    if not judged:
        return Verdict("pass", "The request sets no requirement in numbers")
    kept = sum(one.status == "pass" for one in judged)
    text = "Every requirement kept" if kept == len(judged) else f"{kept} of {many(len(judged), 'requirement')} kept"
    named: dict[Status, str] = {"partly": "Partly kept", "fail": "Not kept"}
    details = [f"{words}: {told}." for status, words in named.items() if (told := _listed(assessment, status))]
    return Verdict(assessment.status, text, " ".join(details))


def _listed(assessment: Assessment, status: Status) -> str:
    judged = [one for one in assessment.judged if one.status == status]
    return "; ".join(constraint(one.constraint) if one.constraint else short(one.wish) for one in judged)


def _tiles(findings: Findings) -> list[Tile]:
    assessment, evidence = findings.assessment, findings.evidence
    answer = findings.milliseconds
    lines = findings.comparison.leaderboard if findings.comparison else ()
    skill = next((one.skill for one in lines if one.chosen), None)
    asked = evidence.bill is not None and any(one.spend.calls for one in evidence.bill)
    cost = [Tile("Language models", price(evidence.bill))] if evidence.bill and asked else []
    whole = [Tile("The whole run", seconds(evidence.timeline.seconds))] if evidence.timeline else []
    removed = [Tile("Error removed", share(max(0.0, skill)))] if skill is not None else []
    return [
        Tile("Rows learnt from", fixed(findings.profile.holdout.training_rows, 0)),
        Tile("Rows held out", fixed(assessment.rows, 0) if assessment.rows else "none"),
        *removed,
        Tile("Training", seconds(assessment.training_seconds)),
        *whole,
        *([Tile("Answer for one row", seconds(answer / 1000))] if answer is not None else []),
        Tile("Model on disk", size(assessment.megabytes)),
        *cost,
    ]
