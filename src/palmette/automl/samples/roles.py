"""The role of each table, by its content: training, test, inference, or sample submission."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from palmette.automl.samples.artefacts import Role, TableError
from palmette.automl.samples.tables import Raw
from palmette.automl.samples.values import MISSING

TEST_NAMED = re.compile(r"(^|[^a-z])(test|testing|tst|holdout|hold_out|eval|valid|validation|unseen)([^a-z]|$)", re.I)
TRAIN_NAMED = re.compile(r"(^|[^a-z])(train|training|trn)([^a-z]|$)", re.I)
ANSWER_NAMED = re.compile(r"submission|submit|sample_?sub", re.I)
PART_NAMED = re.compile(r"(part|chunk|shard|batch)?[-_ ]?\d+(\D|$)", re.I)
TRAIN = frozenset({"train", "training", "trn", "tr", "learn", "fit"})
VALIDATION = frozenset({"valid", "validation", "val", "dev", "development"})
TEST = frozenset({"test", "testing", "tst", "te", "holdout", "hold-out", "hold_out", "held-out", "eval", "evaluation"})
NO_PART = frozenset({"unused", "none", "unlabelled", "unlabeled", "ignore"})
MOST_ANSWER_COLUMNS = 40
ALL = "*"  # the name of all tables of a file together
SHOWN = 60  # characters of a value in a message
Order = npt.NDArray[np.intp]


def names_parts(values: Iterable[object]) -> bool:
    """Whether the values of a column name parts: the training rows, those to test on, and no others.

    >>> names_parts(["train", "test"]), names_parts(["train", "bus"])
    (True, False)
    """
    found = {str(value).strip().casefold() for value in values}
    return found <= TRAIN | VALIDATION | TEST | NO_PART and bool(found & TRAIN) and bool(found & (TEST | VALIDATION))


@dataclass(frozen=True)
class Roles:
    """Tables by their role."""

    train: tuple[Raw, ...]
    test: tuple[Raw, ...] = ()
    """Tables with the target, for testing."""
    inference: tuple[Raw, ...] = ()
    """Tables without the target."""
    submission: Raw | None = None
    aside: tuple[Raw, ...] = ()
    """Tables that a training and a test table do not need."""
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
    submission = _submission(full)
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
    blank = [place for place in range(len(table.names) - len(table.partition)) if _is_blank(table.frame[place])]
    if set(table.names) != set(train.names) or len(blank) != 1:
        return table
    known = not _is_blank(train.frame[train.names.index(table.names[blank[0]])])
    return table.without_columns(blank) if known else table


def _is_blank(column: pd.Series[Any]) -> bool:
    return all(str(cell).strip().casefold() in MISSING for cell in column.dropna().unique())


def _train(tables: Sequence[Raw]) -> Raw:
    """The table with the most columns; among equals one named as training, then none named as test, then the larger.

    A table that is named as test never takes this role beside one that is named as training.
    """
    if any(TRAIN_NAMED.search(one.name) for one in tables):
        tables = [one for one in tables if TRAIN_NAMED.search(one.name) or not TEST_NAMED.search(one.name)]
    names = {one.name: (bool(TRAIN_NAMED.search(one.name)), not TEST_NAMED.search(one.name)) for one in tables}
    return max(tables, key=lambda one: (len(one.names), *names[one.name]))


def _submission(tables: Sequence[Raw]) -> Raw | None:
    """A narrow table with a row for each row of another one, and a column that the other lacks.

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
        narrow = (wider or named) and (named or len(table.names) < len(other.names))
        if narrow and len(table.frame) == len(other.frame):
            keys = (set(one.texts(shared[0])) for one in (table, other))
            if next(keys) == next(keys):
                return table
    return None


def _choice(tables: Sequence[Raw], alike: bool) -> TableError:
    shown = ((one, ", ".join(one.names[:6]) + ", ..." * (len(one.names) > 6)) for one in tables[:12])
    listed = "; ".join(f"{table.name!r} ({len(table.frame)} rows: {names})" for table, names in shown)
    what = "of one file, and tables of one file are not joined unasked" if alike else "that do not belong together"
    remedy = f"Choose one by --table NAME (`table=` in Python){f'; {ALL!r} joins all' * alike}."
    options = (*(table.name for table in tables), *([ALL] if alike else []))
    return TableError(f"There are {len(tables)} tables {what}: {listed}.", remedy, code="which-table", options=options)


def submission_order(sample: Raw, inference: Sequence[Raw], key: str) -> Order:
    """(n,): the position among the inference rows of each line's row, by the key; InputError for none, or several."""
    wanted, present = (pd.concat([raw.texts(key) for raw in raws], ignore_index=True) for raws in ([sample], inference))
    if wanted.equals(present):
        return np.arange(len(present))
    repeated = wanted.isin(present[present.duplicated()])
    for wrong, what in ((~wanted.isin(present), "is no row"), (repeated, "is in several rows")):
        if count := int(wrong.sum()):
            row = int(np.flatnonzero(wrong)[0])
            more = f", and {count - 1} more rows are like it" if count > 1 else ""
            message = f"Row {row + 1} of the sample submission asks for {key} {wanted[row][:SHOWN]!r}, which {what}"
            remedy = "Give the sample that belongs to the test file, or leave it out."
            message += f" of {inference[0].name}{more}."
            raise sample.opened.refusal("submission-differs", message, remedy, field=key, value=wanted[row][:SHOWN])
    return np.asarray(pd.Index(present).get_indexer(pd.Index(wanted)))
