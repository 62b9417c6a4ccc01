"""Which table is for training, which for testing, and which shows the form of an answer: told by their content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from palmette.automl.data.artefacts import TableError
from palmette.automl.data.formats import Raw
from palmette.automl.data.names import good_names
from palmette.automl.data.texts import TEXT
from palmette.automl.data.values import MISSING

TEST_NAMED = re.compile(r"(^|[^a-z])(test|testing|tst|holdout|hold_out|eval|valid|validation|unseen)([^a-z]|$)", re.I)
TRAIN_NAMED = re.compile(r"(^|[^a-z])(train|training|trn)([^a-z]|$)", re.I)
ANSWER_NAMED = re.compile(r"submission|submit|sample_?sub", re.I)
PART_NAMED = re.compile(r"(part|chunk|shard|batch)?[-_ ]?\d+(\D|$)", re.I)
MOST_ANSWER_COLUMNS = 40


@dataclass(frozen=True)
class Roles:
    """The tables by what they are for."""

    train: tuple[Raw, ...]
    test: tuple[Raw, ...] = ()
    """With the target."""
    predict: tuple[Raw, ...] = ()
    """Without the target."""
    submission: Raw | None = None
    aside: tuple[Raw, ...] = ()
    """Not needed, where a training and a test table belong together."""
    targets: tuple[str, ...] = ()
    key: str = ""


def assign(tables: Sequence[Raw], named: bool) -> Roles:
    """The roles of tables.

    Args:
        tables: in the order in which they were named.
        named: whether somebody named each of them; then of two that are alike the second is for testing.

    Raises:
        TableError: they do not belong together, and nothing says which is meant.
    """
    full = [table for table in tables if len(table.frame)]
    if len(full) <= 1:
        return Roles(tuple(full or tables[:1]))
    submission = _submission(full)
    rest = [table for table in full if table is not submission]
    train = _train(rest)
    columns = set(names_of(train))
    others = [_without_blank_target(one, train) for one in rest if one is not train]
    alike = [one for one in others if set(names_of(one)) == columns]
    most = max(3, len(columns) // 3)
    lacking = [one for one in others if 0 < len(columns - set(names_of(one))) <= most and set(names_of(one)) < columns]
    lost = {tuple(name for name in names_of(train) if name not in names_of(one)) for one in lacking}
    aside = [one for one in others if one not in alike and one not in lacking]
    test = [one for one in alike if TEST_NAMED.search(one.name) and not TRAIN_NAMED.search(one.name)]
    if len(lost) > 1 or (aside and not (lacking or test)):
        raise _choice(tables)
    if not test and named and len(alike) == 1 and not lacking and not PART_NAMED.search(alike[0].name):
        test = alike
    parts = [one for one in alike if one not in test]
    targets, key = _asked(submission, lacking, columns) if submission is not None else ((), "")
    targets = targets or next(iter(lost), ())
    return Roles((train, *parts), tuple(test), tuple(lacking), submission, tuple(aside), targets, key)


def names_of(table: Raw) -> list[str]:
    """The names of a table as they will be called."""
    return good_names(table.names)[0]


def _without_blank_target(table: Raw, train: Raw) -> Raw:
    """A test table whose only column without any value has values in training lacks that column."""
    if set(names_of(table)) != set(names_of(train)):
        return table
    own = len(table.names) - len(table.partition)
    blank = [place for place in range(own) if _blank(table.frame[place])]
    if len(blank) != 1 or _blank(train.frame[names_of(train).index(names_of(table)[blank[0]])]):
        return table
    kept = [place for place in range(len(table.names)) if place not in blank]
    frame = table.frame[kept].set_axis(range(len(kept)), axis=1)
    return replace(table, names=tuple(table.names[place] for place in kept), frame=frame)


def _blank(column: pd.Series[Any]) -> bool:
    if column.dtype not in (object, TEXT):
        return bool(column.isna().all())
    return all(str(cell).strip().casefold() in MISSING for cell in column.dropna().unique())


def _asked(submission: Raw, lacking: Sequence[Raw], columns: set[str]) -> tuple[tuple[str, ...], str]:
    """The targets that a sample submission asks for, and the column that says of which row."""
    missed = columns - {name for one in lacking for name in names_of(one)} if lacking else columns
    targets = tuple(name for name in names_of(submission) if name in missed)
    others = zip(submission.names, names_of(submission), strict=True)
    keys = [name for name, called in others if called not in targets and all(name in one.names for one in lacking)]
    return targets, next(iter(keys), "")


def _train(tables: Sequence[Raw]) -> Raw:
    """The table with the most columns; among equals the one that says so, then not a test, then the larger.

    Beside one that is called a training table, none that is called a test is one, whatever columns it has.
    """
    if any(TRAIN_NAMED.search(one.name) for one in tables):
        tables = [one for one in tables if TRAIN_NAMED.search(one.name) or not TEST_NAMED.search(one.name)]

    def rank(table: Raw) -> tuple[int, bool, bool]:
        return len(table.names), bool(TRAIN_NAMED.search(table.name)), not TEST_NAMED.search(table.name)

    return max(tables, key=rank)


def _submission(tables: Sequence[Raw]) -> Raw | None:
    """A narrow table with a row for each row of another one, and a column that the other lacks.

    One that says so by its name, and has a key of another table and a column of a third, is meant as one whatever its
    rows are.
    """
    most = max(len(one.names) for one in tables)
    for table in sorted(tables, key=lambda one: not ANSWER_NAMED.search(one.name)):
        if len(table.names) > MOST_ANSWER_COLUMNS or len(table.names) < 2:
            continue
        for other in tables:
            shared = [name for name in table.names if name in other.names]
            if other is table or not shared or len(shared) == len(table.names):
                continue
            said = ANSWER_NAMED.search(table.name) is not None
            wider = any(set(table.names) - set(shared) <= set(one.names) for one in tables if one not in (table, other))
            if said and wider and len(table.names) < most:
                return table
            narrow = said or len(table.names) < len(other.names)
            if narrow and (wider or said) and _equal(table, other, shared[0]):
                return table
    return None


def _equal(one: Raw, other: Raw, name: str) -> bool:
    if len(one.frame) != len(other.frame):
        return False
    left, right = (_column(table, name).astype(str).str.strip() for table in (one, other))
    return bool((left.to_numpy() == right.to_numpy()).all()) or set(left) == set(right)


def _column(table: Raw, name: str) -> pd.Series[Any]:
    return table.frame[table.names.index(name)]


def _choice(tables: Sequence[Raw]) -> TableError:
    options = tuple(table.name for table in tables)
    listed = "; ".join(
        f"{table.name!r} ({len(table.frame)} rows: {', '.join(table.names[:6])}{', ...' * (len(table.names) > 6)})"
        for table in tables[:12]
    )
    return TableError(
        f"There are {len(tables)} tables that do not belong together: {listed}.",
        "Say which one is meant, by --table NAME (`table=` in Python).",
        code="which-table",
        options=options,
    )
