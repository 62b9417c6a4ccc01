"""Blueprint and candidate become estimators: which encoders and learners, in which order."""

from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

import numpy as np
import pandas as pd
import pytest

from palmette.automl.calls import Call, build, paths_of, source
from palmette.automl.candidates import Blueprint, Candidate, ColumnUse, Derived, Strategy
from palmette.automl.composition import (
    available_learners,
    encoder_named,
    encoder_of,
    facts_of,
    learner_named,
    learner_of,
    meant,
    reader_of,
    unavailable,
    usual_encoder,
)
from palmette.automl.encoders.derived import first_numbers
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.samples import Reading

COLUMNS = (
    ColumnUse(name="age", kind="number"),
    ColumnUse(name="price", source="Price", kind="number", reading=Reading(form="number", thousands=",", affix="$")),
    ColumnUse(name="colour", kind="category", categories=("red", "blue")),
    ColumnUse(name="zip", kind="category", examples=("00501", "10025")),
    ColumnUse(name="member", kind="boolean"),
    ColumnUse(name="since", kind="datetime", parts=("month", "days")),
)
TITLE = ColumnUse(name="title", kind="text", words=3.0, examples=("a short one", "another short one"))
ROWS = pd.DataFrame(
    {
        "age": [30, 41, None, 25],
        "Price": ["$1,000", "$20", "$7", None],
        "colour": ["red", "blue", None, "red"],
        "zip": [501, 10025, 501, 10025],
        "member": ["yes", "no", None, "yes"],
        "since": ["2024-01-31", None, "2024-03-01", "2023-12-24"],
    }
)


def blueprint(**given: Any) -> Blueprint:
    fields = {"problem": "classification", "target": "y", "metric": "accuracy", "classes": ("a", "b", "c")}
    dummy = (Candidate(name="dummy", learner="dummy"),)
    return Blueprint.model_validate(
        {"package": "p", "title": "t", "rows": 100, "columns": COLUMNS, "candidates": dummy, "seconds": 5}
        | fields
        | given
    )


def steps(call: Call) -> Mapping[str, list[str]]:
    """The columns of each part."""
    return {name: columns for name, _, columns in call.arguments["transformers"]}


def test_columns_are_read_and_derived() -> None:
    ratio = Derived(name="each", operation="ratio", columns=("price", "age"), reason="Price for each year.")
    reader = reader_of(blueprint(derived=(ratio,)))
    made = build(reader).fit_transform(ROWS)
    assert made["each"].tolist()[0] == pytest.approx(1000 / 30) and made["zip"].tolist()[0] == "00501"
    pd.testing.assert_frame_equal(build(reader).fit_transform(made), made)
    assert "derived" in source(reader) and "Price" in source(reader)


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        ("lightgbm", {"number": ["age", "price", "member"], "datetime": ["since"], "category": ["colour", "zip"]}),
        (
            "linear",
            {
                "number": ["age", "price", "member"],
                "datetime": ["since"],
                "category_few": ["colour"],
                "category_many": ["zip"],
            },
        ),
    ],
)
def test_each_kind_has_the_usual_encoder_of_the_layout(learner: str, expected: Mapping[str, list[str]]) -> None:
    assert steps(encoder_of(Candidate(name="c", learner=learner), blueprint())) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(30, "image_shapes_scores"), (300, "image_scores")])
def test_pictures_beside_numbers_are_encoded_as_well_as_the_budget_allows(seconds: float, expected: str) -> None:
    facts = DataFacts(340, 65, "regression", 1, 0, "rmsle", 8, ("number", *("image",) * 4), seconds=seconds)
    chosen = usual_encoder("image", "tree", facts)
    assert chosen is not None and chosen.name == expected


def test_a_candidate_may_name_encoders() -> None:
    named = Candidate(name="c", learner="linear", encoders={"number": "number_splines"})
    paths = [*paths_of(encoder_of(named, blueprint()))]
    assert "sklearn.preprocessing.SplineTransformer" in paths


def test_categorical_features_are_declared_by_their_place() -> None:
    candidate, drawn = Candidate(name="c", learner="lightgbm"), blueprint()
    places = learner_of(candidate, drawn).arguments["categorical_column"]
    encoder = build(encoder_of(candidate, drawn))
    encoder.fit(build(reader_of(drawn)).transform(ROWS), ["a", "b", "c", "a"])
    assert encoder.output_indices_["category"] == slice(places[0], places[0] + 2) and len(places) == 2


def test_own_features_come_last_and_are_scaled_where_the_layout_asks_for_it() -> None:
    own = Candidate(name="c", learner="linear", features="own_features.Distance")
    name, transformer, columns = encoder_of(own, blueprint()).arguments["transformers"][-1]
    assert (name, columns) == ("own", [one.name for one in COLUMNS])
    assert next(step for step, _ in transformer.arguments["steps"]) == "features"
    tree = encoder_of(own.model_copy(update={"learner": "xgboost"}), blueprint()).arguments["transformers"][-1]
    assert tree[1] == Call("own_features.Distance")


