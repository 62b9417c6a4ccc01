"""Which function builds the features: found by what it takes and gives, or a clear question."""

from __future__ import annotations

import pytest

from palmette.errors import UserError
from palmette.features.checks.entry import find_entry

TABLES = {"orders", "customers"}


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("def make(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame: ...", "make"),
        ("def f(orders: DataFrame, customers: DataFrame, as_of: datetime) -> DataFrame: ...\ndef main(): ...", "f"),
        ("def helper(orders: DataFrame) -> DataFrame: ...\ndef build(sources, as_of): ...", "build"),
        (
            "def write(orders: DataFrame) -> None: ...\ndef compute(spark, orders: DataFrame) -> DataFrame: ...",
            "compute",
        ),
    ],
)
def test_it_is_found(text: str, entry: str) -> None:
    assert find_entry(text, TABLES) == entry


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("def a(orders): ...\ndef b(orders): ...", None, "'a', 'b' could all be it"),
        ("def main(argv): ...", None, "none of 'main' takes the view's tables"),
        ("def build(orders): ...", "biuld", "Did you mean 'build'"),
        ("def build(:", None, "is not Python"),
    ],
)
def test_what_is_not_clear_is_asked(text: str, name: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        find_entry(text, TABLES, name=name)
