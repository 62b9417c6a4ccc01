"""The report and the model card: structure, escaping, nothing from outside, nothing made up."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from report_cases import METRICS, ROWS, Page, findings_for

from palmette.automl.artefacts import Assembly, Assessment, FeatureImportance, MeasuredRound, Score
from palmette.automl.measure.metrics import Predictions
from palmette.automl.problems.problem import Measured, ReportData
from palmette.automl.report import page
from palmette.automl.report.findings import ReportFindings
from palmette.automl.report.page import SECTIONS, pages
from palmette.automl.samples import Samples
from palmette.automl.task_spec.spec import TaskSpec
from palmette.automl.weights import Weights
from palmette.engine import RunState

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7 * 7 }}|`x`](http://evil.example)"
    "\n\n# \u202efdp.exe\u2066 😀 שלום"
)
LONG = "w" * 5000


def written(findings: ReportFindings) -> tuple[Page, str, str]:
    """The page as read, its source, and the card."""
    texts = pages(findings)
    assert list(texts) == ["report.html", "MODEL_CARD.md"]
    return Page(texts["report.html"]), *texts.values()


def require_whole(page: Page, source: str) -> None:
    """What holds of every report."""
    assert list(page.sections) == ["request", "verdict", *SECTIONS]
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


@pytest.mark.parametrize("problem", METRICS)
def test_every_section_is_there_and_nothing_comes_from_outside(problem: str) -> None:
    page, source, _ = written(findings_for(problem))
    require_whole(page, source)
    assert "Not measured" not in page.text
    drawings = sum(attributes.get("class") == "plot" for _, attributes in page.elements)
    assert drawings == {"classification": 3, "regression": 2, "clustering": 2}[problem]


def test_counts_of_the_confusion_matrix_are_those_of_the_predictions() -> None:
    findings = findings_for(classes=("10", "9", "b c"))
    truth, predictions = findings.data.truth, findings.data.predictions
    assert truth is not None and predictions is not None
    _, source, _ = written(findings)
    matrix = source.split('<table class="matrix')[1].split("</table>")[0]
    found = [int(one) for one in re.findall(r'<td class="h\d">(\d+)', matrix)]
    expected = [
        int(((truth == true) & (predictions.values == predicted)).sum())
        for true in ("10", "9", "b c")
        for predicted in ("10", "9", "b c")
    ]
    assert found == expected and sum(found) == ROWS


@pytest.mark.parametrize("text", [HOSTILE, LONG, ""], ids=["hostile", "long", "empty"])
@pytest.mark.parametrize("problem", METRICS)
def test_texts_from_outside_stay_texts(problem: str, text: str) -> None:
    classes = (f"a {text}", f"b {text}", f"c {text}")
    page, source, card = written(findings_for(problem, text=text, classes=classes))
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
    assert len(headings) == len(re.findall(r"^#", written(findings_for(problem))[2], re.M))


MISSING: Mapping[Measured, tuple[str, dict[str, Any]]] = {
    "predictions": ("results", {"truth": None, "predictions": None}),
    "importances": ("importance", {"importances": ()}),
    "clustering": ("results", {"sizes": (), "columns": (), "figures": ()}),
}


@pytest.mark.parametrize("what", MISSING)
def test_what_was_not_measured_is_reported_with_its_reason(what: Measured) -> None:
    section, gone = MISSING[what]
    findings = findings_for("clustering" if what == "clustering" else "classification")
    of_assessment = {name: value for name, value in gone.items() if name in Assessment.model_fields}
    shown = {name: value for name, value in gone.items() if name not in of_assessment}
    data = replace(findings.data, **shown, missing={what: "The <time> was up."})
    assessment = findings.assessment.model_copy(update=of_assessment)
    page, source, _ = written(replace(findings, data=data, assessment=assessment))
    require_whole(page, source)
    assert "Not measured: The <time> was up." in page.sections[section]


def test_the_chosen_plan_is_that_of_the_delivered_model() -> None:
    findings = findings_for("regression")
    earlier = findings.plans.plans[0].model_copy(update={"name": "first-plan"})
    done = MeasuredRound(
        plan=earlier, candidates=(), selection=findings.comparison.selection, store="search-1", megabytes=1, seconds=1
    )
    plans = findings.plans.model_copy(update={"rounds": (done,)})
    comparison = findings.comparison.model_copy(update={"store": "search-1"})
    page, _, _ = written(replace(findings, plans=plans, comparison=comparison))
    shown = page.sections["plans"]
    assert re.search(r"first-plan\W+chosen", shown) and shown.count("chosen") == 1
    assert "Its model was measured to be better than" in shown


def test_a_run_without_plans_and_hold_out_is_a_page() -> None:
    whole = findings_for(rows=0)
    bare = replace(
        whole,
        plans=None, choice=None, data=ReportData(), state=RunState(), assembly=Assembly(store="search", tracks=()),
        profile=whole.profile.model_copy(update={"decisions": (), "columns": ()}),
        assessment=Assessment(
            rows=0, scores=(), better=False, better_reason="", status="pass", training_seconds=0, megabytes=0
        ),
        samples=Samples(sources=(), files=(), columns=(), rows=0),
        task=TaskSpec(),
    )  # fmt: skip
    page, source, card = written(bare)
    require_whole(page, source)
    assert "No score could be measured (no hold-out, scored out of fold)" in page.sections["verdict"]
    assert "No rows were held out" in card


def test_a_metric_without_a_value_is_reported_and_no_other_stands_for_it() -> None:
    findings, reason = findings_for(), "Accuracy has no value: all 9 rows are of one class."
    changed = replace(findings, assessment=findings.assessment.model_copy(update={"unmeasured": reason}))
    page, _, card = written(changed)
    assert reason in page.sections["verdict"] and reason in card
    assert "0.812" not in page.sections["verdict"] and "0.812" in page.sections["results"]


def test_the_card_names_trained_weights_with_their_package_or_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = findings_for()
    (member, *_), comparison = findings.comparison.selection.members, findings.comparison
    candidate = member.candidate.model_copy(update={"encoders": {"text": "text_static"}})
    members = (member.model_copy(update={"candidate": candidate}),)
    selection = comparison.selection.model_copy(update={"members": members})
    changed = replace(findings, comparison=comparison.model_copy(update={"selection": selection}))
    _, _, card = written(changed)
    for name, one in page.weights_used(changed):
        assert f"- {name}: " in card and f"from {one.package}, SHA-256 {one.sha256}" in card
    own = Weights(file="net/model.safetensors", sha256="0" * 64, megabytes=1.0, licence="mit", source="A folder.")
    monkeypatch.setattr(page, "weights_named", lambda name: own)
    assert "A folder. Licence mit; from net, SHA-256 000" in written(changed)[2]


@pytest.mark.parametrize(("classes", "columns"), [(2, 250), (40, 5)], ids=["columns", "classes"])
def test_a_wide_set_is_still_a_page(classes: int, columns: int) -> None:
    names = tuple(f"class {number}" for number in range(classes))
    page, source, _ = written(findings_for(classes=names, columns=columns))
    require_whole(page, source)
    assert all(name in page.text for name in names[:12]) and f"plain {columns - 1}" in page.text


FLOATS = st.floats(-1e100, 1e100) | st.sampled_from([math.nan, math.inf, -math.inf])
NAMES = st.text(min_size=1, max_size=20)
DROPS = st.lists(FLOATS, max_size=5)


@settings(max_examples=20, deadline=None, phases=[Phase.generate])
@given(data=st.data(), problem=st.sampled_from(list(METRICS)), text=NAMES)
def test_any_measurements_make_a_page(data: st.DataObject, problem: str, text: str) -> None:
    classes = tuple(data.draw(st.lists(NAMES, min_size=2, max_size=15, unique_by=lambda name: name.strip())))
    rows = data.draw(st.integers(1, 40))
    findings = findings_for(problem, text=text, classes=classes, columns=data.draw(st.integers(1, 30)), rows=rows)
    low, value, high = sorted(data.draw(st.tuples(FLOATS, FLOATS, FLOATS)), key=lambda one: (math.isnan(one), one))
    measured = {
        "scores": (
            Score(metric=METRICS[problem], value=value, low=low, high=high, baseline=data.draw(st.none() | FLOATS)),
        ),
        "importances": tuple(
            FeatureImportance(column=text, drop=drop, deviation=abs(drop)) for drop in data.draw(DROPS)
        ),
    }
    shown = findings.data
    if problem == "regression":
        values = [data.draw(arrays(float, rows, elements=FLOATS)) for _ in range(2)]
        shown = replace(shown, truth=values[0], predictions=Predictions(values[1]))
    made = replace(findings, data=shown, assessment=findings.assessment.model_copy(update=measured))
    page, source, _ = written(made)
    assert list(page.sections) == ["request", "verdict", *SECTIONS]
    drawn = "".join(re.findall(r"<(?:path|rect|line|circle|text) [^>]*>", source))
    assert not re.search(r'[ "MLHV](nan|-?inf)', drawn)
