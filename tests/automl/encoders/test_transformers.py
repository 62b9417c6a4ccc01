"""Transformers that are delivered: what they make of rows, and that scikit-learn's own checks pass."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import palmette.automl
from palmette.automl.encoders.category.category_codes import CategoryCodes
from palmette.automl.encoders.datetime.datetime_parts import DatetimeParts
from palmette.automl.encoders.derived import DerivedFeatures
from palmette.automl.encoders.scaling import SquashingScaler
from palmette.automl.encoders.text.text_features import TextScores
from palmette.automl.encoders.text.text_pairs import OneSidedWords, TextOverlap


@parametrize_with_checks([SquashingScaler(), CategoryCodes()])
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_categories_are_ranked_by_frequency() -> None:
    seen = np.array([["b"], ["a"], ["b"], [None], ["c"], ["a"], ["b"]], dtype=object)
    codes = CategoryCodes().fit(seen)
    assert codes.transform(np.array([["b"], ["a"], ["c"]], dtype=object)).ravel().tolist() == [0, 1, 2]
    assert np.isnan(codes.transform(np.array([["unseen"], [None]], dtype=object))).all()


def test_of_many_categories_those_of_one_row_are_dropped() -> None:
    seen = np.array([["often"]] * 2 + [[f"c{place}"] for place in range(40)], dtype=object)
    made = CategoryCodes().fit_transform(seen)
    assert made[:2].ravel().tolist() == [0, 0] and np.isnan(made[2:]).all()


def test_derived_features() -> None:
    rows = pd.DataFrame({"a": [6.0, 1.0, np.nan], "b": [2.0, 0.0, 1.0]})
    rows["from"], rows["until"] = pd.Timestamp(2024, 1, 1), [pd.Timestamp(2024, 1, 2, 12), pd.NaT, pd.NaT]
    features = {
        "each": ("ratio", ["a", "b"]),
        "total": ("sum", ["a", "b"]),
        "stay": ("elapsed", ["from", "until"]),
        "gone": ("missing", ["a", "b"]),
        "scale": ("log", ["a"]),
    }
    made = DerivedFeatures(features).fit_transform(rows)
    nothing = float("nan")
    expected = {
        "each": [3, nothing, nothing],
        "total": [8, 1, nothing],
        "stay": [1.5, nothing, nothing],
        "gone": [0, 0, 1],
        "scale": [np.log1p(6), np.log1p(1), nothing],
    }
    pd.testing.assert_frame_equal(made[list(features)], pd.DataFrame(expected), check_dtype=False)
    assert list(made.columns[:4]) == list(rows.columns)


def test_parts_of_timestamps() -> None:
    rows = pd.DataFrame({"at": [pd.Timestamp(2024, 2, 29, 13, 30), pd.NaT]})
    made = DatetimeParts({"at": ["month", "day", "weekday", "hour", "days"]}).fit_transform(rows)
    assert made.iloc[0].tolist() == [2, 29, 3, 13.5, pytest.approx(19782.5625)]
    assert made.iloc[1].isna().all()


def test_a_training_row_does_not_see_its_own_target() -> None:
    random = np.random.default_rng(0)
    texts, target = [f"unique{place} word" for place in range(100)], random.integers(0, 2, 100)
    scores = TextScores("classes").fit_transform(texts, target)
    assert abs(np.corrcoef(scores[:, 0], target)[0, 1]) < 0.4


def test_pairs_of_texts() -> None:
    rows = pd.DataFrame({"a": ["a man runs", "ein Hund"], "b": ["a man sleeps", "ein Hund"]})
    overlap = TextOverlap().fit(rows)
    named = dict(zip(overlap.get_feature_names_out(), overlap.transform(rows).T, strict=True))
    assert named["jaccard"].tolist() == [0.5, 1.0] and named["cosine"][1] == pytest.approx(1.0)
    words = OneSidedWords().fit(rows)
    assert {*words.get_feature_names_out()} == {"first:runs", "second:sleeps", "none"}


def delivered_modules() -> list[str]:
    """Modules that define a scikit-learn class."""
    root = Path(palmette.automl.__file__).parent
    files = [file for folder in ("encoders", "learners") for file in (root / folder).rglob("*.py")]
    texts = {file: file.read_text("utf-8") for file in files}
    kept = [file for file, text in texts.items() if "BaseEstimator" in text or "Wrapper)" in text]
    return sorted("palmette.automl." + ".".join(file.relative_to(root).with_suffix("").parts) for file in kept)


LIBRARIES = {"numpy", "pandas", "scipy", "sklearn", "torch", "autogluon"}


@pytest.mark.parametrize("module", delivered_modules())
def test_a_delivered_module_imports_libraries_and_other_such_modules(module: str) -> None:
    names = [name for name, _ in _imports(module)]
    own = {name for name in names if name.startswith("palmette.")}
    assert own <= {*delivered_modules(), "palmette.automl.learners.neural.network_layers"}
    others = {name.partition(".")[0] for name in names} - {"palmette"}
    assert others <= LIBRARIES | sys.stdlib_module_names


def test_names_of_delivered_definitions_are_unique() -> None:
    """They are copied into one module."""
    modules = [*delivered_modules(), "palmette.automl.learners.neural.network_layers"]
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
