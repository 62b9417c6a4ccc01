"""The split: which rows the harness keeps for the final score, by content and seed alone, so that it can be repeated.

Rows are taken in the order of a hash of their values and the seed: the order of the file changes nothing, and equal
rows, or rows of one entity, come to the same side.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from palmette.automl.kinds import Kind
from palmette.automl.problem_traits import learning_task
from palmette.automl.splitting import parts
from palmette.automl.splitting.data_splits import HoldOut, SplitRequest, SplitStrategy
from palmette.automl.splitting.parts import Hashes, apart, entity_of, has_few_values, mixed, numbered_files, row_hashes
from palmette.engine.registry import load
from palmette.errors import UserError, counted
from palmette.problems import error_of

SHARE = 0.2
SMALL = 200  # rows below which repeated cross-validation is more reliable than the hold-out
LARGEST = 20_000  # rows beyond which a larger hold-out makes no score more certain
RARE = 50  # rows of the rarest class that even a smaller hold-out must contain
BINS = 10
FEW_GROUPS = 10  # groups below which the reasons warn of a hold-out of few whole groups
Positions = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RowSplit:
    """Positions in the table, each sorted."""

    holdout: Positions
    train: Positions
    facts: HoldOut
    groups: Positions | None = None
    """For each training row a number that is equal for rows that stay together; None where each is on its own."""
    holdout_groups: Positions | None = None  # the same for each row of the hold-out


def split(table: pd.DataFrame, request: SplitRequest, kinds: Mapping[str, Kind], test_rows: int = 0) -> RowSplit:
    """Splits a table into training rows and a hold-out; the last `test_rows` rows are those of a test file.

    Raises UserError where there are too few rows, nothing to learn in the target, or no such split.
    """
    labels = parts.require_target(table, request.target, request.problem)
    known = labels.notna().to_numpy() if labels is not None else parts.begun(table, request.forecast, request.time)
    if request.splits_by_column:
        known &= parts.has_part(table[request.column])
    usable = np.flatnonzero(known)
    splitter = _Splitter(table.iloc[usable], request, kinds, usable, len(table))
    whole = splitter.whole(test_rows)
    if learning_task(request.problem) == "classification" and labels is not None:
        parts.require_classes(labels.iloc[whole.train], request.target, whole.facts.reasons[0])
    return splitter.limited(whole, table) if 0 < request.most_rows < len(whole.train) else whole


@dataclass(frozen=True)
class _Splitter:
    rows: pd.DataFrame  # the rows with a target
    request: SplitRequest
    kinds: Mapping[str, Kind]
    usable: Positions  # positions of `rows` in the table
    count: int  # how many rows the table has

    def whole(self, test_rows: int) -> RowSplit:
        """Every row with a target in one of the parts."""
        request = self.request
        if test_rows:
            inside = self.usable >= self.count - test_rows
            return self._given(inside, f"The {int(inside.sum())} rows of the test file are the hold-out.")
        decided = load("problem", request.problem).held_out(self.rows, request) if request.test_share else None
        if decided is not None:
            held, reasons = decided
            return self._split(held, "time", list(reasons), time=request.time)
        if request.splits_by_column:
            inside, reason = parts.parts_of(self.rows[request.column], request.column, request.by == "column")
            if inside.any():
                return self._given(inside, reason, request.column)
        if request.test_share == 0:
            groups, grouped, reasons = self._groups()
            first_reason = "No row is held out, as requested; scores are out of fold."
            return self._divided(np.zeros(len(groups), bool), "none", [first_reason, *reasons], groups, grouped)
        return self.by_time(request.time) if request.time and request.by in ("", "time") else self.by_hash()

    def limited(self, made: RowSplit, table: pd.DataFrame) -> RowSplit:
        """The split with fewer training rows: the latest where time counts, else a share of each class or range."""
        most, rows, count = self.request.most_rows, table.iloc[made.train], len(made.train)
        is_forecast = self.request.problem == "forecasting"
        if time := made.facts.time or (self.request.time if is_forecast else ""):
            latest = rows[time].rank(method="first", ascending=False, na_option="bottom").to_numpy()
            kept, how = np.flatnonzero(latest <= most), "the latest"
        elif is_forecast:
            kept, how = np.arange(count)[-most:], "the latest"
        else:
            seed = self.request.seed
            order = apart(row_hashes(rows), seed) if made.groups is None else mixed(made.groups.astype(np.uint64), seed)
            kept = np.flatnonzero(~choose(order, self._strata(rows)[0], 1 - most / count))
            how = "chosen by a hash of their values"
        reason = f"{len(kept)} of the other {count} rows are learnt from, {how}: the budget is too short for more."
        facts = {"training_rows": len(kept), "unused": count - len(kept), "reasons": (*made.facts.reasons, reason)}
        groups = None if made.groups is None else np.unique(made.groups[kept], return_inverse=True)[1]
        return replace(made, train=made.train[kept], groups=groups, facts=made.facts.model_copy(update=facts))

    def by_time(self, time: str) -> RowSplit:
        """The latest rows; rows of one timestamp stay together, rows without one are for training."""
        column = self.rows[time]
        known = column.notna().to_numpy()
        when = column.fillna("").astype(str).to_numpy(object) if column.dtype == object else column.to_numpy()
        ordered = np.sort(when[known])
        if not known.any():
            raise error_of(UserError, "no-times/rows")
        if ordered[0] == ordered[-1]:
            raise error_of(UserError, "no-times/equal", columns=self.request)
        if self.request.test_from:
            edge = parts.first_of_later(self.request.test_from, ordered, time)
        else:
            edge = ordered[max(len(ordered) - self._size(None), 0)]
        late = known & (when >= edge)
        if late.sum() == known.sum() and not self.request.test_from:
            late = known & (when > edge)
        shown = parts.shown_time(edge)
        reason = f"The hold-out is the latest rows by {time!r}: it begins at {shown}. Training ends before it."
        return self._split(late, "time", [reason], time=time)

    def by_hash(self) -> RowSplit:
        """Whole groups in the order of their hashes, the same share of each class or range of the target."""
        groups, grouped, reasons = self._groups()
        strata, how = self._strata(self.rows)
        held = choose(groups, strata, self._size(strata) / max(len(self.rows), 1))
        strategy: SplitStrategy = "grouped" if grouped else "stratified" if how else "random"
        first = f"{int(held.sum())} of {len(self.rows)} rows are the hold-out, chosen by a hash of their values."
        count, whole = len(np.unique(groups)), len(np.unique(groups[held]))
        if grouped and count < FEW_GROUPS:
            how = f"There are {count} groups, and {whole} of them are held out whole: so few hardly represent others."
            if not whole:
                how = f"Each of the {count} groups has a class to itself, so none is held out: scores are out of fold."
        return self._divided(held, strategy, [first, *reasons, *([how] if how else [])], groups, grouped)

    def _given(self, inside: Truths, reason: str, column: str = "") -> RowSplit:
        """A hold-out that the data name; rows that belong together are known on either side."""
        groups, grouped, _ = self._groups(named=False)
        return self._divided(inside, "given", [reason], groups, grouped, column)

    def _divided(
        self, held: Truths, strategy: SplitStrategy, reasons: list[str], groups: Hashes, grouped: bool,
        column: str = "",
    ) -> RowSplit:  # fmt: skip
        """The split by `held` (n,), with the `groups` (n,) of either part where there are any."""
        entity = "" if strategy == "given" else self._entity  # rows of its entities may be in both files
        made = self._split(held, strategy, reasons, entity=entity, column=column)
        if not grouped:
            return made
        learnt, other = (np.unique(groups[part], return_inverse=True)[1] for part in (~held, held))
        return replace(made, groups=learnt, holdout_groups=other)

    @cached_property
    def _entity(self) -> str:
        """The column whose equal values stay on one side, as requested or by its values; empty for none."""
        rows, request = self.rows, self.request
        if request.group:
            return request.group if rows[request.group].nunique(dropna=False) > 1 else ""
        return entity_of(rows, request.target, request.problem, self.kinds) if self._may_group else ""

    @property
    def _may_group(self) -> bool:
        """Whether rows may be of entities to which their target belongs."""
        supervised = self.request.problem in ("classification", "regression") and bool(self.request.target)
        return supervised and not self.request.group and self.request.by in ("", "group")

    def _groups(self, named: bool = True) -> tuple[Hashes, bool, list[str]]:
        """A hash for each row, equal for rows that must stay together; whether there are any, and the reasons.

        `named`: whether the names of files may show which do.
        """
        rows, request, entity, reasons = self.rows, self.request, self._entity, list[str]()
        if request.group and not entity:
            reasons = [f"{request.group!r} is the same in every row, so it divides nothing."]
        if entity:
            why = "as requested" if request.group else "because target or files depend on it"
            reason = f"Rows with the same {entity!r} stay on one side, {why}."
            return mixed(row_hashes(rows[[entity]]), request.seed), True, [reason]
        by_files = named and self._may_group
        files = numbered_files(rows, request.target, request.problem, self.kinds) if by_files else None
        if files is not None:
            reason = f"Files that differ only in suffix or last number, as {files.iloc[0]!r}..., stay on one side."
            return mixed(row_hashes(files.to_frame()), request.seed), True, [reason]
        aside = {request.target, request.column}
        features = [str(n) for n in rows.columns if n not in aside and self.kinds.get(str(n)) != "identifier"]
        used = [name for name in features if name not in request.hidden]
        hashes = row_hashes(rows[used])
        repeated = len(rows) - len(np.unique(hashes))
        if repeated and not (repeated > len(rows) / 2 and has_few_values(rows, used)):
            reason = f"The features of {counted(repeated, 'row')} repeat those of another; equal rows stay on one side."
            return mixed(hashes, request.seed), True, [*reasons, reason]
        if repeated:
            reasons += [f"{repeated} rows repeat others, as there are few different ones; they may be on both sides."]
        whole = mixed(row_hashes(rows[features]), 0)  # the same hold-out, whatever the request leaves out
        return apart(row_hashes(rows.drop(columns=features)) + whole, request.seed), False, reasons

    def _strata(self, rows: pd.DataFrame) -> tuple[Positions, str]:
        """A stratum for each row, and the sentence about them."""
        request = self.request
        if not request.target or request.by == "random":
            return np.zeros(len(rows), dtype=np.int64), ""
        labels = rows[request.target]
        if learning_task(request.problem) == "classification":
            codes = pd.factorize(labels.astype(str), sort=True)[0]
            counts = np.bincount(codes)
            single = int((counts == 1).sum())
            rare = f" {single} classes with a single row are in training only." if single else ""
            return codes.astype(np.int64), f"Each of the {len(counts)} classes gave the same share.{rare}"
        values = labels.to_numpy(float)
        if len(values) < 5 * BINS:
            return np.zeros(len(values), dtype=np.int64), ""
        edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
        codes = np.searchsorted(edges, values, side="right").astype(np.int64)
        return codes, "Each range of the target gave the same share."

    def _size(self, strata: Positions | None) -> int:
        """How many rows the hold-out should have."""
        count, asked = len(self.usable), self.request.test_share
        share = max(asked, 0.3) if count < 50 and asked == SHARE else asked
        wanted = max(round(share * count), 1)
        if wanted <= LARGEST:
            return wanted
        rarest = int(np.bincount(strata).min()) if strata is not None and len(strata) else count
        return max(LARGEST, min(wanted, round(RARE * count / max(rarest, 1))))

    def _split(self, held: Truths, strategy: SplitStrategy, reasons: list[str], **facts: Any) -> RowSplit:
        holdout, train, left_out = self.usable[held], self.usable[~held], self.count - len(self.usable)
        if left_out:
            targets = self.request.forecast.targets
            lacking = " or ".join(repr(one) for one in (*targets, self.request.target, facts.get("column")) if one)
            where = "before the first" if targets else "without a"
            reasons.append(f"{left_out} rows {where} value of {lacking} are in neither part.")
        if len(self.usable) < SMALL:
            more = f"repeated cross-validation on the {len(train)} training rows is more reliable"
            reasons.append(f"{len(holdout)} rows are few: {more}.")
        digest = hashlib.sha256(holdout.astype("<i8").tobytes()).hexdigest()
        made = HoldOut(
            rows=len(holdout), training_rows=len(train), left_out=left_out, strategy=strategy, seed=self.request.seed,
            digest=digest, reasons=tuple(reasons), **facts,
        )  # fmt: skip
        return RowSplit(holdout, train, made)


def choose(groups: Hashes, strata: Positions, share: float) -> Truths:
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
    for one in np.unique(strata[held[group]]):  # every class that is held out is learnt from too
        mine = group[strata == one]
        if held[mine].all():
            held[mine.min()] = False
    if not held.any():
        _hold_smallest(held, group, strata)
    return np.asarray(held[group])


def _hold_smallest(held: Truths, group: Positions, strata: Positions) -> None:
    """Holds out the smallest group without which each class is still learnt, where every group exceeds the share."""
    table = np.zeros((len(held), int(strata.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(table, (group, strata), 1)
    left = table.sum(axis=0) - table
    learnt = ((left > 0) | (table == 0)).all(axis=1)
    fitting = [one for one in np.argsort(table.sum(axis=1), kind="stable") if learnt[one]]
    held[fitting[: int(len(held) > 1)]] = True
