"""The profile: figures of the training rows, quick, the same each time, and nothing of the hold-out in them."""

import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas", reason="pandas is not installed")

import numpy as np  # noqa: E402 - comes with pandas

from palmette.automl.kinds import kind_of  # noqa: E402 - as above
from palmette.automl.profile import Profile  # noqa: E402 - needs pandas
from palmette.automl.profile.association import LeakContext  # noqa: E402 - as above
from palmette.automl.profile.profile import frequent, profile  # noqa: E402 - as above
from palmette.automl.splitting.data_splits import SplitRequest  # noqa: E402 - as above
from palmette.automl.splitting.split import RowSplit, split  # noqa: E402 - as above

REQUEST = SplitRequest(target="y", problem="classification")


def wide(rows: int, columns: int) -> pd.DataFrame:
    """Numbers, categories and dates in equal parts, and a target of the first number."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"n{place}": random.normal(size=rows) for place in range(columns // 2)})
    for place in range(columns // 4):
        frame[f"c{place}"] = random.choice([f"v{n}" for n in range(2 + place * 20)], rows)
        frame[f"d{place}"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 10**6, rows), unit="s")
    return frame.assign(y=np.where(frame["n0"] + random.normal(size=rows) > 0, "yes", "no"))


def kinds_of(table: pd.DataFrame) -> dict[str, Any]:
    return {str(name): kind_of(table[name], str(name)) for name in table.columns}


def profiled(
    table: pd.DataFrame, problem: str = "classification", made: RowSplit | None = None, **more: Any
) -> Profile:
    kinds, request = kinds_of(table), SplitRequest(target="y" * (problem != "clustering"), problem=problem, **more)
    return profile(LeakContext(table, request, made or split(table, request, kinds), kinds))


def test_figures_are_those_of_the_training_rows() -> None:
    table = wide(1000, 8)
    made = profiled(table)
    train = table.iloc[split(table, REQUEST, {}).train]
    first = next(column for column in made.columns if column.name == "n0")
    assert first.numbers is not None and first.rank == 1 and first.mutual_information > 0.1
    assert first.numbers.mean == float(f"{train['n0'].mean():.6g}")
    assert made.target is not None and [one.count for one in made.target.classes] == list(train["y"].value_counts())
    assert made.meta["rows"] == len(train) and made.meta["category_columns"] == 2
    assert Profile.model_validate_json(made.model_dump_json()) == made == profiled(table)


def test_values_of_the_hold_out_change_no_figure() -> None:
    """But for leaks between the two parts."""
    table = wide(1000, 8)
    made = split(table, REQUEST, kinds_of(table))
    other = table.copy()
    other.loc[made.holdout, "n0"] = 1e9
    other.loc[made.holdout, "y"] = "yes"
    first, second = (profiled(one, made=made) for one in (table, other))
    assert first.model_copy(update={"leaks": ()}) == second.model_copy(update={"leaks": ()})


TARGETS: dict[str, tuple[Any, str, set[str]]] = {
    "skewed": (lambda r, n: np.exp(2 * r.normal(size=n) + 5), "regression", {"log-target"}),
    "many zeros": (
        lambda r, n: np.where(r.random(n) < 0.6, 0, r.gamma(2, 5, n)),
        "regression",
        {"zero-inflated", "log-target"},
    ),
    "bell-shaped": (lambda r, n: r.normal(50, 300, n), "regression", set()),
    "a rare class": (lambda r, n: r.random(n) < 0.03, "classification", {"imbalanced"}),
    "many classes": (lambda r, n: r.integers(0, 30, n), "classification", {"many-classes", "imbalanced"}),
    "two equal classes": (lambda r, n: r.integers(0, 2, n), "classification", set()),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_suggestions_follow_from_the_target(kind: str) -> None:
    make, task, codes = TARGETS[kind]
    table = wide(3000, 8)
    made = profiled(table.assign(y=make(np.random.default_rng(1), len(table))), task)
    assert {*made.suggestions} - {"outlying-target"} == codes, made.target


@pytest.mark.parametrize("task", ["clustering", "regression"])
def test_awkward_columns_have_a_profile_too(task: str) -> None:
    """Without values, of one value, of booleans, of extreme numbers, of few rows."""
    table = pd.DataFrame(
        {
            "none": [np.nan] * 12,
            "words": [None] * 12,
            "same": ["x"] * 12,
            "flags": [True, False] * 6,
            "large": [1e300, -1e300] * 6,
            "when": [pd.NaT] * 12,
            "y": range(12),
        }
    )
    made = profiled(table.astype({"y": float}), task)
    assert len(made.columns) == (6 if task == "regression" else 7)


def test_the_column_that_names_the_parts_is_no_feature() -> None:
    made = profiled(wide(1000, 8).assign(part=["train", "train", "test", "train"] * 250), column="part")
    names = {one.name for one in made.columns}
    assert made.holdout.column == "part" and "part" not in names and "n0" in names
    assert made.dropped == {"part": "its values name the part of each row"}


@given(st.lists(st.sampled_from("abcdefgh")), st.integers(1, 9))
def test_the_most_frequent_values_come_first_and_equals_in_their_own_order(values: list[str], most: int) -> None:
    ordered = sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))[:most]
    assert [(one.value, one.count) for one in frequent(pd.Series(values, dtype=object), most)] == ordered


@pytest.mark.parametrize(("rows", "columns", "seconds"), [(10_000, 20, 2.0), (100_000, 50, 8.0)])
def test_it_is_quick(rows: int, columns: int, seconds: float) -> None:
    table = wide(rows, columns)
    context = LeakContext(table, REQUEST, split(table, REQUEST, {}), kinds_of(table))
    start = time.process_time()
    made = profile(context)
    taken = time.process_time() - start
    assert made.rows == rows and taken < seconds, taken
