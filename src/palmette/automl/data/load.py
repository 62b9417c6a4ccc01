"""Files, folders and named sets into one table, its rows to predict, and the artefact that tells how it was read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa

from palmette.automl.data import hubs
from palmette.automl.data.artefacts import Column, DataFile, Dataset, Repair, Role, TableError, Threshold
from palmette.automl.data.asked import Places, places_of
from palmette.automl.data.formats import Raw, read_tables
from palmette.automl.data.kinds import kind_of
from palmette.automl.data.names import good_names
from palmette.automl.data.numbers import decimal_sign
from palmette.automl.data.opening import digest, open_file, refusal
from palmette.automl.data.places import data_files, leads_out
from palmette.automl.data.roles import Roles, assign, names_of
from palmette.automl.data.texts import TEXT, are_in, array, as_column, as_objects, every, of_column, stacked
from palmette.automl.data.thresholds import in_classes
from palmette.automl.data.values import MISSING, Typed, typed
from palmette.errors import InputError, UserError, nearest

EXAMPLES = 5
EXAMPLE_LENGTH = 80
SIGN_SAMPLE = 300
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""How a folder is called whose rows have no value in the column that it tells."""
ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
Place = Path | str


@dataclass(frozen=True)
class Loaded:
    """A data set in memory. The frames are shared: whoever changes one copies it first."""

    dataset: Dataset
    table: pd.DataFrame
    """Rows of the train files, then those of test files that have the target."""
    predict: pd.DataFrame | None = None
    """Rows of test files without the target, in the order of the file."""
    submission: pd.DataFrame | None = None
    """The sample submission, as text."""
    asked: Places | None = None
    """(n,): the row of `predict` that each line of the sample asks for."""

    @property
    def given_test(self) -> tuple[int, int]:
        """Positions [from, to) of the rows in `table` that came from a test file."""
        return len(self.table) - self.dataset.test_rows, len(self.table)


def load(places: Sequence[Place], table: str = "") -> Loaded:
    """The data at these places.

    Args:
        places: paths of files and folders, or names of sets such as `sklearn:iris`.
        table: which table (sheet, file of an archive) is meant, where there are several.

    Raises:
        InputError: a file cannot be read as a table; the message names file, reason and remedy.
        TableError: there are several tables, and `table` does not say which.
        UserError: a named set cannot be had.
    """
    if not all(str(place).strip() for place in places) or not places:  # an empty path would be the current folder
        raise UserError("No data was named.", "Name a file, a folder, or a set such as 'sklearn:iris'.", code="no-data")
    named = tuple(str(place) for place in places)
    if away := next((place for place in named if ADDRESS.match(place)), ""):
        raise refusal(
            away, "not-a-file", "This is an address, and data are not fetched.", "Download it, and name the file."
        )
    return _once(named, table, tuple(_stamps(named)))


@lru_cache(maxsize=1)
def _once(places: tuple[str, ...], table: str, _: tuple[tuple[str, int, int], ...]) -> Loaded:
    return _load(places, table)


