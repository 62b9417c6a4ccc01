"""A report before it is laid out: everything that the templates show and that is not an artefact as it is."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from importlib import metadata

import numpy as np

from palmette.automl.report.classification import Classified, classified
from palmette.automl.report.clustering import grouped
from palmette.automl.report.findings import Findings, Measured
from palmette.automl.report.headline import Headline, ScoreLine, headline, is_greater_better, score_line
from palmette.automl.report.limits import limits
from palmette.automl.report.plots import Axis, Figure, Plot, around
from palmette.automl.report.regression import Regressed, histogram, regressed
from palmette.automl.report.tables import (
    ColumnRow,
    Frequency,
    LeakRow,
    Place,
    PlanCard,
    Spent,
    Weighed,
    column_rows,
    importances,
    leaderboard,
    leaks,
    plan_cards,
    stages,
    target_classes,
)
from palmette.automl.report.wording import metric

LIBRARIES = ("palmette", "scikit-learn", "lightgbm", "xgboost-cpu", "pandas", "numpy")
SHOWN_FIELDS = 4
LOGARITHMIC = frozenset({"rmsle", "rmse_log"})
REASONS: dict[Measured, str] = {
    "predictions": "no predictions on known rows were kept",
    "importances": "no column was shuffled",
    "curve": "the model was not learnt from fewer rows",
    "timeline": "no times were kept",
    "tokens": "no count of tokens was kept",
    "money": "no bill was kept",
    "grouping": "no groups were kept",
}


@dataclass(frozen=True)
class View:
    """What is shown."""

    findings: Findings
    headline: Headline
    scores: tuple[ScoreLine, ...]
    places: tuple[Place, ...]
    columns: tuple[ColumnRow, ...]
    target: tuple[Frequency, ...]
    leaks: tuple[LeakRow, ...]
    plans: tuple[PlanCard, ...]
    weights: tuple[Weighed, ...]
    """Of the columns that were shuffled, which may be some of those used."""
    stages: tuple[Spent, ...]
    classified: Classified | None
    regressed: Regressed | None
    distribution: Figure | None
    curve: Figure | None
    groups: tuple[Figure, ...]
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
    of_classes = of_numbers = drawn = None
    name = findings.assessment.scores[0].metric if findings.assessment.scores else ""
    if has_rows and task == "classification":
        assert truth is not None and predictions is not None
        positive = findings.blueprint.positive if findings.blueprint else None
        of_classes = classified(truth, predictions, positive)
    if has_rows and task == "regression":
        assert truth is not None and predictions is not None
        values = truth.astype(np.float64)
        is_log = name in LOGARITHMIC and bool((values > 0).all())
        of_numbers = regressed(values, predictions.values.astype(np.float64), findings.profile.aim.target, is_log)
        drawn = histogram(values, findings.profile.aim.target, is_log) if np.isfinite(values).any() else None
    return View(
        findings=findings,
        headline=headline(findings),
        scores=tuple(map(score_line, findings.assessment.scores)),
        places=leaderboard(findings.comparison.leaderboard) if findings.comparison else (),
        columns=column_rows(findings),
        target=target_classes(findings.profile.target),
        leaks=leaks(findings),
        plans=plan_cards(findings),
        weights=importances(evidence.importances),
        stages=stages(evidence.timeline),
        classified=of_classes,
        regressed=of_numbers,
        distribution=drawn,
        curve=_curve(findings, name),
        groups=grouped(evidence.grouping),
        limits=limits(findings, of_classes),
        versions=(("Python", platform.python_version()), *_versions()),
        request=_request(findings),
    )


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
    points = findings.evidence.curve
    if len(points) < 2:
        return None
    rows, scores = np.array([one.rows for one in points], float), np.array([one.score for one in points])
    low, high = float(rows.min()), float(rows.max())
    plot = Plot(
        f"{metric(name)} by rows learnt from",
        Axis("Rows learnt from", low, high, is_log=low > 0 and high > 20 * low),
        Axis(metric(name), *around(scores.tolist(), 0.1)),
    )
    plot.line(rows, scores)
    plot.dots(rows, scores, "c0", "point")
    better = "rises" if is_greater_better(name) else "falls"
    caption = f"Where the line still {better} at its right end, more rows would help; where it is flat, they would not."
    return Figure("Learning curve", plot.svg(), caption)
