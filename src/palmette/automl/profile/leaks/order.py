"""Keys and the order of the file that predict the target, and one column far ahead of all others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from palmette.automl.kinds import is_id_name
from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.leaks.context import LeakContext

BLOCKS = 64
REPORTED = 0.3
"""Reduction of error by a key, or by the order of the file, from which it is reported."""
NEARLY = 0.5
"""Different values as a share of rows, from which a column with the name of a key is suspect."""
AHEAD, BEHIND = 0.9, 0.4
"""Reduction of error by a suspicious column, and by the next one behind it."""


def identifier_tells(context: LeakContext) -> Iterator[Leak]:
    """Keys that predict the target: assigned after it, or in its order."""
    for name in context.features:
        sure = context.kinds[name] == "identifier"
        nearly = is_id_name(name) and context.rows[name].nunique() > NEARLY * len(context.rows)
        if (sure or nearly) and context.error_reduction(name) > REPORTED:
            yield Leak(
                code="identifier-tells",
                severity="medium",
                columns=(name,),
                text=f"{name!r} only identifies the row, and yet predicts {context.target!r}.",
                evidence=f"alone it removes {context.error_reduction(name):.1%} of the dummy's error on rows not seen",
                action="drop" if sure else "ask",
                default="drop",
            )


def row_order(context: LeakContext) -> Iterator[Leak]:
    """A file that is sorted by the target, or by something close to it."""
    blocks = np.arange(len(context.rows)) * BLOCKS // len(context.rows)
    alone = context.reduction_of(blocks)
    if alone > REPORTED:
        yield Leak(
            code="row-order",
            severity="low",
            text=f"The place of a row in the file predicts {context.target!r}: shuffle before folds are made.",
            evidence=f"alone it removes {alone:.1%} of the dummy's error on rows not seen",
            action="report",
        )


def suspicious_jump(context: LeakContext) -> Iterator[Leak]:
    """One column that predicts nearly all, where the next best predicts little."""
    names = context.informative
    if len(names) < 3:
        return
    ordered = sorted(names, key=lambda name: (-context.error_reduction(name), name))
    first, second = (context.error_reduction(name) for name in ordered[:2])
    if first >= AHEAD and second <= BEHIND:
        yield Leak(
            code="suspicious-jump",
            severity="medium",
            columns=(ordered[0],),
            text=f"{ordered[0]!r} alone predicts {context.target!r} far better than any other column.",
            evidence=f"it removes {first:.1%} of the dummy's error, the next one, {ordered[1]!r}, {second:.1%}",
            action="report",
        )
