"""Category codes in the form that CatBoost takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd


def whole_codes(features: Any, columns: Sequence[int]) -> pd.DataFrame:
    """Returns features (n, d) with whole numbers as codes; missing and unknown categories form one category."""
    return pd.DataFrame(features).fillna(dict.fromkeys(columns, -1)).astype(dict.fromkeys(columns, int))
