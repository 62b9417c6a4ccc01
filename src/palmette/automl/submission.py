"""Answers to the rows that came without the target: in the form of the sample submission, where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from palmette.automl.data.load import Loaded
from palmette.automl.measure import Predictions
from palmette.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet executes."""
SUBMISSION, PREDICTIONS = "submission.csv", "predictions.csv"


def answered(loaded: Loaded, said: Predictions, target: str, positive: str | None = None) -> tuple[str, pd.DataFrame]:
    """The name of the file, and its rows.

    A submission has the rows and columns of the sample, in their order. A column for each class takes its probability;
    a single column takes labels, or the probability of the positive class where the sample has numbers between.

    Raises:
        UserError: a row of the sample is none of the rows to predict.
    """
    import pandas as pd

    rows, sample = loaded.predict, loaded.submission
    assert rows is not None and len(rows) == len(said)
    if sample is None:
        own = rows.drop(columns=target, errors="ignore")
        return PREDICTIONS, own.assign(prediction=said.values)
    key = loaded.dataset.key
    places = _places(sample[key], rows[key], key) if key else np.arange(len(sample))
    asked = [name for name in sample if name != key]
    answers = {
        name: _of_class(str(name), said) if len(asked) > 1 else _single(sample[name], said, positive) for name in asked
    }
    made = {name: sample[name] if name == key else pd.Series(answers[name])[places].to_numpy() for name in sample}
    return SUBMISSION, pd.DataFrame(made).rename(columns=str)


def formulas(frame: pd.DataFrame) -> int:
    """How many cells, names of columns included, a spreadsheet would take for formulas and execute.

    They stay as they are: a file of answers is data, which programs join by its cells.
    """
    import pandas as pd

    cells = (cell for place in range(frame.shape[1]) for cell in frame.iloc[:, place].array)
    doubtful = [cell for cell in (*frame, *cells) if isinstance(cell, str) and cell.startswith(_FORMULA)]
    return int(pd.to_numeric(pd.Series(doubtful, dtype=object), errors="coerce").isna().sum())


def _places(wanted: pd.Series, had: pd.Series, key: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Which row each line of the sample is about."""
    import pandas as pd

    places = pd.Index(_text(had)).get_indexer(pd.Index(_text(wanted)))
    if (places < 0).any():
        lost = wanted.iloc[int(np.flatnonzero(places < 0)[0])]
        message = f"The sample submission asks for {key} {str(lost)[:60]!r}, which is no row of the test file."
        raise UserError(message, "Give the sample that belongs to the test file.", code="submission-differs")
    return np.asarray(places)


def _of_class(name: str, said: Predictions) -> object:
    """The probability of the class that a column is named after, the longest of several; labels where it is of none."""
    found = [one for one in said.classes if name == one or name.endswith(f"_{one}")]
    if said.probabilities is None or not found:
        return said.values
    return said.probabilities[:, said.classes.index(max(found, key=len))]


def _single(sample: pd.Series, said: Predictions, positive: str | None) -> object:
    """Labels, or the probability of the positive class where the sample has numbers between."""
    if said.probabilities is None or positive is None or not _fractions(sample):
        return said.values
    return said.probabilities[:, said.classes.index(positive)]


def _fractions(sample: pd.Series) -> bool:
    """Whether the sample shows numbers that are no class: probabilities are asked for."""
    import pandas as pd

    numbers = pd.to_numeric(sample, errors="coerce")
    return bool(numbers.notna().all() and (numbers % 1 != 0).any())


def _text(values: pd.Series) -> pd.Series:
    return values.astype(str).str.strip().str.replace(r"^(-?\d+)\.0$", r"\1", regex=True)
