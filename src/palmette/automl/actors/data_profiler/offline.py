"""The profile of a data set from its files, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from palmette.automl.data import Aim, Dataset
from palmette.automl.profile import ColumnProfile, Profile


def compute(dataset: Dataset, aim: Aim) -> Profile:
    """The profile, from the files as they are now.

    Raises:
        UserError: a file is not what it was, or the target cannot be learnt.
    """
    from palmette.automl.data.load import reload

    reload(dataset)  # raises where a file has changed
    return _computed(dataset, aim)


@lru_cache(maxsize=4)
def _computed(dataset: Dataset, aim: Aim) -> Profile:
    from palmette.automl.data.cut import cut_for
    from palmette.automl.data.load import reload
    from palmette.automl.profile.profile import profile

    loaded = reload(dataset)
    kinds = {column.name: column.kind for column in dataset.columns}
    return profile(loaded.table, aim.target, aim.task, cut_for(loaded, aim), kinds)


def shown_column(column: ColumnProfile) -> str:
    """A column in one line, without what does not apply to it."""
    return column.model_dump_json(exclude_none=True, exclude_defaults=True)


def figures(made: Profile) -> Iterator[str]:
    """What follows from the figures: the cut, the leaks, the suggestions."""
    yield " ".join(made.holdout.reasons)
    for leak in made.leaks:
        yield f"{leak.code} ({leak.severity}, {leak.action}): {leak.text} {leak.evidence}"
    for fact in made.suggestions:
        yield f"{fact.code}: {fact.text}"
