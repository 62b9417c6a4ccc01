"""What a split rests on: a target that can be learnt, named parts, where later rows begin, and rows that stay together.

Those are equal rows, by their hashes, and rows of one entity whose target belongs to the entity.
"""

import math
import re
from collections.abc import Collection, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from palmette.automl.kinds import FALSE, TRUE, Kind, file_kinds, is_id_name
from palmette.automl.problem_traits import learning_task
from palmette.automl.samples.tables import NO_PART, TEST, TRAIN, VALIDATION, keys_of
from palmette.automl.task_spec.spec import Forecast
from palmette.errors import UserError
from palmette.problems import error_of

FEWEST = 10  # rows with a target, below which nothing can be measured
MOST_CLASSES = 0.5  # classes as a share of rows, above which a target is a key or a text, not a class
ENTITY_NAMED = re.compile(
    r"(^|[_\W])(patient|customer|client|user|member|subject|person|student|employee|household|family|device|machine|"
    r"vehicle|account|store|shop|session|visitor|speaker|author)s?([_\W](name|code))?$|^groups?$",
    re.IGNORECASE,
)
LAST_NUMBER = re.compile(r"\d+$")
MOST_SINGLE = 0.1  # share of the rows of classes that have one entity, which cannot be on both sides
FEWEST_ENTITIES = 10  # entities below which a split by them cannot be fair
FEWEST_REPEATS = 1.5  # rows of an entity, on average
ALIKE = 0.5  # likeness of the target within entities, from which the target belongs to them; 1 is equality, 0 is chance
FACTOR = np.uint64(1_000_003)  # factor of the hash of the values to the left in a row
Hashes = npt.NDArray[np.uint64]
UNITS = {"TH": "hours", "D": "days", "W": "weeks", "M": "months", "Y": "years"}


def require_target(table: pd.DataFrame, target: str, problem: str) -> Any:
    """The column of the target; None for clustering; raises UserError where it cannot be learnt; with the reason and
    the remedy."""
    if problem == "clustering" or not target:
        _require(len(table) >= FEWEST, "too-few-rows/table", rows=len(table), fewest=FEWEST)
        return None
    labels = table[target]
    known, distinct = labels.dropna(), labels.nunique()
    facts = {"target": target, "rows": len(known), "fewest": FEWEST, "distinct": distinct, "problem": problem}
    _require(len(table) > 0, "no-rows/table")
    _require(len(known) > 0, "target-missing", **facts)
    _require(len(known) >= FEWEST, "too-few-rows/target", **facts)
    _require(distinct > 1, "one-class/target", only=str(known.iloc[0])[:60], **facts)
    if learning_task(problem) == "classification":
        _require(distinct <= max(MOST_CLASSES * len(known), 2), "too-many-classes/target", **facts)
    elif not pd.api.types.is_numeric_dtype(known.dtype):
        shown = [str(value)[:30] for value in known.drop_duplicates().iloc[:3]]
        raise error_of(UserError, "target-not-numeric/problem", shown=shown, **facts)
    return labels


def begun(table: pd.DataFrame, forecast: Forecast, time: str) -> npt.NDArray[np.bool_]:
    """(n,): whether a row is not before the first one of its series that has a target; all rows without a forecast."""
    if not forecast.targets:
        return np.ones(len(table), dtype=bool)
    stamps = table[time] if time else pd.Series(np.arange(len(table)), table.index)
    series = table[forecast.series].astype(str) if forecast.series else np.zeros(len(table))
    first = stamps.where(table[[*forecast.targets]].notna().any(axis=1)).groupby(series).transform("min")
    return ~(stamps < first).to_numpy()


def require_classes(labels: Any, target: str, how: str) -> None:
    """Raises UserError where the training rows have a single class, because of how they were split, in words."""
    facts = {"rows": len(labels), "only": str(labels.iloc[0])[:60], "target": target, "how": how}
    _require(labels.nunique() > 1, "one-class/split", **facts)


def _require(holds: bool, problem: str, /, **facts: Any) -> None:
    if not holds:
        raise error_of(UserError, problem, **facts)


