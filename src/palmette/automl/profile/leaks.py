"""Leak detectors: each runs on the data, and reports what it found, how severe it is, and what should be done."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.kinds import FileKind, file_kinds, inspected, is_id_name
from palmette.automl.profile import Leak
from palmette.automl.profile.association import LeakContext, as_numbers
from palmette.automl.splitting.parts import ALIKE, is_entity_name, target_likeness
from palmette.automl.task_spec.request import name_words
from palmette.documents import read_plain

FEW, MANY = 20, 200  # training rows below which what a detector finds may be random
COPIED = 0.995  # share of rows in which a copy agrees
MONOTONE = 0.99995  # rank correlation from which a column is the target on another scale
PERFECT = 0.98  # reduction of error by a column alone from which it is a proxy
EXACT = 1e-9  # share of the variance that a sum of parts may leave unexplained
MOST_PARTS, SUM_SAMPLE = 60, 5000
TELLING = 0.9  # reduction of error by the presence of a value alone, from which it gives the outcome away
STRONG = 0.5  # reduction of error from which a column with the name of an outcome is suspect
GENERIC = {"type", "class", "label", "target", "value", "category", "name", "status", "score", "group", "level", "kind"}
"""Names of targets that other columns have in theirs without being computed from them."""
AFTERWARDS = re.compile(
    r"(^|[_\W])(outcome|result|resolution|resolved|closed|closing|final|actual|afterwards?|post|cancel\w*|reason|"
    r"discharge\w*|death|died|deceased|refund\w*|returned|settle\w*|recover\w*|payout|paidoff|paid_off|chargeback|"
    r"writeoff|write_off|collection\w*|approved|rejected|completed|finished|ended|exit\w*|survival)([_\W]|$)",
    re.IGNORECASE,
)
REPORTED = 0.3  # reduction of error by a key from which it is reported
NEARLY = 0.5  # distinct values as a share of rows, from which a column with the name of a key is suspect
AHEAD, BEHIND = 0.9, 0.4  # reduction of error by a suspicious column, and by the next one behind it
ORDERED = 0.98  # share of rows in the order of a time column from which the file is ordered by it
BITS, NEAR = 64, 4  # bits of a fingerprint, and in how many of them nearly equal files may differ
AT_ONCE = 1000


def _leak(code: str, *columns: str, replaced: Mapping[str, str] | None = None, **fields: object) -> Leak:
    """A leak by its templates; `fields` are those of its sentences."""
    templates: dict[str, str] = read_plain(Path(__file__).with_suffix(".yaml"))[code]
    made = {key: text.format(**fields) for key, text in templates.items()}
    return Leak.model_validate({"code": code, "columns": columns} | made | dict(replaced or {}))


def known_after(context: LeakContext) -> Iterator[Leak]:
    """Columns that the request declares to be known only after the outcome."""
    for name in (name for name in context.known_after if name in context.table):
        yield _leak("known-after", name, name=name, alone=context.error_reduction(name))


def target_copy(context: LeakContext) -> Iterator[Leak]:
    """Columns whose values are the target's under other names, or on another scale."""
    for name in (name for name in context.features if context.kinds[name] not in ("constant", "text")):
        agreement = _renamed(context, name) if context.is_classes else _rescaled(context, name)
        only = context.informative == [name]  # without it there is nothing to learn from
        if agreement:
            replaced = {"action": "ask", "default": "keep"} if only else {}
            yield _leak("target-copy", name, replaced=replaced, name=name, target=context.target, agreement=agreement)


def _renamed(context: LeakContext, name: str) -> str:
    """The evidence that values and classes correspond one to one; empty where they do not."""
    column, labels = context.rows[name], context.rows[context.target].astype(str)
    if column.isna().mean() > 1 - COPIED or column.nunique() != len(np.unique(context.codes)):
        return ""
    both = pd.crosstab(pd.factorize(column)[0], context.codes).drop(index=-1, errors="ignore").to_numpy()
    agreeing = both.max(1).sum() / len(column)
    if len({*both.argmax(1)}) < len(both) or agreeing < COPIED:
        return ""
    shown = [f"{v!r} is {c!r}" for v, c in dict(zip(column.astype(str), labels, strict=True)).items()][:4]
    return f"{agreeing:.2%} of {len(column)} rows: {', '.join(shown)}"


