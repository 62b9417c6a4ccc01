"""The cut: which rows the harness keeps for the final score, by content and seed alone, so that it can be made again.

A row's place in the order of choosing is a hash of its values and the seed: the order of the file changes nothing, and
equal rows, or rows of one entity, come to the same side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from palmette.automl.data.artefacts import Aim, HoldOut, Kind, Strategy
from palmette.automl.data.entities import entity_of
from palmette.automl.data.instants import begins
from palmette.automl.data.load import Loaded
from palmette.automl.data.targets import require_classes, require_target

SHARE = 0.2
FEWEST = 10
"""Rows with a target, below which nothing can be measured."""
SMALL = 200
"""Rows below which the hold-out says little, and repeated cross-validation more."""
LARGEST = 20_000
"""Rows beyond which a larger hold-out makes no score surer."""
RARE = 50
"""Rows of the rarest class that a smaller hold-out must still hold."""
BINS = 10
FEW_GROUPS = 10
"""Groups below which a hold-out of whole ones is told to be one of few."""
FACTOR = np.uint64(1_000_003)
"""Of the hash of what stands before a value in its row."""
Positions = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Split:
    """Positions in the table, each sorted: those of the hold-out, and those to learn from."""

    holdout: Positions
    train: Positions
    told: HoldOut
    groups: Positions | None = None
    """For each row to learn from, a number that is equal for rows that stay together; None where each is on its own."""
    held_groups: Positions | None = None
    """The same for each row of the hold-out."""


class Wishes(NamedTuple):
    """What the request says of the cut, beyond the table."""

    group: str = ""
    """A column whose equal values stay on one side."""
    time: str = ""
    """The column that orders the rows in time; the latest are the hold-out."""
    given_test: tuple[int, int] = (0, 0)
    """Positions [from, to) of the rows of a test file with the target."""
    share: float = SHARE
    since: str = ""
    """Where the hold-out begins in time, as in `Aim`."""
    most: int = 0
    """Rows that are learnt from at most; 0 for all."""


def cut(
    table: pd.DataFrame,
    target: str,
    task: str,
    kinds: Mapping[str, Kind],
    seed: int,
    wishes: Wishes = Wishes(),  # noqa: B008 - it cannot be changed
) -> Split:
    """The hold-out of a table.

    Args:
        table: as loaded.
        target: the column to predict; empty for clustering.
        task: classification, regression, clustering or forecasting.
        kinds: of the columns.
        seed: of the choice.
        wishes: what the request says.

    Raises:
        UserError: there are too few rows, or nothing to learn in the target.
    """
    labels = require_target(table, target, task, FEWEST)
    usable = np.flatnonzero(labels.notna().to_numpy()) if labels is not None else np.arange(len(table))
    cutter = _Cutter(table, target, task, kinds, seed, wishes, usable)
    whole = cutter.whole(labels)
    if labels is not None and task == "classification":
        require_classes(labels.iloc[whole.train], target, whole.told.reasons[0])
    return cutter.lessened(whole, labels) if 0 < wishes.most < len(whole.train) else whole


def cut_for(loaded: Loaded, aim: Aim) -> Split:
    """The hold-out of a data set for an aim: recomputed from files and seed whenever it is needed.

    Raises:
        UserError: as `cut`.
    """
    kinds = {column.name: column.kind for column in loaded.dataset.columns}
    said = {name: getattr(aim, name) for name in ("group", "time", "share", "since", "most")}
    wishes = Wishes(given_test=loaded.given_test, **said)
    return cut(loaded.table, aim.target, aim.task, kinds, aim.seed, wishes)


@dataclass(frozen=True)
class _Cutter:
    table: pd.DataFrame
    target: str
    task: str
    kinds: Mapping[str, Kind]
    seed: int
    wishes: Wishes
    usable: Positions

    def whole(self, labels: Any) -> Split:
        """Every row with a target in one of the parts."""
        first, last = self.wishes.given_test
        if last > first:
            return self.given(first, last)
        if self.wishes.share == 0:
            return self.nothing()
        time = self.wishes.time or (time_column(self.table, self.kinds) if self.task == "forecasting" else "")
        return self.by_time(time) if time else self.by_hash(labels)

    def lessened(self, split: Split, labels: Any) -> Split:
        """With fewer rows to learn from: the latest where time counts, else of each class or range alike."""
        rows, count, time = self.table.iloc[split.train], len(split.train), split.told.time
        if time:
            latest = rows[time].rank(method="first", ascending=False, na_option="bottom").to_numpy()
            kept, how = np.flatnonzero(latest <= self.wishes.most), "the latest"
        else:
            own = row_hashes(rows) if split.groups is None else split.groups.astype(np.uint64)
            order = _apart(own, self.seed) if split.groups is None else _mixed(own, self.seed)
            strata, _ = _strata(None if labels is None else labels.iloc[split.train], self.task, count)
            kept = np.flatnonzero(~choose(order, strata, 1 - self.wishes.most / count))
            how = "chosen by a hash of their values"
        reason = f"{len(kept)} of the other {count} rows are learnt from, {how}: there is no time for more."
        told = {"training_rows": len(kept), "unused": count - len(kept), "reasons": (*split.told.reasons, reason)}
        groups = None if split.groups is None else np.unique(split.groups[kept], return_inverse=True)[1]
        return replace(split, train=split.train[kept], groups=groups, told=split.told.model_copy(update=told))

    def nothing(self) -> Split:
        """No hold-out: all rows are learnt from, and what belongs together is predicted together."""
        groups, grouped, reasons = self._groups(self.table.iloc[self.usable])
        first = "No row is held out, as was asked for; scores are out of fold."
        return self._divided(np.zeros(len(groups), dtype=bool), "none", [first, *reasons], groups, grouped)

    def given(self, first: int, last: int) -> Split:
        """The rows of a test file; what belongs together on its side, or on the other, is known all the same."""
        inside = (self.usable >= first) & (self.usable < last)
        groups, grouped, _ = self._groups(self.table.iloc[self.usable])
        reason = f"The {int(inside.sum())} rows of the test file are the hold-out."
        return self._divided(inside, "given", [reason], groups, grouped)

    def by_time(self, time: str) -> Split:
        """The latest rows; rows of one instant stay together, rows without one are for training."""
        when = self.table[time].iloc[self.usable].to_numpy()
        if self.table[time].dtype == object:
            when = pd.factorize(self.table[time].iloc[self.usable], sort=True)[0].astype(float)
            when[when < 0] = np.nan
        known = ~pd.isna(when)
        ordered = np.sort(when[known])
        if self.wishes.since:
            edge = begins(self.wishes.since, ordered, time)
        else:
            edge = ordered[max(len(ordered) - self._size(None), 0)]
        late = known & (when >= edge)
        if late.sum() == known.sum() and not self.wishes.since:
            late = known & (when > edge)
        reason = f"The hold-out is what comes last by {time!r}: it begins at {_shown(edge)}. Training ends before it."
        return self._split(self.usable[late], "time", [reason], time=time)

    def by_hash(self, labels: Any) -> Split:
        """Whole groups in the order of their hashes, of each class or range of the target alike."""
        rows = self.table.iloc[self.usable]
        groups, grouped, reasons = self._groups(rows)
        strata, how = _strata(None if labels is None else labels.iloc[self.usable], self.task, len(rows))
        wanted = self._size(strata)
        taken = choose(groups, strata, wanted / max(len(rows), 1))
        strategy: Strategy = "grouped" if grouped else "stratified" if how else "random"
        first = f"{int(taken.sum())} of {len(rows)} rows are the hold-out, chosen by a hash of their values."
        count, whole = len(np.unique(groups)), len(np.unique(groups[taken]))
        if grouped and count < FEW_GROUPS:
            how = f"There are {count} groups, and {whole} of them are held out whole: so few say little of others."
            if not whole:
                how = f"Each of the {count} groups has a class to itself, so none is held out: scores are out of fold."
        return self._divided(taken, strategy, [first, *reasons, *([how] if how else [])], groups, grouped)

    def _divided(
        self,
        held: npt.NDArray[np.bool_],
        strategy: Strategy,
        reasons: list[str],
        groups: Hashes,
        grouped: tuple[str, ...],
    ) -> Split:
        """The usable rows in two, by `held` (n,), with the `groups` (n,) of either part where they are `grouped`."""
        split = self._split(self.usable[held], strategy, reasons, grouped=grouped)
        if not grouped:
            return split
        learnt, other = (np.unique(groups[part], return_inverse=True)[1] for part in (~held, held))
        return replace(split, groups=learnt, held_groups=other)

    def _groups(self, rows: pd.DataFrame) -> tuple[Hashes, tuple[str, ...], list[str]]:
        """A hash for each row, equal for rows that must stay together."""
        entity, reasons = self.wishes.group or entity_of(rows, self.target, self.task, self.kinds), []
        if entity and rows[entity].nunique(dropna=False) < 2:
            reasons, entity = [f"{entity!r} is the same in every row, so it divides nothing."], ""
        if entity:
            said = "as was asked for" if self.wishes.group else "because the target depends on it"
            reason = f"Rows with the same {entity!r} stay on one side, {said}."
            return _mixed(row_hashes(rows[[entity]]), self.seed), (entity,), [reason]
        features = [name for name in rows.columns if name != self.target and self.kinds.get(name) != "identifier"]
        every, hashes = _hashes(rows, frozenset(features))
        repeated = len(rows) - len(np.unique(hashes))
        if repeated and not (repeated > len(rows) / 2 and _coarse(rows, features)):
            reason = f"{repeated} rows repeat the features of another; they stay on its side."
            return _mixed(hashes, self.seed), tuple(features), [*reasons, reason]
        if repeated:
            reasons += [f"{repeated} rows repeat others, as there are few different ones; they may be on both sides."]
        return _apart(every, self.seed), (), reasons

    def _size(self, strata: Positions | None) -> int:
        """How many rows the hold-out should have."""
        count = len(self.usable)
        share = max(self.wishes.share, 0.3) if count < 50 and self.wishes.share == SHARE else self.wishes.share
        wanted = max(round(share * count), 1)
        if wanted <= LARGEST:
            return wanted
        rarest = int(np.bincount(strata).min()) if strata is not None and len(strata) else count
        return max(LARGEST, min(wanted, round(RARE * count / max(rarest, 1))))

    def _split(
        self, holdout: Positions, strategy: Strategy, reasons: list[str], grouped: tuple[str, ...] = (), time: str = ""
    ) -> Split:
        train = np.setdiff1d(self.usable, holdout)
        left_out = len(self.table) - len(self.usable)
        if left_out:
            reasons.append(f"{left_out} rows without a value of {self.target!r} are in neither part.")
        if len(self.usable) < SMALL:
            reasons.append(
                f"{len(holdout)} rows are few: repeated cross-validation on the {len(train)} training rows says more."
            )
        told = HoldOut(
            rows=len(holdout),
            training_rows=len(train),
            left_out=left_out,
            strategy=strategy,
            grouped_by=grouped,
            time=time,
            seed=self.seed,
            digest=hashlib.sha256(holdout.astype("<i8").tobytes()).hexdigest(),
            reasons=tuple(reasons),
        )
        return Split(holdout, train, told)


def row_hashes(frame: pd.DataFrame) -> Hashes:
    """A hash of the values of each row, that neither types nor the order of rows change."""
    return _hashes(frame, frozenset())[0]


def _hashes(frame: pd.DataFrame, some: frozenset[Any]) -> tuple[Hashes, Hashes]:
    """Of all values of each row, and of those in some of the columns."""
    every = part = np.zeros(len(frame), dtype=np.uint64)
    for name, column in frame.items():
        if pd.api.types.is_bool_dtype(column.dtype):
            column = column.astype(str)
        elif pd.api.types.is_numeric_dtype(column.dtype):
            column = column.astype(float) + 0.0  # 0 and -0 are one value
        own = pd.util.hash_array(column.to_numpy(), categorize=True).astype(np.uint64)
        every = every * FACTOR + own
        part = part * FACTOR + own if name in some else part
    return every, part


def choose(groups: Hashes, strata: Positions, share: float) -> npt.NDArray[np.bool_]:
    """Which rows are held out: groups in the order of their hashes, until each stratum has given its share.

    A stratum of two groups or more has one on each side; a class that would be without training rows gets a group back.
    """
    codes, group = np.unique(groups, return_inverse=True)
    sizes = np.bincount(group)
    rarity = np.argsort(np.argsort(np.bincount(strata), kind="stable"), kind="stable")
    rank = np.full(len(codes), len(rarity))
    np.minimum.at(rank, group, rarity[strata])  # a group counts for its rarest class
    held = np.zeros(len(codes), dtype=bool)
    for one in np.unique(rank):
        mine = np.flatnonzero(rank == one)
        quota = share * sizes[mine].sum()
        fitting = mine[sizes[mine] <= max(quota, 1.0)] if len(mine) > 2 else mine[np.argsort(sizes[mine])][:1]
        if len(mine) < 2:
            continue
        ends = np.cumsum(sizes[fitting])
        count = int((ends - sizes[fitting] / 2 < quota).sum())
        held[fitting[: min(max(count, 1), len(mine) - 1)]] = True
    _give_back(held, group, strata)
    if not held.any():
        _hold_smallest(held, group, strata)
    return np.asarray(held[group])


def _give_back(held: npt.NDArray[np.bool_], group: Positions, strata: Positions) -> None:
    """Every class that is held out is learnt from too."""
    for one in np.unique(strata[held[group]]):
        mine = group[strata == one]
        if held[mine].all():
            held[mine.min()] = False


def _hold_smallest(held: npt.NDArray[np.bool_], group: Positions, strata: Positions) -> None:
    """Where every group is larger than what is wanted, the smallest one without which each class is still learnt."""
    table = np.zeros((len(held), int(strata.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(table, (group, strata), 1)
    left = table.sum(axis=0) - table
    learnt = ((left > 0) | (table == 0)).all(axis=1)
    fitting = [one for one in np.argsort(table.sum(axis=1), kind="stable") if learnt[one]]
    held[fitting[: int(len(held) > 1)]] = True


def _mixed(hashes: Hashes, seed: int) -> Hashes:
    """The hashes in an order of the seed's own (splitmix64)."""
    z = hashes + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)


