"""The profile of a data set from its files, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from typing import Literal

from palmette.automl.artefacts import Settings
from palmette.automl.data import Aim, Dataset
from palmette.automl.goal import aim_of
from palmette.automl.material import split_of
from palmette.automl.profile import ColumnProfile, Leak, Profile, Settled
from palmette.automl.requirements import Requirements
from palmette.documents import Model

CELLS = 100_000
"""Values a second of the budget, to be written, read and learnt from."""
LEAST = 1_000
"""Rows that are learnt from even so."""


class ProfilerInput(Model):
    requirements: Requirements
    dataset: Dataset
    settings: Settings = Settings()


def compute(input: ProfilerInput) -> Profile:
    """The profile, from the files as they are now; nothing about its leaks is settled yet.

    Where rows of one entity stand on both sides of the cut, it is cut again by that entity.

    Raises:
        UserError: a file is not what it was, or the target cannot be learnt.
    """
    from palmette.automl.data.load import reload

    reload(input.dataset)  # raises where a file has changed
    settings = input.settings
    aim = aim_of(input.requirements, input.dataset, settings.seed, settings.holdout)
    made = _computed(input.dataset, aim.model_copy(update={"most": _most(input.dataset, settings.seconds)}))
    shared = [leak.columns[0] for leak in made.leaks if leak.action == "group" and leak.columns]
    if not shared or made.aim.group:
        return made
    return _computed(input.dataset, made.aim.model_copy(update={"group": shared[0]}))


def _most(dataset: Dataset, seconds: float) -> int:
    """Rows that there is time for; 0 where all can be learnt from."""
    most = max(LEAST, round(CELLS * seconds / len(dataset.columns)))
    return most if most < dataset.rows else 0


def settle(leaks: Iterable[Leak], usable: Collection[str], ask: Callable[[str], str | None]) -> Iterator[Settled]:
    """What is done about leaks that call for more than a report; a person is asked where figures cannot say.

    Without an answer, the last of the `usable` columns, from which something can be learnt, is kept.
    """
    left = set(usable)
    for leak in leaks:
        if leak.action == "drop":
            done = Settled(code=leak.code, columns=leak.columns, done="dropped", by="rule")
        elif leak.action == "ask" and leak.columns:
            done = _asked(leak, leak.default == "drop" and not left <= set(leak.columns), ask)
        else:
            continue
        left -= set(leak.columns) if done.done == "dropped" else set()
        yield done


def _asked(leak: Leak, drops: bool, ask: Callable[[str], str | None]) -> Settled:
    usual = "yes" if drops else "no"
    named = ", ".join(map(repr, leak.columns))
    said = ask(f"{leak.text} ({leak.evidence}) Leave out {named}? (yes, no; default: {usual})")
    word = (said or "").strip().casefold()[:1]
    drop = word == "y" if word in ("y", "n") else drops
    by: Literal["person", "default"] = "person" if word in ("y", "n") else "default"
    return Settled(code=leak.code, columns=leak.columns, done="dropped" if drop else "kept", by=by)


@lru_cache(maxsize=4)
def _computed(dataset: Dataset, aim: Aim) -> Profile:
    from palmette.automl.data.load import reload
    from palmette.automl.profile.profile import profile

    kinds = {column.name: column.kind for column in dataset.columns}
    return profile(reload(dataset).table, aim, split_of(dataset, aim), kinds)


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
