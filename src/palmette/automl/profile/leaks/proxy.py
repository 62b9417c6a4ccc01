"""Columns that are the target in another form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.association import as_numbers
from palmette.automl.profile.leaks.ground import Ground

FEWEST = 20
"""Rows from which nothing of this is chance."""
COPIED = 0.995
"""Share of rows in which a copy agrees."""
MONOTONE = 0.99995
"""Rank correlation from which a column is the target on another scale."""
PERFECT = 0.98
"""Skill of a column alone from which it is a proxy."""
EXACT = 1e-9
"""Of the variance, that a sum of parts leaves unexplained."""
MOST_PARTS = 60
SUM_SAMPLE = 5000


def target_copy(ground: Ground) -> Iterator[Leak]:
    """Columns whose values are the target's under other names, or on another scale."""
    if not ground.target or len(ground.rows) < FEWEST:
        return
    for name in ground.features:
        if ground.kinds[name] in ("constant", "text"):
            continue
        agreement = _renamed(ground, name) if ground.is_classes else _rescaled(ground, name)
        if agreement:
            alone = ground.told == [name]  # without it there is nothing to learn from
            yield Leak(
                code="target-copy",
                severity="high",
                columns=(name,),
                text=f"{name!r} is the target {ground.target!r} in another form.",
                evidence=agreement,
                action="ask" if alone else "drop",
                default="keep" if alone else "drop",
            )


def _renamed(ground: Ground, name: str) -> str:
    """Whether values and classes stand one for one."""
    column = ground.rows[name]
    if column.isna().mean() > 1 - COPIED or column.nunique() != ground.different:
        return ""
    values = pd.factorize(column)[0]
    both = np.zeros((values.max() + 1, ground.codes.max() + 1))
    np.add.at(both, (values[values >= 0], ground.codes[values >= 0]), 1)
    pairs = both.argmax(1)
    agreeing = both.max(1).sum() / len(column)
    if len(set(pairs)) < len(pairs) or agreeing < COPIED:
        return ""
    labels = ground.rows[ground.target].astype(str)
    shown = [f"{v!r} is {c!r}" for v, c in dict(zip(column.astype(str), labels, strict=True)).items()][:4]
    return f"{agreeing:.2%} of {len(column)} rows: {', '.join(shown)}"


def _rescaled(ground: Ground, name: str) -> str:
    values = as_numbers(ground.rows[name])
    target = as_numbers(ground.rows[ground.target])
    if values is None or target is None:
        return ""
    known = ~np.isnan(values)
    if known.mean() < COPIED or len(np.unique(values[known])) <= FEWEST:
        return ""
    order = pd.Series(values[known]).rank().corr(pd.Series(target[known]).rank())
    return f"rank correlation {order:.5f} in {int(known.sum())} rows" if abs(order) > MONOTONE else ""


def target_parts(ground: Ground) -> Iterator[Leak]:
    """Columns of which the target is the sum, the difference, the product or the quotient."""
    if not ground.target or ground.is_classes or len(ground.rows) < FEWEST:
        return
    names = [name for name in ground.told if ground.kinds[name] == "numeric"]
    names = sorted(names, key=lambda name: (-ground.skill(name), name))[:MOST_PARTS]
    rows = ground.rows[[*names, ground.target]].dropna().iloc[:SUM_SAMPLE]
    if len(rows) < max(FEWEST, 3 * len(names)) or len(names) < 2:
        return
    target = rows[ground.target].to_numpy(float)
    plain = {name: rows[name].to_numpy(float) for name in names}
    logs = {name: np.log(values) for name, values in plain.items() if (values > 0).all()}
    for what, parts, aim in (("sum", plain, target), ("product", logs, np.log(target) if (target > 0).all() else None)):
        weights = _weights(parts, aim) if aim is not None and len(parts) > 1 else {}
        if len(weights) > 1 and all(abs(abs(weight) - 1) < 1e-3 for weight in weights.values()):
            listed = " ".join(f"{'+' if weight > 0 else '-'} {name!r}" for name, weight in weights.items())
            yield Leak(
                code="target-parts",
                severity="high",
                columns=tuple(weights),
                text=f"{ground.target!r} is the {what} of {' and '.join(map(repr, weights))}: who knows them knows it.",
                evidence=f"{ground.target!r} = {listed.removeprefix('+ ')}"
                + (", in logs" if what == "product" else "")
                + f", exactly, in {len(rows)} rows",
                action="ask",
                default="drop",
            )
            return


def _weights(parts: dict[str, Any], aim: Any) -> dict[str, float]:
    """The weights of the columns in a sum that gives the target exactly; empty where there is none."""
    columns = np.column_stack([*parts.values(), np.ones(len(aim))])
    scales = np.abs(columns).max(0)
    scales[scales == 0] = 1.0
    solution, _, _, _ = np.linalg.lstsq(columns / scales, aim, rcond=None)
    left = aim - (columns / scales) @ solution
    if float((left**2).sum()) > EXACT * float(((aim - aim.mean()) ** 2).sum()):
        return {}
    weights = solution / scales
    matters = [abs(weight) * column.std() > 1e-6 * aim.std() for weight, column in zip(weights, columns.T, strict=True)]
    return {name: float(w) for name, w, used in zip(parts, weights, matters, strict=False) if used}


def target_in_text(ground: Ground) -> Iterator[Leak]:
    """Keys and texts in whose first or last signs, or length, the target is written."""
    if not ground.target or len(ground.rows) < FEWEST:
        return
    for name in ground.features:
        if ground.kinds[name] not in ("identifier", "text", "categorical"):
            continue
        column = ground.rows[name]
        if column.nunique() < 0.2 * len(column) or pd.api.types.is_float_dtype(column.dtype):
            continue
        told = {how: ground.skill_of(pd.factorize(signs)[0] + 1) for how, signs in _signs(column).items()}
        best = max(told, key=lambda how: told[how])
        if told[best] >= PERFECT and told[best] > ground.skill(name):
            yield Leak(
                code="target-in-text",
                severity="high",
                columns=(name,),
                text=f"The target {ground.target!r} can be read off {best} of {name!r}.",
                evidence=f"alone they remove {told[best]:.1%} of the dummy's error on rows not seen",
                action="ask",
                default="drop",
            )


def _signs(column: Any) -> dict[str, Any]:
    texts = column.astype(str)
    found = {f"the first {count} signs": texts.str[:count] for count in (1, 2, 3)}
    found |= {f"the last {count} signs": texts.str[-count:] for count in (1, 2)}
    found["the letters"] = texts.str.replace(r"[^A-Za-z]+", "", regex=True)
    return found | {"the length": texts.str.len().astype(str)}


def target_proxy(ground: Ground) -> Iterator[Leak]:
    """Columns that alone predict the target nearly without error. Some are honest, so this is told, not acted on."""
    for name in ground.told:
        alone = ground.skill(name)
        if alone >= PERFECT and len(ground.rows) >= FEWEST:
            yield Leak(
                code="target-proxy",
                severity="medium",
                columns=(name,),
                text=f"{name!r} alone predicts {ground.target!r} nearly without error: is it known before the outcome?",
                evidence=f"it removes {alone:.1%} of the dummy's error on rows not seen",
                action="report",
            )


