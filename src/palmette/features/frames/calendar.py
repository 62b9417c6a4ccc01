"""Cut-offs to test, and timestamps as values of time columns."""

from collections.abc import Iterable, Mapping
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from palmette.features.frame import Frame
from palmette.features.frame_json import decode_row
from palmette.features.oracle.clock import at_wall, day_of, micros, midnight, timestamp_of, wall
from palmette.features.spec.dfr import RegisteredColumn, Table
from palmette.features.spec.view import View

YEAR = 2024
"""The default year; a leap year."""
OFF_MIDNIGHT = timedelta(minutes=30)
"""Close enough to midnight that zones an hour apart are on different days."""


class CutOffs(NamedTuple):
    """The cut-offs of the scenarios. If cut-offs must be ends of days, all of them are midnights."""

    plain: datetime
    """An ordinary afternoon."""
    spring: datetime
    """A midnight two days after the year's first clock change, or on 2 April if there is none."""
    autumn: datetime
    leap: datetime
    """Late on 29 February, when it is already 1 March further east."""
    year: datetime
    """Early on New Year's Day, when it is still the old year further west."""


def years_around(named: Iterable[int]) -> list[int]:
    """The default year, then for each named year: the next leap year, the year after it, itself, the year before."""
    around = [year for one in sorted(named) for year in ((one // 4 + 1) * 4, one + 1, one, one - 1)]
    return [year for year in dict.fromkeys([YEAR, *around]) if MINYEAR + 10 < year < MAXYEAR - 10]


def cut_offs(zone: ZoneInfo, midnights: bool, year: int = YEAR) -> CutOffs:
    """The cut-offs in a year; with `midnights`, only ends of days."""
    changes = clock_changes(zone, year)
    first, last = (changes[0], changes[-1]) if changes else (date(year, 3, 31), date(year, 10, 27))
    day = date(year, 5, 17)
    plain = midnight(day, zone) if midnights else at_wall(datetime.combine(day, time(14, 30, 5)), zone)
    off = timedelta(0) if midnights else OFF_MIDNIGHT
    spring, autumn = (midnight(change + timedelta(days=2), zone) for change in (first, last))
    leap, new_year = midnight(date(year, 3, 1), zone) - off, midnight(date(year, 1, 1), zone) + off
    return CutOffs(plain, spring, autumn, leap, new_year)


def clock_changes(zone: ZoneInfo, year: int = YEAR) -> list[date]:
    """Days of the year that are not 24 hours long."""
    days = [date(year, 1, 1) + timedelta(days=i) for i in range(366)]
    return [day for day in days if midnight(day + timedelta(days=1), zone) - midnight(day, zone) != timedelta(days=1)]


def as_value(timestamp: datetime | None, column: RegisteredColumn, zone: ZoneInfo) -> Any:
    """A timestamp in the column's type, rounded down to its resolution."""
    if timestamp is None:
        return None
    match column.type.parsed.name:
        case "timestamp":
            return timestamp.astimezone(UTC)
        case "timestamp_ntz":
            return wall(timestamp, zone)
        case "date":
            return day_of(timestamp, zone)
        case _:
            return micros(timestamp) // {"s": 1_000_000, "ms": 1000, "us": 1}[column.unit or "s"]


def dated(table: Table, row: dict[str, Any], zone: ZoneInfo) -> dict[str, Any]:
    """The row, with partition columns derived from its times."""
    for part in table.partitions:
        column, source = table.column(part.column), table.column(getattr(table, part.of or "", "") or "")
        if column is not None and source is not None:
            value = partition_value(timestamp_of(row[source.name], source.unit, zone), column)
            row[part.column] = value if value is not None or column.nullable else row[part.column]
    return row


def frames_of(view: View, given: Mapping[str, Iterable[Mapping[str, Any]]]) -> dict[str, Frame]:
    """All tables of the view with rows of JSON values; a row that leaves out a partition column gets its day."""
    found = {}
    for name, table in view.tables.items():
        schema, rows = table.column_types, []
        for row in given.get(name, ()):
            values = decode_row(schema, row)
            rows.append(dated(table, dict(values), ZoneInfo(view.zone)) | {column: values[column] for column in row})
        found[name] = Frame.of(schema, rows)
    return found


def partition_value(timestamp: datetime | None, column: RegisteredColumn) -> Any:
    """The UTC day of a timestamp, in the partition column's type."""
    if timestamp is None:
        return None
    day = timestamp.astimezone(UTC).date()
    match column.type.parsed.name:
        case "date":
            return day
        case "string":
            return day.isoformat()
        case _:
            return int(day.strftime("%Y%m%d"))