def _stamps(places: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Path, bytes and nanoseconds of the last change of every file at the places."""
    for file in (file for place in places if not hubs.is_named(place) for file in data_files(Path(place))):
        known = file.stat() if file.is_file() else None
        yield (str(file), known.st_size, known.st_mtime_ns) if known else (str(file), 0, 0)


def reload(dataset: Dataset) -> Loaded:
    """The same data again, from its files: those that were read last, where their contents are still the same.

    Raises:
        UserError: a file is not what it was.
    """
    for file in dataset.files:
        path = Path(file.path)
        if file.format != "hub" and (not path.is_file() or digest(path) != file.sha256):
            message = f"{file.path!r} is not the file that was read before: its content has changed, or it is gone."
            raise UserError(message, "Put it back, or start a new run.", code="data-changed")
    return _cached(dataset.places, dataset.table, tuple(file.sha256 for file in dataset.files), dataset.threshold)


@lru_cache(maxsize=2)
def _cached(places: tuple[str, ...], table: str, _: tuple[str, ...], threshold: Threshold | None) -> Loaded:
    loaded = load(places, table)
    return loaded if threshold is None else in_classes(loaded, threshold)


def _load(places: tuple[str, ...], table: str) -> Loaded:
    raws: list[Raw] = []
    notes: list[Repair] = []
    targets: tuple[str, ...] = ()
    single = all(not Path(place).is_dir() for place in places)
    for place in places:
        if hubs.is_named(place):
            found = hubs.fetch(place)
            frame = found.frame.set_axis(range(found.frame.shape[1]), axis=1).reset_index(drop=True)
            names = tuple(str(name) for name in found.frame.columns)
            raws.append(Raw(hubs.as_opened(place, found.frame), "", "hub", names, frame))
            targets = found.targets
        else:
            raws += _tables(Path(place), notes)
    raws = _once_each(raws, notes)
    roles = assign(_chosen(raws, table), named=single and len(raws) == len(places))
    for raw in roles.aside:
        said = f"{raw.name} was left aside: its columns are not those of the training table."
        notes.append(Repair(code="left-aside", subject=raw.name, count=1, text=said))
    loaded = _assembled(roles, notes, targets)
    return replace(loaded, dataset=loaded.dataset.model_copy(update={"places": places, "table": table}))


def _tables(place: Path, notes: list[Repair]) -> list[Raw]:
    """The tables of a file or folder; in a folder, a file that is no table is left aside and told."""
    files = data_files(place)
    found: list[Raw] = []
    refused: list[InputError] = []
    for file in files:
        try:
            if file != place and leads_out(file, place):
                raise refusal(file, "leads-out", "It is a link that leads out of the folder.", "Name it by itself.")
            tables = [table for opened in open_file(file) for table in read_tables(opened)]
            found += [_with_partition(table, file.relative_to(place).parts[:-1]) for table in tables]
        except InputError as error:
            if len(files) == 1:
                raise
            refused.append(error)
            said = f"{file.name} was left aside: {error.problems[0].message}"
            notes.append(Repair(code="left-aside", subject=file.name, count=1, text=said))
    if not found:
        raise InputError([problem for error in refused for problem in error.problems])
    return found


def _with_partition(raw: Raw, folders: Sequence[str]) -> Raw:
    """The table with the columns that the names of its folders tell, as `year=2024`."""
    parts = [folder.partition("=") for folder in folders]
    told = [(name, unquote(value)) for name, equals, value in parts if equals and name]
    if not told:
        return raw
    columns = {len(raw.names) + place: _everywhere(value, len(raw.frame)) for place, (_, value) in enumerate(told)}
    names = (*raw.names, *(name for name, _ in told))
    return replace(raw, names=names, frame=raw.frame.join(pd.DataFrame(columns)), partition=tuple(told))


def _everywhere(value: str, rows: int) -> pd.Series[Any]:
    return as_column(array([None if value == NO_PARTITION else value] * rows))


def _once_each(raws: list[Raw], notes: list[Repair]) -> list[Raw]:
    """The tables without those of a file that was read already: its rows would be learnt from and measured on."""
    found: dict[tuple[object, ...], Raw] = {}
    opened = {id(raw.opened.data): raw.opened for raw in raws}
    contents = {key: hashlib.sha256(one.data).hexdigest() if one.data else "" for key, one in opened.items()}
    for raw in raws:
        content = contents[id(raw.opened.data)] or raw.opened.sha256
        first = found.setdefault((content, raw.partition, raw.member), raw)
        if first is not raw:
            said = f"{raw.name} has the content of {first.name}, and was read once."
            notes.append(Repair(code="read-once", subject=raw.name, count=len(raw.frame), text=said))
    return list(found.values())


def _chosen(raws: list[Raw], table: str) -> list[Raw]:
    if not table:
        return raws
    chosen = [raw for raw in raws if raw.name == table]
    if chosen:
        return chosen
    options = tuple(raw.name for raw in raws)
    near = nearest(table, options)
    meant = f" Did you mean {near!r}?" if near else ""
    listed = ", ".join(map(repr, options))
    message = f"There is no table {table!r}.{meant}"
    raise TableError(message, f"There are {listed}.", code="which-table", options=options)


def _assembled(roles: Roles, notes: list[Repair], hub_targets: tuple[str, ...]) -> Loaded:
    """One table out of the files of every role, with names, types and kinds."""
    sources = roles.train[0].names
    names, renamed = good_names(sources)
    if not names:
        remedy = "Name a file with a header and rows."
        raise roles.train[0].opened.refusal("empty-file", "There are no columns.", remedy)
    repairs = [*notes, *chain.from_iterable(raw.repairs for raw in _all(roles)), *renamed]
    train, test, predict = (_stacked(part, names, repairs) for part in (roles.train, roles.test, roles.predict))
    train, test = (_without_empty_rows(part, roles, repairs) for part in (train, test))
    sign = _sign([raw for raw in _all(roles) if raw.format == "csv"])
    whole = stacked([train, test, predict])
    rows = len(train) + len(test)
    lacking = {name for raw in roles.predict[:1] for name in names if name not in names_of(raw)}
    made = {n: typed(whole[n].iloc[:rows] if n in lacking else whole[n], n, sign) for n in names}
    typed_as = zip(names, sources, strict=True)
    columns = [_column(name, source, made[name], made[name].series.iloc[:rows]) for name, source in typed_as]
    repairs += [*chain.from_iterable(one.repairs for one in made.values()), *_empty_columns(columns)]
    renaming = dict(zip(sources, names, strict=True))
    known = {n: one.series.iloc[rows:].reset_index(drop=True) for n, one in made.items() if n not in lacking}
    sample = roles.submission
    dataset = Dataset(
        places=(),
        files=_files(roles),
        columns=tuple(columns),
        rows=rows,
        test_rows=len(test),
        predict_rows=len(predict),
        targets=tuple(renaming.get(name, name) for name in (*roles.targets, *hub_targets)),
        key=renaming.get(roles.key, roles.key) if roles.key else "",
        repairs=tuple(repairs),
    )
    return Loaded(
        dataset,
        pd.DataFrame({name: one.series.iloc[:rows] for name, one in made.items()}, columns=names),
        pd.DataFrame(known) if len(predict) else None,
        as_objects(sample.frame.set_axis(list(sample.names), axis=1)) if sample else None,
        places_of(sample, roles.predict, roles.key) if sample and roles.key and len(predict) else None,
    )


def _all(roles: Roles) -> list[Raw]:
    answer = [roles.submission] if roles.submission is not None else []
    return [*roles.train, *roles.test, *roles.predict, *answer]


def _stacked(raws: Sequence[Raw], names: list[str], repairs: list[Repair]) -> pd.DataFrame:
    """The rows of these tables under the names of the training table; what they lack is missing."""
    if not raws:
        return pd.DataFrame(columns=names)
    frames = []
    for raw in raws:
        frame = raw.frame.set_axis(good_names(raw.names)[0], axis=1)
        unknown = [name for name in frame.columns if name not in names]
        if unknown:
            said = f"{len(unknown)} columns of {raw.name} are not in the training table; they were left out."
            repairs.append(Repair(code="unknown-columns", subject=raw.name, count=len(unknown), text=said))
        frames.append(frame.reindex(columns=names))
    return stacked(frames)


def _without_empty_rows(frame: pd.DataFrame, roles: Roles, repairs: list[Repair]) -> pd.DataFrame:
    """Rows that say nothing teach nothing. Rows to predict are kept: each wants an answer."""
    if not len(frame):
        return frame
    alive = np.zeros(len(frame), dtype=bool)
    for place in range(frame.shape[1]):
        cells = frame.iloc[:, place]
        present = cells.notna().to_numpy()
        if cells.dtype == TEXT:
            present &= ~are_in(of_column(cells), MISSING)
        elif cells.dtype == object:
            undecided = ~alive & present
            unsaid = [isinstance(c, str) and c.strip().casefold() in MISSING for c in cells.to_numpy()[undecided]]
            present[undecided] = np.logical_not(unsaid)
        alive |= present
        if alive.all():
            return frame
    count = int((~alive).sum())
    subject = roles.train[0].opened.name
    said = f"{count} rows of {subject} without any value were left out."
    repairs.append(Repair(code="empty-rows", subject=subject, count=count, text=said))
    return frame[alive].reset_index(drop=True)


def _sign(raws: Sequence[Raw]) -> str:
    """The decimal sign of the files, from a sample of every column."""
    cells = [
        every(of_column(column), max(1, len(column) // SIGN_SAMPLE)) for raw in raws for _, column in raw.frame.items()
    ]
    return decimal_sign(pa.chunked_array(cells, TEXT.pyarrow_dtype))


def _column(name: str, source: str, one: Typed, known: Any) -> Column:
    kind, distinct, present = kind_of(known, name)
    examples = [str(value)[:EXAMPLE_LENGTH] for value in pd.Series(distinct[:EXAMPLES])]
    return Column(
        name=name,
        source=source,
        kind=kind,
        dtype=str(one.series.dtype),
        missing=round((len(known) - present) / len(known), 6) if len(known) else 0.0,
        distinct=len(distinct),
        examples=tuple(examples),
        reading=one.reading,
    )


def _empty_columns(columns: Sequence[Column]) -> list[Repair]:
    return [
        Repair(
            code="empty-column",
            subject=column.name,
            count=1,
            text=f"The column {column.name!r} has no value at all.",
            changed=False,
        )
        for column in columns
        if column.distinct == 0
    ]


def _files(roles: Roles) -> tuple[DataFile, ...]:
    answer = [roles.submission] if roles.submission is not None else []
    parts: list[tuple[Role, Sequence[Raw]]] = [
        ("train", roles.train),
        ("test", roles.test),
        ("predict", roles.predict),
        ("submission", answer),
    ]
    return tuple(
        DataFile(
            path=str(raw.opened.path),
            member=raw.member,
            role=role,
            sha256=raw.opened.sha256,
            bytes=raw.opened.size,
            format=raw.format,
            compression=raw.opened.compression,
            dialect=raw.dialect,
            rows=len(raw.frame),
        )
        for role, raws in parts
        for raw in raws
    )


def require_rows(loaded: Loaded) -> None:
    """Raises InputError where there is a header but no row."""
    if not len(loaded.table):
        file = loaded.dataset.files[0].path
        names = ", ".join(loaded.table.columns[:5])
        raise refusal(file, "no-rows", f"There is a header ({names}) but no row.", "Name a file with rows.")