def has_part(column: Any) -> npt.NDArray[np.bool_]:
    """(n,): whether a row is in a part; all rows where fewer than two are in one."""
    found = column.notna().to_numpy() & ~_folded(column).isin(NO_PART).to_numpy()
    return np.asarray(found if found.sum() > 1 else np.ones(len(found), dtype=bool))


def parts_of(column: Any, name: str, required: bool) -> tuple[npt.NDArray[np.bool_], str]:
    """Which rows are the hold-out, and the sentence about it.

    Validation rows are the hold-out where no row is for testing, else they are learnt from. Where there is no such row,
    none is held out; raises UserError where the column is `required` to divide the rows.
    """
    texts = _folded(column)
    present = set(texts[column.notna().to_numpy()])
    test = frozenset(present & TEST or present & VALIDATION)
    if not test and present <= TRUE | FALSE:  # e.g. is_test, or is_train
        words = {*name.casefold().replace("_", " ").split()}
        test = TRUE if words & (TEST | VALIDATION) else FALSE if words & TRAIN else test
    inside = texts.isin(test).to_numpy() & column.notna().to_numpy()
    divides = bool(0 < inside.sum() < len(inside))
    _require(divides or not required, "split-impossible/column", name=name, values=sorted(present)[:5])
    values = " or ".join(sorted(map(repr, set(column[inside].astype(str)))))
    reason = f"The {int(inside.sum())} rows with {name} {values} are the hold-out; no model is given that column."
    return inside & divides, reason


def _folded(column: Any) -> Any:
    return keys_of(column).str.casefold()


def first_of_later(since: str, ordered: Any, name: str) -> Any:
    """The first timestamp of the later rows; raises UserError where there are no rows before it, or none from it on.

    `since` is `2024`, `2024-03`, `2024-03-15`, or `P3M`, three months before the end. `ordered` (n,) are the known
    timestamps of the column `name`, years as numbers, or texts, sorted.
    """
    first, last = ordered[0], ordered[-1]
    if isinstance(last, str):
        edge: Any = since
    else:
        edge = _year(since, float(last)) if np.issubdtype(ordered.dtype, np.number) else _timestamp(since, last)
    facts = {"since": since, "name": name, "first": shown_time(first), "last": shown_time(last)}
    _require(edge is not None and first < edge <= last, "split-impossible/since", **facts)
    return edge


def shown_time(value: Any) -> str:
    """A timestamp, a number or a text for a sentence."""
    if isinstance(value, str):
        return value
    return str(pd.Timestamp(value)) if isinstance(value, np.datetime64) else f"{value:g}"


def _year(since: str, last: float) -> float | None:
    if (period := re.fullmatch(r"P(\d+)Y", since)) is not None:
        return last - int(period[1]) + 1
    return float(since) if re.fullmatch(r"\d{4}", since) else None


def _timestamp(since: str, last: Any) -> Any:
    try:
        if (period := re.fullmatch(r"P(T?)(\d+)([HDWMY])", since)) is not None:
            length: dict[str, Any] = {UNITS[period[1] + period[3]]: int(period[2])}
            return (pd.Timestamp(last) - pd.DateOffset(**length)).to_datetime64()
        return pd.Timestamp(since).to_datetime64()
    except ValueError:  # no timestamp, or a 30th of February
        return None


def row_hashes(frame: pd.DataFrame) -> Hashes:
    """A hash of the values of each row; neither types nor the order of rows change it."""
    types = pd.api.types
    are_numbers = [types.is_numeric_dtype(one) and not types.is_bool_dtype(one) for one in frame.dtypes]
    numbers = frame.loc[:, are_numbers].to_numpy(float, na_value=np.nan) + 0.0  # 0 and -0 are one value
    of_numbers = iter(pd.util.hash_array(numbers.ravel(order="F")).reshape(numbers.shape, order="F").T)
    hashes = np.zeros(len(frame), dtype=np.uint64)
    for place, is_number in enumerate(are_numbers):
        if is_number:
            hashes = hashes * FACTOR + next(of_numbers)
            continue
        column = frame.iloc[:, place]
        column = column.astype(str) if types.is_bool_dtype(column.dtype) else column
        hashes = hashes * FACTOR + pd.util.hash_array(column.to_numpy(), categorize=True).astype(np.uint64)
    return hashes


