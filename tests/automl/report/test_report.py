"""The report and the model card: structure, escaping, nothing from outside, nothing made up."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from report_cases import METRICS, ROWS, Page, findings_of

from palmette.automl.artefacts import Assessment, CurveFact, Score, Worth
from palmette.automl.data import Dataset
from palmette.automl.evidence import Evidence, Measured, Span, Stage, Timeline
from palmette.automl.measure import Predictions
from palmette.automl.report import Findings
from palmette.automl.report import written as texts_of
from palmette.automl.report.view import view_of
from palmette.automl.report.write import PARTS
from palmette.automl.requirements import Requirements

HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(2)>"\'&{{ 7 * 7 }}|`x`](http://evil.example)'
    "\n\n# \u202efdp.exe\u2066 😀 שלום"
)
LONG = "w" * 5000


def written(findings: Findings) -> tuple[Page, str, str]:
    """The page as read, its source, and the card."""
    texts = texts_of(findings)
    assert list(texts) == ["report.html", "MODEL_CARD.md"]
    return Page(texts["report.html"]), *texts.values()


def require_whole(page: Page, source: str) -> None:
    """What holds of every report."""
    assert list(page.sections) == [anchor for anchor, _ in PARTS]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert not {"script", "iframe", "object", "link", "img", "form", "image"} & {tag for tag, _ in page.elements}
    for tag, attributes in page.elements:
        assert not {name for name in attributes if name.startswith("on")}
        assert not {"style", "src", "srcset", "action", "xlink:href"} & set(attributes)
        assert tag != "a" or str(attributes["href"]).removeprefix("#") in ids
        assert tag != "svg" or attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
        assert tag != "th" or attributes.get("scope") in ("col", "row")
    assert not re.search(r"\b(nan|inf|None|Undefined|Markup)\b", page.text)
    assert "url(" not in source and "@import" not in source
    assert len(source) < 2_000_000


@pytest.mark.parametrize("task", METRICS)
def test_every_part_is_there_and_nothing_comes_from_outside(task: str) -> None:
    page, source, card = written(findings_of(task))
    require_whole(page, source)
    assert "Not measured" not in page.text
    assert "0.812" in page.text and "0.750 to 0.875" in page.text and "0.812" in card
    assert "Beats the best baseline" in page.text
    assert "expected before training is an estimate" in page.text
    assert ("jackknife" in page.text) == (task == "clustering")
    drawings = sum(attributes.get("class") == "plot" for _, attributes in page.elements)
    assert drawings == {"classification": 5, "regression": 6, "clustering": 3}[task]


def test_counts_of_the_confusion_matrix_are_those_of_the_predictions() -> None:
    findings = findings_of(classes=("10", "9", "b c"))
    evidence = findings.evidence
    assert evidence.truth is not None and evidence.predictions is not None
    _, source, _ = written(findings)
    matrix = source.split('<table class="matrix')[1].split("</table>")[0]
    found = [int(one) for one in re.findall(r'<td class="h\d">(\d+)', matrix)]
    expected = [
        int(((evidence.truth == true) & (evidence.predictions.values == said)).sum())
        for true in ("10", "9", "b c")
        for said in ("10", "9", "b c")
    ]
    assert found == expected and sum(found) == ROWS


@pytest.mark.parametrize("text", [HOSTILE, LONG, ""], ids=["hostile", "long", "empty"])
@pytest.mark.parametrize("task", METRICS)
def test_texts_from_outside_stay_texts(task: str, text: str) -> None:
    classes = (f"a {text}", f"b {text}", f"c {text}")
    page, source, card = written(findings_of(task, text=text, classes=classes))
    require_whole(page, source)
    assert not set("\u202e\u2066") & set(source + card)
    if text == HOSTILE:
        assert "<script>alert(1)</script>" in page.text and "7 * 7" in page.text
        assert not re.search(r"(?<!\\)<(script|img)", card)
        assert not re.search(r"(?<!\\)\]\(http", card)
    tables = re.findall(r"(?:^\|.*\n)+", card, re.M)
    widths = [{len(re.findall(r"(?<!\\)\|", line)) for line in one.splitlines()} for one in tables]
    assert len(widths) == 3 and all(len(one) == 1 for one in widths)
    headings = [line for line in card.splitlines() if line.startswith("#")]
    assert len(headings) == len(re.findall(r"^#", written(findings_of(task))[2], re.M))


MISSING: Mapping[Measured, tuple[str, dict[str, Any]]] = {
    "predictions": ("quality", {"truth": None, "predictions": None}),
    "importances": ("importance", {"worths": ()}),
    "curve": ("curve", {"curve": ()}),
    "timeline": ("costs", {"timeline": None}),
    "bill": ("costs", {"bill": None}),
    "grouping": ("quality", {"grouping": None}),
}


@pytest.mark.parametrize("what", MISSING)
def test_what_was_not_measured_is_said_with_its_reason(what: Measured) -> None:
    section, gone = MISSING[what]
    findings = findings_of("clustering" if what == "grouping" else "classification")
    of_assessment = {name: value for name, value in gone.items() if name in Assessment.model_fields}
    shown = {name: value for name, value in gone.items() if name not in of_assessment}
    evidence = replace(findings.evidence, **shown, missing={what: "The <time> was up."})
    assessment = findings.assessment.model_copy(update=of_assessment)
    page, source, _ = written(replace(findings, evidence=evidence, assessment=assessment))
    require_whole(page, source)
    assert "Not measured: The <time> was up." in page.sections[section]
    assert source.split(f'<section id="{section}"')[1].split("</section>")[0].count('class="plot"') == 0


def test_a_run_without_plans_comparison_and_hold_out_is_told_as_such() -> None:
    whole = findings_of(rows=0)
    bare = replace(
        whole,
        plans=None, choice=None, knowledge=None, comparison=None, blueprint=None, evidence=Evidence(),
        profile=whole.profile.model_copy(update={"leaks": (), "settled": (), "columns": (), "remarks": ()}),
        assessment=Assessment(rows=0, scores=(), status="partly", training_seconds=0, megabytes=0),
        dataset=Dataset(places=(), files=(), columns=(), rows=0),
        requirements=Requirements(text=""),
    )  # fmt: skip
    page, source, card = written(bare)
    require_whole(page, source)
    assert "without plans" in page.sections["plans"] and "no candidates were compared" in page.sections["leaderboard"]
    assert "No rows were kept apart" in page.text and "No rows were held out" in card


@pytest.mark.parametrize(
    ("baseline", "better", "said"),
    [
        (0.5, True, "Beats the best baseline"),
        (0.5, False, "Ahead of the best baseline by no more than chance"),
        (0.9, True, "Does not beat the best baseline"),
        (0.76, True, "Ahead of the best baseline, but perhaps by chance"),
        (None, True, "Not compared with a baseline"),
    ],
)
@pytest.mark.parametrize("is_greater_better", [True, False])
def test_the_verdict_on_the_baseline_is_plain(
    baseline: float | None, better: bool, said: str, is_greater_better: bool
) -> None:
    """Of 0.8125 within 0.75 to 0.875, and its mirror image for an error."""
    findings = findings_of("classification" if is_greater_better else "regression")
    score = findings.assessment.scores[0].model_copy(update={"baseline": baseline})
    if not is_greater_better:
        mirrored = {"value": 1 - 0.8125, "low": 1 - 0.875, "high": 1 - 0.75, "baseline": baseline and 1 - baseline}
        score = score.model_copy(update=mirrored)
    assert findings.comparison is not None
    changed = replace(
        findings,
        assessment=findings.assessment.model_copy(update={"scores": (score,)}),
        comparison=findings.comparison.model_copy(update={"better": better}),
    )
    page, _, card = written(changed)
    assert said in page.text and said in card


def test_a_metric_without_a_value_on_the_hold_out_is_said_to_be_so_and_no_other_stands_for_it() -> None:
    findings, why = findings_of(), "It cannot be computed, because all 9 rows are of one class."
    changed = replace(findings, assessment=findings.assessment.model_copy(update={"unmeasured": why}))
    page, _, card = written(changed)
    assert "The metric of the run has no value on the hold-out" in card and why in card
    assert f"Not measured: {why}" in page.text and "first is the metric of the run" not in page.text
    assert changed.assessment.scores and view_of(changed).headline.score is None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"strategy": "time", "time": "day"}, "that draws stretches of time by day whole unless"),
        ({"strategy": "grouped", "grouped_by": ("patient",)}, "that draws rows with the same patient together unless"),
        ({"strategy": "random"}, "of the bootstrap unless"),
    ],
)
def test_what_an_interval_draws_and_where_candidates_are_compared_is_said(told: dict, said: str) -> None:
    findings = findings_of()
    holdout = findings.profile.holdout.model_copy(update={"time": "", "grouped_by": (), **told})
    changed = replace(findings, profile=findings.profile.model_copy(update={"holdout": holdout}))
    page, _, _ = written(changed)
    assert said in page.text
    assert ("blocks of time, the same for all candidates" in page.text) == (told["strategy"] == "time")


def test_a_score_that_falls_on_the_hold_out_is_a_limit() -> None:
    findings = findings_of()
    assert findings.comparison is not None
    lines = findings.comparison.leaderboard
    said = "better than on the hold-out"
    assert said not in written(findings)[0].sections["limits"]
    higher = lines[0].model_copy(update={"score": 0.9, "low": 0.88, "high": 0.92})
    fallen = findings.comparison.model_copy(update={"leaderboard": (higher, *lines[1:])})
    assert said in written(replace(findings, comparison=fallen))[0].sections["limits"]


@pytest.mark.parametrize(("classes", "columns"), [(2, 250), (40, 5)], ids=["columns", "classes"])
def test_a_wide_set_is_still_a_page(classes: int, columns: int) -> None:
    names = tuple(f"class {number}" for number in range(classes))
    page, source, _ = written(findings_of(classes=names, columns=columns))
    require_whole(page, source)
    assert all(name in page.text for name in names[:12]) and f"plain {columns - 1}" in page.text


FLOATS = st.floats(-1e100, 1e100) | st.sampled_from([math.nan, math.inf, -math.inf])
NAMES = st.text(min_size=1, max_size=20)
DROPS = st.lists(FLOATS, max_size=5)


@settings(
    max_examples=20,
    deadline=None,
    phases=[Phase.generate],
)
@given(data=st.data(), task=st.sampled_from(list(METRICS)), text=NAMES)
def test_whatever_was_measured_makes_a_page(data: st.DataObject, task: str, text: str) -> None:
    classes = tuple(data.draw(st.lists(NAMES, min_size=2, max_size=15, unique_by=lambda name: name.strip())))
    rows = data.draw(st.integers(1, 40))
    findings = findings_of(task, text=text, classes=classes, columns=data.draw(st.integers(1, 30)), rows=rows)
    low, value, high = sorted(data.draw(st.tuples(FLOATS, FLOATS, FLOATS)), key=lambda one: (math.isnan(one), one))
    score = Score(metric=METRICS[task], value=value, low=low, high=high, baseline=data.draw(st.none() | FLOATS))
    spans = data.draw(st.lists(st.floats(0, 1e9), max_size=4))
    measured = {
        "scores": (score,),
        "worths": tuple(Worth(column=text, drop=drop, deviation=abs(drop)) for drop in data.draw(DROPS)),
        "curve": tuple(data.draw(st.lists(st.builds(CurveFact, rows=st.integers(0, 10**9), score=FLOATS), max_size=5))),
    }
    evidence = replace(
        findings.evidence,
        timeline=Timeline(sum(spans), tuple(Stage(text, "", (Span(0, one),), 1, 0) for one in spans), 0.0),
    )
    if task == "regression":
        values = [data.draw(arrays(float, rows, elements=FLOATS)) for _ in range(2)]
        evidence = replace(evidence, truth=values[0], predictions=Predictions(values[1]), learnt=values[0])
    made = replace(findings, evidence=evidence, assessment=findings.assessment.model_copy(update=measured))
    page, source, _ = written(made)
    assert list(page.sections) == [anchor for anchor, _ in PARTS]
    drawn = "".join(re.findall(r"<(?:path|rect|line|circle|text) [^>]*>", source))
    assert not re.search(r'[ "MLHV](nan|-?inf)', drawn)
