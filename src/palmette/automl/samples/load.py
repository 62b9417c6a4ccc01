"""Files, folders and named sets into one table, its inference rows, and the record of how they were read."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa

from palmette.automl.kinds import TEXT_FILES, UNUSABLE, file_kinds, files_digest, inspected, kind_of
from palmette.automl.opening import data_files, files_below, open_file, refusal
from palmette.automl.parsing import TEXT, decimal_sign, of_column, sample
from palmette.automl.samples import Loaded, Repairs, SampleColumn, Samples, TableError
from palmette.automl.samples.edges import edges_apart
from palmette.automl.samples.files import (
    LABEL,
    file_set,
    is_data,
    tables_of,
    with_arrays,
    with_contents_stored,
    with_files,
)
from palmette.automl.samples.formats import read_tables
from palmette.automl.samples.joins import with_related
from palmette.automl.samples.tables import ALL, Raw, Roles, assign, names_parts, submission_of, submission_order
from palmette.automl.samples.values import MISSING, NATIVE, Typed, described, typed, unix_times, with_codes
from palmette.automl.task_spec.spec import Threshold
from palmette.errors import InputError, UserError, did_you_mean
from palmette.knowledge.datasets import fetched, is_named
from palmette.problems import error_of

PARTS = 5  # distinct values up to which a column may name the parts of a split
SIGN_SAMPLE = 300
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"  # in the name of a folder: no value
ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")


def load(places: Sequence[Path | str], table: str = "", arrays: Sequence[str] = ()) -> Loaded:
    """The data at these places.

    Args:
        places: paths of files and folders, or names of sets such as `sklearn:iris`.
        table: the sheet, or the file of an archive, to read where there are several; `*` joins those of a file;
            `orders + customers` adds columns from related tables, `orders + *` from all.
        arrays: columns of numbers that are files, as `image=pixel_*`.

    Raises:
        InputError: a file cannot be read as a table; the message names file, reason and remedy.
        TableError: there are several tables, and `table` does not choose one.
        UserError: a named set cannot be fetched.
    """
    named = tuple(map(str, places))
    if not named or not all(map(str.strip, named)):  # an empty path would be the current folder
        raise error_of(UserError, "no-data/unnamed")
    if address := next(filter(ADDRESS.match, named), ""):
        raise refusal("not-a-file/address", address)
    return _load(named, table, tuple(arrays), None, "", *_stamps(named))


def _stamps(places: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Path, bytes and nanoseconds of the last change of every file at the places."""
    for place in map(Path, places):
        with suppress(OSError, ValueError):  # no such path; a named set is none
            for file in files_below(place) if place.is_dir() else [place]:
                known = file.stat()
                yield str(file), known.st_size, known.st_mtime_ns


def reload(samples: Samples) -> Loaded:
    """The same data again, from memory where that is possible; UserError where a file has changed, or is gone."""
    try:
        asked = (samples.threshold, samples.time)
        loaded = _load(samples.sources, samples.table, samples.arrays, *asked, *_stamps(samples.sources))
    except InputError as error:
        raise error_of(UserError, "data-changed", path=error.problems[0].file) from error
    known = {file.path: file.sha256 for file in loaded.samples.files}
    changed = next((file.path for file in samples.files if known.get(file.path) != file.sha256), "")
    if samples.contents and samples.contents != _contents(loaded.samples.columns, loaded.table, loaded.inference):
        changed = changed or samples.sources[0]
    if changed:
        raise error_of(UserError, "data-changed", path=changed)
    return loaded


def _contents(columns: Sequence[SampleColumn], *tables: pd.DataFrame | None) -> str:
    """The digest of the files in the columns of tables; empty where there are none."""
    kinds = {one.name: one.kind for one in columns if one.kind in file_kinds()}
    return files_digest(pd.concat([one for one in tables if one is not None]), kinds) if kinds else ""


def tables_at(place: Path, table: str, repairs: Repairs) -> list[Raw]:
    """The tables of a file or folder that `table` names, joined with related ones; paths of the files in cells."""
    raws, edges = edges_apart(_read(place, data_files(place), repairs), repairs)
    raws = [with_contents_stored(raw) for raw in _named(raws, table, (), repairs)]
    return [edges.beside(raw, repairs) for raw in raws] if edges else raws


