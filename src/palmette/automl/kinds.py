"""The kinds of columns. A kind is served by the encoders that are registered for it; nothing else knows it by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Kind = Literal[
    "number", "category", "boolean", "datetime", "text", "image", "audio", "vector", "identifier", "constant"
]  # fmt: skip
"""What the values of a column are. A constant column has one value, or none."""

UNUSABLE: Mapping[Kind, str] = {
    "identifier": "every row has a different value",
    "constant": "every row has the same value",
}
"""Kinds that no model learns from, with the reason."""

Track = Literal["traditional", "neural", "pretrained", "autogluon"]
"""A family of learners with its own share of the training time."""
