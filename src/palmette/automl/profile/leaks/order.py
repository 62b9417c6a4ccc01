"""What should tell nothing and does: the order of the file and keys; and one column far ahead of all others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from palmette.automl.data.kinds import is_id_name
from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.leaks.ground import Ground

BLOCKS = 64
TELLS = 0.3
"""Skill of the order of the file from which it is told."""
NEARLY = 0.5
"""Different values as a share of rows, from which a column with the name of a key is doubted."""
FEWEST = 200
AHEAD, BEHIND = 0.9, 0.4
"""Skill of a column that is suspicious, and of the next one behind it."""


def identifier_tells(ground: Ground) -> Iterator[Leak]:
    """Keys that predict the target: they were given after it, or in its order."""
    if not ground.target or len(ground.rows) < FEWEST:
        return
    for name in ground.features:
        sure = ground.kinds[name] == "identifier"
        nearly = is_id_name(name) and ground.rows[name].nunique() > NEARLY * len(ground.rows)
        if (sure or nearly) and ground.skill(name) > TELLS:
            yield Leak(
                code="identifier-tells",
                severity="medium",
                columns=(name,),
                text=f"{name!r} only names the row, and yet predicts {ground.target!r}.",
                evidence=f"alone it removes {ground.skill(name):.1%} of the dummy's error on rows not seen",
                action="drop" if sure else "ask",
                default="drop",
            )


def row_order(ground: Ground) -> Iterator[Leak]:
    """A file that is sorted by the target, or by something close to it."""
    if not ground.target or len(ground.rows) < FEWEST or ground.task == "forecasting":
        return
    blocks = np.arange(len(ground.rows)) * BLOCKS // len(ground.rows)
    alone = ground.skill_of(blocks)
    if alone > TELLS:
        yield Leak(
            code="row-order",
            severity="low",
            text=f"The place of a row in the file predicts {ground.target!r}: shuffle before folds are made.",
            evidence=f"alone it removes {alone:.1%} of the dummy's error on rows not seen",
            action="report",
        )


def suspicious_jump(ground: Ground) -> Iterator[Leak]:
    """One column that predicts nearly all, where the next best predicts little."""
    names = ground.told
    if not ground.target or len(names) < 3 or len(ground.rows) < FEWEST:
        return
    ordered = sorted(names, key=lambda name: (-ground.skill(name), name))
    first, second = (ground.skill(name) for name in ordered[:2])
    if first >= AHEAD and second <= BEHIND:
        yield Leak(
            code="suspicious-jump",
            severity="medium",
            columns=(ordered[0],),
            text=f"{ordered[0]!r} alone predicts {ground.target!r} far better than any other column.",
            evidence=f"it removes {first:.1%} of the dummy's error, the next one, {ordered[1]!r}, {second:.1%}",
            action="report",
        )