def _named(raws: Sequence[Raw], table: str, arrays: Sequence[str], repairs: Repairs) -> list[Raw]:
    """The tables that are named, joined with their related ones; TableError for an unknown name."""
    options = tuple(raw.name for raw in raws)
    first, *related = [table] if table in options else (_in_full(one.strip(), options) for one in table.split("+"))
    if unknown := next((one for one in (first, *related) if one not in ("", ALL, *options)), ""):
        remedy = f"There are {', '.join(map(repr, options))}."
        message = f"There is no table {unknown!r}.{did_you_mean(unknown, options)}"
        raise TableError(message, remedy, code="which-table", options=options)
    beside = [raw for raw in raws if raw.name != first and (raw.name in related or ALL in related)]
    chosen = with_arrays([raw for raw in raws if first in ("", ALL, raw.name)], arrays, repairs)
    return [with_related(raw, beside, repairs, required=ALL not in related) for raw in chosen]


def _in_full(name: str, options: Sequence[str]) -> str:
    """The name of a table with its suffix, which may be left out where that is clear."""
    found = [one for one in options if name in (Path(one).stem, Path(one).name.partition(".")[0])]
    return found[0] if len(found) == 1 and name not in options else name


@lru_cache(maxsize=2)
def _load(
    places: tuple[str, ...], table: str, arrays: tuple[str, ...], threshold: Threshold | None, time: str, *_: Any
) -> Loaded:
    if threshold or time:
        return as_asked(load(places, table, arrays), threshold, time)
    raws, repairs, targets = list[Raw](), Repairs(), tuple[str, ...]()
    for place in places:
        if is_named(place):
            data = fetched(place)
            raws += _tables(data.folder, repairs)
            targets = (data.record.target,) if data.record.target else targets
        else:
            raws += _tables(Path(place), repairs)
    raws, edges = edges_apart(_once_each(raws, repairs), repairs)
    if not targets and any(raw.format == "files" and LABEL in raw.names for raw in raws):
        targets = (LABEL,)
    raws = _named(raws, table, arrays, repairs)
    named = len(raws) + (edges is not None) == len(places) and not any(Path(place).is_dir() for place in places)
    roles = assign(raws, named, table == ALL)
    for raw in roles.aside:
        repairs.add("left-aside", raw.name, 1, reason="its columns are not those of the training table.")
    loaded = _assembled(roles, repairs, targets)
    loaded = edges.joined(loaded, repairs) if edges is not None else loaded
    files = (*loaded.samples.files, *(raw.file("related") for raw in raws[0].related))
    joins = (*raws[0].joins, *loaded.samples.joins)
    found = {"sources": places, "table": table, "arrays": arrays, "files": files, "joins": joins}
    return replace(loaded, samples=loaded.samples.model_copy(update=found))


def _tables(place: Path, repairs: Repairs) -> list[Raw]:
    """The tables of a file or folder, else a table of the files in it by their folders."""
    files = file_set(place)
    if files is None:
        return [with_files(one, repairs) for one in _read(place, data_files(place), repairs)]
    paths = [path for path in files_below(files.folder) if is_data(path)]
    read = _read(files.folder, paths, repairs) if paths else []
    tables = [with_files(table, repairs, files.files) for table in read]
    named = [table for table in tables if table.files]
    if not named:
        return tables_of(files, repairs)
    form = submission_of(tables)
    used = [table for table in tables if table.files or table is form]
    for raw in (table for table in tables if table not in used):
        repairs.add("left-aside", raw.name, 1, reason="it names no files.")
    if files.kind is TEXT_FILES:
        return used
    its = [raw.frame[name] for raw in named for name, kind in raw.files if kind == files.kind.name]
    cells = {cell for column in its for cell in column if cell}
    known = {inspected(Path(cell), files.kind).sha256 for cell in cells}
    every = [inspected(path, files.kind) for path in files.files]
    repairs.add("unlabelled-files", files.folder.name, sum(not one.fault and one.sha256 not in known for one in every))
    return used


def _read(place: Path, files: Sequence[Path], repairs: Repairs) -> list[Raw]:
    """The tables of the files of a place; of several, one that is not a table is left aside and reported."""
    found, refused = list[Raw](), list[InputError]()
    for file in files:
        try:
            # A folder from elsewhere may hold a link to any file here.
            if file != place and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(place)):
                raise refusal("leads-out", file)
            tables = [table for opened in open_file(file) for table in read_tables(opened)]
            found += [_with_partition(table, file.relative_to(place).parts[:-1]) for table in tables]
        except InputError as error:
            if len(files) == 1:
                raise
            refused.append(error)
            repairs.add("left-aside", file.name, 1, reason=error.problems[0].message)
    if not found:
        raise InputError([problem for error in refused for problem in error.problems])
    return found


