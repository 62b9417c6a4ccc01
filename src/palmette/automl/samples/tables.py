"""A table as found in a file, and names of columns that libraries take."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from palmette.automl.kinds import Kind
from palmette.automl.samples.artefacts import ArrayUse, DataFile, Dialect, Repairs, Role
from palmette.automl.samples.opening import Opened

REFUSED = re.compile(r"[\[\]<>{}\":,\\\x00-\x1f\x7f]+")  # characters in names that break JSON or tree learners
UNNAMED, LONGEST = re.compile(r"Unnamed: \d+|\s*"), 120  # characters of a name


@dataclass(frozen=True, eq=False)
class Raw:
    """A table as found in a file; its columns are numbered, because names may be missing or repeat."""

    opened: Opened
    member: str
    """File in an archive, sheet or table; empty where there is but one."""
    format: str
    names: tuple[str, ...]
    """Unique, and without characters that libraries refuse."""
    sources: tuple[str, ...]
    """The names that pandas reads from the file."""
    frame: pd.DataFrame
    repairs: Repairs
    dialect: Dialect | None = None
    partition: tuple[tuple[str, str], ...] = ()
    """Name and value of each column in the names of the folders around the file, as `year=2024`."""
    files: tuple[tuple[str, Kind], ...] = ()
    """Name and kind of each column whose cells are paths of files."""
    arrays: tuple[tuple[str, ArrayUse], ...] = ()
    """Name and origin of each column of files that were made of numbers."""

    @property
    def name(self) -> str:
        return self.member or self.opened.path.name

    def texts(self, name: str) -> pd.Series[Any]:
        """A column as keys."""
        return keys_of(self.frame[self.names.index(name)])

    def with_columns(self, frame: pd.DataFrame, names: Sequence[str]) -> Raw:
        """The table with further columns on the right."""
        whole = pd.concat([self.frame, frame], axis=1, ignore_index=True)
        return replace(self, frame=whole, names=(*self.names, *names), sources=(*self.sources, *names))

    def without_columns(self, places: Sequence[int]) -> Raw:
        """The table without the columns at these places."""
        kept = [place for place in range(len(self.names)) if place not in places]
        names, sources = (tuple(of[place] for place in kept) for of in (self.names, self.sources))
        return replace(self, frame=self.frame[kept].set_axis(range(len(kept)), axis=1), names=names, sources=sources)

    def file(self, role: Role) -> DataFile:
        """The file, as it is recorded."""
        opened = self.opened
        return DataFile(
            path=str(opened.path), member=self.member, role=role, sha256=opened.sha256, bytes=opened.size,
            format=self.format, compression=opened.compression, dialect=self.dialect, rows=len(self.frame),
        )  # fmt: skip


def keys_of(column: pd.Series[Any]) -> pd.Series[Any]:
    """Text: empty where there is no value, whole numbers without a fraction."""
    texts = column.astype(object).where(column.notna(), "").astype(str).str.strip()
    plain: pd.Series[Any] = texts.str.replace(r"^(-?\d+)\.0$", r"\1", regex=True)
    return plain


def typed_table(
    opened: Opened, frame: pd.DataFrame, form: str, member: str = "", repairs: Repairs | None = None
) -> Raw:
    """A table of a format that has types of its own."""
    opened.require_size(*frame.shape)
    repairs, sources = repairs or Repairs(), pandas_names(list(map(str, frame.columns)))
    frame = frame.set_axis(range(frame.shape[1]), axis=1).reset_index(drop=True)
    categories = [place for place, dtype in enumerate(frame.dtypes) if isinstance(dtype, pd.CategoricalDtype)]
    names, frame = clean_names(sources, repairs), frame.astype(dict.fromkeys(categories, object))
    return Raw(opened, member, form, tuple(names), tuple(sources), frame, repairs)


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
        plain = "" if UNNAMED.fullmatch(bare) else _plain(bare)
        name = base = plain or f"column_{number}"
        count = 2
        while name in names or (name != source and name in sources):
            name, count = f"{base}_{count}", count + 1
        names.append(name)
        code = "column-name" if plain else "nameless-column"
        repairs.add(code, name, name != source, source=source[:200], number=number)
    return names


def _plain(text: str) -> str:
    clean = " ".join(REFUSED.sub("_", unicodedata.normalize("NFC", text).strip()).split())
    clean = clean if clean == text else clean.rstrip("_ ") or clean.strip("_ ")
    return clean[:LONGEST].rstrip()
