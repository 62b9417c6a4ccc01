"""Writes a pytest file from test cases by rules, in the team's conventions."""

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from keyword import iskeyword
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.actors.testcase_coder.literals import UNITS, literal, time_text
from palmette.features.artefacts import Conventions, TestCase, TestCases
from palmette.features.frame_json import decode_row, timestamp_of
from palmette.features.frames.keys import ColumnRef, links_of
from palmette.features.oracle.states import sort_key
from palmette.features.pyspark.code import rendered
from palmette.features.pyspark.io import needed_columns
from palmette.features.pyspark.script import BuildFunction, build_function
from palmette.features.signature import BoundParameter, form_of, shape_of, signature
from palmette.features.spec.view import AS_OF, Schema, View, ddl

_HELPERS, _TESTS = (Path(__file__).with_name(name) for name in ("helpers.py.j2", "tests.py.j2"))
OWN_FIXTURE = "spark"
"""Name of the fixture in tests of a team without one."""
_OUTPUT = ""
"""Stands for the output among names of tables."""
_GAP = "\N{NO-BREAK SPACE}"
"""A space within an argument, where no line of the file ends."""
_TAKEN = frozenset({
    "row", "rows", "frames", "expect", "utc", OWN_FIXTURE, "date", "datetime", "timedelta", "timezone", "partial",
    "pytest", "dict", "enumerate", "int", "len", "list", "object", "str", "tuple",
})  # fmt: skip
"""Names that test files use otherwise."""


