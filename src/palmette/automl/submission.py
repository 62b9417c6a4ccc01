"""Predictions of the inference rows, in the form of the sample submission if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from palmette.automl.kinds import YES_AND_NO
from palmette.automl.measure import Predictions
from palmette.automl.samples import Loaded
from palmette.automl.samples.tables import clean_names

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters of cells that a spreadsheet evaluates as formulas
SUBMISSION, PREDICTIONS = "submission.csv", "predictions.csv"


def prediction_file(
    loaded: Loaded, made: Predictions, target: str, positive: str | None = None
) -> tuple[str, pd.DataFrame]:
    """Returns the file name and its rows.

    A submission has the rows and columns of the sample, in the same order. If there are several columns, each is filled
    with the probability of its class. A single column holds the probability of the positive class if the sample has
    fractions, else labels, spelled like the sample's yes and no.
    """
    import pandas as pd

    rows, sample, order = loaded.inference, loaded.submission, loaded.submission_order
    assert rows is not None and len(rows) == len(made)
    if sample is None or order is None:
        return PREDICTIONS, rows.drop(columns=target, errors="ignore").assign(prediction=made.values)
    names = zip(sample, clean_names(list(map(str, sample))), strict=True)
    wanted = [source for source, name in names if name != loaded.samples.key]
    answers = {
        name: _of_class(str(name), made) if len(wanted) > 1 else _single(sample[name], made, positive)
        for name in wanted
    }
    columns = {name: np.asarray(answers[name])[order] if name in wanted else sample[name] for name in sample}
    return SUBMISSION, pd.DataFrame(columns).rename(columns=str)


def formulas(frame: pd.DataFrame) -> int:
    """Counts cells, including column names, that a spreadsheet would evaluate as formulas.

    They are kept, because programs join predictions by their exact values.
    """
    import pandas as pd

    cells = (cell for place in range(frame.shape[1]) for cell in frame.iloc[:, place].array)
    suspect = [cell for cell in (*frame, *cells) if isinstance(cell, str) and cell.startswith(_FORMULA)]
    return int(pd.to_numeric(pd.Series(suspect, dtype=object), errors="coerce").isna().sum())


def _of_class(name: str, made: Predictions) -> object:
    """Returns the probability of the class that a column is named after, or labels if there is none."""
    found = [one for one in made.classes if name == one or name.endswith(f"_{one}")]
    if made.probabilities is None or not found:
        return made.values
    return made.probabilities[:, made.classes.index(max(found, key=len))]


def _single(sample: pd.Series, made: Predictions, positive: str | None) -> object:
    """Returns labels, or the probability of the positive class if the sample has fractions."""
    if made.probabilities is None or positive is None:
        return made.values
    if _has_fractions(sample):
        return made.probabilities[:, made.classes.index(positive)]
    words = _words(sample, made.classes)
    return made.values if words is None else np.where(made.values == positive, *words)


def _words(sample: pd.Series, classes: Sequence[str]) -> tuple[str, str] | None:
    """Returns the sample's spellings of yes and no; None if it uses the class names or neither word."""
    shown = {str(one).strip() for one in sample.dropna()}
    pairs = [pair for pair in YES_AND_NO if {one.casefold() for one in shown} <= set(pair)]
    if shown <= set(classes) or not pairs:
        return None
    first = next(iter(shown))
    written = str.title if first.istitle() else str.upper if first.isupper() else str.lower
    return written(pairs[0][0]), written(pairs[0][1])


def _has_fractions(sample: pd.Series) -> bool:
    """Returns whether the sample contains fractions, so that probabilities are expected."""
    import pandas as pd

    numbers = pd.to_numeric(sample, errors="coerce")
    return bool(numbers.notna().all() and (numbers % 1 != 0).any())
