"""Findings of any task, in which every text from outside is what a test wants; and a strict reader of pages."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np

from palmette.automl.artefacts import (
    Assessment,
    Choice,
    Comparison,
    CurveFact,
    DataPlan,
    Expectation,
    Insight,
    Judged,
    Knowledge,
    Plan,
    Plans,
    Proposal,
    Rejected,
    Score,
    Standing,
    TrackRun,
    Worth,
)
from palmette.automl.data import Aim, Column, DataFile, Dataset, HoldOut, Reading, Repair
from palmette.automl.evidence import Charge, Evidence, Grouping, Latency, Span, Stage, Timeline, Trait
from palmette.automl.measure import Predictions
from palmette.automl.modalities import Blueprint as AnyBlueprint
from palmette.automl.modalities import clustering, tabular
from palmette.automl.modalities.tabular import ColumnPlan, Dropped
from palmette.automl.profile import ColumnProfile, Frequent, Leak, NumberFacts, Profile, Settled, TargetProfile
from palmette.automl.report import Findings
from palmette.automl.requirements import Assumption, Constraint, Requirements
from palmette.automl.selection import Member, Selection
from palmette.engine import Spend

METRICS = {"classification": "accuracy", "regression": "rmse", "clustering": "rand"}
BASELINES = {"classification": 0.5, "regression": 1.5, "clustering": 0.5}
ROWS = 120
NUMBERS = NumberFacts(
    mean=2, deviation=1, least=0, quarter=1, median=2, three_quarters=3, most=9, skew=0, outliers=0, zeros=0,
    negative=0, whole=True,
)  # fmt: skip
VOID = {"meta", "path", "rect", "line", "circle"}
"""Elements that may be without an end."""


def findings_of(
    task: str = "classification",
    *,
    text: str = "plain",
    classes: tuple[str, ...] = ("no", "yes"),
    columns: int = 3,
    rows: int = ROWS,
) -> Findings:
    """Findings in which every text from outside is `text`, or begins with it."""
    names = [f"{text} {number}" for number in range(columns)]
    return Findings(
        requirements=Requirements(
            text=f"{text} request",
            assumptions=(Assumption(field="problem.metric", value=text, why=text),),
            unread=(text,),
        ),
        dataset=dataset_of(text, names),
        profile=profile_of(task, text, names, classes, rows),
        assessment=assessment_of(METRICS[task], text, rows, BASELINES[task], names),
        comparison=comparison_of(METRICS[task], text),
        knowledge=Knowledge(insights=(Insight(text=text, source=text, because=text),)),
        **plans_of(text),
        blueprint=blueprint_of(task, text, names, classes),
        tracks=(TrackRun(track="traditional", folder="t", seconds=60, candidates=3),),
        evidence=evidence_of(task, text, names, classes, rows),
    )


def dataset_of(text: str, names: list[str]) -> Dataset:
    column = Column(
        name=names[0], source=names[0], kind="numeric", dtype="float64", missing=0, distinct=9, examples=(text,),
        reading=Reading(form="native"),
    )  # fmt: skip
    file = DataFile(path=f"{text}.csv", role="train", sha256="0", bytes=1, format="csv", rows=600)
    repair = Repair(code="c", subject="s", count=1, text=text)
    return Dataset(places=(text,), files=(file,), columns=(column,), rows=600, repairs=(repair,))


def profile_of(task: str, text: str, names: list[str], classes: tuple[str, ...], rows: int) -> Profile:
    target = f"{text} target"
    leak = Leak(code="proxy", severity="high", columns=(names[0],), text=f"{text} leaks.", evidence=text, action="ask")
    frequent = tuple(Frequent(value=name, count=50, share=0.5) for name in classes)
    targets = {
        "classification": TargetProfile(name=target, task=task, classes=frequent, class_count=len(classes)),
        "regression": TargetProfile(name=target, task=task, numbers=NUMBERS),
    }
    return Profile(
        aim=Aim(target=target if task in targets else "", task=task),  # type: ignore[arg-type]  # as tests give it
        rows=600,
        holdout=HoldOut(
            rows=rows, training_rows=480, strategy="stratified", seed=7, digest="d" * 64, reasons=(text,)
        ),
        columns=tuple(
            ColumnProfile(name=name, kind="numeric", missing=0.25, distinct=9, numbers=NUMBERS, rank=place, skill=0.3)
            for place, name in enumerate(names, start=1)
        ),
        target=targets.get(task),
        duplicates=4,
        memory=1000,
        meta=(),
        leaks=(leak,),
        settled=(Settled(code="proxy", columns=leak.columns, done="kept", by="default"),),
        remarks=(text,),
    )


def assessment_of(metric: str, text: str, rows: int, baseline: float, names: list[str]) -> Assessment:
    constraint = Constraint(quantity="training time", comparison="<=", value=90, words=text)
    return Assessment(
        rows=rows,
        scores=(Score(metric=metric, value=0.8125, low=0.75, high=0.875, baseline=baseline),),
        judged=(Judged(constraint=constraint, wish=text, measured=text, status="fail"),),
        status="fail",
        training_seconds=83,
        megabytes=2.5,
        worths=tuple(Worth(column=name, drop=0.1, deviation=0.02) for name in names),
        curve=(CurveFact(rows=100, score=0.7), CurveFact(rows=480, score=0.82)),
    )


def comparison_of(metric: str, text: str) -> Comparison:
    member = Member(name=text, algorithm="lightgbm", settings={}, rounds=(3,), weight=1.0)
    lines = (
        ("lightgbm", 0.82, True, "traditional"),
        (text, 0.7, False, "traditional"),
        ("dummy", 0.5, False, "baseline"),
    )
    return Comparison(
        selection=Selection(metric=metric, score=0.82, members=(member,), best_single=text, single_score=0.82),
        leaderboard=tuple(
            Standing(
                name=name, track=track, algorithm=name, score=score, low=score - 0.05, high=score + 0.05, skill=0.6,
                seconds=3.25, chosen=chosen,
            )
            for name, score, chosen, track in lines
        ),
        better=True,
        reason=text,
    )  # fmt: skip


def plans_of(text: str) -> dict[str, Any]:
    plans = [Plan(name=f"{text} {letter}", idea=text, validation=text, tuning=text) for letter in "ab"]
    data = DataPlan(plan=plans[0], treatments=(), rows=480, features=3)
    candidate = Expectation(algorithm=text, score=None, seconds=1, megabytes=1, milliseconds=1, reason=text)
    return {
        "plans": Plans(plans=tuple(plans)),
        "choice": Choice(
            proposal=Proposal(data=data, candidates=(candidate,), folds=5),
            reason=text,
            rejected=(Rejected(plan=plans[1].name, reason=text),),
        ),
    }


def blueprint_of(task: str, text: str, names: list[str], classes: tuple[str, ...]) -> AnyBlueprint:
    columns = tuple(ColumnPlan(name=name, kind="numeric", examples=(1.0, 2.0)) for name in names[1:] or names)
    dropped = (Dropped(name=names[0], reason=text),) if len(names) > 1 else ()
    if task == "clustering":
        return clustering.Blueprint(title=text, rows=480, columns=columns, dropped=dropped, validation=text)
    return tabular.Blueprint(
        title=text,
        task=task,  # type: ignore[arg-type]  # as tests give it
        target=f"{text} target",
        metric=METRICS[task],
        rows=480,
        columns=columns,
        dropped=dropped,
        classes=classes if task == "classification" else (),
        validation=text,
    )


def evidence_of(task: str, text: str, names: list[str], classes: tuple[str, ...], rows: int) -> Evidence:
    random = np.random.default_rng(0)
    places = random.integers(0, len(classes), rows)
    values = random.normal(100, 20, rows)
    probabilities = random.dirichlet(np.ones(len(classes)), rows) + 2 * np.eye(len(classes))[places]
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    said = Predictions(np.array(classes)[probabilities.argmax(axis=1)], probabilities, classes)
    traits = tuple(Trait(name, "median", (text, text), 0.5) for name in names)
    drawn = places.astype(np.intp)
    grouping = Grouping((70, 50), ((2, 0.5), (3, 0.4)), random.normal(size=(rows, 2)), drawn, traits)
    return Evidence(
        truth={"classification": np.array(classes)[places], "regression": values}.get(task),
        predictions={"classification": said, "regression": Predictions(values + 3)}.get(task),
        learnt={"regression": values}.get(task),
        timeline=Timeline(90.0, (Stage(text, "assembly", (Span(1.0, 80.0),), 2, 1),), 3.0),
        bill=(Charge(text, text, Spend(calls=2, input_tokens=1000, output_tokens=234, money=0.5), 3.0),),
        latency=Latency(3.5, 9.0),
        grouping=grouping if task == "clustering" else None,
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
