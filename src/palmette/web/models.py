"""What runs deliver, for the page: a pull request as a forge shows it, a model with its report and a form."""

import re
from pathlib import Path
from typing import Any

from palmette.engine import RunResult, run_state
from palmette.errors import RunError
from palmette.web.runs import Folder

_FILE = re.compile(r"^diff --git a/(?P<old>.+?) b/(?P<path>.+)$", re.M)


def _value(folder: Path, name: str) -> Any:
    """An artefact of a run; RunError where it was not made."""
    return RunResult(folder, run_state(folder), "stopped").value(name)


def pull_request_view(folder: Folder) -> dict[str, Any]:
    """Title, branches, description as HTML, and the diff of every file.

    The description is rendered without HTML of its own: what a specification holds stays text.
    """
    from markdown_it import MarkdownIt

    made = _value(folder, "pull_request")
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(made["body"]["text"])
    body = body.replace("&lt;br&gt;", "<br>")  # the one tag that tables of the description have
    patch = made["patch"]["text"]
    places = [*_FILE.finditer(patch)]
    ends = [*(one.start() for one in places[1:]), len(patch)]
    parts = zip(places, ends, strict=True)
    files = [{"path": one["path"], "lines": _hunks(patch[one.end() : end])} for one, end in parts]
    subject = re.search(r"^Subject: (?:\[PATCH[^\]]*\] )?(.+)$", patch, re.M)
    names = ("branch", "base", "url", "repository", "pushed_to")
    title = subject[1] if subject else made["branch"].rpartition("/")[2]
    return {**{name: made[name] for name in names}, "title": title, "html": body, "files": files}


def _hunks(text: str) -> list[str]:
    lines = text.splitlines()
    first = next((place for place, line in enumerate(lines) if line.startswith("@@")), len(lines))
    return lines[first:]


def model_form(folder: Folder) -> dict[str, Any]:
    """The verdict, the leaderboard, and an example row from which the form is made."""
    from palmette.automl.artefacts import Assessment, Comparison
    from palmette.automl.endpoint.delivered import delivered, example_row
    from palmette.automl.report import verdict_text
    from palmette.automl.report.tables import leaderboard

    assessment = Assessment.model_validate(_value(folder, "assessment"))
    comparison = Comparison.model_validate(_value(folder, "comparison"))
    verdict = verdict_text(assessment, comparison.measured)
    lines = (verdict.better, verdict.constraints, *verdict.results)
    package = delivered(str(folder))
    return {
        "folder": str(package),
        "headline": verdict.headline,
        "lines": [{"status": one.status, "text": str(one)} for one in lines],
        "quantities": [{"label": one.label, "value": one.value} for one in verdict.quantities],
        "measured": comparison.measured,
        "leaderboard": [
            {
                **one.row.model_dump(include={"name", "track", "seconds", "chosen"}),
                **{"score": one.score, "interval": one.interval, "value": one.row.score},
            }
            for one in leaderboard(comparison.leaderboard)
        ],
        "importances": [one.model_dump() for one in assessment.importances[:12]],
        "row": example_row(package),
    }


def report_page(folder: Path) -> str:
    from palmette.automl.endpoint.delivered import delivered

    path = delivered(str(folder)) / "report.html"
    if not path.is_file():
        raise RunError("The run has no report.", "Resume it to make one.", code="unknown-artefact")
    return path.read_text(encoding="utf-8")
