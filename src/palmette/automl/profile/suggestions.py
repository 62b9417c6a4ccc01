"""What follows from the figures, as facts that later steps use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from palmette.automl.profile.artefacts import ColumnProfile, Fact, TargetProfile

SKEWED = 2.0
MANY_MISSING = 0.5
MANY_CATEGORIES = 50
RARE_CLASS = 0.1
SMALL = 1000
WIDE = 10
"""Rows for each column below which a table is wide."""


def suggest(rows: int, columns: Sequence[ColumnProfile], target: TargetProfile | None, duplicates: int) -> list[Fact]:
    """The facts of a data set, those of the target first."""
    facts = list(_of_target(target)) if target is not None else []
    facts += [fact for column in columns for fact in _of_column(column)]
    if rows < SMALL:
        facts.append(_fact("few-rows", "", f"{rows} training rows are few; repeat cross-validation"))
    if len(columns) and rows < WIDE * len(columns):
        said = f"{len(columns)} columns for {rows} rows are many; regularise or choose among them"
        facts.append(_fact("wide", "", said))
    if duplicates:
        facts.append(_fact("repeated-rows", "", f"{duplicates} training rows repeat another; keep them in one fold"))
    return facts


def _fact(code: str, subject: str, text: str) -> Fact:
    return Fact(code=code, subject=subject, text=f"{text}.")


def _of_target(target: TargetProfile) -> Iterator[Fact]:
    name, facts = target.name, target.numbers
    if target.classes:
        rarest = target.classes[-1]
        if target.class_count <= len(target.classes) and rarest.share < RARE_CLASS:
            said = f"the class {rarest.value!r} of {name!r} has {rarest.count} rows ({rarest.share:.2%}); stratify"
            yield _fact("imbalanced", name, f"{said}, and choose the threshold on validation rows")
        if target.class_count > 20:
            yield _fact("many-classes", name, f"{name!r} has {target.class_count} classes")
    if facts is None:
        return
    if facts.least >= 0 and facts.skew > 1 and abs(target.log_skew) < 0.7 * facts.skew:
        spans = f"spans {target.orders:.1f} orders of magnitude and " if target.orders >= 1 else ""
        said = f"{name!r} {spans}is skewed by {facts.skew:.2f}, its log by {target.log_skew:.2f}; learn on the log"
        yield _fact("log-target", name, said)
    if target.is_count:
        said = f"{name!r} counts something ({facts.least:g} to {facts.most:g}); never predict below 0"
        yield _fact("count-target", name, said)
    if facts.zeros > 0.2:
        yield _fact("zero-inflated", name, f"{facts.zeros:.1%} of {name!r} are 0")
    if target.bounds is not None:
        low, high = target.bounds
        yield _fact("bounded-target", name, f"{name!r} lies between {low:g} and {high:g}; keep predictions there")
    if facts.outliers > 0.01:
        yield _fact("outlying-target", name, f"{facts.outliers:.1%} of {name!r} are far out; consider a robust loss")


def _of_column(column: ColumnProfile) -> Iterator[Fact]:
    name = column.name
    if column.kind == "constant":
        yield _fact("drop-constant", name, f"{name!r} is the same in every row; leave it out")
        return
    if column.kind == "identifier":
        yield _fact("drop-identifier", name, f"{name!r} differs in every row and names it; leave it out")
        return
    if column.missing > MANY_MISSING:
        said = f"{name!r} is missing in {column.missing:.1%}; that it is there may tell most"
        yield _fact("mostly-missing", name, said)
    elif column.missing > 0:
        yield _fact("missing", name, f"{name!r} is missing in {column.missing:.2%}; impute it, with a flag")
    if column.kind == "category" and column.distinct > MANY_CATEGORIES:
        said = f"{name!r} has {column.distinct} categories; encode them by target or frequency"
        yield _fact("many-categories", name, said)
    if column.kind == "text" and column.text is not None:
        yield _fact("text-column", name, f"{name!r} is text of {column.text.words:.0f} words on average; use its words")
    if column.kind == "datetime" and column.times is not None:
        said = f"{name!r} runs from {column.times.first[:10]} to {column.times.last[:10]}; take its parts and distances"
        yield _fact("date-column", name, said)
    if column.numbers is not None and abs(column.numbers.skew) > SKEWED:
        said = f"{name!r} is skewed by {column.numbers.skew:.1f}; a log or ranks help models that are not trees"
        yield _fact("skewed", name, said)
