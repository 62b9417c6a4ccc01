"""Summaries of values that a small example does not reach."""

import math
from decimal import Decimal

from palmette.features.oracle.summaries import ranked, total
from palmette.features.spec.values import SparkType


def test_a_sum_of_decimals_keeps_all_digits() -> None:
    values = [Decimal("123456789012.000000000000000001")] * 2
    assert total(values, SparkType.parse("decimal(38,18)")) == Decimal("246913578024.000000000000000002")


def test_nan_is_the_highest_rank() -> None:
    ranks = {"a": 1.0, "b": math.nan, "c": 2.0, "d": 2.0}
    assert ranked([(rank, value) for value, rank in ranks.items()], lambda rows: rows[0]) == ["b", "c", "d", "a"]
