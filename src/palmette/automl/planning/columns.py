"""Data plans by rule, and edits to them: the columns that models use, their kinds, and derived features."""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, get_args

import pandas as pd

from palmette.automl.artefacts import DataPlan, Treatment
from palmette.automl.candidates import Derived, Operation
from palmette.automl.kinds import STRUCTURE, UNUSABLE, Kind, file_kinds
from palmette.automl.problems.problem import problem_named
from palmette.automl.profile import Profile
from palmette.automl.samples import SampleColumn, Samples
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.errors import did_you_mean

MOST_DERIVED = 12
PLAIN = ("native", "number")  # number formats that labels can have, too
NAME = re.compile(r"[a-z](_?[a-z0-9])*", re.IGNORECASE)


class Arity(NamedTuple):
    """The number and kinds of columns that an operation takes."""

    least: int
    most: int
    kinds: tuple[Kind, ...] = ("number", "boolean")


MANY = 60  # columns that may be added up or compared in one feature, such as the counts of all articles of an order
ARITIES: Mapping[str, Arity] = {
    **dict.fromkeys(("sum", "mean", "least", "greatest"), Arity(2, MANY)),
    **dict.fromkeys(("difference", "ratio"), Arity(2, 2)),
    "product": Arity(2, 3),
    **dict.fromkeys(("square", "log"), Arity(1, 1)),
    "missing": Arity(1, MANY),
    "elapsed": Arity(2, 2, ("datetime",)),
    **dict.fromkeys(("hour", "weekday", "day", "month"), Arity(1, 1, ("datetime",))),
}
assert set(ARITIES) == set(get_args(Operation))

PARTS = {"month": "months", "day": "days of the month", "weekday": "weekdays", "hour": "times of day"}
"""Recurring calendar parts, in words; the remaining part is `days` since 1970."""
MOST_ELAPSED = 6
LEAST_DATED = 0.1  # least share of rows with both timestamps for the days between them to be a feature
DUPLICATE = 0.999  # correlation above which the days between two timestamps duplicate one of them
TREND = 0.1  # rank correlation above which the target moves with time
MOST_CLASSES = 20  # number of frequent classes tested for such a move
TIMES_MOVE_TOGETHER = 0.9  # rank correlation above which two timestamps move together


class ColumnNote(Model):
    column: str
    """As it is listed."""
    reason: str
    """One sentence."""


class KindEdit(ColumnNote):
    kind: Literal["category", "text"]
    """A number that is a name is a `category`; `category` and `text` may be taken for each other."""


class ColumnEdits(Model):
    """Changes to a data plan."""

    drop: tuple[ColumnNote, ...] = ()
    """Columns that no model is given: they repeat another one, or are not known when a prediction is made."""
    kinds: tuple[KindEdit, ...] = ()
    derived: tuple[Derived, ...] = ()
    """New features; at most 12 with those that are there."""
    without: tuple[str, ...] = ()
    """Names of derived features that are removed."""
    notes: tuple[ColumnNote, ...] = ()
    """About columns that are used: a unit, an order, a value that stands for a missing one."""


def data_plan(task: TaskSpec, samples: Samples, profile: Profile, rows: pd.DataFrame) -> DataPlan:
    """Decides the treatment of every column except the target, and derives elapsed times.

    Treatments follow from the column's kind, the request and detected leaks.
    """
    gone, taken = left_out(task, samples, profile), problem_named(profile.split.problem).kinds(task)
    columns = [one for one in samples.columns if one.name != profile.split.target]
    kinds: dict[str, Kind | Literal["drop"]] = {
        one.name: "drop" if one.name in gone else taken.get(one.name, one.kind) for one in columns
    }
    treatments = tuple(Treatment(column=name, kind=kind, reason=gone.get(name, "")) for name, kind in kinds.items())
    dated = [one.name for one in columns if one.kind == "datetime" and one.name not in gone]
    return DataPlan(treatments=treatments, derived=tuple(elapsed(dated, rows, {one.name for one in columns})))


