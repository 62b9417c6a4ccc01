"""Renders `report.html` and `MODEL_CARD.md` from one view of the findings."""

import functools
import math
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from palmette.automl import formatting
from palmette.automl.artefacts import Comparison, Delivery
from palmette.automl.composition import learner_named, weights_of
from palmette.automl.endpoint.folder import add
from palmette.automl.measure.metrics import METRICS
from palmette.automl.plots import bar, interval_bar, level
from palmette.automl.problems.problem import problem_of
from palmette.automl.project.reading import input_name
from palmette.automl.project.rendering import JINJA
from palmette.automl.report.figures import results_of
from palmette.automl.report.findings import ReportFindings, findings_of
from palmette.automl.report.interpretation import interpretation
from palmette.automl.report.tables import leaderboard, limits, summary
from palmette.automl.report.verdict import MARKS, verdict_text
from palmette.automl.weights import Weights, weights_named
from palmette.engine import RunResult, run_state
from palmette.engine.actor import TextFile

TEMPLATES = Path(__file__).parent / "templates"
LONGEST = 1000  # most characters of a text
# After request and verdict.
SECTIONS = ("results", "leaderboard", "plans", "importance", "data", "limits", "costs", "use")
FILTERS = ("decimals", "fixed", "learner", "many", "metric", "number", "price", "seconds", "share", "short")
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&]|:(?=//)|(?<=www)\.)")


def describe(run: Path) -> None:
    """Writes report and model card of a run into its delivered folder, if that still holds its delivery."""
    result = RunResult(run, run_state(run), "finished")
    if "delivery" not in result.state.artefacts:  # a topology may end before
        return
    folder, files = Path(result.artefact("delivery", Delivery).folder), result.artefact("comparison", Comparison).files
    if all((folder / one.path).is_file() and (folder / one.path).read_bytes() == one.text.encode() for one in files):
        add(folder, pages(findings_of(result)))


def pages(findings: ReportFindings) -> dict[str, str]:
    """The report and the model card, by file name."""
    view = _view(findings)
    page = _environment("html").get_template("report.html.j2").render(view)
    card = _environment("md").get_template("MODEL_CARD.md.j2").render(view)
    return {"report.html": page, "MODEL_CARD.md": re.sub(r"\n{3,}", "\n\n", card)}


def _view(findings: ReportFindings) -> dict[str, object]:
    """The template context: the findings as `f`, and values derived from them."""
    data, blueprint = findings.data, findings.blueprint
    columns = sorted(findings.profile.columns, key=lambda one: one.rank or math.inf)  # strongest first
    used = {one.name for one in blueprint.columns}
    classes, values = results_of(data, blueprint)
    alone = {"importances": "the model has only one column"} if len(blueprint.columns) == 1 else {}
    reasons = formatting.names("unmeasured") | alone | dict(data.missing)
    return {
        "f": findings,
        "verdict": verdict_text(findings.assessment, findings.comparison.measured),
        "sections": SECTIONS,
        "title": str(findings.samples.threshold or blueprint.target or blueprint.title),
        "request": interpretation(findings.task, blueprint),
        "gauge": _gauge(findings),
        "leaderboard": leaderboard(findings.comparison.leaderboard),
        "columns": columns,
        "left_out": {one.name: blueprint.dropped.get(one.name, "not used") for one in columns if one.name not in used},
        "classes": classes,
        "values": values,
        "figures": classes.figures if classes else values.figures if values else data.figures,
        "limits": limits(findings, classes),
        "weights": weights_used(findings),
        "given": input_name(blueprint),
        "no_onnx": problem_of(blueprint).no_onnx,
        "versions": (
            ("Python", platform.python_version()),
            ("palmette", metadata.version("palmette")),
            *_pinned(findings.comparison.files),
        ),
        "why_not": {name: reason.rstrip(".") for name, reason in reasons.items()},
    }


def _pinned(files: Sequence[TextFile]) -> list[list[str]]:
    """Names and versions in the requirements of the delivered package."""
    texts = [one.text for one in files if one.path == "requirements.txt"]
    return [line.split("==") for text in texts for line in text.splitlines()]


def weights_used(findings: ReportFindings) -> list[tuple[str, Weights]]:
    """Pretrained weights in the delivered model, by name."""
    members = [one.candidate for one in findings.comparison.selection.members]
    named = [name for one in members for name in weights_of(one)]
    named += [name for one in members for name in learner_named(one.learner).weights]
    return [(name, weights_named(name)) for name in dict.fromkeys(named)]


def _gauge(findings: ReportFindings) -> Markup:
    """The score on a scale from the best baseline to perfect; empty without such a scale."""
    score = next(iter(findings.assessment.scores), None)
    if score is None or findings.assessment.unmeasured or score.baseline is None or score.metric not in METRICS:
        return Markup("")
    ends = (score.baseline, METRICS[score.metric].perfect)
    return interval_bar(score.value, score.low, score.high, ends, "c1") if ends[0] != ends[1] else Markup("")


@functools.cache
def _environment(form: str) -> Environment:
    """A Jinja environment that escapes every inserted text for HTML or Markdown."""
    finalize = _plain if form == "html" else _markdown
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=form == "html", finalize=finalize, **JINJA)
    environment.filters |= {name: getattr(formatting, name) for name in FILTERS}
    environment.filters |= {"named": named, "bar": bar, "level": level, "summary": summary}
    environment.globals |= {"marks": MARKS}
    return environment


def named(text: str, most: int = formatting.LONGEST) -> Markup:
    """A name from the data, isolated in writing direction and shortened, with the full text in its title."""
    whole, shown = formatting.short(text, LONGEST), formatting.short(text, most)
    title = Markup(' title="{}"').format(whole) if whole != shown else ""
    return Markup("<bdi{}>{}</bdi>").format(title, shown)


def _plain(value: Any) -> Any:
    return value if isinstance(value, Markup) or not isinstance(value, str) else formatting.short(value, LONGEST)


def _markdown(value: Any) -> Any:
    return SPECIAL.sub(r"\\\1", formatting.short(value, LONGEST)) if isinstance(value, str) else value
