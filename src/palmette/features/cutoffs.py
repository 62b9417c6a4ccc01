"""The cut-offs of a run."""

from datetime import UTC, datetime, timedelta
from functools import reduce
from pathlib import PurePosixPath
from typing import NamedTuple
from zoneinfo import ZoneInfo

from palmette.features.artefacts import ScriptEntry
from palmette.features.spec.run import CutoffInterval
from palmette.features.spec.view import View


def cutoffs(view: View, interval: CutoffInterval) -> tuple[datetime | None, ...]:
    """The timestamps to run the script for, oldest first; `(None,)` if the spine has the cut-offs.

    With partitions, these are the ends of the days in [start, end), in the view's zone.
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


class RunCall(NamedTuple):
    path: str
    """The file to run, relative to the repository."""
    function: str
    """The function of the script to call; empty for a command."""
    arguments: tuple[str, ...]
    as_module: bool = False
    """Whether the command names the module."""

    @property
    def command(self) -> tuple[str, ...]:
        """The call as a command line."""
        parts = PurePosixPath(self.path).with_suffix("").parts
        module = ".".join(parts[parts.index("src") + 1 if "src" in parts else 0 :])
        if not self.function:
            started = ("python", "-m", module) if self.as_module else ("spark-submit", self.path)
            return (*started, *self.arguments)
        given = ", ".join(map(repr, self.arguments))
        return ("python", "-c", f"from {module} import {self.function}; {self.function}({given})")


def run_call(entry: ScriptEntry, script: str, view: View, config: str, as_of: datetime | None) -> RunCall:
    """The call for one cut-off: `as_of`, or today at midnight UTC if rows have their own. `script` is a path."""
    cutoff = as_of if as_of is not None else datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    written = cutoff.astimezone(UTC)
    text = written.strftime(entry.cutoff_format) if entry.cutoff_format else written.isoformat()
    day = (written - timedelta(microseconds=1)).strftime("%Y-%m-%d")
    values = {"{config}": config, "{cutoff}": text, "{day}": day, "{view}": view.name}
    given = tuple(reduce(lambda word, item: word.replace(*item), values.items(), word) for word in entry.arguments)
    path, function = (entry.target, "") if entry.kind == "driver" else (script, entry.target)
    return RunCall(path, function, given, entry.as_module)


def is_expressible(entry: ScriptEntry, as_of: datetime) -> bool:
    """Whether the team's cut-off format can express this cut-off."""
    if not entry.cutoff_format:
        return True
    text = as_of.astimezone(UTC).strftime(entry.cutoff_format)
    try:
        read = datetime.strptime(text, entry.cutoff_format)  # noqa: DTZ007 - made aware in the next line
    except ValueError:
        return False
    return (read if read.tzinfo else read.replace(tzinfo=UTC)) == as_of
