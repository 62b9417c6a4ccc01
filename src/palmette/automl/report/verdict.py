"""An assessment as text: the same on the screen, in the report, in the model card and in a notebook."""

from collections.abc import Iterator
from typing import NamedTuple

from palmette.automl.artefacts import Assessment, Score, Status
from palmette.automl.formatting import fixed, many, measured, metric, number, seconds, size
from palmette.automl.measure.metrics import METRICS

MARKS = {"pass": "✓", "partly": "◐", "fail": "✗"}


class ScoreText(NamedTuple):
    metric: str
    value: str
    interval: str
    baseline: str  # empty where there is none
    smaller_is_better: bool


class VerdictLine(NamedTuple):
    status: Status
    text: str
    detail: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.text, self.detail)))


class VerdictText(NamedTuple):
    rows: str  # the scored rows
    scores: tuple[ScoreText, ...]
    unmeasured: str
    better: VerdictLine
    constraints: VerdictLine  # all constraints together
    results: tuple[VerdictLine, ...]  # one line for each constraint
    quantities: dict[str, str]  # other measured quantities, by label

    @property
    def lines(self) -> tuple[VerdictLine, ...]:
        return (self.better, self.constraints, *self.results)

    @property
    def figures(self) -> str:
        return "; ".join(f"{label}: {value}" for label, value in self.quantities.items())

    @property
    def headline(self) -> str:
        """The main score in one line."""
        if self.unmeasured or not self.scores:
            return self.unmeasured or f"No score could be measured ({self.rows})."
        score = self.scores[0]
        baseline = f"; best baseline {score.baseline}" if score.baseline else ""
        smaller = "; smaller is better" if score.smaller_is_better else ""
        return f"{score.metric} {score.value} ({self.rows}; 95 % interval {score.interval}{baseline}{smaller})"


def verdict_text(assessment: Assessment, compared: str = "out of fold") -> VerdictText:
    """`compared`: how candidates were scored, e.g. `out of fold`; used if there is no hold-out."""
    return VerdictText(
        rows=many(assessment.rows, "held-out row") if assessment.rows else f"no hold-out, scored {compared}",
        scores=tuple(map(score_text, assessment.scores)),
        unmeasured=assessment.unmeasured,
        better=_better(assessment),
        constraints=_together(assessment),
        results=tuple(VerdictLine(one.status, one.wish, one.measured) for one in assessment.results),
        quantities=dict(_quantities(assessment)),
    )


def score_text(score: Score) -> ScoreText:
    """A score with as many decimals as its interval justifies."""
    value, interval, places = measured(score.value, score.low, score.high)
    return ScoreText(
        metric=metric(score.metric),
        value=value,
        interval=interval,
        baseline="" if score.baseline is None else fixed(score.baseline, places),
        smaller_is_better=score.metric in METRICS and not METRICS[score.metric].greater_is_better,
    )


def _better(assessment: Assessment) -> VerdictLine:
    if assessment.better:
        return VerdictLine("pass", "Better than the best baseline", assessment.better_reason)
    if not assessment.scores or assessment.scores[0].baseline is None:
        return VerdictLine("partly", "Not compared with a baseline", assessment.better_reason)
    return VerdictLine("fail", "Not measurably better than the best baseline", assessment.better_reason)


def _together(assessment: Assessment) -> VerdictLine:
    results = assessment.results
    if not results:
        return VerdictLine(assessment.status, "The request sets no limits")
    kept = sum(one.status == "pass" for one in results)
    named = {"partly": "within the spread", "fail": "not kept"}
    broken = [f"{one.wish} ({named[one.status]})" for one in results if one.status != "pass"]
    surely = " by more than the spread" if any(one.status == "partly" for one in results) else ""
    words = f"{kept} of {many(len(results), 'requirement')} kept{surely}"
    return VerdictLine(assessment.status, words, "; ".join(broken))


def _quantities(assessment: Assessment) -> Iterator[tuple[str, str]]:
    latency = assessment.latency
    if latency is None:
        yield "Answer for one row", "not measured"
    else:
        low, middle, high, most = (seconds(one / 1000) for one in (latency.low, latency.p50, latency.high, latency.p95))
        yield "Answer for one row, median", f"{middle} ({low} to {high})"
        yield "95 % of answers within", most
        if latency.batch_seconds is not None:
            yield "Answers for all held-out rows", seconds(latency.batch_seconds)
    yield "Model on disk", size(assessment.megabytes)
    if assessment.parameters is not None:
        yield "Parameters", number(assessment.parameters)
    yield "Training", seconds(assessment.training_seconds)
