"""The contract of learners: every registered one that is installed is held to it, in each problem that it solves."""

import pickle
import re
import sys
import time
import warnings
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import optuna
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, adjusted_rand_score, r2_score
from sklearn.utils.validation import has_fit_parameter

from palmette.automl.calls import Call, build, paths_of, source
from palmette.automl.candidates import Candidate
from palmette.automl.composition import learner_named, learners
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.kinds import missing_requirement
from palmette.automl.learners.graph.nodes import Nodes, linked
from palmette.automl.learners.learner import FoldData, Learner, TrainingSetup
from palmette.automl.project.vendoring import vendored
from palmette.engine.registry import names

ROWS, TRAINING = 150, 100
CATEGORICAL = (False, False, False, True)
CLASSES = {"binary": ["no\n", "été"], "classes": ["0", "1.5", 'a "b"'], "number": [], "clusters": []}
CLASSES["nodes"] = CLASSES["classes"]
PROBLEMS = {
    "binary": "classification",
    "classes": "classification",
    "number": "regression",
    "clusters": "clustering",
    "nodes": "node_classification",
}


class Case(NamedTuple):
    """A learner and data that it can learn: rows of three groups, two numbers of which tell the group."""

    key: tuple[str, str]
    """The learner's name, and the kind of target."""
    learner: Learner
    setup: TrainingSetup
    rows: Any
    target: np.ndarray | None
    groups: np.ndarray

    def call(self, rounds: int | None = None, **settings: Any) -> Call:
        """As the learner starts, but of a network the narrowest that is searched."""
        narrow = {name: one.low for name, one in self.learner.ranges(self.setup.facts).items() if name == "width"}
        return self.learner.estimator({**self.start.settings, **narrow, **settings}, self.setup, rounds)

    @property
    def start(self) -> Any:
        return self.learner.portfolio(self.setup.facts)[0]

    def fold(self) -> FoldData:
        if self.target is None:
            return FoldData(self.rows[:TRAINING], None, self.rows[TRAINING:], None)
        seen, rest = self.target[:TRAINING], self.target[TRAINING:]
        return FoldData(self.rows[:TRAINING], seen, self.rows[TRAINING:], rest)

    def fit(self, estimator: Any, seconds: float = 60.0) -> int | None:
        return self.learner.fit(estimator, self.fold(), time.monotonic() + seconds)

    def score(self, estimator: Any) -> float:
        """Of rows that it has not seen."""
        said = estimator.predict(self.rows[TRAINING:])
        if self.target is None:
            return float(adjusted_rand_score(self.groups[TRAINING:], said))
        judge = accuracy_score if self.setup.facts.classes else r2_score
        return float(judge(self.target[TRAINING:], said))


@cache
def made(name: str, kind: str) -> Case:
    learner, random = learner_named(name), np.random.default_rng(0)
    groups = random.permutation(np.arange(ROWS) % 3)
    rows = random.normal(0, 0.15 if kind == "clusters" else 0.5, (ROWS, 4)) + groups[:, None] * [1.0, 1.0, 0.0, 0.0]
    if kind == "clusters":
        rows *= [9.0, 9.0, 0.1, 0.1]
    else:
        rows[:, 3] = random.integers(0, 4, ROWS)
    if learner.layout == "tree":
        rows[random.random(ROWS) < 0.1, 2] = np.nan
        rows[random.random(ROWS) < 0.1, 3] = np.nan
    matrix = sparse.csr_matrix(rows) if learner.layout == "sparse" else rows
    matrix = Nodes(sparse.csr_array(rows), among(groups), np.arange(ROWS)) if kind == "nodes" else matrix
    count = len(CLASSES[kind])
    target = {"clusters": None, "number": groups + rows[:, 0]}.get(kind, np.minimum(groups, count - 1))
    facts = DataFacts(
        TRAINING, 4, PROBLEMS[kind], count if count > 2 else 1, count, "rmse", 5, ("number", *learner.kinds),
        clusters=(3,) if kind == "clusters" else (), words=20.0 if "text" in learner.kinds else 0.0,
    )  # fmt: skip
    setup = TrainingSetup(facts, categorical=CATEGORICAL if learner.layout == "tree" else ())
    return Case((name, kind), learner, setup, matrix, target, groups)


def among(groups: np.ndarray) -> Any:
    """A graph in which each node has two neighbours of its group."""
    lists: list[list[int]] = [[] for _ in groups]
    for group in np.unique(groups):
        inside = np.flatnonzero(groups == group)
        for one, other in zip(inside, np.roll(inside, 1), strict=True):
            lists[one] = [int(other)]
    return linked(range(len(groups)), lists)


def _cases() -> Iterator[Any]:
    for name in names("learner"):
        learner = learner_named(name)
        marks = [pytest.mark.skipif(bool(missing_requirement(learner.requires)), reason=f"{learner.requires}")]
        if learner.layout == "rows":  # it reads cells: see test_network_folders.py
            continue
        same = "binary" if learner.track == "neural" else ""  # a network of two classes is one of any number
        for kind in (one for one in PROBLEMS if PROBLEMS[one] in learner.problems and one != same):
            yield pytest.param((name, kind), id=f"{name}-{kind}", marks=marks)


@pytest.fixture(params=_cases())
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield made(*request.param)


@cache
def learnt(name: str, kind: str) -> tuple[Any, int | None]:
    """An estimator that was fitted with validation rows, and its rounds."""
    case = made(name, kind)
    estimator = build(case.call())
    return estimator, case.fit(estimator)


def outputs(estimator: Any, rows: Any) -> np.ndarray:
    return np.asarray((getattr(estimator, "predict_proba", None) or estimator.predict)(rows), dtype="float64")


