"""What the oracle says about a view: its rows, but for features that it does not cover."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from palmette.features.frame import Frame


@dataclass(frozen=True)
class Expected(Frame):
    """The rows of a view; schema and rows lack the features that were skipped."""

    skipped: Mapping[str, str] = field(default_factory=dict)
    """Feature to the reason why the oracle has no answer for it; internal features too."""
    nudged: Callable[[], tuple[Frame, ...]] = field(default=tuple, compare=False, repr=False)
    """The rows, in the same order, as they might be if sums of doubles came out another way in their last digits."""

    def judged(self, other: Frame) -> Frame:
        """The columns of another output that the oracle has an answer for."""
        return Frame.of({name: kind for name, kind in other.schema.items() if name not in self.skipped}, other.rows)


def skipped_text(skipped: Mapping[str, str]) -> str:
    """The skipped features by name, each with its reason, for a check's detail; empty when there are none."""
    return "; ".join(f"{name} skipped: {reason}" for name, reason in skipped.items())