def _rescaled(context: LeakContext, name: str) -> str:
    values, target = as_numbers(context.rows[name]), as_numbers(context.rows[context.target])
    if values is None or target is None:
        return ""
    known = ~np.isnan(values)
    if known.mean() < COPIED or len(np.unique(values[known])) <= FEW:
        return ""
    correlation = pd.Series(values[known]).rank().corr(pd.Series(target[known]).rank())
    shown = f"rank correlation {correlation:.5f} in {int(known.sum())} rows"
    return shown if abs(correlation) > MONOTONE else ""


def shared_entities(context: LeakContext) -> Iterator[Leak]:
    """Keys of entities on both sides, where the target belongs to the entity."""
    if not context.target or context.problem not in ("classification", "regression"):
        return
    holdout, train = context.table.iloc[context.split.holdout], context.table.iloc[context.split.train]
    given = {"action": "report"} if context.split.facts.strategy == "given" else {}
    for name in context.features:
        if not is_entity_name(name) or context.kinds[name] not in ("number", "category", "identifier"):
            continue
        if not 10 <= context.table[name].nunique() <= 0.7 * len(context.table):
            continue
        common = float(holdout[name].isin(train[name].dropna().unique()).mean()) if len(holdout) else 0.0
        likeness = target_likeness(context.rows[name], context.rows[context.target], context.problem)
        if common > 0.05 and likeness > ALIKE:
            yield _leak("shared-entities", name, replaced=given, name=name, common=common, likeness=likeness)


def target_parts(context: LeakContext) -> Iterator[Leak]:
    """Columns of which the target is the sum, the difference, the product or the quotient."""
    if context.is_classes:
        return
    names = context.by_reduction([name for name in context.informative if context.kinds[name] == "number"])[:MOST_PARTS]
    rows = context.rows[[*names, context.target]].dropna().iloc[:SUM_SAMPLE]
    if len(rows) < max(FEW, 3 * len(names)) or len(names) < 2:
        return
    plain = {str(name): rows[name].to_numpy(float) for name in rows}
    logs = {name: np.log(values) for name, values in plain.items() if (values > 0).all()}
    for what, parts in (("sum", plain), ("product", logs)):
        weights = _weights(parts, context.target)
        if len(weights) > 1 and all(abs(abs(weight) - 1) < 1e-3 for weight in weights.values()):
            formula = " ".join(f"{'+' if weight > 0 else '-'} {name!r}" for name, weight in weights.items())
            formula = formula.removeprefix("+ ") + (", in logs" if what == "product" else "")
            found: dict[str, Any] = {"target": context.target, "what": what, "formula": formula, "rows": len(rows)}
            yield _leak("target-parts", *weights, listed=" and ".join(map(repr, weights)), **found)
            return


def _weights(columns: Mapping[str, Any], target: str) -> dict[str, float]:
    """The weights of the columns in a sum that gives the target exactly; empty where there is none."""
    names = [name for name in columns if name != target]
    if target not in columns or len(names) < 2:
        return {}
    goal, parts = columns[target], np.column_stack([*(columns[name] for name in names), np.ones(len(columns[target]))])
    scales = np.abs(parts).max(0)
    scales[scales == 0] = 1.0
    solution = np.linalg.lstsq(parts / scales, goal, rcond=None)[0]
    left = goal - (parts / scales) @ solution
    if float((left**2).sum()) > EXACT * float(((goal - goal.mean()) ** 2).sum()):
        return {}
    weights = solution / scales
    matters = np.abs(weights) * parts.std(0) > 1e-6 * goal.std()
    return {name: float(weight) for name, weight, used in zip(names, weights, matters, strict=False) if used}


