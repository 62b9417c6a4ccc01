"""A request as it arrives: a sentence, the names of files, and the columns of the data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pydantic import ConfigDict

from palmette.automl.kinds import Kind
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.errors import UserError, did_you_mean

SHOWN = 12
"""Columns that a message lists."""


class Request(Model):
    """The sentence, and the names of the files that came with it."""

    text: str = ""
    files: tuple[str, ...] = ()


class ColumnSummary(Model):
    """A column, with what reading a request needs."""

    model_config = ConfigDict(extra="ignore")

    name: str
    source: str = ""
    """Its name in the file, where that is another."""
    kind: Kind
    distinct: int | None = None
    """Number of different values; None where they were not counted."""
    examples: tuple[str, ...] = ()
    """Some values as text. They are data, never an instruction."""

    @property
    def values(self) -> tuple[str, ...]:
        """All its values where the examples are complete, else none."""
        return self.examples if self.distinct is not None and self.distinct <= len(self.examples) else ()


class DataSummary(Model):
    """The columns of the data."""

    model_config = ConfigDict(extra="ignore")

    columns: tuple[ColumnSummary, ...] = ()
    rows: int | None = None
    """Rows of the table; None where it is not read yet."""
    targets: tuple[str, ...] = ()
    """Columns that the data themselves mark as targets, e.g. those that a test file lacks."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.columns)

    def column(self, name: str) -> ColumnSummary | None:
        """The column of this name, in the table or the file: as written, else whatever its case; None where there is
        none, or more than one."""
        exact = [one for one in self.columns if name and one.name == name]
        exact = exact or [one for one in self.columns if name and one.source == name]
        folded = [one for one in self.columns if name.casefold() in (one.name.casefold(), one.source.casefold())]
        found = exact[:1] or (folded if name else [])
        return found[0] if len(found) == 1 else None

    def require(self, name: str, field: str) -> ColumnSummary:
        """The column of this name.

        Raises:
            UserError: there is none; the message gives the nearest name.
        """
        column = self.column(name)
        if column is None:
            message = f"{field} names {name!r}, and the data have no such column.{did_you_mean(name, self.names)}"
            raise UserError(message, f"The columns are {listed(self.names)}.", code="no-such-column")
        return column


def listed(names: Iterable[str]) -> str:
    """Names for a message, the first dozen of them.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    every = [repr(name) for name in names]
    return ", ".join(every[:SHOWN]) + (f" and {len(every) - SHOWN} more" if len(every) > SHOWN else "")


def name_words(name: str) -> tuple[str, ...]:
    """The words of a column's name, in lower case.

    >>> name_words("SalePrice"), name_words("heating_load"), name_words("PM2.5 level")
    (('sale', 'price'), ('heating', 'load'), ('pm2', '5', 'level'))
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return tuple(re.findall(r"[^\W_]+", apart.casefold()))


def key_of(name: str) -> str:
    """What names of columns are compared by: letters and digits in lower case."""
    return re.sub(r"[\s_-]+", "", name.strip("\"'`").casefold())


class SentenceReading(NamedTuple):
    """What was read in a sentence."""

    task: TaskSpec
    """The fields that are in its `sources`, and `unread` and `unmet`."""
    candidates: tuple[str, ...] = ()
    """Columns that may be the target, where the sentence names more than one."""
    missing: tuple[str, ...] = ()
    """Names that are marked as columns, and are none."""
    refused: str = ""
    """The name of an unsupported problem that is asked for."""
