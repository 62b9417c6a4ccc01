"""The profile of a table, its meta-features, and the facts that stand out: from the training rows only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

import numpy as np

from palmette.automl.kinds import Kind
from palmette.automl.profile import ColumnProfile, Profile, Suggestion, TargetProfile
from palmette.automl.profile.association import LeakContext
from palmette.automl.profile.figures import column_figures, figure, target_figures
from palmette.automl.profile.leaks import find_leaks

SKEWED = 2.0
MANY_MISSING = 0.5
MANY_CATEGORIES = 50
RARE_CLASS = 0.1
SMALL = 1000
WIDE = 10  # rows for each column below which a table is wide


def profile(context: LeakContext) -> Profile:
    """The figures of a table; of the hold-out only whether its rows, keys or times overlap."""
    table, request, split, kinds = context.table, context.request, context.split, context.kinds
    train, target = table.iloc[split.train], request.target
    names = [str(name) for name in table.columns if name not in (target, request.column)]
    columns = [column_figures(name, train[name], kinds[name]) for name in names]
    columns = _ranked(columns, context) if target else columns
    target_profile = target_figures(target, train[target], context.problem) if target else None
    duplicates = len(train) - len(np.unique(context.hashes[split.train]))
    return Profile(
        split=request,
        rows=len(table),
        holdout=split.facts,
        columns=tuple(columns),
        target=target_profile,
        duplicates=duplicates,
        memory=int(table.memory_usage(deep=False).sum()),
        meta=meta_features(len(train), columns, target_profile, duplicates),
        suggestions=tuple(suggest(len(train), columns, target_profile, duplicates)),
        leaks=tuple(find_leaks(context)),
    )


def _ranked(columns: Sequence[ColumnProfile], context: LeakContext) -> list[ColumnProfile]:
    """The columns with their association with the target."""
    found = {one.name: (context.mutual_information(one.name), context.error_reduction(one.name)) for one in columns}
    ranks = {name: rank for rank, name in enumerate(sorted(found, key=lambda name: (-found[name][0], name)), 1)}
    figures = {
        name: {"mutual_information": figure(information), "error_reduction": figure(reduction), "rank": ranks[name]}
        for name, (information, reduction) in found.items()
    }
    return [column.model_copy(update=figures[column.name]) for column in columns]


def meta_features(
    rows: int, columns: Sequence[ColumnProfile], target: TargetProfile | None, duplicates: int
) -> dict[str, float]:
    """A data set as one vector of figures; a figure that does not apply is 0."""
    numeric = [column.numbers for column in columns if column.numbers is not None]
    categories = [column.distinct for column in columns if column.kind in ("category", "boolean")]
    skews, information = [abs(one.skew) for one in numeric], [one.mutual_information for one in columns]
    facts = target.numbers if target else None
    classes, values = (target, None) if target and not facts else (None, target)
    found = {
        "rows": rows, "columns": len(columns), "rows_per_column": rows / max(len(columns), 1),
        **{f"{kind}_columns": sum(column.kind == kind for column in columns) for kind in get_args(Kind)},
        "missing": _mean([column.missing for column in columns]),
        "columns_with_missing": sum(column.missing > 0 for column in columns),
        "categories_mean": _mean(categories), "categories_most": max(categories, default=0),
        "skew_mean": _mean(skews), "skew_most": max(skews, default=0),
        "outliers_mean": _mean([one.outliers for one in numeric]), "zeros_mean": _mean([one.zeros for one in numeric]),
        "whole_columns": sum(one.whole for one in numeric), "duplicates": duplicates / max(rows, 1),
        "mutual_information_mean": _mean(information), "mutual_information_most": max(information, default=0),
        "error_reduction_most": max((column.error_reduction for column in columns), default=0),
        "classes": classes.class_count if classes else 0, "class_entropy": classes.entropy if classes else 0,
        "rarest_class": min((one.share for one in classes.classes), default=0) if classes else 0,
        "target_skew": facts.skew if facts else 0, "target_log_skew": values.log_skew if values else 0,
        "target_orders": values.orders if values else 0, "target_zeros": facts.zeros if facts else 0,
    }  # fmt: skip
    return {name: figure(float(value)) for name, value in found.items()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def suggest(
    rows: int, columns: Sequence[ColumnProfile], target: TargetProfile | None, duplicates: int
) -> Iterator[Suggestion]:
    """Facts that stand out, those of the target first. They advise nothing: readers decide what follows."""
    yield from _of_target(target) if target is not None else ()
    for column in columns:
        yield from _of_column(column)
    if rows < SMALL:
        yield _fact("few-rows", "", f"{rows} training rows are few")
    if len(columns) and rows < WIDE * len(columns):
        yield _fact("wide", "", f"{len(columns)} columns for {rows} rows are many")
    if duplicates:
        yield _fact("repeated-rows", "", f"{duplicates} training rows repeat another")


def _fact(code: str, subject: str, text: str) -> Suggestion:
    return Suggestion(code=code, subject=subject, text=f"{text}.")


def _of_target(target: TargetProfile) -> Iterator[Suggestion]:
    name, facts = target.name, target.numbers
    if target.classes:
        rarest = target.classes[-1]
        if target.class_count <= len(target.classes) and rarest.share < RARE_CLASS:
            rows = f"{rarest.count} rows ({rarest.share:.2%})"
            yield _fact("imbalanced", name, f"the class {rarest.value!r} of {name!r} has {rows}")
        if target.class_count > 20:
            yield _fact("many-classes", name, f"{name!r} has {target.class_count} classes")
    if facts is None:
        return
    if facts.least >= 0 and facts.skew > 1 and abs(target.log_skew) < 0.7 * facts.skew:
        spans = f"spans {target.orders:.1f} orders of magnitude and " if target.orders >= 1 else ""
        skews = f"is skewed by {facts.skew:.2f}, its log by {target.log_skew:.2f}"
        yield _fact("log-target", name, f"{name!r} {spans}{skews}")
    if target.is_count:
        yield _fact("count-target", name, f"{name!r} counts something ({facts.least:g} to {facts.most:g})")
    if facts.zeros > 0.2:
        yield _fact("zero-inflated", name, f"{facts.zeros:.1%} of {name!r} are 0")
    if target.bounds is not None:
        yield _fact("bounded-target", name, "{!r} lies between {:g} and {:g}".format(name, *target.bounds))
    if facts.outliers > 0.01:
        yield _fact("outlying-target", name, f"{facts.outliers:.1%} of {name!r} are far out")


def _of_column(column: ColumnProfile) -> Iterator[Suggestion]:
    name = column.name
    if column.kind == "constant":
        yield _fact("drop-constant", name, f"{name!r} is the same in every row")
        return
    if column.kind == "identifier":
        yield _fact("drop-identifier", name, f"{name!r} differs in nearly every row and names it")
        return
    if column.missing > MANY_MISSING:
        yield _fact("mostly-missing", name, f"{name!r} is missing in {column.missing:.1%}")
    elif column.missing > 0:
        yield _fact("missing", name, f"{name!r} is missing in {column.missing:.2%}")
    if column.kind == "category" and column.distinct > MANY_CATEGORIES:
        yield _fact("many-categories", name, f"{name!r} has {column.distinct} categories")
    if column.kind == "text" and column.text is not None:
        yield _fact("text-column", name, f"{name!r} is text of {column.text.words:.0f} words on average")
    if column.kind == "datetime" and column.times is not None:
        yield _fact("date-column", name, f"{name!r} runs from {column.times.first[:10]} to {column.times.last[:10]}")
    if column.numbers is not None and abs(column.numbers.skew) > SKEWED:
        yield _fact("skewed", name, f"{name!r} is skewed by {column.numbers.skew:.1f}")
