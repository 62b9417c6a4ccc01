"""The model on the end screen, in the report, in the model card and as JSON: one verdict, everywhere the same."""

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from report_cases import METRICS, OTHERS, Page, findings_for

from palmette.automl.artefacts import Assessment, Delivery, Score
from palmette.automl.report.findings import ReportFindings
from palmette.automl.report.page import pages
from palmette.automl.report.verdict import MARKS, verdict_text
from palmette.cli.progress import Progress
from palmette.cli.summary import SECTIONS
from palmette.engine import ArtefactStore, Entry, RunResult, RunState, Verdict
from palmette.engine.events import ActorSucceeded
from palmette.engine.state import Version

WITHOUT_HOLDOUT = "Accuracy 0.812 (no hold-out, scored out of fold; 95 % interval 0.750 to 0.875; best baseline 0.500)"


def run_with(folder: Path, findings: ReportFindings) -> RunResult:
    """A run that has these artefacts."""
    store = ArtefactStore(folder)
    delivery = Delivery(folder="made", package="model", files=(), measurements=())
    values = {
        "task": findings.task, "assessment": findings.assessment, "comparison": findings.comparison,
        "delivery": delivery,
    }  # fmt: skip
    folder.mkdir(exist_ok=True)
    digests = {name: Version(store.put(value), 1, "actor") for name, value in values.items()}
    return RunResult(folder, RunState(artefacts=digests), "finished")


def screen_of(summary: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    SECTIONS["automl"].begin(summary)
    SECTIONS["automl"].show(summary)
    return click.unstyle(capsys.readouterr().out)


def plain(text: str) -> str:
    """Without what Markdown escapes, and with every space alike."""
    return re.sub(r"\s+", " ", text.replace("\\", ""))


@pytest.mark.parametrize("problem", [*METRICS, *OTHERS])
def test_screen_report_card_and_json_show_one_verdict(
    problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = findings_for(problem)
    summary = json.loads(json.dumps(SECTIONS["automl"].facts(run_with(tmp_path / "run", findings))))
    assert Assessment.model_validate(summary["assessment"]) == findings.assessment
    texts = pages(findings)
    screen = screen_of({**summary, "run": "r"}, capsys)
    faces = {
        "screen": plain(screen),
        "report": plain(Page(texts["report.html"]).text),
        "card": plain(texts["MODEL_CARD.md"]),
    }
    verdict = verdict_text(findings.assessment)
    score = verdict.scores[0]
    expected = [score.metric, score.value, score.interval, score.baseline, verdict.rows]
    for line in (verdict.better, verdict.constraints):
        expected += [line.text, line.detail]
    for figure in verdict.quantities.items():
        expected += figure
    for face, text in faces.items():
        missing = [one for one in expected if plain(one) not in text]
        assert not missing, (face, missing)
        lines = [line for line in verdict.results if not re.search(f"{line.text}.{{0,5}}{line.detail}", text)]
        assert not lines, (face, lines)
    statuses = [one["status"] for one in summary["assessment"]["results"]]
    assert statuses == [line.status for line in verdict.results] == ["partly", "fail", "pass"]
    marks = [MARKS[line.status] for line in verdict.lines]
    assert re.findall(r"^([✓◐✗]) (?!cannot)", screen, re.M) == marks
    rows = re.search(r"plain fast \| 19 ms \| (\w+) \| \| plain soon \| plain \| (\w+)", faces["card"])
    assert rows and rows.groups() == ("partly", "fail")
    assert re.findall(r"[✓◐✗] (pass|partly|fail)", faces["report"]) == statuses


def test_the_interpretation_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = findings_for(text="price")
    summary = SECTIONS["automl"].facts(run_with(tmp_path / "run", findings))
    lines = screen_of({**summary, "run": "r"}, capsys).splitlines()
    assert lines[1:6] == [
        "How the request was read",
        "target   price target  --target",
        "exclude  price         “price”",
        "? not understood, without effect: price",
        "✗ cannot be met: price",
    ]
    page = pages(findings)["report.html"]
    assert page.index('id="request"') < page.index('id="verdict"') < page.index('id="results"')


def test_the_interpretation_is_shown_as_soon_as_it_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_with(tmp_path / "run", findings_for())
    done = ActorSucceeded(
        actor="requirement_parser", artefact="task", key="k", inputs={}, seconds=1,
        output=result.state.artefacts["task"].digest, verdict=Verdict(ok=True),
    )  # fmt: skip
    entry = Entry(seq=1, at=0, event=done)
    Progress(result.folder).event(entry)
    assert "✗ cannot be met: plain" in click.unstyle(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({}, "Accuracy 0.812 (120 held-out rows; 95 % interval 0.750 to 0.875; best baseline 0.500)"),
        ({"rows": 0}, WITHOUT_HOLDOUT),
        (
            {"scores": (Score(metric="rmse", value=12.3, low=11, high=14),)},
            "RMSE 12.3 (120 held-out rows; 95 % interval 11.0 to 14.0; smaller is better)",
        ),
        ({"scores": ()}, "No score could be measured (120 held-out rows)."),
        ({"unmeasured": "Accuracy has no value."}, "Accuracy has no value."),
    ],
)
def test_the_score_comes_first_or_the_reason_why_there_is_none(changes: dict[str, Any], first: str) -> None:
    assert verdict_text(findings_for().assessment.model_copy(update=changes)).headline == first


@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        ({}, "pass", "Better than the best baseline"),
        ({"better": False}, "fail", "Not measurably better than the best baseline"),
        ({"better": False, "scores": ()}, "partly", "Not compared with a baseline"),
    ],
)
def test_the_baseline_is_named_as_the_assessment_has_it(changes: dict[str, Any], status: str, text: str) -> None:
    found = verdict_text(findings_for().assessment.model_copy(update=changes)).better
    assert (found.status, found.text, found.detail) == (status, text, "Ahead by 0.3125, plain.")
