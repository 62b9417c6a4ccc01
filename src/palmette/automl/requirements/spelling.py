"""Slips of the pen in the words that the rules live on; every other word is left as it is."""

from __future__ import annotations

from functools import cache

from palmette.automl.requirements.vocabulary import vocabulary


@cache
def mended(word: str) -> str:
    """The word that was probably meant.

    >>> mended("acuracy"), mended("weather"), mended("Wether")
    ('accuracy', 'weather', 'whether')
    """
    low = word.lower()
    spelling = vocabulary().spelling
    if low in spelling.keys or low in spelling.meant or len(low) < 5 or word.isupper():
        return word
    for key in spelling.keys:
        if (
            low[0] == key[0]
            and abs(len(low) - len(key)) <= 1
            and len(key) >= 6
            and slips(low, key) == 1
            and not _ending(low, key)
        ):
            return key
    return word


def slips(one: str, other: str) -> int:
    """Letters left out, added, changed or swapped with the next one (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, mark in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != mark))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == mark:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _ending(one: str, other: str) -> bool:
    """Whether the two differ in their ending alone, as `feature` and `features` do."""
    short, long = sorted((one, other), key=len)
    return long.startswith(short[:-1]) and long[-1] in "sdery"
