"""What each need demands, as small inputs and the answers that a function must give on them.

A snippet runs in the sandbox and gives back plain values; the judgement is made here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.actors.utils_retriever.candidates import Candidate
from palmette.features.artefacts import Config
from palmette.features.frame import Frame
from palmette.features.harness.connect import Probe, ProbeResult
from palmette.features.spec.values import SparkType

_BIGINT, _DOUBLE, _STRING, _INSTANT = (
    SparkType(name) for name in ("bigint", "double", "string", "timestamp")
)
_PLAIN = """
def plain(rows):
    return sorted(([None if v is None else str(v) for v in row] for row in rows), key=repr)
"""


@dataclass(frozen=True)
class Setting:
    """What the proofs must know about the view."""

    zone: str = "UTC"
    formats: tuple[str, ...] = ("parquet",)
    """Of the tables that are read by path; `table` for those read by name."""
    output_format: str = "parquet"
    """`table` when the output goes to the catalogue."""
    partitioned: bool = False
    config: Config | None = None


@dataclass(frozen=True)
class Proof:
    """A probe and the value that it must give."""

    probe: Probe
    expected: Any
    about: str
    """What the small inputs are, for the counter-example."""

    def judge(self, result: ProbeResult) -> str:
        """What the function did otherwise, with the counter-example; empty when it did as demanded."""
        if result.error:
            return f"raised {_lasting(result.error)} for {self.about}"
        if not _same(result.value, self.expected):
            return f"gave {_short(result.value)} instead of {_short(self.expected)} for {self.about}"
        return ""


def proofs(candidate: Candidate, setting: Setting) -> list[Proof]:
    """All that a candidate must pass."""
    match candidate.need:
        case "divide":
            return [_divide(candidate, kind) for kind in (_BIGINT, _DOUBLE)]
        case "before_cutoff":
            return _before_cutoff(candidate, setting)
        case "latest_per_key":
            return [_latest(candidate)]
        case "read_table":
            return [_read(candidate, form) for form in setting.formats]
        case "write_table":
            return [_write(candidate, setting)]
        case "load_config":
            return [_load_config(candidate, setting)]
        case "build_session":
            return [_session(candidate)]


def _code(candidate: Candidate, body: str, **arguments: str) -> str:
    """The snippet, with CALL in `body` replaced by the candidate's call on `arguments`."""
    return (
        f"import tempfile\nfrom pathlib import Path\nfrom pyspark.sql import functions as F\n"
        f"from {candidate.module} import {candidate.name}\n{_PLAIN}\n"
        + body.replace("CALL", candidate.call.format(**arguments))
    )


def _divide(candidate: Candidate, kind: SparkType) -> Proof:
    pairs = [(1, 2), (0, 5), (-3, 2), (1, 3), (7, 7), (1, 0), (0, 0), (None, 1), (1, None), (None, None)]
    expected = [None if a is None or not b else a / b for a, b in pairs]
    frame = Frame.of(
        {"i": _BIGINT, "a": kind, "b": kind}, [{"i": i, "a": a, "b": b} for i, (a, b) in enumerate(pairs)]
    )
    body = (
        "rows = frames['pairs'].select('i', (CALL).alias('q')).collect()\n"
        "result = [None if row.q is None else float(row.q) for row in sorted(rows, key=lambda row: row.i)]"
    )
    code = _code(candidate, body, numerator='F.col("a")', denominator='F.col("b")')
    return Proof(
        Probe(f"divide-{kind}", code, {"pairs": frame}),
        expected,
        f"a / b of {kind} columns, (a, b) = {pairs}",
    )


def _before_cutoff(candidate: Candidate, setting: Setting) -> list[Proof]:
    """Exactly at both bounds, just inside, just outside, null, and over a change of the clocks of the zone."""
    days = 3 if "{days}" in candidate.call else None
    ends = [datetime(2024, 6, 15, tzinfo=UTC), *_clock_changes(setting.zone)]
    return [_window(candidate, setting.zone, end, days) for end in ends]


def _window(candidate: Candidate, zone: str, end: datetime, days: int | None) -> Proof:
    start = None if days is None else (end.astimezone(ZoneInfo(zone)) - timedelta(days=days)).astimezone(UTC)
    second = timedelta(seconds=1)
    instants = {
        "at the cut-off": end,
        "just before the cut-off": end - second,
        "after the cut-off": end + second,
        "without a time": None,
    }
    expected = ["just before the cut-off"]
    if start is None:
        instants["long before"] = end - timedelta(days=4000)
        expected.append("long before")
    else:
        instants |= {"at the start": start, "just before the start": start - second, "within": start + second}
        expected += ["at the start", "within"]
    frame = Frame.of(
        {"row": _STRING, "ts": _INSTANT}, [{"row": name, "ts": ts} for name, ts in instants.items()]
    )
    body = (
        f"from datetime import UTC, datetime\nspark.conf.set('spark.sql.session.timeZone', {zone!r})\n"
        f"as_of = datetime.fromisoformat({end.isoformat()!r})\n"
        "result = sorted(row['row'] for row in (CALL).collect())"
    )
    code = _code(candidate, body, df="frames['events']", time='"ts"', as_of="as_of", days=str(days))
    window = f"[{start}, {end})" if start else f"all before {end}"
    return Proof(
        Probe("window", code, {"events": frame}),
        sorted(expected),
        f"rows around {window} with calendar days of {zone}",
    )


