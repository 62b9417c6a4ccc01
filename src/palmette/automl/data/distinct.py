"""The different texts of a column: what they say is found out once for each, and spread over the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from palmette.automl.data.texts import Texts


class Said(NamedTuple):
    """The texts that say something, and those that say nothing."""

    places: npt.NDArray[np.intp]
    """Of the texts among the different ones."""
    texts: list[str]
    nothing: tuple[str, ...]


class Distinct:
    """The different texts of a column in the order of their first row, stripped, with how often each occurs."""

    def __init__(self, name: str, texts: Texts) -> None:
        encoded = texts.dictionary_encode()
        uniques = encoded.dictionary.to_pylist()
        self.name, self.codes = name, encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        self.counts = np.bincount(self.codes[self.codes >= 0], minlength=len(uniques))
        self.stripped = [text.strip() for text in uniques]
        self.folded = [text.casefold() for text in self.stripped]
        padded = [place for place, text in enumerate(self.stripped) if text and text != uniques[place]]
        self.padded = int(self.counts[padded].sum())
        """Rows whose text has blanks around it."""

    def split(self, markers: frozenset[str]) -> Said:
        """By whether a text is one of the markers of missing values, in small letters."""
        gone = [place for place, text in enumerate(self.folded) if text in markers]
        places = np.delete(np.arange(len(self.stripped)), gone)
        texts = [self.stripped[place] for place in places] if gone else self.stripped
        return Said(places, texts, tuple(sorted({self.stripped[place] for place in gone})))

    def spread(self, values: Any, missing: Any) -> Any:
        """A column from a value for each different text."""
        if not len(values):
            return pd.Series([missing] * len(self.codes), dtype=object if missing is np.nan else None)
        taken = np.asarray(values)[np.maximum(self.codes, 0)]
        if (self.codes < 0).any():
            taken[self.codes < 0] = missing
        return pd.Series(taken)

    def rows(self, places: npt.NDArray[np.intp]) -> float:
        """How many rows have one of these texts."""
        return float(self.counts[places].sum())
