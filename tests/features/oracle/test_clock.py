"""Timestamps at the limits of the calendar."""

from zoneinfo import ZoneInfo

import pytest

from palmette.features.oracle import WouldFail
from palmette.features.oracle.clock import timestamp_of


def test_milliseconds_taken_for_seconds_are_outside_the_calendar() -> None:
    with pytest.raises(WouldFail, match="outside the years"):
        timestamp_of(1735689600000, "s", ZoneInfo("UTC"))
