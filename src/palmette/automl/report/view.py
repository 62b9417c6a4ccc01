"""A report before it is laid out: everything that the templates show and that is not an artefact as it is."""

from __future__ import annotations

import json
import math
import platform
from dataclasses import dataclass
from importlib import metadata

import numpy as np

from palmette.automl.data import HoldOut
from palmette.automl.evidence import Measured, Trait
from palmette.automl.measure.metrics import Floats
from palmette.automl.planning.facts import validation
from palmette.automl.report.classification import Classified, classified
from palmette.automl.report.clustering import grouped
from palmette.automl.report.costs import Costs, costs
from palmette.automl.report.findings import Findings
from palmette.automl.report.headline import (
    Headline,
    ScoreLine,
    headline,
    is_greater_better,
    score_line,
    why_chosen,
)
from palmette.automl.report.limits import limits
from palmette.automl.report.plots import Axis, Figure, Plot, around
from palmette.automl.report.regression import Regressed, histogram, regressed
from palmette.automl.report.tables import (
    ColumnRow,
    Frequency,
    LeakRow,
    Place,
    PlanCard,
    Weighed,
    column_rows,
    importances,
    leaderboard,
    leaks,
    plan_cards,
    target_classes,
    traits,
)
from palmette.automl.wording import fixed, metric, number, short

LIBRARIES = ("palmette", "scikit-learn", "lightgbm", "xgboost-cpu", "pandas", "numpy")
SHOWN_FIELDS = 4
LOGARITHMIC = frozenset({"rmsle", "rmse_log"})
REASONS: dict[Measured, str] = {
    "predictions": "no predictions on known rows were kept",
    "importances": "no column was shuffled, as there are too few rows apart from those learnt from",
    "curve": "the model was not learnt from fewer rows, as that takes too long or they are too few",
    "timeline": "no times were kept",
    "bill": "no bill was kept",
    "grouping": "no groups were kept",
}


@dataclass(frozen=True)
class View:
    """What is shown."""

    findings: Findings
    headline: Headline
    scores: tuple[ScoreLine, ...]
    chosen: str
    """What is delivered, and why; empty where nothing was compared."""
    validation: str
    """How candidates were compared, by the facts and then by the guideline."""
    drawn: str
    """What the bootstrap of an interval draws whole, as a clause; empty where that is a row."""
    places: tuple[Place, ...]
    columns: tuple[ColumnRow, ...]
    target: tuple[Frequency, ...]
    leaks: tuple[LeakRow, ...]
    plans: tuple[PlanCard, ...]
    weights: tuple[Weighed, ...]
    """Of the columns that were shuffled, which may be some of those used."""
    costs: Costs
    classified: Classified | None
    regressed: Regressed | None
    distribution: Figure | None
    curve: Figure | None
    groups: tuple[Figure, ...]
    traits: tuple[Trait, ...]
    limits: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    request: str
    """A body for the endpoint."""

    def why_not(self, what: Measured) -> str:
        """Why something was not measured."""
        return (self.findings.evidence.missing.get(what) or REASONS[what]).rstrip(".")


def view_of(findings: Findings) -> View:
    """Everything that is shown of findings."""
    evidence, task = findings.evidence, findings.profile.aim.task
    truth, predictions = evidence.truth, evidence.predictions
    has_rows = truth is not None and predictions is not None and len(truth) > 0
    of_classes = of_numbers = None
    name, target = _metric(findings), findings.profile.aim.target
    if has_rows and task == "classification":
        assert truth is not None and predictions is not None
        of_classes = classified(truth, predictions, evidence.positive)
    if has_rows and task == "regression":
        assert truth is not None and predictions is not None
        values = truth.astype(np.float64)
        of_numbers = regressed(values, predictions.values.astype(np.float64), target, _is_log(name, values))
    return View(
        findings=findings,
        headline=headline(findings),
        scores=tuple(map(score_line, findings.assessment.scores)),
        chosen=why_chosen(findings.comparison) if findings.comparison else "",
        validation=_validation(findings),
        drawn=_drawn(findings.profile.holdout),
        places=leaderboard(findings.comparison.leaderboard) if findings.comparison else (),
        columns=column_rows(findings),
        target=target_classes(findings.profile.target),
        leaks=leaks(findings),
        plans=plan_cards(findings),
        weights=importances(findings.assessment.worths),
        costs=costs(findings),
        classified=of_classes,
        regressed=of_numbers,
        distribution=_distribution(findings, name) if task == "regression" else None,
        curve=_curve(findings, name),
        groups=grouped(evidence.grouping),
        traits=traits(evidence.grouping),
        limits=limits(findings, of_classes),
        versions=(("Python", platform.python_version()), *_versions()),
        request=_request(findings),
    )