def missing_tells(context: LeakContext) -> Iterator[Leak]:
    """Columns that are filled, or left empty, only when the outcome is known."""
    for name in context.informative:
        missing = float(context.rows[name].isna().mean())
        alone = context.reduction_by_presence(name) if 0.005 < missing < 0.995 else 0.0
        if alone >= TELLING:
            yield _leak("missing-tells", name, name=name, target=context.target, alone=alone, missing=missing)


def known_afterwards(context: LeakContext) -> Iterator[Leak]:
    """Columns with the name of an outcome that predict the target strongly, by value or by being there."""
    for name in context.informative:
        alone = context.reduction_by_any(name) if AFTERWARDS.search(" ".join(name_words(name))) else 0.0
        if alone >= STRONG:
            yield _leak("known-afterwards", name, name=name, target=context.target, alone=alone)


def derived_from_target(context: LeakContext) -> Iterator[Leak]:
    """Columns that have the target's name in their own: ratios, reasons and dates of it."""
    target = name_words(context.target)
    if len("".join(target)) < 3 or {*target} <= GENERIC:
        return
    for name in context.informative:
        words = name_words(name)
        if not any(words[start : start + len(target)] == target for start in range(len(words))):
            continue
        alone = context.reduction_by_any(name)
        text = f"{name!r} has the target's name in its own: is it computed from {context.target!r}?"
        weak = {"severity": "low", "action": "report", "default": "keep", "text": text}
        replaced = {} if alone >= STRONG else weak
        yield _leak("derived-from-target", name, replaced=replaced, name=name, target=context.target, alone=alone)


def target_in_text(context: LeakContext) -> Iterator[Leak]:
    """Keys and texts whose first or last characters, or length, give the target."""
    for name in (name for name in context.features if context.kinds[name] in ("identifier", "text", "category")):
        column = context.rows[name]
        if column.nunique() < 0.2 * len(column) or pd.api.types.is_float_dtype(column.dtype):
            continue
        texts: Any = column.astype(str)
        parts = {f"the first {count} characters": texts.str[:count] for count in (1, 2, 3)}
        parts |= {f"the last {count} characters": texts.str[-count:] for count in (1, 2)}
        parts["the letters"] = texts.str.replace(r"[^A-Za-z]+", "", regex=True)
        parts["the length"] = texts.str.len().astype(str)
        alone, part = max((context.reduction_of(pd.factorize(cells)[0] + 1), what) for what, cells in parts.items())
        if alone >= PERFECT and alone > context.error_reduction(name):
            yield _leak("target-in-text", name, name=name, target=context.target, part=part, alone=alone)


def target_proxy(context: LeakContext) -> Iterator[Leak]:
    """Columns that alone predict the target nearly without error. Some are honest, so they are reported and kept."""
    for name in context.informative:
        alone = context.error_reduction(name)
        if alone >= PERFECT:
            yield _leak("target-proxy", name, name=name, target=context.target, alone=alone)


def identifier_tells(context: LeakContext) -> Iterator[Leak]:
    """Keys that predict the target: assigned after it, or in its order."""
    for name in context.features:
        sure = context.kinds[name] == "identifier"
        nearly = is_id_name(name) and context.rows[name].nunique() > NEARLY * len(context.rows)
        alone = context.error_reduction(name) if sure or nearly else 0.0
        if alone > REPORTED:
            replaced = {} if sure else {"action": "ask"}
            yield _leak("identifier-tells", name, replaced=replaced, name=name, target=context.target, alone=alone)


def suspicious_jump(context: LeakContext) -> Iterator[Leak]:
    """One column that predicts nearly all, where the next best predicts little."""
    if len(context.informative) < 3:
        return
    name, other = context.by_reduction(context.informative)[:2]
    alone, second = context.error_reduction(name), context.error_reduction(other)
    if alone >= AHEAD and second <= BEHIND:
        found: dict[str, Any] = {"name": name, "other": other, "alone": alone, "second": second}
        yield _leak("suspicious-jump", name, target=context.target, **found)


