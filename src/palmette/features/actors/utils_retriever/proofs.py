"""Tests of utilities: for each need, small inputs and the results that a function must return.

Snippets run in the sandbox and return plain values, which are judged here.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.actors.utils_retriever.candidates import UtilityCandidate
from palmette.features.artefacts import Config
from palmette.features.frame import Frame
from palmette.features.frames.calendar import clock_changes
from palmette.features.harness.connect import CaseResult, HarnessProbe
from palmette.features.oracle.clock import midnight
from palmette.features.pyspark.io import parsed_text
from palmette.features.spec import View
from palmette.features.spec.values import SparkType
from palmette.features.team_document import parse_text

_BIGINT, _DOUBLE, _STRING, _INSTANT = (SparkType(name) for name in ("bigint", "double", "string", "timestamp"))
_PLAIN = """
def plain(rows):
    return sorted(([None if v is None else str(v) for v in row] for row in rows), key=repr)
"""


@dataclass(frozen=True)
class Proof:
    """A probe and the values that it must return."""

    probe: HarnessProbe
    expected: list[Any]
    inputs: tuple[str, ...]
    """Description of each input, for counter-examples."""

    def judge(self, result: CaseResult) -> str:
        """How the result differs from the expected one, with a counter-example; empty if it does not."""
        tried = _cut(", ".join(self.inputs), 200)
        if result.error:
            return f"raised {_stable_error(result.error)}; tried: {tried}"
        if not isinstance(result.value, list) or len(result.value) != len(self.expected):
            return f"gave {_cut(repr(result.value), 400)}; tried: {tried}"
        for value, expected, given in zip(result.value, self.expected, self.inputs, strict=True):
            if not _same(value, expected):
                return f"gave {_cut(repr(value), 400)} instead of {_cut(repr(expected), 400)} for {given}"
        return ""


def typed_formats(view: View) -> set[str]:
    """Formats of the view's tables that store types; for others, scripts apply the registry's schema."""
    return {str(table.format) for table in view.tables.values() if table.path is not None} & {"parquet", "orc"}


def proofs(candidate: UtilityCandidate, view: View, config: Config) -> list[Proof]:
    """All proofs that a candidate must pass."""
    match candidate.need:
        case "divide":
            return [_divide(candidate, kind) for kind in (_BIGINT, _DOUBLE)]
        case "before_cutoff" | "in_window":
            return _before_cutoff(candidate, ZoneInfo(view.zone))
        case "latest_per_key":
            return [_latest(candidate)]
        case "read_table":
            return [_read(candidate, form) for form in sorted(typed_formats(view))]
        case "write_table":
            return [_write(candidate, config.storage, is_partitioned=view.partition is not None)]
        case "load_config":
            return [_load_config(candidate, config)]
        case "build_session":
            return [_session(candidate)]


def _code(candidate: UtilityCandidate, body: str, **arguments: str) -> str:
    """The snippet, with CALL in `body` replaced by the candidate's call with `arguments`."""
    return (
        f"import tempfile\nfrom pathlib import Path\nfrom pyspark.sql import functions as F\n"
        f"from {candidate.module} import {candidate.name}\n{_PLAIN}\n"
        + body.replace("CALL", candidate.call.format(**arguments))
    )


def _divide(candidate: UtilityCandidate, kind: SparkType) -> Proof:
    pairs = [(1, 2), (0, 5), (-3, 2), (1, 3), (7, 7), (1, 0), (0, 0), (None, 1), (1, None), (None, None)]
    expected = [None if a is None or not b else a / b for a, b in pairs]
    frame = Frame.of({"i": _BIGINT, "a": kind, "b": kind}, [{"i": i, "a": a, "b": b} for i, (a, b) in enumerate(pairs)])
    body = (
        "rows = frames['pairs'].select('i', (CALL).alias('q')).collect()\n"
        "result = [None if row.q is None else float(row.q) for row in sorted(rows, key=lambda row: row.i)]"
    )
    code = _code(candidate, body, numerator='F.col("a")', denominator='F.col("b")')
    inputs = tuple(f"{_null(a)} / {_null(b)} of {kind} columns" for a, b in pairs)
    return Proof(HarnessProbe(f"divide-{kind}", code, {"pairs": frame}), expected, inputs)