@dataclass(frozen=True)
class PytestWriter:
    """Writes a test file and its parts; all of them share what is usual in the cases."""

    view: View
    conventions: Conventions
    cases: TestCases

    def file(self, module: str) -> str:
        """The unformatted source of the test file; `module` is the import name of the script."""
        imports = ["from pyspark.testing import assertDataFrameEqual", ""]
        imports += [f"from {module} import {self._tested}"] if self.conventions.has_builder else []
        cutoffs = {self._as_of_text(case) for case in self.cases.cases}
        varies, spark = len(cutoffs) > 1, fixture_of(self.conventions)
        made, frames = f"frames({spark}, rows)", [each.meaning in ("tables", "table", "frame") for each in self._bound]
        given = made if sum(frames) == 1 else "given"
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for case in self.cases.cases:
            groups[tuple(self._identifying(case))].append(self._entry(case, [self._as_of_text(case)] * varies))
        return rendered(
            _TESTS,
            view=self.view.name,
            varies=varies,
            helpers=self._head("\n".join([*imports, *self.conventions.instance_imports])),
            factories=self._factories(),
            groups=groups,
            given="" if given == made else made,
            call=self._call("as_of" if varies else cutoffs.pop(), given),
            identity=self.view.identity,
            spark=spark,
        ).replace(_GAP, " ")

    def _entry(self, case: TestCase, as_of: list[str]) -> str:
        """A case of the file, after why it is there if its name does not tell."""
        width, why, name = self.conventions.line_length, " ".join(case.why.split()), f'    "{case.name}": '
        comment = _filled(why, width, "    # ", "    # ") + "\n"
        is_in_name = re.sub(r"_\d+$", "", case.name) in re.sub(r"\W+", "_", why.lower())
        given, expected = self._given(case), [[call] for call in self._expected(case)]
        lists = [f"[{', '.join(call for group in groups for call in group)}]" for groups in (given, expected)]
        whole = f"({', '.join([*lists, *as_of])}),"
        line = f"{name}{whole}" if len(name + whole) <= width else f"{name[:-1]}\n        {whole}"
        if len(line.split("\n")[-1]) > width:
            last = ", ".join([self._broken(expected), *as_of])
            if len(last.split("\n")[-1]) + len("        ") * ("\n" not in last) > width - len("),"):
                last = ",\n        ".join([self._broken(expected), *as_of])
            line = f"{name}(\n        {self._broken(given)},\n        {last}),"
        return line if is_in_name or not why else comment + line

    def _broken(self, groups: Sequence[Sequence[str]]) -> str:
        """A list in a case: a line for each group, or for each call of it, where it fits."""
        lines, width = [], self.conventions.line_length - len("         ]),")
        for group in groups:
            together = ", ".join(group)
            lines += [together] if len(together) <= width else [_wrapped(call, " " * 9, width) for call in group]
        return "[" + f",\n{' ' * 9}".join(lines) + "]"

    def helpers(self) -> str:
        """Everything that tests of their own need before their rows; a formatter removes unused imports."""
        return f"{self._head()}\n\n\n{self._factories()}".replace(_GAP, " ")

    def _head(self, imports: str = "") -> str:
        """Imports, constants and functions that build the data frames, and the features if the script does not."""
        factories, built = self._factories(), BuildFunction((), "")
        if not self.conventions.has_builder:
            path = self.conventions.test_path.replace("{view}", self.view.name)
            built = build_function(self.view, self.conventions, path)
            imports = "\n".join([imports, *built.imports])
        return rendered(
            _HELPERS,
            imports=imports,
            build=built.code,
            units=UNITS,
            names=re.findall(r"\w+", " ".join([factories, *map(self.rows, self.cases.cases)])),
            keys=self._keys,
            as_of=time_text(self.as_of) if self.as_of else "",
            zone=self.view.zone,
            schemas={
                name: self._ddl(table_schema(self.view, name), f'    "{name}": ') for name in sorted(self.view.tables)
            },
            output=self._ddl(self.view.output, "OUTPUT = "),
            numbered=self._numbered,
            follows=follows(self.view),
            own_fixture=not self.conventions.fixture,
        )

    def _ddl(self, schema: Schema, before: str) -> str:
        """A schema as a string, in several lines if it is too long for the one that begins with `before`."""
        text, width = ddl(schema), self.conventions.line_length
        if len(f'{before}"{text}",') <= width:
            return f'"{text}"'
        columns = " ".join(column.replace(" ", _GAP) for column in re.split(r"(?<=,) ", text))
        indent = " " * (4 + len(before) - len(before.lstrip()))
        wrapped = _filled(columns, width - len('""",'), f'{before}"""', indent)
        return f'{wrapped.removeprefix(before)}"""'

    def _factories(self) -> str:
        """Functions that make a row with usual values: one for each table, and one for the output."""
        firsts = {**{name: f'row, "{name}"' for name in sorted(self.view.tables)}, _OUTPUT: "dict"}
        calls = []
        for name, first in firsts.items():
            arguments = [text.replace(" ", _GAP) for text in _keywords(self.usual.get(name, {}))]
            call = f"{self._factory(name)} = partial({', '.join([first, *arguments])})"
            calls.append(_wrapped(call, "", self.conventions.line_length))
        return "\n".join(calls)

    @property
    def _tested(self) -> str:
        """The function under test, or its class."""
        return self.conventions.owner or shape_of(self.conventions, "build").name

    def _factory(self, name: str) -> str:
        """The name of the function that makes a row: of a table, its name in the singular."""
        if name == _OUTPUT:
            return "expect"
        one = re.sub("ies$", "y", name) if name.endswith("ies") else re.sub("(?<![sui])s$", "", name)
        return one if _is_name(one) and one not in _TAKEN | {name, self._tested} else f"{name}_row"

    def rows(self, case: TestCase) -> str:
        """The lines of a test of its own that make its inputs (`given`, `as_of`) and its expected output."""
        spark, as_of, schema = fixture_of(self.conventions), self._as_of_text(case), self._compared(case)
        output = "OUTPUT" if schema == self.view.output else repr(ddl(schema))
        lines = [
            f"as_of = {as_of}" if as_of else "",
            f"given = frames({spark}, [{', '.join(map(', '.join, self._given(case)))}])",
            f"expected = {spark}.createDataFrame([{', '.join(self._expected(case))}], {output})",
        ]
        return "\n".join(filter(None, lines)).replace(_GAP, " ")

    def _as_of_text(self, case: TestCase) -> str:
        """The cut-off of a case, if the function takes one."""
        if case.as_of is None or all(one.meaning != "as_of" for one in self._bound):
            return ""
        as_of = timestamp_of(case.as_of)
        return "AS_OF" if as_of == self.as_of else time_text(as_of)

    @cached_property
    def _bound(self) -> list[BoundParameter]:
        return list(signature(self.view, self.conventions, "build"))

    def assertion(self, case: TestCase) -> list[str]:
        """The lines of a test that call the function on the inputs and compare the columns that the case specifies."""
        lines = [f"actual = {self._call('as_of' if self._as_of_text(case) else '')}"]
        if keys := self._identifying(case):
            lines.append(f'actual = actual.join(expected, on={keys!r}, how="left_semi")')
        actual = "actual" if self._compared(case) == self.view.output else "actual.select(expected.columns)"
        return [*lines, f"assertDataFrameEqual({actual}, expected)"]

    def _call(self, as_of: str, given: str = "given") -> str:
        values = [_argument(self.view, each, fixture_of(self.conventions), as_of, given) for each in self._bound]
        arguments = [each.passed(value) for each, value in zip(self._bound, values, strict=True) if value]
        owner = f"{self.conventions.instance}." if self.conventions.instance else ""
        return f"{owner}{shape_of(self.conventions, 'build').name}({', '.join(arguments)})"

    def _identifying(self, case: TestCase) -> list[str]:
        """The keys of the rows that the case specifies; none if it specifies all rows."""
        return [name for name in self.view.identity if case.partial and name in self._compared(case)]

    @cached_property
    def as_of(self) -> datetime | None:
        """The cut-off of most cases, or of most rows of the spine."""
        found = Counter(timestamp_of(cutoff) for case in self._usual_cases for cutoff in _cutoffs(case))
        return max(found, key=found.__getitem__, default=None)

    @property
    def _usual_cases(self) -> Sequence[TestCase]:
        """The cases that decide what is usual, the smallest first: not the author's, unless there are no others."""
        own = [case for case in self.cases.cases if not case.example]
        return sorted(own or self.cases.cases, key=lambda case: sum(map(len, case.given.values())))

    @cached_property
    def _integers(self) -> list[tuple[ColumnRef, bool]]:
        """The integer columns that the view reads, and whether they link rows."""
        schemas, links = {name: table_schema(self.view, name) for name in self.view.tables}, links_of(self.view)
        found = [ColumnRef(name, key) for name, schema in schemas.items() for key in schema if schema[key].is_integer]
        return [(place, place in links) for place in found]

    @cached_property
    def _numbered(self) -> dict[str, str]:
        """By table: the key that only numbers its rows."""
        free = [place for place, links in self._integers if not links]
        return {place.table: place.column for place in free if self.view.tables[place.table].keys == (place.column,)}

    @cached_property
    def _keys(self) -> dict[str, None]:
        """The columns that number an entity, those of the grain first."""
        found = {place.column for place, links in self._integers if links}
        return dict.fromkeys((*filter(found.__contains__, self.view.grain), *sorted(found)))

    @cached_property
    def usual(self) -> dict[str, dict[str, str]]:
        """By table, and for the output: the most frequent value of each column as source, if it is not null.

        Of the output, only columns that every expected row states have one, null included.
        """
        counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for case in self._usual_cases:
            for name, rows in {**inputs_of(self.view, case), _OUTPUT: case.expect}.items():
                for column, text in (cell for row in rows for cell in self._cells(name, row, case).items()):
                    counts[name, column][text] += 1
        stated = [row.keys() for case in self.cases.cases for row in case.expect]
        found: dict[str, dict[str, str]] = defaultdict(dict)
        for (name, column), texts in counts.items():
            text = max(texts, key=texts.__getitem__)
            implied = {*self._keys, *follows(self.view), self._numbered.get(name)}
            if all(column in row for row in stated) if name == _OUTPUT else text != "None" and column not in implied:
                found[name][column] = text
        return found

    def _cells(self, name: str, row: Mapping[str, Any], case: TestCase) -> dict[str, str]:
        """The values of a row as source; columns that follow from its time are left out."""
        output = {column: kind for column, kind in self.view.output.items() if column in row}
        schema = output if name == _OUTPUT else table_schema(self.view, name)
        values = decode_row(schema, row)
        known = follows(self.view) if name != _OUTPUT else {}
        times = self._times(case)
        return {
            column: literal(value, times)
            for column, value in values.items()
            if column not in known or known[column] not in values or not _follows(value, values[known[column]])
        }

    def _times(self, case: TestCase) -> dict[str, datetime]:
        """By name: constants for the cut-off of a case, in UTC and on the clocks of the view's zone."""
        if self.as_of is None or self.as_of not in map(timestamp_of, _cutoffs(case)):
            return {}
        local = self.as_of.astimezone(ZoneInfo(self.view.zone)).replace(tzinfo=None)
        return {"AS_OF": self.as_of, "LOCAL_AS_OF": local}

    def _given(self, case: TestCase) -> list[list[str]]:
        """The rows of a case, by entity."""
        positions, found = Counter[str](), defaultdict[int, list[str]](list)
        rows = [(name, row) for name, rows in inputs_of(self.view, case).items() for row in rows]
        for name, row in sorted(rows, key=lambda each: self._number(*each)):
            positions[name] += 1
            found[self._number(name, row)].append(self._row(case, name, row, positions[name]))
        return list(found.values())

    def _expected(self, case: TestCase) -> list[str]:
        """The expected rows in the order of their keys."""
        rows = sorted(
            case.expect, key=lambda row: sort_key(map(decode_row(self.view.output, row).get, self.view.identity))
        )
        return [self._row(case, _OUTPUT, row) for row in rows]

    def _number(self, name: str, row: Mapping[str, Any]) -> int:
        """The number of the entity that a row of a table belongs to; the output states its keys."""
        return next((row[key] for key in self._keys if name != _OUTPUT and isinstance(row.get(key), int)), 1)

    def _row(self, case: TestCase, name: str, row: Mapping[str, Any], position: int = 0) -> str:
        """A call that makes a row, without what is usual, keys with its number, and a number that is its position."""
        number, otherwise = str(self._number(name, row)), "" if name == _OUTPUT else "None"
        usual = {
            **dict.fromkeys(() if name == _OUTPUT else follows(self.view), ""),
            **self.usual.get(name, {}),
            **dict.fromkeys(self._keys if name != _OUTPUT else (), number),
        }
        if name in self._numbered:
            usual[self._numbered[name]] = str(position)
        cells = self._cells(name, row, case).items()
        stated = _keywords({column: text for column, text in cells if text != usual.get(column, otherwise)})
        arguments = [text.replace(" ", _GAP) for text in ([number] * (number != "1") + stated)]
        return f"{self._factory(name)}({', '.join(arguments)})"

    def _compared(self, case: TestCase) -> Schema:
        """The output columns that the case specifies."""
        if not case.expect:
            return self.view.output
        return {name: kind for name, kind in self.view.output.items() if any(name in row for row in case.expect)}