def _clock_changes(zone: str) -> list[datetime]:
    """Midnights one day after a change of the clocks in 2024, as instants."""
    local = ZoneInfo(zone)
    days = [datetime(2024, 1, 1, tzinfo=local) + timedelta(days=n) for n in range(1, 365)]
    return [
        (day + timedelta(days=1)).astimezone(UTC)
        for day in days
        if day.utcoffset() != (day + timedelta(days=1)).utcoffset()
    ][:2]


def _latest(candidate: Candidate) -> Proof:
    """The newest row of each key, one row even where two are equally new; all columns kept."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [
        ("a", 1, 5, "old"),
        ("a", 1, 9, "new"),
        ("a", 2, 1, "only"),
        ("b", 1, 3, "late"),
        ("b", 1, 2, "early"),
    ]
    tied = [("c", 1, 4, "tied"), ("c", 1, 4, "tied")]
    frame = Frame.of(
        {"k": _STRING, "n": _BIGINT, "ts": _INSTANT, "v": _STRING},
        [{"k": k, "n": n, "ts": start + timedelta(days=d), "v": v} for k, n, d, v in [*rows, *tied]],
    )
    expected = sorted(
        [["a", "1", "new"], ["a", "2", "only"], ["b", "1", "late"], ["c", "1", "tied"]], key=repr
    )
    body = "result = plain((CALL).select('k', 'n', 'v').collect())"
    code = _code(candidate, body, df="frames['states']", keys='["k", "n"]', order='"ts"')
    return Proof(
        Probe("latest", code, {"states": frame}),
        expected,
        "keys with an older row, with a single row, and with two equally new rows",
    )


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


def _read(candidate: Candidate, form: str) -> Proof:
    if form == "table":
        setup = "frames['rows'].createOrReplaceTempView('palmette_probe')\nplace = 'palmette_probe'"
    else:
        header = ".option('header', True)" if form == "csv" else ""
        setup = (
            f"place = tempfile.mkdtemp() + '/rows'\nframes['rows'].write.format({form!r}){header}.save(place)"
        )
    body = f"{setup}\nresult = plain((CALL).select('id', 'name', 'day').collect())"
    code = _code(candidate, body, spark="spark", path="place", format=repr(form))
    what = "a table of the catalogue" if form == "table" else f"a folder of {form} files"
    return Proof(Probe(f"read-{form}", code, {"rows": _NUMBERS}), _rows(_NUMBERS), what)


def _write(candidate: Candidate, setting: Setting) -> Proof:
    """Writing twice is writing once; other partitions stay; without partitions, what was there is replaced."""
    form = setting.output_format
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
    last = sorted([*_rows(_NUMBERS, slice(0, 1)), *_rows(_NUMBERS, slice(1, 2))], key=repr)
    expected = [everything, everything, last if setting.partitioned else _rows(_NUMBERS, slice(1, 2))]
    about = (
        "writing three rows on two days, the same again, then one row of the second day (first day must stay)"
        if setting.partitioned
        else "writing three rows, the same again, then one row alone (nothing else must be left)"
    )
    code = _code(candidate, body, df="rows", destination="place", partition='"day"')
    return Proof(Probe("write", code, {"rows": _NUMBERS}), expected, about)


def _load_config(candidate: Candidate, setting: Setting) -> Proof:
    assert setting.config is not None
    class_name = setting.config.class_name.rpartition(":")[2] or "dict"
    facts = {fact: expression for fact, expression in setting.config.accessors.items() if fact != "partition"}
    values = "{" + ", ".join(f"{fact!r}: str({expression})" for fact, expression in facts.items()) + "}"
    body = (
        f"place = Path(tempfile.mkdtemp()) / 'view.yaml'\nplace.write_text({setting.config.file.text!r}, encoding='utf-8')\n"
        f"config = CALL\nresult = [type(config).__qualname__, {values}]"
    )
    return Proof(
        Probe("config", _code(candidate, body, path="str(place)"), {}),
        [class_name, _facts(setting.config)],
        "the view's own configuration",
    )


def _facts(config: Config) -> Mapping[str, Any]:
    import yaml

    document = yaml.safe_load(config.file.text)
    found: dict[str, Any] = {}
    for fact in config.accessors:
        if fact != "partition":
            value = document
            for key in config.places.get(fact, ()):
                value = value[key]
            found[fact] = str(value)
    return found


def _session(candidate: Candidate) -> Proof:
    body = (
        "session = CALL\nresult = [session.range(3).count(), session.sql('SELECT 1 AS one').collect()[0].one]"
    )
    return Proof(
        Probe("session", _code(candidate, body, app_name='"probe"'), {}),
        [3, 1],
        "a session for a job named 'probe'",
    )


def _lasting(error: str) -> str:
    """The first line of an error without folders that are another one in every run."""
    return re.sub(r"(file:)?/[^\s'\"]*/tmp\w{8}", "<folder>", error.split("\n", 1)[0])[:500].rstrip(". ")


def _same(value: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value - expected) <= 1e-9 * max(1.0, abs(expected))
    if isinstance(expected, list | tuple) and isinstance(value, list):
        return len(value) == len(expected) and all(_same(a, b) for a, b in zip(value, expected, strict=True))
    if isinstance(expected, Mapping) and isinstance(value, Mapping):
        return value.keys() == expected.keys() and all(_same(value[key], expected[key]) for key in expected)
    return type(value) is type(expected) and value == expected


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 400 else text[:397] + "..."
