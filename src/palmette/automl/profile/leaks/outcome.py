"""Columns that are known only after the outcome, by request, by where they are missing, and by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.leaks.context import LeakContext

TELLING = 0.9
"""Reduction of error by the presence of a value alone, from which it gives the outcome away."""
STRONG = 0.5
"""Reduction of error from which a column with the name of an outcome is suspect."""
GENERIC = {"type", "class", "label", "target", "value", "category", "name", "status", "score", "group", "level", "kind"}
"""Names of targets that other columns have in theirs without being computed from them."""
AFTERWARDS = re.compile(
    r"(^|[_\W])(outcome|result|resolution|resolved|closed|closing|final|actual|afterwards?|post|cancel\w*|reason|"
    r"discharge\w*|death|died|deceased|refund\w*|returned|settle\w*|recover\w*|payout|paidoff|paid_off|chargeback|"
    r"writeoff|write_off|collection\w*|approved|rejected|completed|finished|ended|exit\w*|survival)([_\W]|$)",
    re.IGNORECASE,
)


def known_after(context: LeakContext) -> Iterator[Leak]:
    """Columns that the request declares to be known only after the outcome."""
    for name in context.known_after:
        if name in context.table:
            alone = context.error_reduction(name)
            yield Leak(
                code="known-after",
                severity="low",
                columns=(name,),
                text=f"{name!r} is known only after the outcome, as the request states; no model is given it.",
                evidence=f"alone it removes {alone:.1%} of the dummy's error" if context.target else "",
                action="drop",
                default="drop",
            )


def missing_tells(context: LeakContext) -> Iterator[Leak]:
    """Columns that are filled, or left empty, only when the outcome is known."""
    for name in context.informative:
        missing = context.rows[name].isna().to_numpy()
        if not 0.005 < missing.mean() < 0.995:
            continue
        alone = _reduction_by_presence(context, name)
        if alone >= TELLING:
            yield Leak(
                code="missing-tells",
                severity="high",
                columns=(name,),
                text=f"Whether {name!r} has a value tells {context.target!r}: it seems to be filled after the outcome.",
                evidence=f"alone that removes {alone:.1%} of the dummy's error; missing in {missing.mean():.1%}",
                action="ask",
                default="drop",
            )


def known_afterwards(context: LeakContext) -> Iterator[Leak]:
    """Columns with the name of an outcome that predict the target strongly, by value or by being there."""
    for name in context.informative:
        if not AFTERWARDS.search(_split(name)):
            continue
        alone = max(context.error_reduction(name), _reduction_by_presence(context, name))
        if alone >= STRONG:
            yield _suspect("known-afterwards", name, context.target, alone, "is named like something known afterwards")


def derived_from_target(context: LeakContext) -> Iterator[Leak]:
    """Columns that have the target's name in their own: ratios, reasons and dates of it."""
    target = _split(context.target).lower().split()
    if len("".join(target)) < 3 or set(target) <= GENERIC:
        return
    for name in context.informative:
        words = _split(name).lower().split()
        inside = any(words[start : start + len(target)] == target for start in range(len(words)))
        if not inside:
            continue
        alone = max(context.error_reduction(name), _reduction_by_presence(context, name))
        if alone >= STRONG:
            yield _suspect("derived-from-target", name, context.target, alone, "has the target's name in its own")
        else:
            yield Leak(
                code="derived-from-target",
                severity="low",
                columns=(name,),
                text=f"{name!r} has the target's name in its own: is it computed from {context.target!r}?",
                evidence=f"alone it removes {alone:.1%} of the dummy's error",
                action="report",
            )


def _reduction_by_presence(context: LeakContext, name: str) -> float:
    """Of the dummy's error, by whether the column has a value."""
    return context.reduction_of(context.rows[name].isna().to_numpy().astype(np.int64))


def _suspect(code: str, name: str, target: str, alone: float, why: str) -> Leak:
    return Leak(
        code=code,
        severity="medium",
        columns=(name,),
        text=f"{name!r} {why}, and predicts {target!r} strongly.",
        evidence=f"alone it removes {alone:.1%} of the dummy's error on rows not seen",
        action="ask",
        default="drop",
    )


def _split(name: str) -> str:
    """The words of a name, with blanks between them."""
    return re.sub(r"[_\W]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))