def _apart(hashes: Hashes, seed: int) -> Hashes:
    """As `_mixed`, with equal rows told apart by counting them."""
    repeats = pd.Series(hashes).groupby(hashes).cumcount().to_numpy().astype(np.uint64)
    return _mixed(_mixed(hashes, seed) + repeats, seed + 1)


def _coarse(rows: pd.DataFrame, features: Sequence[str]) -> bool:
    """Whether there are fewer possible rows than rows, so that equal ones are chance and not repetition."""
    possible = 1.0
    for name in features:
        possible *= max(rows[name].nunique(dropna=False), 1)
        if possible > len(rows):
            return False
    return True


def _strata(labels: Any, task: str, count: int) -> tuple[Positions, str]:
    """A stratum for each row, and how to say it."""
    if labels is None:
        return np.zeros(count, dtype=np.int64), ""
    if task == "classification":
        codes = pd.factorize(labels.astype(str), sort=True)[0]
        counts = np.bincount(codes)
        single = int((counts == 1).sum())
        said = f"Each of the {len(counts)} classes gave the same share."
        if single:
            said += f" {single} classes with a single row are in training only."
        return codes.astype(np.int64), said
    values = labels.to_numpy(float)
    if len(values) < 5 * BINS:
        return np.zeros(len(values), dtype=np.int64), ""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
    codes = np.searchsorted(edges, values, side="right").astype(np.int64)
    return codes, "Each range of the target gave the same share."


def time_column(table: pd.DataFrame, kinds: Mapping[str, Kind]) -> str:
    """The column of instants that has the most different ones; empty where there is none."""
    dated = [name for name in table.columns if kinds.get(name) == "datetime"]
    return max(dated, key=lambda name: table[name].nunique(), default="")


def _shown(edge: Any) -> str:
    return str(pd.Timestamp(edge)) if isinstance(edge, np.datetime64) else f"{edge}"
