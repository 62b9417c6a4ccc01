"""Leak detectors: each runs on the data, and reports what it found, how severe it is, and what should be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.leaks.alike import nearly_equal_files
from palmette.automl.profile.leaks.context import LeakContext
from palmette.automl.profile.leaks.order import identifier_tells, row_order, suspicious_jump
from palmette.automl.profile.leaks.outcome import derived_from_target, known_after, known_afterwards, missing_tells
from palmette.automl.profile.leaks.overlap import equal_rows, shared_entities, time_overlap
from palmette.automl.profile.leaks.proxy import target_copy, target_in_text, target_parts, target_proxy

FEW, MANY = 20, 200
"""Training rows below which what a detector finds may be random."""


class Detector(NamedTuple):
    """Finds leaks of one kind."""

    find: Callable[[LeakContext], Iterator[Leak]]
    rows: int = 0
    """Training rows with a target that it needs; 0 for one that needs no target."""


DETECTORS: dict[str, Detector] = {
    "known-after": Detector(known_after),
    "target-copy": Detector(target_copy, FEW),
    "shared-entities": Detector(shared_entities),
    "target-parts": Detector(target_parts, FEW),
    "missing-tells": Detector(missing_tells, FEW),
    "known-afterwards": Detector(known_afterwards, FEW),
    "derived-from-target": Detector(derived_from_target, FEW),
    "target-in-text": Detector(target_in_text, FEW),
    "target-proxy": Detector(target_proxy, FEW),
    "identifier-tells": Detector(identifier_tells, MANY),
    "suspicious-jump": Detector(suspicious_jump, MANY),
    "nearly-equal-files": Detector(nearly_equal_files),
    "equal-rows": Detector(equal_rows),
    "time-overlap": Detector(time_overlap),
    "row-order": Detector(row_order, MANY),
}
"""By the code of their leaks, the most certain first. A column that one has found is not reported by those after it."""


def find_leaks(context: LeakContext) -> Iterator[Leak]:
    """The leaks that the detectors find."""
    found: set[str] = set()
    for detector in DETECTORS.values():
        if detector.rows and (not context.target or len(context.rows) < detector.rows):
            continue
        leaks = [leak for leak in detector.find(context) if not leak.columns or not found.issuperset(leak.columns)]
        yield from leaks
        found |= {column for leak in leaks for column in leak.columns}