def _cutoffs(case: TestCase) -> list[str]:
    """The cut-off of a case, or those of its expected rows."""
    return [case.as_of] if case.as_of else [row[AS_OF] for row in case.expect if AS_OF in row]


def table_schema(view: View, name: str) -> Schema:
    """The columns that the view reads."""
    read = needed_columns(view, view.tables[name])
    return {column.name: column.type.parsed for column in view.tables[name].columns if column.name in read}


def inputs_of(view: View, case: TestCase) -> dict[str, tuple[dict[str, Any], ...]]:
    """The rows of a case, with only the columns that the view reads."""
    return case.of_columns({name: table_schema(view, name) for name in case.given}).given


def follows(view: View) -> dict[str, str]:
    """Columns that are left out where they follow from the event's time: availability times and days."""
    found = {}
    for table in view.tables.values():
        kinds = {column.name: str(column.type) for column in table.columns}
        for name in filter(None, (table.available_time, *(part.column for part in table.partitions if part.of))):
            pair = kinds.get(table.event_time or ""), kinds[name]
            if pair in (("timestamp", "timestamp"), ("timestamp", "date"), ("timestamp_ntz", "timestamp_ntz")):
                found[name] = table.event_time or ""
    return found


def _follows(value: Any, time: Any) -> bool:
    """Whether a value is the time of the event, or its day in UTC."""
    if isinstance(time, datetime) and not isinstance(value, datetime | None):
        return bool(value == time.astimezone(UTC).date())
    return bool(value == time)


