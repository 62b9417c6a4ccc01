"""Files of the hold-out that are nearly those of training rows: cut from one video, compressed again, or scaled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from palmette.automl.kinds import file_kind
from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.leaks.context import LeakContext
from palmette.automl.samples.files import inspected

BITS, NEAR = 64, 4
"""Of a fingerprint; in how many of them files that are nearly alike may differ."""
AT_ONCE = 1000


def nearly_equal_files(context: LeakContext) -> Iterator[Leak]:
    """Files on both sides of the split whose fingerprints differ in few bits."""
    for name in context.informative:
        kind = file_kind(context.kinds[name])
        if kind is None or not len(context.split.holdout):
            continue
        learnt = _fingerprints(context.table[name].iloc[context.split.train], kind.name)
        held = _fingerprints(context.table[name].iloc[context.split.holdout], kind.name)
        near = [_nearest(held[start : start + AT_ONCE], learnt) for start in range(0, len(held), AT_ONCE)]
        count = int((np.concatenate(near) <= NEAR).sum()) if len(learnt) and len(held) else 0
        if count:
            share = count / len(context.split.holdout)
            yield Leak(
                code="nearly-equal-files",
                severity="high" if share > 0.1 else "medium" if share > 0.01 else "low",
                columns=(name,),
                text=f"{count} files of the hold-out ({share:.1%}) are nearly those of training rows in {name!r}.",
                evidence=f"their fingerprints differ in {NEAR} of {BITS} bits at most",
                action="report",
            )


def _fingerprints(cells: pd.Series, kind: str) -> npt.NDArray[np.float32]:
    """(n, 64) of 1 and -1, of cells that have a fingerprint."""
    found = [inspected(Path(cell), kind).fingerprint for cell in cells.dropna()]
    numbers = np.array([one for one in found if one], dtype=np.uint64)
    bits = (numbers[:, None] >> np.arange(BITS, dtype=np.uint64)) & np.uint64(1)
    return bits.astype(np.float32) * 2 - 1


def _nearest(some: npt.NDArray[np.float32], others: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(n,): in how many bits the nearest of the others differs."""
    return (
        (BITS - (some @ others.T).max(axis=1)) / 2
        if len(some) and len(others)
        else np.full(len(some), BITS, np.float32)
    )
