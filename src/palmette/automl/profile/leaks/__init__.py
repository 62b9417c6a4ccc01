"""Leak detectors: each runs on the data, and reports what it found, how severe it is, and what should be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from palmette.automl.profile.artefacts import Leak
from palmette.automl.profile.leaks.context import LeakContext
from palmette.automl.profile.leaks.order import identifier_tells, row_order, suspicious_jump
from palmette.automl.profile.leaks.outcome import derived_from_target, known_after, known_afterwards, missing_tells
from palmette.automl.profile.leaks.overlap import equal_rows, shared_entities, time_overlap
from palmette.automl.profile.leaks.proxy import target_copy, target_in_text, target_parts, target_proxy

Detector = Callable[[LeakContext], Iterator[Leak]]

DETECTORS: dict[str, Detector] = {
    "known-after": known_after,
    "target-copy": target_copy,
    "shared-entities": shared_entities,
    "target-parts": target_parts,
    "missing-tells": missing_tells,
    "known-afterwards": known_afterwards,
    "derived-from-target": derived_from_target,
    "target-in-text": target_in_text,
    "target-proxy": target_proxy,
    "identifier-tells": identifier_tells,
    "suspicious-jump": suspicious_jump,
    "equal-rows": equal_rows,
    "time-overlap": time_overlap,
    "row-order": row_order,
}
"""By the code of their leaks, the most certain first. A column that one has found is not reported by those after it."""


def find_leaks(context: LeakContext) -> Iterator[Leak]:
    """The leaks that the detectors find."""
    found: set[str] = set()
    for detect in DETECTORS.values():
        leaks = [leak for leak in detect(context) if not leak.columns or not found.issuperset(leak.columns)]
        yield from leaks
        found |= {column for leak in leaks for column in leak.columns}
