"""Features of transformers that learn nothing are computed once, and kept by content."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")

from palmette.automl.calls import Call, build, function_step, pipeline  # noqa: E402 - as above
from palmette.automl.search import stored_features  # noqa: E402 - as above
from palmette.automl.search.stored_features import FeatureMemory, sampled_seconds, with_stored  # noqa: E402 - as above

THUMBNAILS = Call("palmette.automl.encoders.image.pictures.Thumbnails", {"size": 2})
SCALED = pipeline(("pixels", THUMBNAILS), ("scale", Call("sklearn.preprocessing.StandardScaler")))
ENCODER = Call("sklearn.compose.ColumnTransformer", {"transformers": [("image", SCALED, ["photo"])]})


@pytest.fixture
def frame() -> Any:
    random = np.random.default_rng(0)
    pictures = [random.integers(0, 255, (8, 8, 3), dtype=np.uint8) for _ in range(50)]
    return pd.DataFrame({"photo": pd.Series(pictures, dtype=object)})


def test_folds_have_the_features_that_they_would_have(frame: Any, tmp_path: Path) -> None:
    plain, stored = build(ENCODER), build(with_stored(ENCODER, frame, tmp_path))
    train, rest = frame[frame.index % 5 > 0], frame[frame.index % 5 == 0]
    assert np.allclose(plain.fit_transform(train), stored.fit_transform(train))
    assert np.allclose(plain.transform(rest), stored.transform(rest))


def test_nothing_is_computed_twice(frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stored(ENCODER, frame, tmp_path)
    monkeypatch.setattr(stored_features, "_locked", lambda *_: pytest.fail("computed again"))
    with_stored(ENCODER, frame, tmp_path)


def test_a_piece_of_a_worker_that_ended_is_computed(
    frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_features, "PIECE", 32)
    with_stored(ENCODER, frame, tmp_path)
    (name,) = (path.stem for path in tmp_path.glob("*.json"))
    (tmp_path / f"{name}.npy").unlink()
    (tmp_path / f"{name}-32.npy").unlink()
    with_stored(ENCODER, frame, tmp_path)
    assert np.load(tmp_path / f"{name}.npy").shape == (50, 12)


def test_features_are_kept_by_content(frame: Any, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with_stored(ENCODER, frame, first)
    memory, paths = FeatureMemory(), pd.DataFrame({"photo": [f"{place}.png" for place in range(50)]})
    memory.keep(paths, first)
    memory.lay_out(paths.iloc[[7, 3]], second)
    (whole,) = (path.with_suffix(".npy") for path in first.glob("*.json"))
    assert np.array_equal(np.load(second / whole.name), np.load(whole)[[7, 3]])
    memory.lay_out(pd.DataFrame({"photo": ["3.png", "new.png"]}), second)
    assert len(np.load(second / whole.name)) == 2, "not of some rows alone"
    assert json.loads(next(first.glob("*.json")).read_text("utf-8")) == ["photo"]


def test_transformers_that_learn_stay_as_they_are(frame: Any, tmp_path: Path) -> None:
    scale = [("n", Call("sklearn.preprocessing.StandardScaler"), ["size"])]
    encoder = Call("sklearn.compose.ColumnTransformer", {"transformers": scale})
    assert with_stored(encoder, frame, tmp_path) == encoder


def test_a_sample_measures_all_rows(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([97.0, 100.0, 102.0])
    monkeypatch.setattr(stored_features, "TIMED", 10)
    monkeypatch.setattr(stored_features.time, "monotonic", lambda: next(clock))
    assert sampled_seconds(ENCODER, frame) == (3.0, 2.0 * 50 / 10), "weights are read once"


def test_texts_that_are_repeated_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_features, "TIMED", 2)
    clock = iter([0.0, 0.5, 1.5])
    monkeypatch.setattr(stored_features.time, "monotonic", lambda: next(clock))
    statistics = function_step(stored_features.STORED, file="none.npy")
    monkeypatch.setattr(stored_features, "_parts", lambda _: [("a", stored_features._Part(statistics, ["text"]))])
    np.save(tmp_path / "none.npy", np.zeros((6, 1)))
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame({"text": ["one", "two", "one", "two", "one", "three"]})
    assert sampled_seconds(ENCODER, rows) == (0.5, 1.5)