def _keywords(cells: Mapping[str, str]) -> list[str]:
    """Arguments by name; names that Python reserves stand in a dict."""
    plain = [f"{name}={text}" for name, text in cells.items() if _is_name(name)]
    rest = [f'"{name}": {text}' for name, text in cells.items() if not _is_name(name)]
    return [*plain, f"**{{{', '.join(rest)}}}"] if rest else plain


def _wrapped(call: str, before: str, width: int) -> str:
    """A call in lines of this width; those after the first begin below its first argument."""
    indent = before + " " * (call.index("(") + 1)
    return _filled(call, width + len(before), before, indent).removeprefix(before)


def _filled(text: str, width: int, first: str, others: str) -> str:
    """The text in lines that begin as stated and break at spaces alone."""
    wrapper = textwrap.TextWrapper(width, first, others, break_long_words=False, break_on_hyphens=False)
    return wrapper.fill(text)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not iskeyword(text)


def fixture_of(conventions: Conventions) -> str:
    return conventions.fixture or OWN_FIXTURE


def _argument(view: View, bound: BoundParameter, fixture: str, as_of: str, given: str) -> str:
    match bound.meaning:
        case "spark":
            return fixture
        case "tables":
            return given
        case "table" | "frame" if bound.table or len(view.tables) == 1:
            return f'{given}["{bound.table or next(iter(view.tables))}"]'
        case "as_of" if not as_of:
            return "None"  # the rows have their own
        case "as_of" if form_of(bound) == "str":
            return f"{as_of}.isoformat()"
        case "as_of":
            return as_of
        case "config":
            return "None"
        case _:
            return ""