def _with_partition(raw: Raw, folders: Sequence[str]) -> Raw:
    """The table with the columns in the names of its folders, as `year=2024`."""
    parts = [folder.partition("=") for folder in folders]
    named = {name: unquote(value) for name, equals, value in parts if equals and name and name not in raw.names}
    cells = {name: None if value == NO_PARTITION else value for name, value in named.items()}
    frame = pd.DataFrame(cells, index=raw.frame.index, dtype=TEXT)
    return replace(raw.with_columns(frame), partition=tuple(named.items())) if named else raw


def _once_each(raws: Sequence[Raw], repairs: Repairs) -> list[Raw]:
    """The tables without repeated files, whose rows would be both learnt from and measured on."""
    found = dict[tuple[object, ...], Raw]()
    for raw in raws:
        first = found.setdefault((raw.opened.data or raw.opened.sha256, raw.partition, raw.member), raw)
        if first is not raw:
            repairs.add("read-once", raw.name, len(raw.frame), other=first.name)
    return list(found.values())


def _assembled(roles: Roles, repairs: Repairs, hub_targets: tuple[str, ...]) -> Loaded:
    """One table out of the files of every role, with types and kinds."""
    first, form = roles.train[0], roles.submission
    if not first.names:
        raise first.opened.refusal("empty-file/columns")
    _report(roles, repairs)
    kinds = {name: kind for raw in roles.used for name, kind in raw.files}
    frames = [[raw.frame for raw in raws] for _, raws in roles.by_role[:3]]
    train, test, inference = (pd.DataFrame(_below(some, first.names)) for some in frames)
    needed = () if _others(train, kinds) > 1 else [*kinds]  # one column beside the files is the target
    train, test = (_with_values(part, [*kinds], needed, first.opened.name, repairs) for part in (train, test))
    rows = len(train) + len(test)
    made = _typed(roles, [part for part in (train, test, inference) if len(part)] or [train], kinds, repairs)
    arrays = {name: use for raw in roles.used for name, use in raw.arrays}
    called = dict(zip(first.sources, first.names, strict=True))
    facts = [
        described(name, source, made[name], rows, kinds.get(name), arrays.get(name)) for source, name in called.items()
    ]
    table = pd.DataFrame({name: one.series.iloc[:rows] for name, one in made.items()})
    rest = {name: made[name].series.iloc[rows:].reset_index(drop=True) for name in map(str, inference)}
    known, facts = pd.DataFrame(rest) if len(inference) else None, with_codes(facts, table)
    for empty in (column.name for column in facts if not column.distinct):
        repairs.add("empty-column", empty, 1)
    few = [one for one in facts if one.distinct <= PARTS]
    split_column = next((one.name for one in few if names_parts(one.name, one.examples)), "")
    samples = Samples(
        sources=(), files=tuple(raw.file(role) for role, raws in roles.by_role for raw in raws),
        columns=tuple(facts), rows=rows, test_rows=len(test), inference_rows=len(inference),
        targets=tuple(dict.fromkeys(called.get(name, name) for name in (*roles.targets, *hub_targets))),
        key=roles.key, split_column=split_column, repairs=tuple(dict.fromkeys(repairs)),
        contents=_contents(facts, table, known),
    )  # fmt: skip
    loaded = Loaded(samples, table, known)
    if form is None:
        return loaded
    answers = form.frame.assign(**form.named).astype(object).where(form.frame.notna(), None)
    order = submission_order(form, roles.inference, roles.key) if roles.key and len(inference) else None
    return replace(loaded, submission=answers.set_axis(list(form.sources), axis=1), submission_order=order)


def _report(roles: Roles, repairs: Repairs) -> None:
    """Adds the repairs of the files, and columns that are not in all of them."""
    names = roles.train[0].names
    for raw in roles.used:
        repairs += raw.repairs
        repairs.add("unknown-columns", raw.name, 0 if raw is roles.submission else len({*raw.names} - {*names}))
    for raw in roles.inference:
        lacking = [name for name in names if name not in raw.names and name not in roles.targets]
        repairs.add("lacking-columns", raw.name, len(lacking), shown=", ".join(map(repr, lacking)))


def _typed(roles: Roles, parts: Sequence[pd.DataFrame], kinds: Mapping[str, str], repairs: Repairs) -> dict[str, Typed]:
    """The columns of the parts below one another, each in one type."""
    texts = [one for raw in roles.used if raw.format == "csv" for _, one in raw.frame.items() if one.dtype == TEXT]
    sign = decimal_sign(pa.chunked_array([sample(of_column(one), SIGN_SAMPLE) for one in texts], TEXT.pyarrow_dtype))
    return {
        name: Typed(column, NATIVE) if name in kinds else typed(column, name, sign, repairs)
        for name, column in _below(parts, roles.train[0].names).items()
    }


