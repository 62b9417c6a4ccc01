"""Facts that stand out in the figures. They advise nothing: what follows from them is for the readers to decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from palmette.automl.profile.artefacts import ColumnProfile, Suggestion, TargetProfile

SKEWED = 2.0
MANY_MISSING = 0.5
MANY_CATEGORIES = 50
RARE_CLASS = 0.1
SMALL = 1000
WIDE = 10
"""Rows for each column below which a table is wide."""


def suggest(
    rows: int, columns: Sequence[ColumnProfile], target: TargetProfile | None, duplicates: int
) -> list[Suggestion]:
    """The facts of a data set, those of the target first."""
    facts = list(_of_target(target)) if target is not None else []
    facts += [fact for column in columns for fact in _of_column(column)]
    if rows < SMALL:
        facts.append(_fact("few-rows", "", f"{rows} training rows are few"))
    if len(columns) and rows < WIDE * len(columns):
        facts.append(_fact("wide", "", f"{len(columns)} columns for {rows} rows are many"))
    if duplicates:
        facts.append(_fact("repeated-rows", "", f"{duplicates} training rows repeat another"))
    return facts


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
        low, high = target.bounds
        yield _fact("bounded-target", name, f"{name!r} lies between {low:g} and {high:g}")
    if facts.outliers > 0.01:
        yield _fact("outlying-target", name, f"{facts.outliers:.1%} of {name!r} are far out")


def _of_column(column: ColumnProfile) -> Iterator[Suggestion]:
    name = column.name
    if column.kind == "constant":
        yield _fact("drop-constant", name, f"{name!r} is the same in every row")
        return
    if column.kind == "identifier":
        yield _fact("drop-identifier", name, f"{name!r} differs in every row and names it")
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