def left_out(task: TaskSpec, samples: Samples, profile: Profile) -> dict[str, str]:
    """Returns the reasons for excluded columns, by name. Reasons from the request precede those from the data."""
    included = {column.name for name in task.include if (column := samples.column(name))}
    others = [one.name for one in samples.columns if one.name not in included and one.kind not in STRUCTURE]
    files = {one.name for one in samples.columns if one.kind in file_kinds()}
    reasons: Mapping[str, Iterable[str]] = {
        "the request excludes it": task.exclude,
        "it is known only after the outcome": task.known_after,
        "clusters are compared with it": [task.labels],
        "the request names other columns to use": others if task.include else (),
        "it only identifies the row of an answer": {samples.key} - files,
        "it names the part of each row": [samples.split_column],
        "it names an entity, and new rows are of other ones": {profile.split.group} - included,
    }
    named = {name: why for why, names in reversed([*reasons.items()]) for name in names if name}
    asked = {column.name: why for name, why in named.items() if (column := samples.column(name))}
    unusable = {one.name: UNUSABLE[one.kind] for one in samples.columns if one.kind in UNUSABLE}
    kept = problem_named(profile.split.problem).kinds(task)
    return {name: why for name, why in (unusable | profile.dropped | asked).items() if name not in kept}


def may_be(column: SampleColumn, kind: str) -> bool:
    """Returns whether every value of a column can be read as a kind."""
    reading = column.reading
    plain = reading.form in PLAIN and reading.is_plain
    always = {("text", "category"), ("category", "text"), ("identifier", "category")}
    if_plain = {("number", "category"), ("identifier", "number"), ("constant", "number")}
    change = (column.kind, kind)
    return kind == column.kind or change in always or (plain and change in if_plain)


def objections(edits: ColumnEdits, plan: DataPlan, samples: Samples) -> Iterator[str]:
    """Yields reasons, as sentences, why edits are invalid."""
    used = {one.column for one in plan.treatments if one.kind != "drop"}
    named = dict.fromkeys(one.column for one in (*edits.drop, *edits.kinds, *edits.notes))
    for name in (one for one in named if one not in used):
        yield f"{name!r} is not a column that is used.{did_you_mean(name, used)}"
    known = [one.name for one in plan.derived]
    yield from (f"There is no derived feature {name!r} to remove." for name in edits.without if name not in known)
    yield from unsound(edited(plan, edits), samples)


def unsound(plan: DataPlan, samples: Samples) -> Iterator[str]:
    """Yields the errors in a data plan, as sentences."""
    for one in plan.treatments:
        column = samples.column(one.column)
        if column and one.kind != "drop" and not may_be(column, one.kind):
            yield f"{one.column!r} is of kind {column.kind} and cannot be taken for {one.kind}."
    if all(one.kind == "drop" for one in plan.treatments):
        yield "No column is left."
    if len(plan.derived) > MOST_DERIVED:
        yield f"There are {len(plan.derived)} derived features; the most is {MOST_DERIVED}."
    kinds: dict[str, str] = {one.column: one.kind for one in plan.treatments}
    taken = {name.casefold() for name in kinds}
    for derived in plan.derived:
        name, arity = derived.name, ARITIES[derived.operation]
        wrong = [column for column in derived.columns if kinds.get(column) not in arity.kinds]
        if not NAME.fullmatch(name):
            yield f"{name!r} cannot be a feature's name: use ASCII letters, digits and single underscores."
        elif name.casefold() in taken:
            yield f"The name {name!r} is taken."
        elif wrong:
            yield f"{name!r}: {wrong[0]!r} is not a used column of kind {' or '.join(arity.kinds)}."
        elif not arity.least <= len(set(derived.columns)) == len(derived.columns) <= arity.most:
            yield f"{name!r}: {derived.operation} takes {arity.least} to {arity.most} different columns."
        taken.add(name.casefold())
        kinds.setdefault(name, "number")


