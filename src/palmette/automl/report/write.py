"""The texts of `report.html` and `MODEL_CARD.md`."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from palmette.automl import wording
from palmette.automl.report.findings import Findings
from palmette.automl.report.view import View, view_of

TEMPLATES = Path(__file__).parent / "templates"
LONGEST = 1000
"""Characters of one text."""
PARTS = (
    ("requirements", "Requirements"),
    ("quality", "Results"),
    ("leaderboard", "Leaderboard"),
    ("importance", "What it looks at"),
    ("limits", "Limits"),
    ("data", "Data"),
    ("plans", "Plans"),
    ("curve", "More rows"),
    ("costs", "Time and cost"),
    ("use", "Use and reproduce"),
)
"""The sections, each with its template, in the order of the page."""
FILTERS = (
    "algorithm", "constraint", "fixed", "many", "metric", "money", "number", "seconds", "share", "short", "size",
)  # fmt: skip
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&]|:(?=//)|(?<=www)\.)")


def written(findings: Findings) -> dict[str, str]:
    """The report and the model card, by file name."""
    view = view_of(findings)
    return {"report.html": report(view), "MODEL_CARD.md": model_card(view)}


def report(view: View) -> str:
    """One page that needs nothing else."""
    return _environment("html").get_template("report.html.j2").render(view=view, findings=view.findings, parts=PARTS)


def model_card(view: View) -> str:
    """What whoever uses the model must know, as Markdown."""
    made = _environment("md").get_template("MODEL_CARD.md.j2").render(view=view, findings=view.findings)
    return re.sub(r"\n{3,}", "\n\n", made)


@functools.cache
def _environment(form: str) -> Environment:
    """Of templates in which every text is made harmless for HTML or Markdown where it is put in."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=form == "html",
        finalize=_plain if form == "html" else _markdown,
    )
    environment.filters |= {name: getattr(wording, name) for name in FILTERS} | {"named": named}
    return environment


def named(text: str, most: int = wording.LONGEST) -> Markup:
    """A name from the data: its own direction of writing, shortened, whole in its title."""
    whole, shown = wording.short(text, LONGEST), wording.short(text, most)
    title = Markup(' title="{}"').format(whole) if whole != shown else ""
    return Markup("<bdi{}>{}</bdi>").format(title, shown)


def _plain(value: Any) -> Any:
    return value if isinstance(value, Markup) or not isinstance(value, str) else wording.short(value, LONGEST)


def _markdown(value: Any) -> Any:
    return SPECIAL.sub(r"\\\1", wording.short(value, LONGEST)) if isinstance(value, str) else value
