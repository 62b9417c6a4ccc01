"""The contract of encoders: every registered one is held to it, in each layout that it serves."""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from palmette.automl.calls import Call, build, paths_of, source
from palmette.automl.candidates import ColumnUse
from palmette.automl.composition import encoder_named, usual_encoder
from palmette.automl.encoders.encoder import DataFacts, Encoder, Layout
from palmette.automl.kinds import Kind
from palmette.automl.project.vendoring import vendored
from palmette.engine.registry import names

ROWS, TRAINING = 30, 20
WORDS = ("cat", "dog", "runs", "fast", "über", "быстро", "not", "日本")


def number(random: np.random.Generator) -> pd.DataFrame:
    values = random.lognormal(3, 1, (ROWS, 2))
    values[random.random((ROWS, 2)) < 0.1] = np.nan
    values[TRAINING, 0] = 1e12
    return pd.DataFrame(values, columns=["weight", "constant"]).assign(constant=4.0, empty=np.nan)


def category(random: np.random.Generator) -> pd.DataFrame:
    few = random.choice(["red", "blue [dark]", '"green"', None], ROWS)
    many = np.array([f"street {place}" for place in random.integers(0, 60, ROWS)], dtype=object)
    few[TRAINING], many[TRAINING] = "unseen", "unseen"
    return pd.DataFrame({"few": few, "many": many}, dtype=object)


def boolean(random: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame({"member": random.choice([0.0, 1.0, np.nan], ROWS)})


def datetime(random: np.random.Generator) -> pd.DataFrame:
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 700, ROWS), unit="D")
    return pd.DataFrame({"sold": days.where(random.random(ROWS) > 0.1)})


def text(random: np.random.Generator) -> pd.DataFrame:
    def sentences() -> list[str]:
        return [" ".join(random.choice(WORDS, random.integers(0, 8))) for _ in range(ROWS)]

    frame = pd.DataFrame({"title": sentences(), "body__text": sentences()})
    frame.loc[TRAINING] = ["", "an unseen wording " * 500]
    return frame


def image(random: np.random.Generator) -> pd.DataFrame:
    """Pictures as the reader of two columns gives them; the unseen one is a pixel."""
    seen = [random.integers(0, 255, (40, 30, 3), dtype=np.uint8) for _ in range(ROWS)]
    seen[TRAINING] = np.full((1, 1, 3), 128, dtype=np.uint8)
    return pd.DataFrame({"front": pd.Series(seen, dtype=object), "back": pd.Series(seen[::-1], dtype=object)})


def audio(random: np.random.Generator) -> pd.DataFrame:
    """Waves as the reader of the column gives them; the unseen one is a moment of silence."""
    seen = [random.normal(0, 0.1, random.integers(400, 3000)).astype("float32") for _ in range(ROWS)]
    seen[TRAINING] = np.zeros(400, dtype="float32")
    return pd.DataFrame({"sound": pd.Series(seen, dtype=object)})


FRAMES = {
    "number": number, "category": category, "boolean": boolean, "datetime": datetime, "text": text, "image": image,
    "audio": audio,
}  # fmt: skip
COLUMNS = {
    "many": ColumnUse(name="many", kind="category"),
    "few": ColumnUse(name="few", kind="category", categories=("red", "blue [dark]", '"green"')),
    "sold": ColumnUse(name="sold", kind="datetime", parts=("month", "weekday", "hour", "days")),
}
TARGETS = {"binary": 2, "classes": 3, "number": 0, "none": 0}


class Case(NamedTuple):
    """An encoder at work on rows that it has not seen."""

    encoder: Encoder
    layout: Layout
    columns: list[ColumnUse]
    facts: DataFacts
    call: Any
    frame: pd.DataFrame
    target: np.ndarray | None

    def transformer(self) -> Any:
        """Fresh, of the whole frame; one for a `passthrough` or for parts of the columns is a ColumnTransformer."""
        chosen = [one.name for one in self.columns]
        call = Call("sklearn.compose.ColumnTransformer", {"transformers": [("all", self.call, chosen)]})
        return build(call)

    def learnt(self) -> Learnt:
        transformer, before = self.transformer(), self.frame.copy()
        training = transformer.fit_transform(self.frame[:TRAINING], self.target)
        made = transformer.transform(self.frame)
        pd.testing.assert_frame_equal(self.frame, before)
        return Learnt(transformer, training, made)


class Learnt(NamedTuple):
    """A fitted transformer, and what it makes of the training rows and of all rows."""

    transformer: Any
    training: Any
    made: Any


@pytest.fixture(autouse=True, scope="module")
def _networks_are_asked_once() -> Iterator[None]:
    """Of the same pictures in many cases."""
    pretrained = pytest.importorskip("palmette.automl.encoders.image.pretrained")
    asked, known = pretrained.efficientnet_lite0, dict[bytes, Any]()

    def answer(pixels: Any) -> Any:
        key = pixels.numpy().tobytes()
        return known[key] if key in known else known.setdefault(key, asked(pixels))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrained, "efficientnet_lite0", answer)
        yield


