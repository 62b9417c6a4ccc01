"""The cut-offs that a run builds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from palmette.features.spec.run import CutoffInterval
from palmette.features.spec.view import View


def cutoffs(view: View, interval: CutoffInterval) -> tuple[datetime | None, ...]:
    """The timestamps to run the script for, oldest first; `(None,)` where the spine carries them.

    For partitions, the end of each of the zone's days in [start, end).
    """
    if view.cutoff == "spine":
        return (None,)
    if interval.start is None or interval.end is None:
        return (interval.as_of,)
    zone = ZoneInfo(view.zone)
    day, ends = interval.start.astimezone(zone), []
    while day < interval.end:
        day = (day.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=zone)
        ends.append(day.astimezone(UTC))
    return tuple(ends)


def arguments(config_option: str, config_path: str, as_of_option: str, as_of: datetime | None) -> list[str]:
    """Command-line arguments of a feature script."""
    cutoff = [] if as_of is None else [as_of_option, as_of.astimezone(UTC).isoformat()]
    return [config_option, config_path, *cutoff]
