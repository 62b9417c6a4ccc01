"""`report.html` and `MODEL_CARD.md`, both written from the same view of the findings."""

from __future__ import annotations

import functools
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from palmette.automl import formatting
from palmette.automl.formatting import metric
from palmette.automl.measure import METRICS
from palmette.automl.report.classification import ClassificationResults, classification_results
from palmette.automl.report.clustering import cluster_figures
from palmette.automl.report.findings import Findings
from palmette.automl.report.interpretation import interpretation
from palmette.automl.report.limits import limits
from palmette.automl.report.plots import Axis, Figure, Plot, around, bar, interval_bar, level
from palmette.automl.report.regression import RegressionResults, regression_results
from palmette.automl.report.tables import column_lines, leaderboard
from palmette.automl.report.verdict import MARKS
from palmette.automl.report_data import Measured

TEMPLATES = Path(__file__).parent / "templates"
LONGEST = 1000
"""Characters of one text."""
SECTIONS = {
    "results": "Results",
    "leaderboard": "Leaderboard",
    "plans": "Plans and training",
    "importance": "Importance",
    "data": "Data",
    "limits": "Limits",
    "costs": "Time and cost",
    "use": "Use",
}
"""After request and verdict, in the order of the page."""
LIBRARIES = ("palmette", "scikit-learn", "lightgbm", "xgboost-cpu", "catboost", "pandas", "numpy")
LOGARITHMIC = frozenset({"rmsle", "rmse_log"})
REASONS: dict[Measured, str] = {
    "predictions": "no predictions of known rows were kept",
    "importances": "there are too few rows that the model was not trained on",
    "curve": "the model was not trained on fewer rows",
    "clustering": "no clusters were kept",
}
FILTERS = ("decimals", "fixed", "learner", "many", "metric", "number", "price", "seconds", "share", "short")
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&]|:(?=//)|(?<=www)\.)")


def pages(findings: Findings) -> dict[str, str]:
    """The report and the model card, by file name."""
    view = _view(findings)
    page = _environment("html").get_template("report.html.j2").render(view)
    card = _environment("md").get_template("MODEL_CARD.md.j2").render(view)
    return {"report.html": page, "MODEL_CARD.md": re.sub(r"\n{3,}", "\n\n", card)}


def _view(findings: Findings) -> dict[str, object]:
    """What the templates show: the findings as `f`, and what is computed of them."""
    data, blueprint = findings.data, findings.blueprint
    classes, values = _results(findings)
    clusters = tuple(cluster_figures(data.clustering)) if data.clustering else ()
    return {
        "f": findings,
        "verdict": findings.verdict,
        "sections": SECTIONS,
        "title": str(findings.samples.threshold or blueprint.target or blueprint.title),
        "request": interpretation(findings.task, blueprint),
        "gauge": _gauge(findings),
        "leaderboard": leaderboard(findings.comparison.leaderboard),
        "columns": column_lines(findings),
        "classes": classes,
        "values": values,
        "figures": classes.figures if classes else values.figures if values else clusters,
        "curve": _curve(findings),
        "limits": limits(findings, classes),
        "versions": (("Python", platform.python_version()), *_versions()),
        "why_not": {name: (data.missing.get(name) or reason).rstrip(".") for name, reason in REASONS.items()},
    }


def _results(findings: Findings) -> tuple[ClassificationResults | None, RegressionResults | None]:
    data = findings.data
    if data.truth is None or data.predictions is None or not len(data.truth):
        return None, None
    if findings.blueprint.classes:
        return classification_results(data.truth, data.predictions, data.positive), None
    truth, predicted = data.truth.astype(np.float64), data.predictions.values.astype(np.float64)
    return None, regression_results(truth, predicted, findings.blueprint.target, _is_log(findings))


def _is_log(findings: Findings) -> bool:
    return findings.blueprint.metric in LOGARITHMIC


def _gauge(findings: Findings) -> Markup:
    """The score between the best baseline and a perfect one; empty without a baseline, or where that is perfect."""
    score = next(iter(findings.assessment.scores), None)
    if score is None or findings.assessment.unmeasured or score.baseline is None or score.metric not in METRICS:
        return Markup("")
    ends = (score.baseline, METRICS[score.metric].perfect)
    return interval_bar(score.value, score.low, score.high, ends, "c1") if ends[0] != ends[1] else Markup("")


def _curve(findings: Findings) -> Figure | None:
    """The learning curve, with the interval of the last score where that is known."""
    points, name = findings.assessment.curve, findings.comparison.selection.metric
    if len(points) < 2:
        return None
    rows, scores = np.array([one.rows for one in points], float), np.array([one.score for one in points])
    low, high = float(rows.min()), float(rows.max())
    is_log = low > 0 and high > 20 * low
    ends = [(one.low, one.high) for one in findings.comparison.leaderboard if one.score == points[-1].score][:1]
    plot = Plot(
        f"{metric(name)} by training rows",
        Axis("Training rows", *((low / 1.2, high * 1.2) if is_log else around((low, high))), is_log),
        Axis(metric(name), *around([*scores.tolist(), *(end for pair in ends for end in pair)], 0.1)),
    )
    plot.line(rows, scores)
    plot.dots(rows, scores, "c0", "point")
    for end in ends:
        plot.whiskers(rows[-1:], np.array(end[:1]), np.array(end[1:]))
    caption = f"Of the strongest candidate, {findings.comparison.measured}."
    return Figure("Learning curve", plot.svg(), caption + " The vertical line is a 95 % interval." * bool(ends))


def _versions() -> list[tuple[str, str]]:
    found = []
    for name in LIBRARIES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def _environment(form: str) -> Environment:
    """Of templates that escape every text for HTML or Markdown where it is put in."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=form == "html",
        finalize=_plain if form == "html" else _markdown,
    )
    environment.filters |= {name: getattr(formatting, name) for name in FILTERS}
    environment.filters |= {"named": named, "bar": bar, "level": level}
    environment.globals |= {"marks": MARKS}
    return environment


def named(text: str, most: int = formatting.LONGEST) -> Markup:
    """A name from the data: in its own direction of writing, shortened, the whole in its title."""
    whole, shown = formatting.short(text, LONGEST), formatting.short(text, most)
    title = Markup(' title="{}"').format(whole) if whole != shown else ""
    return Markup("<bdi{}>{}</bdi>").format(title, shown)


def _plain(value: Any) -> Any:
    return value if isinstance(value, Markup) or not isinstance(value, str) else formatting.short(value, LONGEST)


def _markdown(value: Any) -> Any:
    return SPECIAL.sub(r"\\\1", formatting.short(value, LONGEST)) if isinstance(value, str) else value