def nearly_equal_files(context: LeakContext) -> Iterator[Leak]:
    """Files on both sides of the split whose fingerprints differ in few bits: video frames, or compressed again."""
    for name in context.informative if len(context.split.holdout) else ():
        kind = file_kinds().get(context.kinds[name])
        if kind is None:
            continue
        parts = (context.split.train, context.split.holdout)
        learnt, held = (_fingerprints(context.table[name].iloc[rows], kind) for rows in parts)
        some = (held[at : at + AT_ONCE] for at in range(0, len(held), AT_ONCE)) if len(learnt) else ()
        least = ((BITS - (one @ learnt.T).max(axis=1)) / 2 for one in some)  # bits in which the nearest differs
        if count := sum(int((bits <= NEAR).sum()) for bits in least):
            share = count / len(context.split.holdout)
            found = {"name": name, "count": count, "share": share, "near": NEAR}
            yield _leak("nearly-equal-files", name, replaced={"severity": _severity(share)}, **found)


def _fingerprints(cells: pd.Series, kind: FileKind) -> np.ndarray:
    """(n, 64) of 1 and -1, of cells that have a fingerprint."""
    found = [inspected(Path(cell), kind).fingerprint for cell in cells.dropna()]
    numbers = np.array([one for one in found if one], dtype=np.uint64)
    bits = (numbers[:, None] >> np.arange(BITS, dtype=np.uint64)) & np.uint64(1)
    return bits.astype(np.float32) * 2 - 1


def _severity(share: float) -> str:
    return "high" if share > 0.1 else "medium" if share > 0.01 else "low"


def equal_rows(context: LeakContext) -> Iterator[Leak]:
    """Rows of the hold-out whose features are all those of a training row."""
    if not context.informative or not len(context.split.holdout):
        return
    common = np.isin(context.hashes[context.split.holdout], context.hashes[context.split.train])
    if common.any():
        strategy, share = context.split.facts.strategy, float(common.mean())
        action = "report" if strategy in ("given", "time", "stratified") else "group"
        replaced = {"severity": _severity(share), "action": action}
        yield _leak("equal-rows", replaced=replaced, count=int(common.sum()), share=share, strategy=strategy)


def time_overlap(context: LeakContext) -> Iterator[Leak]:
    """Training rows that are later than the hold-out, in data that run in time.

    Where the split is by time, other times do not matter; series end at different times.
    """
    if context.request.problem == "forecasting":
        return
    time = context.split.facts.time
    by_time = bool(time)
    for name in [time] if time in context.features else [] if time else context.features:
        if not pd.api.types.is_datetime64_any_dtype(context.table[name].dtype):
            continue
        parts = (context.split.holdout, context.split.train)
        holdout, train = (context.table[name].iloc[rows].dropna() for rows in parts)
        if not len(holdout) or not len(train):
            continue
        later = float((train > holdout.min()).mean())
        ordered = float((train.diff().dropna() >= pd.Timedelta(0)).mean()) if len(train) > 1 else 0.0
        if later > 0 and (by_time or ordered > ORDERED) and train.nunique() > 10:
            replaced = {"severity": "high", "action": "ask"} if by_time else {}
            found = {"name": name, "later": later, "begins": holdout.min(), "ends": train.max()}
            yield _leak("time-overlap", *([name] if by_time else []), replaced=replaced, **found)


DETECTORS: Mapping[Callable[[LeakContext], Iterator[Leak]], int] = {
    known_after: 0, target_copy: FEW, shared_entities: 0, target_parts: FEW, missing_tells: FEW, known_afterwards: FEW,
    derived_from_target: FEW, target_in_text: FEW, target_proxy: FEW, identifier_tells: MANY, suspicious_jump: MANY,
    nearly_equal_files: 0, equal_rows: 0, time_overlap: 0,
}  # fmt: skip
"""Detectors, named as their leaks, with the training rows with a target that each needs; 0 where it needs no target.

The most certain come first. Later ones do not report a column again.
"""


def find_leaks(context: LeakContext) -> Iterator[Leak]:
    found: set[str] = set()
    for find, least in DETECTORS.items():
        if least and (not context.target or len(context.rows) < least):
            continue
        leaks = [leak for leak in find(context) if not leak.columns or not found.issuperset(leak.columns)]
        yield from leaks
        found |= {column for leak in leaks for column in leak.columns}
