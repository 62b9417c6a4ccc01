"""Findings of any problem, in which every text from outside is what a test wants; and a strict reader of pages."""

from html.parser import HTMLParser
from typing import Any

import numpy as np

from palmette.automl.artefacts import (
    Assembly,
    Assessment,
    Choice,
    CodeRepair,
    Comparison,
    ConstraintResult,
    DataPlan,
    Estimate,
    FeatureImportance,
    Latency,
    LeaderboardRow,
    Plan,
    Plans,
    Proposal,
    Score,
    TrackRun,
)
from palmette.automl.candidates import Blueprint, Candidate, ChosenMember, ColumnUse, Cost, Selection
from palmette.automl.measure import metrics
from palmette.automl.measure.metrics import Predictions
from palmette.automl.plots import Figure
from palmette.automl.problems.clustering.problem import in_the_plane, of_numbers
from palmette.automl.problems.problem import ColumnByCluster, ReportData
from palmette.automl.profile import ColumnProfile, Frequent, Leak, LeakDecision, NumberFacts, Profile, TargetProfile
from palmette.automl.report.findings import ReportFindings
from palmette.automl.samples import DataFile, Reading, SampleColumn, Samples
from palmette.automl.samples import Repair as DataRepair
from palmette.automl.splitting.data_splits import HoldOut, SplitRequest
from palmette.automl.task_spec.spec import Constraint, FieldSource, TaskSpec
from palmette.engine import RunState, Spend
from palmette.engine.state import ActorState, Spent

METRICS = {"classification": "accuracy", "regression": "rmse", "clustering": "silhouette"}
OTHERS = {"forecasting": ("mase", "regression"), "node_classification": ("f1_macro", "classification")}
"""Other problems: their metric, and the problem whose results they have."""
BASELINES = {"classification": 0.5, "regression": 1.5, "clustering": 0.5}
ROWS = 120
NUMBERS = NumberFacts(
    mean=2, least=0, quarter=1, median=2, three_quarters=3, most=9, skew=0, outliers=0, zeros=0, whole=True,
)  # fmt: skip
VOID = {"meta", "path", "rect", "line", "circle"}
"""Elements that may be without an end."""
CANDIDATES = tuple(Candidate(name=name, learner=name) for name in ("lightgbm", "linear", "dummy"))


def findings_for(
    problem: str = "classification",
    *,
    text: str = "plain",
    classes: tuple[str, ...] = ("no", "yes"),
    columns: int = 3,
    rows: int = ROWS,
) -> ReportFindings:
    """Findings in which every text from outside is `text`, or begins with it."""
    names = [f"{text} {number}" for number in range(columns)]
    metric, shown = OTHERS.get(problem) or (METRICS[problem], problem)
    return ReportFindings(
        task=task_with(text),
        samples=samples_with(text, names),
        profile=profile_with(shown, text, names, classes, rows),
        blueprint=blueprint_with(shown, text, names, classes).model_copy(update={"problem": problem, "metric": metric}),
        assembly=Assembly(
            store="search",
            tracks=(TrackRun(track="traditional", seconds=60, candidates=3, failed=(text,)),),
            repairs=(CodeRepair(path=text, failure="other", reason=text, by="rules"),),
            seconds=62.5,
            processor_seconds=120,
        ),
        comparison=comparison_with(metric, text),
        assessment=assessment_with(metric, text, rows, BASELINES[shown], names),
        **plans_with(text),
        data=data_with(shown, text, names, classes, rows),
        state=RunState(
            actors={text: ActorState(seconds=80)},
            bill={(text, text): Spend(calls=2, input_tokens=1000, output_tokens=234, money=0.5, seconds=3.0)},
            spent=Spent(seconds=90),
        ),
    )


def task_with(text: str) -> TaskSpec:
    return TaskSpec(
        sentence=f"{text} request",
        target=f"{text} target",
        exclude=(text,),
        sources={
            "target": FieldSource(origin="flag", words="--target"),
            "exclude": FieldSource(origin="sentence", words=text),
        },
        unread=(text,),
        unmet=(text,),
    )


def samples_with(text: str, names: list[str]) -> Samples:
    column = SampleColumn(
        name=names[0], source=names[0], kind="number", dtype="float64", missing=0, distinct=9, examples=(text,),
        reading=Reading(form="native"),
    )  # fmt: skip
    file = DataFile(path=f"{text}.csv", role="train", sha256="0", format="csv", rows=600)
    repair = DataRepair(code="c", subject="s", count=1, text=text)
    return Samples(sources=(text,), files=(file,), columns=(column,), rows=600, repairs=(repair,))


def profile_with(problem: str, text: str, names: list[str], classes: tuple[str, ...], rows: int) -> Profile:
    target = f"{text} target"
    leak = Leak(code="proxy", severity="high", columns=(names[0],), text=f"{text} leaks.", evidence=text, action="ask")
    frequent = tuple(Frequent(value=name, count=50, share=0.5) for name in classes)
    targets = {
        "classification": TargetProfile(name=target, problem=problem, classes=frequent, class_count=len(classes)),
        "regression": TargetProfile(name=target, problem=problem, numbers=NUMBERS),
    }
    return Profile(
        split=SplitRequest(target=target if problem in targets else "", problem=problem),
        rows=600,
        holdout=HoldOut(
            rows=rows, training_rows=480, strategy="stratified", seed=7, digest="d" * 64, reasons=(text,)
        ),
        columns=tuple(
            ColumnProfile(
                name=name, kind="number", missing=0.25, distinct=9, numbers=NUMBERS, rank=place, error_reduction=0.3
            )
            for place, name in enumerate(names, start=1)
        ),
        target=targets.get(problem),
        duplicates=4,
        meta={},
        leaks=(leak,),
        decisions=(LeakDecision(code="proxy", columns=leak.columns, done="kept", by="default"),),
    )  # fmt: skip


