"""Columns that come to be known only after the outcome: told by where they are missing, and by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.leaks.ground import Ground

TELLING = 0.9
"""Skill of "it is there" alone from which it gives the outcome away."""
STRONG = 0.5
"""Skill from which a column with the name of an outcome is doubted."""
FEWEST = 20
GENERIC = {"type", "class", "label", "target", "value", "category", "name", "status", "score", "group", "level", "kind"}
"""Names of targets that other columns have in theirs without being computed from them."""
AFTERWARDS = re.compile(
    r"(^|[_\W])(outcome|result|resolution|resolved|closed|closing|final|actual|afterwards?|post|cancel\w*|reason|"
    r"discharge\w*|death|died|deceased|refund\w*|returned|settle\w*|recover\w*|payout|paidoff|paid_off|chargeback|"
    r"writeoff|write_off|collection\w*|approved|rejected|completed|finished|ended|exit\w*|survival)([_\W]|$)",
    re.IGNORECASE,
)


def missing_tells(ground: Ground) -> Iterator[Leak]:
    """Columns that are filled, or left empty, only when the outcome is known."""
    if not ground.target or len(ground.rows) < FEWEST:
        return
    for name in ground.told:
        missing = ground.rows[name].isna().to_numpy()
        if not 0.005 < missing.mean() < 0.995:
            continue
        alone = ground.skill_of(missing.astype(np.int64))
        if alone >= TELLING:
            yield Leak(
                code="missing-tells",
                severity="high",
                columns=(name,),
                text=f"Whether {name!r} has a value tells {ground.target!r}: it seems to be filled after the outcome.",
                evidence=f"alone that removes {alone:.1%} of the dummy's error; missing in {missing.mean():.1%}",
                action="ask",
                default="drop",
            )


def known_afterwards(ground: Ground) -> Iterator[Leak]:
    """Columns with the name of an outcome that predict the target strongly, by value or by being there."""
    if not ground.target or len(ground.rows) < FEWEST:
        return
    for name in ground.told:
        if not AFTERWARDS.search(_split(name)):
            continue
        alone = max(ground.skill(name), ground.skill_of(ground.rows[name].isna().to_numpy().astype(np.int64)))
        if alone >= STRONG:
            yield _doubted("known-afterwards", name, ground.target, alone, "is named like something known afterwards")


def derived_from_target(ground: Ground) -> Iterator[Leak]:
    """Columns that have the target's name in their own: ratios, reasons and dates of it."""
    target = _split(ground.target).lower().split()
    if not ground.target or len("".join(target)) < 3 or set(target) <= GENERIC or len(ground.rows) < FEWEST:
        return
    for name in ground.told:
        words = _split(name).lower().split()
        inside = any(words[start : start + len(target)] == target for start in range(len(words)))
        if not inside:
            continue
        alone = max(ground.skill(name), ground.skill_of(ground.rows[name].isna().to_numpy().astype(np.int64)))
        if alone >= STRONG:
            yield _doubted("derived-from-target", name, ground.target, alone, "has the target's name in its own")
        else:
            yield Leak(
                code="derived-from-target",
                severity="low",
                columns=(name,),
                text=f"{name!r} has the target's name in its own: is it computed from {ground.target!r}?",
                evidence=f"alone it removes {alone:.1%} of the dummy's error",
                action="report",
            )


def _doubted(code: str, name: str, target: str, alone: float, why: str) -> Leak:
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
