"""A table as found in a file, names of columns that libraries take, and the role of each table by its content."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from palmette.automl.kinds import FALSE, TRUE, Kind
from palmette.automl.opening import Opened
from palmette.automl.samples import ArrayUse, DataFile, Dialect, Repairs, Role, TableError, TableJoin
from palmette.automl.samples.values import MISSING

REFUSED = re.compile(r"[\[\]<>{}\":,\\\x00-\x1f\x7f]+")  # characters in names that break JSON or tree learners
UNNAMED, LONGEST = re.compile(r"Unnamed: \d+|\s*"), 120  # characters of a name
TEST_NAMED = re.compile(r"(^|[^a-z])(test|testing|tst|holdout|hold_out|eval|valid|validation|unseen)([^a-z]|$)", re.I)
TRAIN_NAMED = re.compile(r"(^|[^a-z])(train|training|trn)([^a-z]|$)", re.I)
ANSWER_NAMED = re.compile(r"submission|submit|sample_?sub", re.I)
PART_NAMED = re.compile(r"(part|chunk|shard|batch)?[-_ ]?\d+(\D|$)", re.I)
TRAIN = frozenset({"train", "training", "trn", "tr", "learn", "fit"})
VALIDATION = frozenset({"valid", "validation", "val", "dev", "development"})
TEST = frozenset({"test", "testing", "tst", "te", "holdout", "hold-out", "hold_out", "held-out", "eval", "evaluation"})
NO_PART = frozenset({"unused", "none", "unlabelled", "unlabeled", "ignore"})
IS_PART = re.compile(r"(is|in)[ _](train|test|valid|validation|holdout)", re.I)
MOST_ANSWER_COLUMNS = 40
ALL = "*"  # the name of all tables of a file together
SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True, eq=False)
class Raw:
    """A table as found in a file."""

    opened: Opened
    member: str  # file in an archive, sheet or table; empty where there is but one
    format: str
    sources: tuple[str, ...]  # the names of its columns that pandas reads from the file
    frame: pd.DataFrame  # under names that are unique, and without characters that libraries refuse
    repairs: Repairs
    dialect: Dialect | None = None
    partition: tuple[tuple[str, str], ...] = ()
    """Name and value of each column in the names of the folders around the file, as `year=2024`."""
    files: tuple[tuple[str, Kind], ...] = ()  # name and kind of each column whose cells are paths of files
    arrays: tuple[tuple[str, ArrayUse], ...] = ()  # name and origin of each column of files that were made of numbers
    related: tuple[Raw, ...] = ()  # tables that columns were added from
    joins: tuple[TableJoin, ...] = ()  # how these were added
    named: Mapping[str, pd.Series[Any]] = field(default_factory=dict)  # cells of each column of files, as they were

    @property
    def name(self) -> str:
        return self.member or self.opened.path.name

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.frame.columns)

    def texts(self, name: str) -> pd.Series[Any]:
        """A column as keys; names of files as they were written."""
        return keys_of(self.named.get(name, self.frame[name]))

    def with_columns(self, frame: pd.DataFrame) -> Raw:
        """The table with further columns on the right."""
        return replace(self, frame=pd.concat([self.frame, frame], axis=1), sources=(*self.sources, *frame))

    def without_columns(self, names: Collection[str]) -> Raw:
        sources = tuple(source for name, source in zip(self.names, self.sources, strict=True) if name not in names)
        return replace(self, frame=self.frame[[name for name in self.names if name not in names]], sources=sources)

    def file(self, role: Role) -> DataFile:
        return DataFile(
            path=str(self.opened.path), member=self.member, role=role, sha256=self.opened.sha256,
            format=self.format, dialect=self.dialect, rows=len(self.frame),
        )  # fmt: skip


def keys_of(column: pd.Series[Any]) -> pd.Series[Any]:
    """Text: empty where there is no value, whole numbers without a fraction."""
    texts = column.astype(object).where(column.notna(), "").astype(str).str.strip()
    plain: pd.Series[Any] = texts.str.replace(r"^(-?\d+)\.0$", r"\1", regex=True)
    return plain


def typed_table(opened: Opened, frame: pd.DataFrame, member: str, repairs: Repairs) -> Raw:
    """A table of a format that has types of its own."""
    opened.require_size(*frame.shape)
    sources = pandas_names(list(map(str, frame.columns)))
    frame = frame.set_axis(clean_names(sources, repairs), axis=1).reset_index(drop=True)
    return Raw(opened, member, "json" if opened.format == "text" else opened.format, tuple(sources), frame, repairs)


def pandas_names(cells: Sequence[str]) -> list[str]:
    """The names that `pandas.read_csv` makes of the cells of a header.

    >>> pandas_names(["a", "a", "", "a.1"])
    ['a', 'a.2', 'Unnamed: 2', 'a.1']
    """
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(cells)
    return list(pd.read_csv(io.StringIO(line.getvalue(), newline=""), index_col=False).columns) if cells else []


def clean_names(sources: Sequence[str], repairs: Repairs | None = None) -> list[str]:
    """A name for each column without characters that libraries refuse; the same sources always give the same names.

    >>> clean_names(["a", " b[1] ", "Unnamed: 2"])
    ['a', 'b_1', 'column_3']
    """
    names, repairs = list[str](), Repairs() if repairs is None else repairs
    for number, source in enumerate(sources, 1):
        bare = source.lstrip("# ") if number == 1 else source  # of a header that is a comment
        clean = " ".join(REFUSED.sub("_", unicodedata.normalize("NFC", bare).strip()).split())
        clean = clean if clean == bare else clean.rstrip("_ ") or clean.strip("_ ")
        plain = "" if UNNAMED.fullmatch(bare) else clean[:LONGEST].rstrip()
        name = base = plain or f"column_{number}"
        count = 2
        while name in names or (name != source and name in sources):
            name, count = f"{base}_{count}", count + 1
        names.append(name)
        code = "column-name" if plain else "nameless-column"
        repairs.add(code, name, name != source, source=source[:200], number=number)
    return names


def names_parts(name: str, values: Iterable[object]) -> bool:
    """Whether the values of a column name parts: the training rows, those to test on, and no others.

    >>> names_parts("part", ["train", "test"]), names_parts("by", ["train", "bus"]), names_parts("is_test", [0, 1])
    (True, False, True)
    """
    found = {str(value).strip().casefold() for value in values}
    if IS_PART.fullmatch(name) and len(found) == 2 and found <= TRUE | FALSE:
        return True
    return found <= TRAIN | VALIDATION | TEST | NO_PART and bool(found & TRAIN) and bool(found & (TEST | VALIDATION))


@dataclass(frozen=True)
class Roles:
    """Tables by their role: those for testing have the target, those for inference lack it."""

    train: tuple[Raw, ...]
    test: tuple[Raw, ...] = ()
    inference: tuple[Raw, ...] = ()
    submission: Raw | None = None
    aside: tuple[Raw, ...] = ()  # tables that a training and a test table do not need
    targets: tuple[str, ...] = ()
    key: str = ""

    @property
    def by_role(self) -> tuple[tuple[Role, tuple[Raw, ...]], ...]:
        form = (self.submission,) if self.submission else ()
        return ("train", self.train), ("test", self.test), ("inference", self.inference), ("submission", form)

    @property
    def used(self) -> tuple[Raw, ...]:
        return tuple(raw for _, raws in self.by_role for raw in raws)


def assign(tables: Sequence[Raw], named: bool, joined: bool) -> Roles:
    """The roles of tables, in the order in which they were named; TableError where they do not belong together.

    Where the request has `named` each of them, the second of two that are alike is for testing; tables of one file are
    put together where it has `joined` them.
    """
    full = [table for table in tables if len(table.frame)]
    if len(full) <= 1:
        return Roles(tuple(full or tables[:1]))
    submission = submission_of(full)
    rest = [table for table in full if table is not submission]
    train = _train(rest)
    columns = set(train.names)
    others = [_without_blank_target(one, train) for one in rest if one is not train]
    alike = [one for one in others if set(one.names) == columns]
    most = max(3, len(columns) // 3)
    lacking = [one for one in others if 0 < len(columns - set(one.names)) <= most and set(one.names) < columns]
    lost = {tuple(name for name in train.names if name not in one.names) for one in lacking}
    aside = [one for one in others if one not in alike and one not in lacking]
    test = [one for one in alike if TEST_NAMED.search(one.name) and not TRAIN_NAMED.search(one.name)]
    if not test and named and len(alike) == 1 and not lacking and not PART_NAMED.search(alike[0].name):
        test = alike
    parts = [one for one in alike if one not in test]
    inside = not joined and any(one.opened.path == train.opened.path for one in parts)
    if inside or len(lost) > 1 or (aside and not (lacking or test)):
        raise _choice(tables, inside)
    missed = columns - set().union(*(one.names for one in lacking)) if lacking else columns
    names = submission.names if submission is not None else ()
    targets = tuple(name for name in names if name in missed)  # that a sample submission asks for
    keys = (name for name in names if name not in targets and all(name in one.names for one in lacking))
    roles = Roles((train, *parts), tuple(test), tuple(lacking), submission, tuple(aside))
    return replace(roles, targets=targets or next(iter(lost), ()), key=next(keys, ""))


def _without_blank_target(table: Raw, train: Raw) -> Raw:
    """A test table whose only column without any value has values in training lacks that column."""
    if {*table.names} != {*train.names}:
        return table
    blank = [name for name in table.names if name not in dict(table.partition) and _is_blank(table.frame[name])]
    return table if len(blank) != 1 or _is_blank(train.frame[blank[0]]) else table.without_columns(blank)


def _is_blank(column: pd.Series[Any]) -> bool:
    return all(str(cell).strip().casefold() in MISSING for cell in column.dropna().unique())


def _train(tables: Sequence[Raw]) -> Raw:
    """The table with the most columns; among equals one named as training, then none named as test, then the larger.

    A table that is named as test never takes this role beside one that is named as training.
    """
    names = {one.name: (bool(TRAIN_NAMED.search(one.name)), not TEST_NAMED.search(one.name)) for one in tables}
    if any(train for train, _ in names.values()):
        tables = [one for one in tables if any(names[one.name])]
    return max(tables, key=lambda one: (len(one.names), *names[one.name]))


def submission_of(tables: Sequence[Raw]) -> Raw | None:
    """The sample submission: a narrow table with a row for each row of another one, and a column that the other lacks.

    A table with such a name, a key of another table and a column of a third needs no such rows.
    """
    most = max(len(one.names) for one in tables)
    ordered = sorted(tables, key=lambda one: not ANSWER_NAMED.search(one.name))
    for table, other in ((one, two) for one in ordered for two in tables if one is not two):
        shared = [name for name in table.names if name in other.names]
        if not 2 <= len(table.names) <= MOST_ANSWER_COLUMNS or not 0 < len(shared) < len(table.names):
            continue
        named, own = ANSWER_NAMED.search(table.name) is not None, set(table.names) - set(shared)
        wider = any(own <= set(one.names) for one in tables if one not in (table, other))
        if named and wider and len(table.names) < most:
            return table
        narrow = named or (wider and len(table.names) < len(other.names))
        if narrow and len(table.frame) == len(other.frame) and {*table.texts(shared[0])} == {*other.texts(shared[0])}:
            return table
    return None


def _choice(tables: Sequence[Raw], alike: bool) -> TableError:
    shown = ((one, ", ".join(one.names[:6]) + ", ..." * (len(one.names) > 6)) for one in tables[:12])
    listed = "; ".join(f"{table.name!r} ({len(table.frame)} rows: {names})" for table, names in shown)
    what = "of one file, and tables of one file are not joined unasked" if alike else "that do not belong together"
    remedy = "Choose one by --table NAME (`table=` in Python); 'NAME + *' adds columns of tables that share its keys"
    remedy += f"; {ALL!r} joins all." if alike else "."
    options = (*(table.name for table in tables), *([ALL] if alike else []))
    return TableError(f"There are {len(tables)} tables {what}: {listed}.", remedy, code="which-table", options=options)


def submission_order(sample: Raw, inference: Sequence[Raw], key: str) -> npt.NDArray[np.intp]:
    """(n,): the position among the inference rows of each line's row, by the key; InputError for none, or several."""
    wanted, present = (pd.concat([raw.texts(key) for raw in raws], ignore_index=True) for raws in ([sample], inference))
    if wanted.equals(present):
        return np.arange(len(present))
    repeated = wanted.isin(present[present.duplicated()])
    for wrong, what in ((~wanted.isin(present), "is not a row"), (repeated, "is in several rows")):
        if count := int(wrong.sum()):
            row = int(np.flatnonzero(wrong)[0])
            more = f", and {count - 1} more rows are like it" if count > 1 else ""
            facts = {"row": row + 1, "field": key, "value": wanted[row][:SHOWN], "file": f"{inference[0].name}{more}"}
            raise sample.opened.refusal("submission-differs", what=what, **facts)
    return np.asarray(pd.Index(present).get_indexer(pd.Index(wanted)))
