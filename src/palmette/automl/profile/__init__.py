"""Figures of a data set, computed from the training rows: columns, target, meta-features, suggestions, leaks."""

from palmette.automl.profile.artefacts import (
    ColumnProfile,
    Frequent,
    Leak,
    LeakDecision,
    MetaFeature,
    NumberFacts,
    Profile,
    Suggestion,
    TargetProfile,
    TextFacts,
    TimeFacts,
)  # fmt: skip

__all__ = [
    "ColumnProfile", "Frequent", "Leak", "LeakDecision", "MetaFeature", "NumberFacts", "Profile", "Suggestion",
    "TargetProfile", "TextFacts", "TimeFacts",
]  # fmt: skip