def test_it_learns_in_steps_that_can_be_repeated(case: Case) -> None:
    estimator, rounds = learnt(*case.key)
    assert rounds is None or rounds >= 1
    again, refitted = build(case.call(rounds)), build(case.call(rounds))
    again.fit(case.fold().train, *([] if case.target is None else [case.fold().target]))
    steps = case.fit(refitted, seconds=0.3)
    assert rounds is None or 1 <= (steps or 0) <= rounds, "with validation rows, and yet so many steps at most"
    if case.learner.name != "dummy":
        assert case.score(estimator) > 0.6 and case.score(again) > 0.6


def test_predictions_are_of_every_class_and_row(case: Case) -> None:
    (estimator, _), facts = learnt(*case.key), case.setup.facts
    found = outputs(estimator, case.rows)
    assert found.shape == (ROWS, facts.classes) if facts.classes else len(found) == ROWS
    assert np.isfinite(found).all()
    if facts.classes:
        assert (found >= 0).all() and np.allclose(found.sum(axis=1), 1, atol=1e-5)
        assert list(estimator.classes_) == list(range(facts.classes))
    one = outputs(estimator, case.rows[7:8])
    assert np.allclose(one, found[7:8], rtol=1e-4, atol=1e-6)
    assert np.allclose(outputs(pickle.loads(pickle.dumps(estimator)), case.rows), found, rtol=1e-6)


def test_classes_may_have_any_names(case: Case) -> None:
    if not case.setup.facts.classes:
        pytest.skip("without classes")
    classes = CLASSES["binary" if case.setup.facts.classes == 2 else "classes"]
    target = np.array(classes, dtype=object)[case.fold().target]
    estimator = build(case.call(rounds=3)).fit(case.fold().train, target)
    assert list(estimator.classes_) == sorted(classes)
    assert {*np.ravel(estimator.predict(case.rows))} <= {*classes}


def test_it_is_cloned_and_written_as_source(case: Case) -> None:
    call = case.call(rounds=5)
    space: dict[str, Any] = {"np": np}
    for path in paths_of(call):
        module, _, name = path.rpartition(".")
        exec(f"from {module} import {name}", space)
    one, other = build(call), clone(build(call))
    assert repr(eval(source(call), space)) == repr(one) == repr(other)
    exec(vendored([call]), vars(sys.modules.setdefault("components", ModuleType("components"))))
    fold = case.fold()
    for estimator in (one, other):
        estimator.fit(fold.train, *([] if fold.target is None else [fold.target]))
    assert np.allclose(outputs(one, case.rows), outputs(other, case.rows), rtol=1e-6)


def test_it_ends_in_time(case: Case) -> None:
    estimator, started = build(case.call()), time.monotonic()
    case.fit(estimator, seconds=-1.0)
    assert time.monotonic() - started < 10
    assert len(outputs(estimator, case.rows)) == ROWS


def test_settings_that_are_searched_are_accepted(case: Case) -> None:
    learner, facts = case.learner, case.setup.facts
    ranges = learner.ranges(facts)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    found = learner.space(study.ask(), facts)
    assert not [name for name, value in found.items() if ranges[name].objection(value)]
    case.fit(build(case.call(**found)), seconds=1.0)
    assert {*found} <= {*ranges} and {*found} <= {*learner.settings()}


def test_starting_points_are_candidates(case: Case) -> None:
    learner, facts = case.learner, case.setup.facts
    starts = learner.portfolio(facts)
    assert len({one.name for one in starts}) == len(starts) > 0
    for one in starts:
        assert one.name.startswith(learner.name) and one.reason
        Candidate(name=one.name, learner=learner.name, settings=one.settings, encoders=one.encoders)
        assert {*one.settings} <= {*learner.ranges(facts)} | {"n_clusters"}
        build(learner.estimator(one.settings, case.setup))


def test_weights_count(case: Case) -> None:
    """Each row occurs with two classes, and the one of little weight does not matter."""
    estimator, fold = build(case.call()), case.fold()
    if (
        not case.setup.facts.classes
        or not has_fit_parameter(estimator, "sample_weight")
        or case.learner.name == "dummy"
    ):
        pytest.skip("takes no weights")
    stacked = sparse.vstack if sparse.issparse(fold.train) else np.vstack
    twice, other = stacked([fold.train, fold.train]), (fold.target + 1) % case.setup.facts.classes
    if sparse.issparse(twice):
        twice = twice.tocsr()
    weights = np.repeat([1.0, 0.01], TRAINING)
    noisy = FoldData(twice, np.concatenate([fold.target, other]), fold.valid, fold.valid_target, weights)
    case.learner.fit(estimator, noisy, time.monotonic() + 60)
    assert case.score(estimator) > 0.7


@pytest.mark.parametrize("name", names("learner"))
def test_it_describes_itself(name: str) -> None:
    learner = learner_named(name)
    assert learner.name == name and re.fullmatch(r"[a-z0-9_]+", name)
    assert learner.description.endswith(".") and learner.problems
    assert all(text and isinstance(text, str) for text in learner.settings().values())
    small, large = (DataFacts(rows, 10, "", 1, 0, "", 5, clusters=(2,)) for rows in (100, 5_000))
    cheap, dear = learner.cost(small), learner.cost(large)
    assert all(value >= 0 for cost in (cheap, dear) for value in vars(cost).values()) and cheap.seconds <= dear.seconds


def test_no_two_learners_have_the_same_place() -> None:
    facts = DataFacts(1000, 10, "", 1, 0, "", 5, ("number", "category"), clusters=(2, 3))
    apart = {"clustering", "forecasting"}
    places = [(start.rank, *(one.problems & apart)) for one in learners() for start in one.portfolio(facts)[:1]]
    assert len(set(places)) == len(places)
