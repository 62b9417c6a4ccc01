"""Answers to the rows that came without the target: in the form of the sample submission, where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from palmette.automl.data.kinds import YES_AND_NO
from palmette.automl.data.load import Loaded
from palmette.automl.measure import Predictions

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet executes."""
SUBMISSION, PREDICTIONS = "submission.csv", "predictions.csv"


def answered(loaded: Loaded, said: Predictions, target: str, positive: str | None = None) -> tuple[str, pd.DataFrame]:
    """The name of the file, and its rows.

    A submission has the rows and columns of the sample, in their order. A column for each class takes its probability;
    a single column takes labels, in the words of the sample where those are another yes and no, or the probability of
    the positive class where the sample has numbers between.
    """
    import pandas as pd

    rows, sample, places = loaded.predict, loaded.submission, loaded.asked
    assert rows is not None and len(rows) == len(said)
    if sample is None or places is None:
        own = rows.drop(columns=target, errors="ignore")
        return PREDICTIONS, own.assign(prediction=said.values)
    column = loaded.dataset.column(loaded.dataset.key)
    key = column.source if column else loaded.dataset.key
    asked = [name for name in sample if name != key]
    answers = {
        name: _of_class(str(name), said) if len(asked) > 1 else _single(sample[name], said, positive) for name in asked
    }
    made = {name: np.asarray(answers[name])[places] if name in asked else sample[name] for name in sample}
    return SUBMISSION, pd.DataFrame(made).rename(columns=str)


def formulas(frame: pd.DataFrame) -> int:
    """How many cells, names of columns included, a spreadsheet would take for formulas and execute.

    They stay as they are: a file of answers is data, which programs join by its cells.
    """
    import pandas as pd

    cells = (cell for place in range(frame.shape[1]) for cell in frame.iloc[:, place].array)
    doubtful = [cell for cell in (*frame, *cells) if isinstance(cell, str) and cell.startswith(_FORMULA)]
    return int(pd.to_numeric(pd.Series(doubtful, dtype=object), errors="coerce").isna().sum())


def _of_class(name: str, said: Predictions) -> object:
    """The probability of the class that a column is named after, the longest of several; labels where it is of none."""
    found = [one for one in said.classes if name == one or name.endswith(f"_{one}")]
    if said.probabilities is None or not found:
        return said.values
    return said.probabilities[:, said.classes.index(max(found, key=len))]


def _single(sample: pd.Series, said: Predictions, positive: str | None) -> object:
    """Labels, or the probability of the positive class where the sample has numbers between."""
    if said.probabilities is None or positive is None:
        return said.values
    if _fractions(sample):
        return said.probabilities[:, said.classes.index(positive)]
    words = _words(sample, said.classes)
    return said.values if words is None else np.where(said.values == positive, *words)


def _words(sample: pd.Series, classes: Sequence[str]) -> tuple[str, str] | None:
    """For yes and no, the words that the sample has for them; None where it has the classes, or words for neither."""
    shown = {str(one).strip() for one in sample.dropna()}
    if shown <= set(classes):
        return None
    pairs = [pair for pair in YES_AND_NO if {one.casefold() for one in shown} <= set(pair)]
    if not pairs or not shown:
        return None
    first = next(iter(shown))
    written = str.title if first.istitle() else str.upper if first.isupper() else str.lower
    return written(pairs[0][0]), written(pairs[0][1])


def _fractions(sample: pd.Series) -> bool:
    """Whether the sample shows numbers that are no class: probabilities are asked for."""
    import pandas as pd

    numbers = pd.to_numeric(sample, errors="coerce")
    return bool(numbers.notna().all() and (numbers % 1 != 0).any())