def edited(plan: DataPlan, edits: ColumnEdits) -> DataPlan:
    """Applies edits to a data plan; derived features that lose a column are removed."""
    gone = {one.column: one.reason for one in edits.drop}
    changes: dict[str, dict[str, str]] = {}
    for edit in (*edits.kinds, *edits.notes):
        fields = {"kind": edit.kind} if isinstance(edit, KindEdit) else {}
        changes[edit.column] = {**changes.get(edit.column, {}), **fields, "reason": edit.reason}
    changes |= {name: {"kind": "drop", "reason": reason} for name, reason in gone.items()}
    treatments = [
        one if one.kind == "drop" else one.model_copy(update=changes.get(one.column, {})) for one in plan.treatments
    ]
    names = {*edits.without, *(one.name for one in edits.derived)}
    lost, kept = {*gone, *names}, []
    for derived in plan.derived:
        if derived.name in names or lost & {*derived.columns}:
            lost.add(derived.name)
        else:
            kept.append(derived)
    return plan.model_copy(update={"treatments": tuple(treatments), "derived": (*kept, *edits.derived)})


def parts_of(values: pd.Series, drift: float | None = None) -> tuple[tuple[str, ...], str]:
    """Chooses the calendar parts that recur, and days since 1970 to tell early rows from late ones, with the reason.

    `drift` is the rank correlation with the target if later rows are to be predicted, else None: days beyond the
    training period help if the target rises or falls, and mislead otherwise.
    """
    known = values.dropna()
    days = known.dt.normalize()
    of = {"month": known.dt.month, "day": known.dt.day, "weekday": known.dt.weekday, "hour": known - days}
    within = {"month": known.dt.to_period("M"), "day": days, "weekday": days, "hour": known}
    found = [part for part in PARTS if 1 < of[part].nunique() < within[part].nunique()]
    recurring = f"{', '.join(PARTS[part] for part in found)} recur" if found else ""
    if found and drift is not None and abs(drift) < TREND:
        why = f"no days since 1970, as rows to predict are later and the target does not move with time ({drift:.2f})"
        return tuple(found), f"{recurring}; {why}"
    moves = f"the target moves with time ({drift:.2f})" if drift is not None else ""
    return (*found, "days"), "; ".join(filter(None, (recurring, moves)))


def drift_of(column: str, rows: pd.DataFrame, target: str, time: str) -> float | None:
    """Returns the rank correlation of the target with a timestamp column that moves with the split's time.

    For classes it is the largest correlation among the frequent ones. Returns None if the column does not move along.
    """
    ranks = rows[column].rank()
    if not time or not target or not ranks.corr(rows[time].rank()) > TIMES_MOVE_TOGETHER:
        return None
    if pd.api.types.is_numeric_dtype(rows[target]):
        values = [rows[target].astype(float).rank()]
    else:
        names = rows[target].astype(str)
        values = [(names == one).astype(float) for one in names.value_counts().index[:MOST_CLASSES]]
    found = [float(one.corr(ranks)) for one in values]
    return max((one for one in found if not math.isnan(one)), key=abs, default=0.0)


def elapsed(dated: Iterable[str], rows: pd.DataFrame, taken: Iterable[str]) -> Iterator[Derived]:
    """Yields the days between two timestamps of a row, if they add information to both."""
    names = set(taken)
    days = {name: (rows[name] - pd.Timestamp(1970, 1, 1)) / pd.Timedelta(days=1) for name in dated}
    pairs = (pair for pair in itertools.combinations(days, 2) if _informative(days[pair[0]], days[pair[1]]))
    for one, other in itertools.islice(pairs, MOST_ELAPSED):
        first, last = (one, other) if (days[other] - days[one]).median() >= 0 else (other, one)
        low, high = (days[last] - days[first]).quantile([0.05, 0.95])
        plain = re.sub(r"[\W_]+", "_", f"days_{first}_to_{last}").strip("_")
        plain = plain if plain.isascii() else "days_between"
        numbered = (f"{plain}_{number}" if number > 1 else plain for number in itertools.count(1))
        name = next(one for one in numbered if one not in names)
        names.add(name)
        spread = f"{low:.3g} to {high:.3g}" if low < high else f"{low:.3g}"
        between = f"{spread} days from {first!r} to {last!r}"
        reason = f"Mostly {between}; trees compare timestamps, they do not subtract them."
        yield Derived(name=name, operation="elapsed", columns=(first, last), reason=reason)


def _informative(first: pd.Series, last: pd.Series) -> bool:
    between = last - first
    if between.notna().mean() < LEAST_DATED or between.nunique() < 2:
        return False
    return all(abs(between.corr(one)) < DUPLICATE for one in (first, last) if one[between.notna()].nunique() > 1)
