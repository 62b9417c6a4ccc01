"""The profile of a table, its meta-features, and the facts that stand out: from the training rows only."""

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.kinds import BUILT_IN, Kind, file_kinds
from palmette.automl.profile import ColumnProfile, Frequent, NumberFacts, Profile, TargetProfile
from palmette.automl.profile.association import LeakContext
from palmette.automl.profile.leaks import find_leaks

FREQUENT = 5
CLASSES = 100
FENCES = 3.0
RARE_CLASS = 0.1
SMALL = 1000
WIDE = 10  # rows for each column below which a table is wide


def figure(value: float) -> float:
    """Six significant digits; 0 for NaN and infinities.

    >>> figure(1 / 3)
    0.333333
    """
    return float(f"{value:.6g}") if math.isfinite(value) else 0.0


def numbers(values: Any) -> NumberFacts:
    """Figures of floats without NaN."""
    least, quarter, median, three, most = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    with np.errstate(over="ignore", invalid="ignore"):
        reach = FENCES * (three - quarter)
        mean = float(values.mean())
    figures = {
        "mean": mean, "least": least, "quarter": quarter, "median": median, "three_quarters": three, "most": most,
        "skew": skew(values), "zeros": (values == 0).mean(),
        "outliers": ((values < quarter - reach) | (values > three + reach)).mean() if reach else 0.0,
    }  # fmt: skip
    whole = bool((values == np.floor(values)).all())
    return NumberFacts(whole=whole, **{name: figure(float(value)) for name, value in figures.items()})


def skew(values: Any) -> float:
    """Third standardised moment; 0 for a constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        away, deviation = values - values.mean(), float(values.std())
        return float(((away / deviation) ** 3).mean()) if deviation > 0 and math.isfinite(deviation) else 0.0


def frequent(column: Any, most: int = FREQUENT) -> tuple[Frequent, ...]:
    """The most frequent values; among equals in their own order."""
    counts = column.dropna().astype(str).value_counts()
    least = counts.iloc[:most].min()
    more = sorted(counts[counts > least].items(), key=lambda item: (-item[1], item[0]))
    equal = heapq.nsmallest(most - len(more), counts.index[counts == least])
    total = max(int(counts.sum()), 1)
    return tuple(
        Frequent(value=str(v)[:200], count=int(n), share=figure(n / total))
        for v, n in (*more, *((one, least) for one in equal))
    )


def column_figures(name: str, column: Any, kind: Kind) -> ColumnProfile:
    """Figures of the training rows of a column; its association with the target is added later."""
    present = column.dropna()
    found: dict[str, Any] = {}
    if len(present) and pd.api.types.is_datetime64_any_dtype(column.dtype):
        found["times"] = present.min().isoformat(), present.max().isoformat()
    elif len(present) and pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        found["numbers"] = numbers(present.to_numpy(float))
    elif len(present):
        found["frequent"] = frequent(present)
        if kind == "text":
            found["words"] = figure(float(present.astype(str).str.split().str.len().mean()))
    missing = float(column.isna().mean()) if len(column) else 0.0
    return ColumnProfile(name=name, kind=kind, missing=figure(missing), distinct=int(present.nunique()), **found)


def target_figures(name: str, column: Any, problem: str) -> TargetProfile:
    """Figures of the training rows of the target."""
    from scipy.stats import entropy

    if problem == "classification":
        counts = column.value_counts()
        even = figure(float(entropy(counts, base=len(counts)))) if len(counts) > 1 else 0.0
        classes = frequent(column, CLASSES)
        return TargetProfile(name=name, problem=problem, classes=classes, class_count=len(counts), entropy=even)
    values = column.to_numpy(float)
    facts = numbers(values)
    low, high = np.quantile(values, [0.01, 0.99])
    return TargetProfile(
        name=name,
        problem=problem,
        numbers=facts,
        orders=figure(math.log10(high / low)) if facts.least > 0 and high > low else 0.0,
        log_skew=figure(skew(np.log1p(values))) if facts.least >= 0 else 0.0,
    )


def profile(context: LeakContext) -> Profile:
    """The figures of a table; of the hold-out only whether its rows, keys or times overlap."""
    table, request, split, kinds = context.table, context.request, context.split, context.kinds
    train, target = table.iloc[split.train], request.target
    names = [str(name) for name in table.columns if name not in (target, request.column)]
    columns = [column_figures(name, train[name], kinds[name]) for name in names]
    if target:
        found = {name: (context.mutual_information(name), context.error_reduction(name)) for name in names}
        ranks = {name: rank for rank, name in enumerate(sorted(found, key=lambda name: (-found[name][0], name)), 1)}
        for place, (name, (information, reduction)) in enumerate(found.items()):
            facts = {"mutual_information": figure(information), "error_reduction": figure(reduction)}
            columns[place] = columns[place].model_copy(update={**facts, "rank": ranks[name]})
    target_profile = target_figures(target, train[target], context.problem) if target else None
    duplicates = len(train) - len(np.unique(context.hashes[split.train]))
    return Profile(
        split=request,
        rows=len(table),
        holdout=split.facts,
        columns=tuple(columns),
        target=target_profile,
        duplicates=duplicates,
        meta=meta_features(len(train), columns, target_profile, duplicates),
        suggestions={code: f"{text}." for code, text in suggest(len(train), columns, target_profile, duplicates)},
        leaks=tuple(find_leaks(context)),
    )


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
        **{f"{kind}_columns": sum(column.kind == kind for column in columns) for kind in (*BUILT_IN, *file_kinds())},
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
) -> Iterator[tuple[str, str]]:
    """Facts that stand out, those of the target first. They advise nothing: readers decide what follows."""
    yield from _of_target(target) if target is not None else ()
    if rows < SMALL:
        yield "few-rows", f"{rows} training rows are few"
    if len(columns) and rows < WIDE * len(columns):
        yield "wide", f"{len(columns)} columns for {rows} rows are many"
    if duplicates:
        yield "repeated-rows", f"{duplicates} training rows repeat another"


def _of_target(target: TargetProfile) -> Iterator[tuple[str, str]]:
    name, facts = target.name, target.numbers
    if target.classes:
        rarest = target.classes[-1]
        if target.class_count <= len(target.classes) and rarest.share < RARE_CLASS:
            rows = f"{rarest.count} rows ({rarest.share:.2%})"
            yield "imbalanced", f"the class {rarest.value!r} of {name!r} has {rows}"
        if target.class_count > 20:
            yield "many-classes", f"{name!r} has {target.class_count} classes"
    if facts is None:
        return
    if facts.least >= 0 and facts.skew > 1 and abs(target.log_skew) < 0.7 * facts.skew:
        spans = f"spans {target.orders:.1f} orders of magnitude and " if target.orders >= 1 else ""
        skews = f"is skewed by {facts.skew:.2f}, its log by {target.log_skew:.2f}"
        yield "log-target", f"{name!r} {spans}{skews}"
    if facts.zeros > 0.2:
        yield "zero-inflated", f"{facts.zeros:.1%} of {name!r} are 0"
    if facts.outliers > 0.01:
        yield "outlying-target", f"{facts.outliers:.1%} of {name!r} are far out"