def _below(frames: Sequence[pd.DataFrame], names: Sequence[str]) -> dict[str, pd.Series[Any]]:
    """The rows of all frames below one another, column by column."""
    found: dict[str, pd.Series[Any]] = {}
    for name in names:
        parts = [frame[name] for frame in frames if name in frame]
        parts = parts if len({one.dtype for one in parts}) < 2 else [one.astype(object) for one in parts]
        found |= {name: pd.concat(parts, ignore_index=True)} if parts else {}
    return found


def _others(frame: pd.DataFrame, files: Collection[str]) -> int:
    """The number of columns beside those of files that models can use or learn."""
    others = [name for name in map(str, frame) if files and name not in files]
    columns = {name: typed(frame[name], name, ".", Repairs()).series for name in others}
    return sum(
        kind_of(one, name) not in UNUSABLE and not names_parts(name, one.dropna().unique()[: PARTS + 1])
        for name, one in columns.items()
    )


def _with_values(
    frame: pd.DataFrame, files: Sequence[str], needed: Sequence[str], subject: str, repairs: Repairs
) -> pd.DataFrame:
    """Rows without values, or without any of the needed files, teach nothing. Inference rows are kept: each needs an
    answer."""
    if files := [name for name in files if name in frame]:
        there = frame[files].notna().any(axis=1)
        repairs.add("no-file" if needed else "rows-without-file", subject, (~there).sum())
        frame = frame[there].reset_index(drop=True) if needed else frame
    alive = np.zeros(len(frame), dtype=bool)
    for _, cells in frame.items():
        texts = cells.astype(object).map(str, na_action="ignore").fillna("")
        alive |= ~texts.str.strip().str.lower().isin(MISSING).to_numpy()
        if alive.all():
            return frame
    repairs.add("empty-rows", subject, (~alive).sum())
    return frame[alive].reset_index(drop=True)


def as_asked(loaded: Loaded, threshold: Threshold | None, *times: str) -> Loaded:
    """The same data with what a request makes of columns: classes by a threshold, and times of Unix times."""
    for name in times:
        loaded = in_times(loaded, name)
    return in_classes(loaded, threshold) if threshold else loaded


def in_times(loaded: Loaded, name: str) -> Loaded:
    """The same data with the numbers of a column as the Unix times that they can be."""
    samples, repairs = loaded.samples, Repairs(loaded.samples.repairs)
    column, parts = samples.column(name), [loaded.table]
    if loaded.inference is not None and name in loaded.inference:
        parts.append(loaded.inference)
    if column is None or column.dtype not in ("int64", "float64"):
        return loaded
    made = unix_times(pd.concat([one[name] for one in parts]), name, column.reading, repairs)
    if made is None:
        return loaded
    stamps = np.split(made.series.to_numpy(), [len(loaded.table)])
    frames = [part.assign(**{name: some}) for part, some in zip(parts, stamps, strict=False)]
    known = described(name, column.source, made, samples.rows)
    columns = tuple(known if one == column else one for one in samples.columns)
    found = {"columns": columns, "time": name, "repairs": tuple(repairs)}
    made_samples = samples.model_copy(update=found)
    return replace(loaded, samples=made_samples, table=frames[0], inference=(*frames[1:], loaded.inference)[0])


def in_classes(loaded: Loaded, threshold: Threshold) -> Loaded:
    """The same data with the classes of a threshold in the place of its column's numbers; raises UserError where there
    is no such column, or it holds no numbers."""
    samples, repairs = loaded.samples, Repairs(loaded.samples.repairs)
    column = samples.column(threshold.column)
    if column is None or column.kind != "number":
        why = "is not a column of the data" if column is None else f"holds no numbers: its kind is {column.kind}"
        raise error_of(UserError, "no-numbers", threshold=threshold, why=why)
    numbers, (yes, no) = loaded.table[column.name], threshold.classes
    compare = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less}[threshold.comparison]
    sides = np.where(compare(numbers.to_numpy(float), threshold.value), yes, no)
    classes = pd.Series(sides, index=numbers.index, dtype=object).where(numbers.notna(), None)
    seen, count = tuple(map(str, classes.dropna().unique())), int((classes == yes).sum())
    repairs.add("classes-made", column.name, len(classes), asked=yes, rows=count, other=no)
    made = column.model_copy(update={"kind": "category", "dtype": "object", "distinct": len(seen), "examples": seen})
    columns = tuple(made if one == column else one for one in samples.columns)
    found = {"columns": columns, "threshold": threshold, "repairs": tuple(repairs)}
    table = loaded.table.assign(**{column.name: classes})
    return replace(loaded, samples=samples.model_copy(update=found), table=table)