def _before_cutoff(candidate: UtilityCandidate, zone: ZoneInfo) -> list[Proof]:
    """Tests both bounds, their neighbours, null, and days on which the zone's clocks change."""
    days = 3 if "{days}" in candidate.call else None
    changes = [midnight(day + timedelta(days=1), zone) for day in clock_changes(zone)]
    ends = [datetime(2024, 6, 15, tzinfo=UTC), *changes[:2]]
    return [_window(candidate, zone, end, days) for end in ends]


def _window(candidate: UtilityCandidate, zone: ZoneInfo, end: datetime, days: int | None) -> Proof:
    """Tests which rows near the bounds of [end - days, end) are kept; days are calendar days of the zone."""
    second = timedelta(seconds=1)
    rows: list[tuple[str, datetime | None, bool]] = [
        ("exactly at the cut-off", end, False),
        ("a second before the cut-off", end - second, True),
        ("after the cut-off", end + second, False),
        ("without a time", None, False),
    ]
    if days is None:
        rows.append(("years before the cut-off", end - timedelta(days=4000), True))
    else:
        start = (end.astimezone(zone) - timedelta(days=days)).astimezone(UTC)
        rows += [
            (f"exactly {days} days before the cut-off", start, True),
            (f"{days} days and a second before the cut-off", start - second, False),
        ]
    frame = Frame.of({"row": _BIGINT, "ts": _INSTANT}, [{"row": i, "ts": ts} for i, (_, ts, _) in enumerate(rows)])
    kept = "(CALL)" if candidate.need == "before_cutoff" else "frames['events'].where(CALL)"
    body = (
        f"from datetime import UTC, datetime\nspark.conf.set('spark.sql.session.timeZone', {zone.key!r})\n"
        f"as_of = datetime.fromisoformat({end.isoformat()!r})\n"
        f"kept = [row['row'] for row in {kept}.collect()]\n"
        f"result = [kept.count(i) == 1 for i in range({len(rows)})]"
    )
    code = _code(candidate, body, df="frames['events']", time='"ts"', as_of="as_of", days=str(days))
    inputs = tuple(f"keeping a row {name} (cut-off {end:%Y-%m-%dT%H:%MZ}, zone {zone})" for name, _, _ in rows)
    return Proof(HarnessProbe(candidate.need, code, {"events": frame}), [keep for _, _, keep in rows], inputs)