def assessment_with(metric: str, text: str, rows: int, baseline: float, names: list[str]) -> Assessment:
    latency = Constraint(quantity="latency", comparison="<=", value=0.02, words=text)
    time = Constraint(quantity="training_time", comparison="<=", value=60, words=text)
    return Assessment(
        rows=rows,
        scores=(Score(metric=metric, value=0.8125, low=0.75, high=0.875, baseline=baseline),),
        better=True,
        better_reason=f"Ahead by 0.3125, {text}.",
        results=(
            ConstraintResult(constraint=latency, wish=f"{text} fast", measured="19 ms", status="partly"),
            ConstraintResult(constraint=time, wish=f"{text} soon", measured=text, status="fail"),
            ConstraintResult(wish=text, measured=text, status="pass"),
        ),
        status="fail",
        training_seconds=83,
        megabytes=2.5,
        latency=Latency(p50=19, p95=31, low=17, high=23, requests=200, batch_seconds=0.5),
        parameters=1234,
        importances=tuple(FeatureImportance(column=name, drop=0.1, deviation=0.02) for name in names),
    )


def comparison_with(metric: str, text: str) -> Comparison:
    lines = (
        ("lightgbm", 0.82, True, "traditional"),
        (text, 0.7, False, "traditional"),
        ("dummy", 0.5, False, "baseline"),
    )
    members = tuple(ChosenMember(candidate=one, weight=0.5) for one in CANDIDATES[:2])
    return Comparison(
        selection=Selection(metric=metric, score=0.82, members=members, best_single="lightgbm", apparent_score=0.82),
        leaderboard=tuple(
            LeaderboardRow(
                name=name, track=track, learner=name, score=score, low=score - 0.05, high=score + 0.05,
                error_reduction=0.6, seconds=3.25, chosen=chosen,
            )
            for name, score, chosen, track in lines
        ),
        reason=text,
        package="package",
        baseline="",
        files=(),
        fit_seconds=1.5,
    )  # fmt: skip


def plans_with(text: str) -> dict[str, Any]:
    plans = [Plan(name=f"{text} {letter}", idea=text, candidates=CANDIDATES) for letter in "ab"]
    data = DataPlan(treatments=())
    estimate = Estimate(candidate=CANDIDATES[0], cost=Cost(1, 1, 1))
    return {
        "plans": Plans(plans=tuple(plans)),
        "choice": Choice(
            proposal=Proposal(plan=plans[0], data=data, estimates=(estimate,)),
            reason=text,
            rejected={plans[1].name: text},
        ),
    }


def blueprint_with(problem: str, text: str, names: list[str], classes: tuple[str, ...]) -> Blueprint:
    return Blueprint(
        package="model",
        title=text,
        problem=problem,
        target="" if problem == "clustering" else f"{text} target",
        metric=METRICS[problem],
        classes=classes if problem == "classification" else (),
        rows=480,
        columns=tuple(ColumnUse(name=name, kind="number", examples=(1.0, 2.0)) for name in names[1:] or names),
        dropped={names[0]: text} if len(names) > 1 else {},
        candidates=CANDIDATES,
        seconds=60,
    )


def drawn_clusters(places: np.ndarray, labels: np.ndarray) -> tuple[Figure, ...]:
    scores = of_numbers(metrics.METRICS["silhouette"], {2: 0.5, 3: 0.4})
    return scores, in_the_plane(places, labels.astype(np.intp))


def data_with(problem: str, text: str, names: list[str], classes: tuple[str, ...], rows: int) -> ReportData:
    random = np.random.default_rng(0)
    places = random.integers(0, len(classes), rows)
    values = random.normal(100, 20, rows)
    probabilities = random.dirichlet(np.ones(len(classes)), rows) + 2 * np.eye(len(classes))[places]
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    answers = Predictions(np.array(classes)[probabilities.argmax(axis=1)], probabilities, classes)
    columns = tuple(ColumnByCluster(name, "median", (text, text), 0.5) for name in names)
    return ReportData(
        truth={"classification": np.array(classes)[places], "regression": values}.get(problem),
        predictions={"classification": answers, "regression": Predictions(values + 3)}.get(problem),
        figures=drawn_clusters(random.normal(size=(rows, 2)), places) if problem == "clustering" else (),
        sizes=(70, 50) if problem == "clustering" else (),
        columns=columns if problem == "clustering" else (),
    )


class Page(HTMLParser):
    """A page, read strictly: every element is closed, every attribute is known to do no harm."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.sections: dict[str, str] = {}
        self.text = ""
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "section":
            self.sections[str(dict(attrs)["id"])] = ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data
        if "section" in self.open:
            last = list(self.sections)[-1]
            self.sections[last] += data
