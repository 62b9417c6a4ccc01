"""Figures of a data set, computed from the training rows: columns, target, meta-features, suggestions, leaks."""

from palmette.automl.profile.artefacts import (
    ColumnProfile,
    Fact,
    Frequent,
    Leak,
    LeakDecision,
    MetaFeature,
    NumberFacts,
    Profile,
    TargetProfile,
    TextFacts,
    TimeFacts,
)

__all__ = [
    "ColumnProfile",
    "Fact",
    "Frequent",
    "Leak",
    "LeakDecision",
    "MetaFeature",
    "NumberFacts",
    "Profile",
    "TargetProfile",
    "TextFacts",
    "TimeFacts",
]
