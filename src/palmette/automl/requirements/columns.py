"""Which column some words mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from palmette.automl.requirements.model import ColumnHint
from palmette.automl.requirements.spelling import slips
from palmette.automl.requirements.vocabulary import vocabulary

Columns = Mapping[str, ColumnHint]
_OWNER = 0.3
"""How much a word counts that only says whose the target is, as in `next year's weather`."""
_UNIT = 0.9
"""How well a name is covered whose last short word, a unit perhaps, is passed over."""

USUAL = (
    "target",
    "label",
    "labels",
    "class",
    "y",
    "outcome",
    "response",
    "output",
    "targets",
    "classes",
    "result",
    "dependent",
)
"""Names by which the column to predict goes where nobody says more."""
_SUFFIXES = (
    "izations",
    "isations",
    "ization",
    "ations",
    "ation",
    "iness",
    "ments",
    "ment",
    "ness",
    "ures",
    "ure",
    "ings",
    "ing",
    "ions",
    "ion",
    "ors",
    "ers",
    "or",
    "er",
    "ies",
    "ied",
    "ed",
    "es",
    "ly",
    "al",
    "s",
    "y",
    "e",
)


class Match(NamedTuple):
    """How well a column fits some words."""

    column: str
    score: float
    """1 where all of its name is there."""


@cache
def split_name(name: str) -> tuple[str, ...]:
    """The words of a column's name.

    >>> split_name("SalePrice"), split_name("Annual Income (k$)"), split_name("G3_math")
    (('sale', 'price'), ('annual', 'income'), ('g3', 'math'))
    """
    bare = re.sub(r"\([^)]*\)", " ", name) if re.search(r"\w\s*\(", name) else name
    parts = re.findall(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+", bare)
    return tuple(part.casefold() for part in parts) or (name.casefold(),)


@cache
def stem(word: str) -> str:
    """A word without its ending, so that `defaulted` meets `default`."""
    word = word.casefold().removesuffix("'s")
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return (
                stem(word[: -len(suffix)])
                if suffix in ("s", "es", "ly") and len(word) - len(suffix) > 4
                else word[: -len(suffix)]
            )
    return word


@cache
def likeness(said: str, word: str) -> float:
    """How surely a word of a request means a word of a name, from 0 to 1."""
    said, word = said.casefold(), word.casefold()
    if said == word:
        return 1.0
    one, other = stem(said), stem(word)
    if one == other and len(one) >= 3:
        return 0.95
    if _skeleton(word, said):
        return 0.8
    for group in vocabulary().synonyms:
        if _is_one_of(said, group) and (_is_one_of(word, group) or any(_skeleton(word, one) for one in group)):
            return 0.7
    if len(word) >= 3 and len(said) > len(word) and one.startswith(word):
        return 0.6
    if min(len(said), len(word)) >= 5 and said[0] == word[0] and slips(said, word) == 1:
        return 0.75
    return 0.0


def words_in(phrase: str, known: frozenset[str] = frozenset()) -> list[str]:
    """The words of a phrase that carry meaning; `known` ones always do."""
    parts = [part for word in re.findall(r"[A-Za-z0-9_]+", phrase) for part in split_name(word)]
    empty = vocabulary().empty - known
    return [part for part in parts if part not in empty] or parts


def rank(phrase: str, columns: Columns) -> list[Match]:
    """The columns that a phrase may mean, the best first.

    Words that are no nouns, as `hourly`, and those after `of` count for less.
    """
    head, _, rest = _halves(phrase)
    known = frozenset(part for name in columns for part in split_name(name))
    words = words_in(head, known)
    said = [(word, 0.5 if word.endswith("ly") and word != words[-1] else 1.0) for word in words]
    said += [(word, 0.5) for word in (words_in(rest, known) if rest else [])]
    owners = {owner.casefold() for owner in re.findall(r"(\w+)'s\s", phrase)}
    said = [(word, _OWNER * weight if word.casefold() in owners else weight) for word, weight in said]
    if not said:
        return []
    plain = re.findall(r"[a-z]+", phrase.casefold())
    found = []
    for name in columns:
        parts = _without_unit(split_name(name))
        fits = [max((likeness(word, part) * weight for word, weight in said), default=0.0) for part in parts]
        covered = sum(fits) / len(parts) * (1.0 if len(parts) == len(split_name(name)) else _UNIT)
        initials = "".join(word[0] for word in re.findall(r"[a-z]+", phrase.casefold()))
        if len(parts) == 1 and len(name) >= 3 and parts[0] in initials:
            covered = 1.0
        if len(parts) == 1 and len(name) >= 4 and any(_runs_on(parts[0], *pair) for pair in pairwise(plain)):
            covered = 1.0
        told = sum(max(likeness(word, part) for part in parts) * weight for word, weight in said) / sum(
            weight for _, weight in said
        )
        score = 0.75 * covered + 0.25 * told
        if covered >= 0.3 and score > 0.25:
            found.append(Match(name, round(score, 4)))
    return sorted(found, key=lambda match: (-match.score, list(columns).index(match.column)))


def exact(words: str, columns: Columns) -> str | None:
    """The column that goes by these very words; spelling of blanks and cases aside."""
    key = _key(words)
    return next((name for name in columns if name == words), None) or next(
        (n for n in columns if _key(n) == key and key), None
    )


def named_in(plain: str, columns: Columns) -> list[tuple[int, int, str]]:
    """Where columns are named in full: start, end, column; of overlapping ones the longest."""
    found: list[tuple[int, int, str]] = []
    for name in columns:
        forms = {re.escape(name), r"[\s_-]*".join(map(re.escape, split_name(name)))}
        for form in forms:
            for match in re.finditer(rf"(?<![A-Za-z0-9_])(?:{form})(?![A-Za-z0-9_])", plain, re.I):
                if len(name) > 2 or plain[match.start() : match.end()] == name:
                    found.append((match.start(), match.end(), name))
    kept: list[tuple[int, int, str]] = []
    for one in sorted(set(found), key=lambda f: (f[0] - f[1], f[0])):
        if all(one[1] <= other[0] or other[1] <= one[0] for other in kept):
            kept.append(one)
    return sorted(kept)


def by_values(plain: str, columns: Columns) -> str | None:
    """The one column whose values are spoken of: two of them, and of a column that has few."""
    found = []
    for name, hint in columns.items():
        values = {
            value.casefold()
            for value in hint.examples
            if len(value) > 2 and not re.fullmatch(r"[\d.,-]+|true|false|yes|none", value, re.I)
        }
        told = [value for value in values if re.search(rf"(?<!\w){re.escape(value)}(?:s|es)?(?!\w)", plain, re.I)]
        pair = any(
            re.search(rf"(?:(?<!\w){re.escape(v)} or \w+|\w+ or {re.escape(v)}(?!\w))", plain, re.I) for v in told
        )
        if hint.kind in ("categorical", "boolean") and (len(told) >= 2 or (pair and (hint.distinct or 9) <= 3)):
            found.append(name)
    return found[0] if len(found) == 1 else None


def by_initials(plain: str, columns: Columns) -> str | None:
    """The one column of two letters that begin the words of an alternative: `e` and `p` of `edible or poisonous`."""
    pairs = [
        {m[1][0].casefold(), m[2][0].casefold()} for m in re.finditer(r"\b([A-Za-z]{3,}) or ([A-Za-z]{3,})", plain)
    ]
    found = [
        name
        for name, hint in columns.items()
        if hint.distinct == 2 and {value.casefold() for value in hint.examples} in pairs
    ]
    return found[0] if len(found) == 1 else None


def by_acronym(plain: str, columns: Columns) -> str | None:
    """The one column that is called by the first letters of words beside one another: `mpg` of `miles per gallon`.

    Names with a vowel are words of their own.
    """
    found = [
        name
        for name in columns
        if re.fullmatch(r"[^\W\d_aeiou]{3,6}", name, re.I)
        and re.search(r"\b" + r"\w+\W+".join(name) + r"\w+", plain, re.I) is not None
    ]
    return found[0] if len(found) == 1 else None


def by_one_value(plain: str, columns: Columns) -> str | None:
    """The one column of few values of which the words name one."""
    found = [
        name
        for name, hint in columns.items()
        if hint.kind in ("categorical", "boolean") and (hint.distinct or 9) <= 5
        if any(len(v) > 3 and re.search(rf"(?<!\w){re.escape(v)}(?!\w)", plain, re.I) for v in hint.examples)
    ]
    return found[0] if len(found) == 1 else None


def usual(columns: Columns) -> str | None:
    """The column with a name that says that it is the target; the last of several."""
    places = {"x", "y", "z"} <= {name.casefold() for name in columns}
    named = [name for name in columns if split_name(name)[-1] in USUAL and len(split_name(name)) <= 2]
    named = [name for name in named if not (places and name.casefold() == "y")]
    return named[-1] if named else None


def telling(columns: Columns) -> str | None:
    """The one column with the name of an outcome, such as `survived` or `price`."""
    known = {stem(word) for word in vocabulary().outcomes}
    named = [name for name in columns if known.intersection(map(stem, split_name(name)))]
    return named[0] if len(named) == 1 else None


def close(options: Sequence[Match], within: float = 0.08) -> list[str]:
    """The columns that fit as well as the best one, nearly."""
    return [match.column for match in options if options[0].score - match.score <= within]


def _halves(phrase: str) -> tuple[str, str, str]:
    match = re.search(r"\b(?:of|for|per|in|on|at|by|with|from)\b", phrase)
    if match is None or not words_in(phrase[: match.start()]):
        return phrase, "", ""
    head = phrase[: match.start()]
    if set(words_in(head)) <= {
        "number",
        "amount",
        "count",
        "level",
        "type",
        "kind",
        "value",
        "total",
        "category",
        "class",
        "probability",
        "risk",
        "likelihood",
        "chance",
    }:
        return phrase, "", ""
    return head, match[0], phrase[match.end() :]


def _without_unit(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name without a unit at its end, as in `body_mass_g`."""
    return parts[:-1] if len(parts) > 1 and len(parts[-1]) <= 2 and not parts[-1].isdigit() else parts


def _key(words: str) -> str:
    return re.sub(r"[^a-z0-9]", "", words.casefold())


def _runs_on(name: str, first: str, second: str) -> bool:
    """Whether a name begins with one word and ends in the beginning of the next, as `dewp` does of `dew point`."""
    return first != name and name.startswith(first) and (first + second).startswith(name)


def _skeleton(short: str, long: str) -> bool:
    """Whether one is the other without vowels, as `cnt` is `count`."""
    bare = len(short) >= 2 and not re.search("[aeiou]", short)
    return bare and short[0] == long[0] and _inside(short, long)


def _inside(short: str, long: str) -> bool:
    """Whether the letters of one stand in the other, in their order."""
    rest = iter(long)
    return all(letter in rest for letter in short)


@cache
def _is_one_of(word: str, group: Iterable[str]) -> bool:
    return any(word == one or stem(word) == stem(one) for one in group)