def mixed(hashes: Hashes, seed: int) -> Hashes:
    """The hashes in an order that depends on the seed (splitmix64, which pandas uses for numbers)."""
    return np.asarray(pd.util.hash_array(hashes + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)))


def apart(hashes: Hashes, seed: int) -> Hashes:
    """The hashes in the order of the seed; equal rows are numbered to tell them apart."""
    repeats = pd.Series(hashes).groupby(hashes).cumcount().to_numpy().astype(np.uint64)
    return mixed(mixed(hashes, seed) + repeats, seed + 1)


def has_few_values(rows: pd.DataFrame, features: Collection[str]) -> bool:
    """Whether fewer different rows are possible than there are rows: equal ones are chance, not repetition."""
    return math.prod(max(rows[name].nunique(dropna=False), 1) for name in features) <= len(rows)


def entity_of(rows: pd.DataFrame, target: str, problem: str, kinds: Mapping[str, Kind]) -> str:
    """The column that names the entity to which the target, or files such as recordings of a speaker, belong; empty
    where there is none."""
    least = -math.inf if file_kinds().keys() & {*kinds.values()} else ALIKE  # an entity is recognised in its files
    found = {
        name: target_likeness(rows[name], rows[target], problem)
        for name in rows.columns
        if name != target and kinds.get(name) in ("number", "category", "identifier") and is_entity_name(str(name))
        if _repeats(rows[name])
    }
    best = max(found, key=lambda name: found[name], default="")
    return best if best and found[best] > least else ""


def numbered_files(rows: pd.DataFrame, target: str, problem: str, kinds: Mapping[str, Kind]) -> Any:
    """Returns file names that rows share, or None if files are not grouped by name.

    Names are compared without their suffix (a picture and its mask), then also without their last number
    (`patient7_cough_2.wav`). They group files if equal names have like targets, and most classes have several names.
    """
    columns = [rows[name] for name in rows.columns if name != target and kinds.get(name) in file_kinds()]
    stems = [column.map(lambda path: PurePath(path).stem, na_action="ignore") for column in columns]
    for found in (*stems, *(stem.str.replace(LAST_NUMBER, "", regex=True) for stem in stems)):
        single = (found.groupby(rows[target].astype(str)).transform("nunique") < 2).mean()
        if _repeats(found) and target_likeness(found, rows[target], problem) > ALIKE:
            return found if problem == "regression" or single <= MOST_SINGLE else None
    return None


def is_entity_name(name: str) -> bool:
    """Whether a column of this name holds keys of entities."""
    return is_id_name(name) or bool(ENTITY_NAMED.search(name))


def _repeats(column: Any) -> bool:
    counts = column.value_counts()
    many = len(counts) >= FEWEST_ENTITIES and len(column) >= FEWEST_REPEATS * len(counts)
    return bool(many and 2 * counts.iloc[0] <= len(column))  # what most rows have is a default, and no entity


def target_likeness(entities: Any, target: Any, problem: str) -> float:
    """How alike the target is within entities: 1 where each has one value, 0 where it is random.

    Pairs of rows of one entity are compared with pairs of any two rows, so that small groups are not flattered.
    """
    codes = pd.factorize(entities)[0]
    known = codes >= 0
    codes = codes[known]
    sizes = np.bincount(codes).astype(float)
    pairs = float((sizes * (sizes - 1)).sum())
    if not pairs:
        return 0.0
    if problem == "classification":
        labels = pd.factorize(target[known].astype(str))[0]
        both = pd.Series(codes.astype(np.int64) * (labels.max() + 1) + labels).value_counts().to_numpy(float)
        within = float((both * (both - 1)).sum()) / pairs
        shares = np.bincount(labels) / len(labels)
        chance = float((shares**2).sum())
        return (within - chance) / (1 - chance) if chance < 1 else 0.0
    values = target[known].to_numpy(float)
    values = (values - values.mean()) / (values.std() or 1.0)
    sums, squares = np.bincount(codes, values), np.bincount(codes, values**2)
    return float((sums**2 - squares).sum()) / pairs