def _latest(candidate: UtilityCandidate) -> Proof:
    """Tests that each key keeps its newest row, and only one of several equally new rows."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    keys = {
        "an older row": [(5, "old"), (9, "new")],
        "one row": [(1, "only")],
        "the newest row first": [(3, "late"), (2, "early")],
        "two equally new rows": [(4, "tied"), (4, "tied")],
    }
    frame = Frame.of(
        {"entity": _STRING, "market": _BIGINT, "changed_at": _INSTANT, "state": _STRING},
        [
            {"entity": key, "market": 1, "changed_at": start + timedelta(days=day), "state": value}
            for key, states in keys.items()
            for day, value in states
        ],
    )
    body = (
        "rows = (CALL).select('entity', 'market', 'state').collect()\n"
        f"result = [[row.state for row in rows if row.entity == key] for key in {list(keys)!r}]"
    )
    code = _code(candidate, body, df="frames['states']", keys='["entity", "market"]', order='"changed_at"')
    inputs = tuple(f"a key with {name}" for name in keys)
    return Proof(HarnessProbe("latest", code, {"states": frame}), [["new"], ["only"], ["late"], ["tied"]], inputs)


_NUMBERS = Frame.of(
    {"id": _BIGINT, "name": _STRING, "day": _STRING},
    [
        {"id": 1, "name": "a", "day": "2024-01-01"},
        {"id": 2, "name": "b", "day": "2024-01-02"},
        {"id": 3, "name": None, "day": "2024-01-02"},
    ],
)


def _rows(frame: Frame, keep: slice = slice(None)) -> list[list[Any]]:
    rows = [[None if value is None else str(value) for value in row.values()] for row in frame.rows[keep]]
    return sorted(rows, key=repr)


def _read(candidate: UtilityCandidate, form: str) -> Proof:
    body = (
        f"place = tempfile.mkdtemp() + '/rows'\nframes['rows'].write.format({form!r}).save(place)\n"
        "result = [plain((CALL).select('id', 'name', 'day').collect())]"
    )
    code = _code(candidate, body, spark="spark", path="place", format=repr(form))
    return Proof(
        HarnessProbe(f"read-{form}", code, {"rows": _NUMBERS}), [_rows(_NUMBERS)], (f"a folder of {form} files",)
    )


def _write(candidate: UtilityCandidate, form: str, *, is_partitioned: bool) -> Proof:
    """Tests that writing twice equals writing once, and that other partitions stay (or else are replaced)."""
    if form == "table":
        place, read = "place = 'palmette_probe_' + str(abs(hash(tempfile.mkdtemp())))", "spark.table(place)"
    else:
        place, read = "place = tempfile.mkdtemp() + '/rows'", f"spark.read.format({form!r}).load(place)"
    body = (
        f"{place}\ndef write(rows):\n    CALL\n"
        f"def read():\n    spark.catalog.refreshByPath(place) if '/' in place else None\n"
        f"    return plain({read}.selectExpr('id', 'name', 'string(day)').collect())\n"
        "rows = frames['rows']\nwrite(rows)\nfirst = read()\nwrite(rows)\nagain = read()\n"
        'write(rows.where("id = 2"))\nresult = [first, again, read()]\n'
    )
    if form == "table":
        body += "spark.sql('DROP TABLE IF EXISTS ' + place)\n"
    everything = _rows(_NUMBERS)
    last, words = slice(1, 2), "one row in place of all others"
    if is_partitioned:
        last, words = slice(2), "rows of the second day, which leave the first as it was"
    expected = [everything, everything, _rows(_NUMBERS, last)]
    inputs = ("writing three rows of two days", "writing the same rows again", f"then writing {words}")
    code = _code(candidate, body, df="rows", destination="place", partition='"day"')
    return Proof(HarnessProbe("write", code, {"rows": _NUMBERS}), expected, inputs)


def _load_config(candidate: UtilityCandidate, config: Config) -> Proof:
    """Tests the class and values of the parsed configuration, read by its accessors."""
    class_name = config.class_name.rpartition(":")[2] or "dict"
    facts = [fact for fact in config.accessors if fact in config.places and fact != "partition"]
    values = ", ".join(f"str({config.accessors[fact]})" for fact in facts)
    document = parsed_text(config, 'place.read_text(encoding="utf-8")')
    body = (
        f"import json\nimport yaml\nplace = Path(tempfile.mkdtemp()) / 'view{Path(config.file.path).suffix}'\n"
        f"place.write_text({config.file.text!r}, encoding='utf-8')\n"
        f"config = CALL\nresult = [type(config).__qualname__, *(str(Path(value)) for value in [{values}])]"
    )
    content = parse_text(config.file.path, config.file.text)
    expected = [str(Path(str(reduce(getitem, config.places[fact], content)))) for fact in facts]
    inputs = ("the class of the view's own configuration", *(f"its {fact}" for fact in facts))
    code = _code(candidate, body, path="str(place)", document=document)
    return Proof(HarnessProbe("config", code), [class_name, *expected], inputs)


def _session(candidate: UtilityCandidate) -> Proof:
    body = "session = CALL\nresult = [session.range(3).count()]"
    return Proof(HarnessProbe("session", _code(candidate, body, app_name='"probe"')), [3], ("counting three rows",))


def _null(value: object) -> str:
    return "null" if value is None else str(value)


def _stable_error(error: str) -> str:
    """The first line of an error, without names of temporary folders, which change from run to run."""
    return re.sub(r"(file:)?/[^\s'\"]*/tmp\w{8}", "<folder>", error.split("\n", 1)[0])[:500].rstrip(".; ")


def _same(value: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value - expected) <= 1e-9 * max(1.0, abs(expected))
    if isinstance(expected, list | tuple) and isinstance(value, list):
        return len(value) == len(expected) and all(_same(a, b) for a, b in zip(value, expected, strict=True))
    return type(value) is type(expected) and value == expected


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
