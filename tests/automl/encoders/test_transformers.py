"""Transformers that are delivered: what they make of rows, and that scikit-learn's own checks pass."""

import ast
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from small_packages import blueprint_of

import palmette.automl
from palmette.automl.calls import build
from palmette.automl.candidates import ColumnUse, Derived
from palmette.automl.composition import reader_of
from palmette.automl.encoders.derived import datetime_parts
from palmette.automl.encoders.text.text_features import OneSidedWords, TextOverlap, Words
from palmette.automl.encoders.transformers import CrossFittedScores, SquashingScaler, features_of, read_once


@parametrize_with_checks([SquashingScaler()])
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_derived_features() -> None:
    rows = pd.DataFrame({"a": [6.0, 1.0, np.nan], "b": [2.0, 0.0, 1.0]})
    rows["from"], rows["until"] = pd.Timestamp(2024, 1, 1), [pd.Timestamp(2024, 1, 2, 12), pd.NaT, pd.NaT]
    columns = tuple(
        ColumnUse(name=name, kind=kind)
        for name, kind in zip(rows, ["number", "number", "datetime", "datetime"], strict=True)
    )
    wanted = [("each", "ratio", "a b"), ("total", "sum", "a b"), ("stay", "elapsed", "from until")]
    wanted += [("gone", "missing", "a b"), ("scale", "log", "a")]
    derived = [Derived(name=n, operation=o, columns=tuple(c.split()), reason="r") for n, o, c in wanted]
    made = build(reader_of(blueprint_of("regression", columns=columns, derived=tuple(derived)))).fit_transform(rows)
    nothing = float("nan")
    expected = {
        "each": [3, nothing, nothing],
        "total": [8, 1, nothing],
        "stay": [1.5, nothing, nothing],
        "gone": [0, 0, 1],
        "scale": [np.log1p(6), np.log1p(1), nothing],
    }
    pd.testing.assert_frame_equal(made[[name for name, *_ in wanted]], pd.DataFrame(expected), check_dtype=False)
    assert list(made.columns[:4]) == list(rows.columns)


def test_parts_of_timestamps() -> None:
    rows = pd.DataFrame({"at": [pd.Timestamp(2024, 2, 29, 13, 30), pd.NaT]})
    made = datetime_parts(rows, {"at": ["month", "day", "weekday", "hour", "days"]})
    assert made.iloc[0].tolist() == [2, 29, 3, 13.5, pytest.approx(19782.5625)]
    assert made.iloc[1].isna().all()


def test_a_training_row_does_not_see_its_own_target() -> None:
    random = np.random.default_rng(0)
    texts, target = [f"unique{place} word" for place in range(100)], random.integers(0, 2, 100)
    for features, alpha in ((Words().fit_transform(texts), 1.0), (random.normal(size=(100, 300)), None)):
        scores = CrossFittedScores("classes", alpha).fit_transform(features, target)
        assert abs(np.corrcoef(scores[:, 0], target)[0, 1]) < 0.4


def test_a_file_that_occurs_again_is_read_and_encoded_once() -> None:
    reads, asked = [], []

    @read_once
    def numbers(cell: bytes) -> np.ndarray:
        reads.append(cell)
        return np.frombuffer(cell, dtype=np.uint8)

    def features(cells: Iterable[np.ndarray]) -> list[np.ndarray]:
        asked.extend(cells)
        return [one[:2] for one in asked]

    frame = pd.DataFrame({"file": [numbers(cell) for cell in (b"abc", b"xyz", b"abc")]})
    assert features_of(frame, features).tolist() == [[97, 98], [120, 121], [97, 98]]
    assert len(reads) == len(asked) == 2


def test_columns_of_one_kind_are_compared() -> None:
    rows = pd.DataFrame({"left": [np.array([3.0, 4.0])], "right": [np.array([6.0, 8.0])]})
    assert features_of(rows, list).tolist() == [[3, 4, 6, 8, 3, 4, 18, 32, 1]]


def test_pairs_of_texts() -> None:
    rows = pd.DataFrame({"a": ["a man runs", "ein Hund"], "b": ["a man sleeps", "ein Hund"]})
    found = TextOverlap().fit(rows).transform(rows).T
    assert found[3].tolist() == [0.5, 1.0] and found[0, 1] == pytest.approx(1.0)
    words = OneSidedWords().fit(rows)
    assert {*words.words_.vocabulary_} == {"first:runs", "second:sleeps", "none"}


def delivered_modules() -> list[str]:
    """Modules that define a scikit-learn class."""
    root = Path(palmette.automl.__file__).parent
    files = [file for folder in ("encoders", "learners") for file in (root / folder).rglob("*.py")]
    texts = {file: file.read_text("utf-8") for file in files}
    marks = ("BaseEstimator", "Wrapper)", "PictureFeatures)", "NetworkClassifier)", "TextVectors)", "NetworkVectors)",
             "Stateless)", "file_content")  # fmt: skip
    kept = [file for file, text in texts.items() if any(mark in text for mark in marks)]
    return sorted("palmette.automl." + ".".join(file.relative_to(root).with_suffix("").parts) for file in kept)


LIBRARIES = {
    "numpy", "pandas", "scipy", "sklearn", "torch", "PIL", "soundfile", "threadpoolctl", "lightgbm",
    "torch_geometric", "statsforecast", "safetensors", "tokenizers", "transformers", "chronos",
}  # fmt: skip
HELPERS = (
    "palmette.automl.encoders.columns",
    "palmette.automl.learners.forecasting.series",
)


@pytest.mark.parametrize("module", delivered_modules())
def test_a_delivered_module_imports_libraries_and_other_such_modules(module: str) -> None:
    names = [name for name, _ in _imports(module)]
    own = {name for name in names if name.startswith("palmette.")}
    assert own <= {*delivered_modules(), *HELPERS}
    others = {name.partition(".")[0] for name in names} - {"palmette"}
    assert others <= LIBRARIES | sys.stdlib_module_names


def test_names_of_delivered_definitions_are_unique() -> None:
    """They are copied into one module."""
    modules = [*delivered_modules(), *HELPERS]
    names = Counter(name for module in modules for name in _defined(module))
    assert not [name for name, count in names.items() if count > 1]


def _tree(module: str) -> ast.Module:
    found = importlib.util.find_spec(module)
    assert found and found.origin
    return ast.parse(Path(found.origin).read_text("utf-8"))


def _imports(module: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", one.name) for one in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.name, "") for one in node.names)


def _defined(module: str) -> Iterator[str]:
    for node in _tree(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