@pytest.mark.parametrize(
    ("strategy", "how"),
    [
        (Strategy(), None),
        (Strategy(balance="weights"), "weights"),
        (Strategy(balance="undersample"), "undersample"),
    ],
)
def test_the_strategy_is_around_the_learner(strategy: Strategy, how: str | None) -> None:
    call = learner_of(Candidate(name="c", learner="extra_trees", strategy=strategy), blueprint())
    assert call.arguments.get("how") == how and (call.short == "Rebalanced") == (how is not None)


@pytest.mark.parametrize(
    ("metric", "loss"),
    [("mae", "regression_l1"), ("rmse", None)],
)
def test_the_loss_follows_the_metric(metric: str, loss: str | None) -> None:
    drawn = blueprint(problem="regression", metric=metric, classes=(), columns=COLUMNS[:2])
    assert learner_of(Candidate(name="c", learner="lightgbm"), drawn).arguments.get("objective") == loss


def test_text_brings_learners_of_its_own_and_nothing_else_changes() -> None:
    plain = available_learners("classification", ["number"], ["traditional"], 100)
    beside = available_learners("classification", ["number", "text"], ["traditional"], 100)
    assert {*beside} - {*plain} == {"nb_svm", "ridge_classifier", "linear_svc", "svc"}
    if not encoder_named("text_static").unavailable():
        assert "linear" in available_learners("classification", ["text"], ["pretrained"], 100)
        assert "linear" not in available_learners("classification", ["number"], ["pretrained"], 100)
    assert {*available_learners("regression", ["text"], ["traditional"], 100)} >= {"linear", "lightgbm"}
    drawn = blueprint(columns=(*COLUMNS, TITLE))
    assert facts_of(drawn).words == 3.0
    characters = Candidate(name="c", learner="linear", encoders={"text": "text_characters"})
    assert list(steps(encoder_of(Candidate(name="c", learner="linear"), drawn)))[-1] == "text_all_words"
    assert list(steps(encoder_of(characters, drawn)))[-2:] == ["text_all_words", "text_all_characters"]


def test_beside_texts_categories_are_read_as_words_and_numbers() -> None:
    length = ColumnUse(name="length", kind="category", examples=("90 min", "2 seasons"))
    found = steps(encoder_of(Candidate(name="c", learner="lightgbm"), blueprint(columns=(*COLUMNS, length, TITLE))))
    assert found["category_codes"] == ["colour"] and found["category_numbers"] == ["zip", "length"]
    assert found["text_scores_all"] == ["title", "colour", "zip", "length"]
    rows = pd.DataFrame({"length": ["90 min", None, "one", "2.5 h"]})
    assert first_numbers(rows)["length"].fillna(-1).tolist() == [90.0, -1.0, -1.0, 2.5]


def test_learners_are_ordered_and_limited_by_rows() -> None:
    found = available_learners("regression", ["number"], ["traditional"], 100)
    assert found[:2] == ("lightgbm", "xgboost") and "knn" in found and "dummy" not in found
    assert "knn" not in available_learners("regression", ["number"], ["traditional"], 50_000)
    assert available_learners("clustering", ["number"])[0] == "kmeans"


@pytest.mark.parametrize(
    ("word", "learners"),
    [
        ("lightgbm", {"lightgbm", "boosted_forecast"}),
        ("Random Forest", {"random_forest"}),
        ("gradient boosting", {"lightgbm", "xgboost", "catboost", "boosted_forecast"}),
        ("logistic regression", {"linear"}),
        ("crystal ball", set()),
    ],
)
def test_a_request_may_name_a_learner_or_a_family(word: str, learners: set[str]) -> None:
    assert meant(word) == learners


def test_a_track_that_cannot_be_used_states_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unavailable("traditional") == ""
    lacking = "palmette.automl.learners.learner.missing_requirement"
    monkeypatch.setattr(lacking, lambda requires: next(iter(requires), ""))
    assert "pip install torch" in unavailable("neural")
    assert unavailable("neural", "node_classification", ["node", "edges"]).startswith("g")  # a network of graphs
    monkeypatch.delenv("PALMETTE_MODELS", raising=False)
    assert "$PALMETTE_MODELS" in unavailable("pretrained", "classification", ["audio"])


def test_a_class_of_own_code_is_a_learner() -> None:
    own = learner_named("own_models.Spline")
    assert own.layout == "dense"
    call = learner_of(Candidate(name="c", learner="own_models.Spline", settings={"knots": 5}), blueprint())
    assert call == Call("own_models.Spline", {"knots": 5})
    assert np.isfinite(astuple(own.cost(facts_of(blueprint())))).all()
