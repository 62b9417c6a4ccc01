"""What the data are like, computed from the training rows: columns, target, meta-features, suggestions, leaks."""

from palmette.automl.profile.artefacts import (
    ColumnProfile,
    Fact,
    Frequent,
    Leak,
    MetaFeature,
    NumberFacts,
    Profile,
    Settled,
    TargetProfile,
    TextFacts,
    TimeFacts,
)

__all__ = [
    "ColumnProfile",
    "Fact",
    "Frequent",
    "Leak",
    "MetaFeature",
    "NumberFacts",
    "Profile",
    "Settled",
    "TargetProfile",
    "TextFacts",
    "TimeFacts",
]