def case_of(name: str, layout: Layout, target: str) -> Case:
    encoder, random = encoder_named(name), np.random.default_rng(0)
    frame, count = FRAMES[encoder.kind](random), TARGETS[target]
    columns = [COLUMNS.get(one, ColumnUse(name=one, kind=encoder.kind)) for one in frame]
    facts = DataFacts(
        TRAINING, len(columns), "", count if count > 2 else 1, count, "", 5, (encoder.kind,), words=5.0,
        clusters=(2, 3) if target == "none" else (),
    )  # fmt: skip
    made = {"number": random.normal(size=TRAINING), "none": None}
    learnt = made[target] if target in made else random.choice(["0", "no\n", "été"][:count], TRAINING)
    return Case(encoder, layout, columns, facts, encoder.transformer(columns, layout, facts), frame, learnt)


def _cases() -> Iterator[Any]:
    """Of an encoder that learns from the target each kind of target, of another each transformer that it makes."""
    for name in names("encoder"):
        encoder = encoder_named(name)
        marks = [pytest.mark.skipif(bool(encoder.unavailable()), reason=encoder.unavailable())]
        for layout in sorted(encoder.layouts):
            targets = [one for one in TARGETS if layout != "tree" or one in ("classes", "number")]
            calls = {target: repr(case_of(name, layout, target).call) for target in reversed(targets)}
            learns = calls["classes"] != calls["number"]
            for target in targets if learns else {call: target for target, call in calls.items()}.values():
                yield pytest.param((name, layout, target), id=f"{name}-{layout}-{target}", marks=marks)


@pytest.fixture(params=_cases(), scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return case_of(*request.param)


def values_of(made: Any) -> np.ndarray:
    return np.asarray(made.toarray() if sparse.issparse(made) else made, dtype="float64")


def same(one: Any, other: Any) -> bool:
    return np.allclose(values_of(one), values_of(other), rtol=1e-6, atol=1e-9, equal_nan=True)


@pytest.fixture(scope="module")
def learnt(case: Case) -> Learnt:
    """Fitted once for all tests of the case, which leaves the rows as they are."""
    return case.learnt()


def test_features_fit_the_layout(case: Case, learnt: Learnt) -> None:
    training, made = learnt.training, learnt.made
    assert training.shape == (TRAINING, made.shape[1]) and made.shape[0] == ROWS and made.shape[1] > 0
    assert sparse.issparse(made) <= (case.layout == "sparse")
    values = values_of(made)
    assert not np.isinf(values).any()
    if case.layout != "tree":
        assert np.isfinite(values).all() and np.isfinite(values_of(training)).all()
        return
    flags = case.encoder.categorical(case.columns, case.layout, case.facts)
    assert len(flags) == values.shape[1]
    codes = values[:, np.flatnonzero(flags)]
    assert (np.isnan(codes) | ((codes >= 0) & (codes == np.floor(codes)))).all()


def test_a_row_is_encoded_as_it_is_among_others(case: Case, learnt: Learnt) -> None:
    made = values_of(learnt.made)
    for place in (0, TRAINING, ROWS - 1):
        assert same(learnt.transformer.transform(case.frame.iloc[[place]]), made[[place]])
    assert same(learnt.transformer.transform(case.frame.iloc[::-1]), made[::-1])


def test_it_can_be_stored_cloned_and_written_as_source(case: Case, learnt: Learnt) -> None:
    assert same(pickle.loads(pickle.dumps(learnt.transformer)).transform(case.frame), learnt.made)
    again = clone(learnt.transformer)
    again.fit_transform(case.frame[:TRAINING], case.target)
    assert same(again.transform(case.frame), learnt.made)
    if isinstance(case.call, Call):
        assert repr(_executed(case.call)) == repr(build(case.call))


@pytest.mark.parametrize("name", names("encoder"))
def test_it_describes_itself(name: str) -> None:
    encoder = encoder_named(name)
    assert encoder.name == name and name.startswith(encoder.kind)
    assert encoder.description.endswith(".") and encoder.layouts
    facts = DataFacts(1000, 10, "", 1, 0, "", 5, (encoder.kind,), words=20.0)
    assert 0 <= encoder.seconds(facts) < math.inf


def test_pairs_of_words_are_counted_in_short_texts_only() -> None:
    case = case_of("text_tfidf", "sparse", "classes")
    long = case.encoder.transformer(case.columns, case.layout, replace(case.facts, words=5000.0))
    assert "(1, 2)" in repr(case.call) and "(1, 2)" not in repr(long)


@pytest.mark.parametrize("layout", [one for one in get_args(Layout) if one != "rows"])
@pytest.mark.parametrize("kind", FRAMES)
def test_one_encoder_is_usual(kind: Kind, layout: Layout) -> None:
    found = [one for one in map(encoder_named, names("encoder")) if one.usual and one.kind == kind]
    assert len([one for one in found if layout in one.layouts]) == 1
    assert usual_encoder(kind, layout)


def _executed(call: Call) -> Any:
    space: dict[str, Any] = {"np": np}
    for path in paths_of(call):
        module, _, name = path.rpartition(".")
        exec(f"from {module} import {name}", space)
    exec(vendored([call]), vars(sys.modules.setdefault("components", ModuleType("components"))))
    return eval(source(call), space)
