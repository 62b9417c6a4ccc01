"""Columns that are the target in another form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.association import as_numbers
from palmette.automl.profile.leaks.context import LeakContext

FEWEST = 20
"""Rows from which none of this is random."""
COPIED = 0.995
"""Share of rows in which a copy agrees."""
MONOTONE = 0.99995
"""Rank correlation from which a column is the target on another scale."""
PERFECT = 0.98
"""Reduction of error by a column alone from which it is a proxy."""
EXACT = 1e-9
"""Of the variance, that a sum of parts leaves unexplained."""
MOST_PARTS = 60
SUM_SAMPLE = 5000


def target_copy(context: LeakContext) -> Iterator[Leak]:
    """Columns whose values are the target's under other names, or on another scale."""
    for name in context.features:
        if context.kinds[name] in ("constant", "text"):
            continue
        agreement = _renamed(context, name) if context.is_classes else _rescaled(context, name)
        if agreement:
            alone = context.informative == [name]  # without it there is nothing to learn from
            yield Leak(
                code="target-copy",
                severity="high",
                columns=(name,),
                text=f"{name!r} is the target {context.target!r} in another form.",
                evidence=agreement,
                action="ask" if alone else "drop",
                default="keep" if alone else "drop",
            )


def _renamed(context: LeakContext, name: str) -> str:
    """Whether values and classes stand one for one."""
    column = context.rows[name]
    if column.isna().mean() > 1 - COPIED or column.nunique() != context.different:
        return ""
    values = pd.factorize(column)[0]
    both = np.zeros((values.max() + 1, context.codes.max() + 1))
    np.add.at(both, (values[values >= 0], context.codes[values >= 0]), 1)
    pairs = both.argmax(1)
    agreeing = both.max(1).sum() / len(column)
    if len(set(pairs)) < len(pairs) or agreeing < COPIED:
        return ""
    labels = context.rows[context.target].astype(str)
    shown = [f"{v!r} is {c!r}" for v, c in dict(zip(column.astype(str), labels, strict=True)).items()][:4]
    return f"{agreeing:.2%} of {len(column)} rows: {', '.join(shown)}"


def _rescaled(context: LeakContext, name: str) -> str:
    values = as_numbers(context.rows[name])
    target = as_numbers(context.rows[context.target])
    if values is None or target is None:
        return ""
    known = ~np.isnan(values)
    if known.mean() < COPIED or len(np.unique(values[known])) <= FEWEST:
        return ""
    order = pd.Series(values[known]).rank().corr(pd.Series(target[known]).rank())
    return f"rank correlation {order:.5f} in {int(known.sum())} rows" if abs(order) > MONOTONE else ""


def target_parts(context: LeakContext) -> Iterator[Leak]:
    """Columns of which the target is the sum, the difference, the product or the quotient."""
    if context.is_classes:
        return
    names = [name for name in context.informative if context.kinds[name] == "number"]
    names = sorted(names, key=lambda name: (-context.error_reduction(name), name))[:MOST_PARTS]
    rows = context.rows[[*names, context.target]].dropna().iloc[:SUM_SAMPLE]
    if len(rows) < max(FEWEST, 3 * len(names)) or len(names) < 2:
        return
    target = rows[context.target].to_numpy(float)
    plain = {name: rows[name].to_numpy(float) for name in names}
    logs = {name: np.log(values) for name, values in plain.items() if (values > 0).all()}
    log_target = np.log(target) if (target > 0).all() else None
    for what, parts, goal in (("sum", plain, target), ("product", logs, log_target)):
        weights = _weights(parts, goal) if goal is not None and len(parts) > 1 else {}
        if len(weights) > 1 and all(abs(abs(weight) - 1) < 1e-3 for weight in weights.values()):
            listed = " ".join(f"{'+' if weight > 0 else '-'} {name!r}" for name, weight in weights.items())
            yield Leak(
                code="target-parts",
                severity="high",
                columns=tuple(weights),
                text=f"{context.target!r} is the {what} of {' and '.join(map(repr, weights))} exactly.",
                evidence=f"{context.target!r} = {listed.removeprefix('+ ')}"
                + (", in logs" if what == "product" else "")
                + f", exactly, in {len(rows)} rows",
                action="ask",
                default="drop",
            )
            return


def _weights(parts: dict[str, Any], goal: Any) -> dict[str, float]:
    """The weights of the columns in a sum that gives the target exactly; empty where there is none."""
    columns = np.column_stack([*parts.values(), np.ones(len(goal))])
    scales = np.abs(columns).max(0)
    scales[scales == 0] = 1.0
    solution, _, _, _ = np.linalg.lstsq(columns / scales, goal, rcond=None)
    left = goal - (columns / scales) @ solution
    if float((left**2).sum()) > EXACT * float(((goal - goal.mean()) ** 2).sum()):
        return {}
    weights = solution / scales
    matters = np.abs(weights) * columns.std(0) > 1e-6 * goal.std()
    return {name: float(w) for name, w, used in zip(parts, weights, matters, strict=False) if used}


def target_in_text(context: LeakContext) -> Iterator[Leak]:
    """Keys and texts whose first or last characters, or length, give the target."""
    for name in context.features:
        if context.kinds[name] not in ("identifier", "text", "category"):
            continue
        column = context.rows[name]
        if column.nunique() < 0.2 * len(column) or pd.api.types.is_float_dtype(column.dtype):
            continue
        found = {how: context.reduction_of(pd.factorize(part)[0] + 1) for how, part in _parts_of_text(column).items()}
        best = max(found, key=lambda how: found[how])
        if found[best] >= PERFECT and found[best] > context.error_reduction(name):
            yield Leak(
                code="target-in-text",
                severity="high",
                columns=(name,),
                text=f"The target {context.target!r} can be read off {best} of {name!r}.",
                evidence=f"alone they remove {found[best]:.1%} of the dummy's error on rows not seen",
                action="ask",
                default="drop",
            )


def _parts_of_text(column: Any) -> dict[str, Any]:
    texts = column.astype(str)
    found = {f"the first {count} characters": texts.str[:count] for count in (1, 2, 3)}
    found |= {f"the last {count} characters": texts.str[-count:] for count in (1, 2)}
    found["the letters"] = texts.str.replace(r"[^A-Za-z]+", "", regex=True)
    return found | {"the length": texts.str.len().astype(str)}


def target_proxy(context: LeakContext) -> Iterator[Leak]:
    """Columns that alone predict the target nearly without error. Some are honest, so they are reported and kept."""
    for name in context.informative:
        alone = context.error_reduction(name)
        if alone >= PERFECT:
            yield Leak(
                code="target-proxy",
                severity="medium",
                columns=(name,),
                text=f"{name!r} alone predicts {context.target!r} almost perfectly: is it known before the outcome?",
                evidence=f"it removes {alone:.1%} of the dummy's error on rows not seen",
                action="report",
            )