def _validation(findings: Findings) -> str:
    """Which rows candidates were compared on, and what whoever wrote the blueprint said of it."""
    said = findings.blueprint.validation if findings.blueprint else ""
    return " ".join(dict.fromkeys(filter(None, (validation(findings.profile, findings.requirements), said))))


def _drawn(holdout: HoldOut) -> str:
    """What a resample draws whole, where that is not a row."""
    if holdout.time:
        return f" that draws stretches of time by {short(holdout.time)} whole"
    one = f"with the same {short(holdout.grouped_by[0])}" if len(holdout.grouped_by) == 1 else "that repeat one another"
    return f" that draws rows {one} together" if holdout.grouped_by else ""


def _metric(findings: Findings) -> str:
    """Of the run; empty where nothing was scored."""
    return findings.assessment.scores[0].metric if findings.assessment.scores else ""


def _is_log(name: str, values: Floats) -> bool:
    return name in LOGARITHMIC and bool((values > 0).all())


def _distribution(findings: Findings, name: str) -> Figure | None:
    """Of the target in the rows that were learnt from: the hold-out is for the scores."""
    if findings.evidence.learnt is None:
        return None
    values = findings.evidence.learnt.astype(np.float64)
    known = values[np.isfinite(values)]
    return histogram(known, findings.profile.aim.target, _is_log(name, known)) if known.size else None


def _versions() -> list[tuple[str, str]]:
    found = []
    for name in LIBRARIES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return found


def _request(findings: Findings) -> str:
    """Of values that occur, but not in one row."""
    columns = findings.blueprint.columns if findings.blueprint else ()
    row = {
        one.name: one.examples[place % len(one.examples)] if one.examples else None
        for place, one in enumerate(columns[:SHOWN_FIELDS])
    }
    return json.dumps(row, ensure_ascii=False)[:-1] + (", …}" if len(columns) > len(row) else "}")


def _curve(findings: Findings, name: str) -> Figure | None:
    """With the interval of the score on all rows, beside which a rise may be nothing."""
    points = findings.assessment.curve
    if len(points) < 2:
        return None
    rows, scores = np.array([one.rows for one in points], float), np.array([one.score for one in points])
    low, high = float(rows.min()), float(rows.max())
    is_log = low > 0 and high > 20 * low
    lines = findings.comparison.leaderboard if findings.comparison else ()
    ends = [(one.low, one.high) for one in lines if one.score == points[-1].score][:1]
    plot = Plot(
        f"{metric(name)} by rows learnt from",
        Axis("Rows learnt from", *((low / 1.2, high * 1.2) if is_log else around((low, high))), is_log),
        Axis(metric(name), *around([*scores.tolist(), *(end for pair in ends for end in pair)], 0.1)),
    )
    plot.line(rows, scores)
    plot.dots(rows, scores, "c0", "point")
    for end in ends:
        plot.whiskers(rows[-1:], np.array(end[:1]), np.array(end[1:]))
    before, last = (float(one) for one in scores[-2:])
    rise = (last - before) * (1 if is_greater_better(name) else -1) if math.isfinite(before) else 0.0
    noise = (ends[0][1] - ends[0][0]) / 2 if ends else 0.0
    told = f"From {fixed(rows[-2], 0)} to {fixed(rows[-1], 0)} rows {metric(name)}"
    if rise > noise:
        caption = f"{told} became better by {number(rise, 2)}, more than chance: more rows would probably help."
    else:
        caption = f"{told} became no better than chance may do: more rows of the same kind would hardly help."
    return Figure("Learning curve", plot.svg(), caption + " The vertical line is a 95 % interval." * bool(ends))
