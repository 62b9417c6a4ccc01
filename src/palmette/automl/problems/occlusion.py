"""Occlusion: how a model's prediction for a file changes when a part of the file is covered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palmette.automl.artefacts import Occlusion
from palmette.automl.kinds import FileKind
from palmette.automl.measure import Predictions

if TYPE_CHECKING:
    import pandas as pd

FILES = 6
"""Number of files that are covered part by part."""


def telling_rows(
    truth: NDArray[np.generic], made: Predictions, usable: Sequence[int], each: int
) -> tuple[list[int], list[int]]:
    """Returns positions of wrong predictions and of right ones, the most certain first; for numbers, of errors above
    and below the median, the largest first.
    """
    if made.probabilities is None:
        errors = np.abs(truth.astype(float) - made.values.astype(float))
        wrong, order = errors > np.median(errors), np.argsort(-errors, kind="stable")
    else:
        wrong = truth.astype(str) != made.values.astype(str)
        order = np.argsort(-made.probabilities.max(axis=1), kind="stable")
    known = {*usable}
    places = [int(place) for place in order if place in known]
    return (
        list(islice((one for one in places if wrong[one]), each)),
        list(islice((one for one in places if not wrong[one]), each)),
    )


def occlusions(
    ask: Callable[[pd.DataFrame], Predictions], rows: pd.DataFrame, column: str, kind: FileKind, places: Sequence[int]
) -> tuple[Occlusion, ...]:
    """Returns, for each row in `places`, how much each part of its file adds to the prediction.

    Args:
        ask: The model; called once.
        rows: Inputs of the model, with the bytes of files.
        column: The column of files.
        kind: The kind of the files.
        places: Positions of the rows.
    """
    import pandas as pd

    versions = [[rows[column].iloc[place], *kind.covered(rows[column].iloc[place])] for place in places]
    counts = [len(one) for one in versions]
    if max(counts, default=1) < 2:
        return ()
    stacked = rows.iloc[np.repeat(places, counts)].reset_index(drop=True)
    cells = pd.Series([cell for one in versions for cell in one], stacked.index, object)
    answers, ends, found = ask(stacked.assign(**{column: cells})), np.cumsum(counts), []
    for place, start, end in zip(places, ends - counts, ends, strict=True):
        if answers.probabilities is None:
            values = answers.values[start:end].astype(float)
            changes = np.abs(values[1:] - values[0])
        else:
            likely = answers.probabilities[start].argmax()
            changes = answers.probabilities[start, likely] - answers.probabilities[start + 1 : end, likely]
        found.append(Occlusion(row=place, changes=tuple(changes.tolist())))
    return tuple(found)
