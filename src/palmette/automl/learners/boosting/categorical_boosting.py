"""Codes of categories as CatBoost takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd


def whole_codes(features: Any, columns: Sequence[int]) -> pd.DataFrame:
    """A frame of features (n, d) in which codes are whole numbers; a missing or unknown category is one of its own."""
    return pd.DataFrame(features).fillna(dict.fromkeys(columns, -1)).astype(dict.fromkeys(columns, int))
