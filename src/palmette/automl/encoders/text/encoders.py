"""Encoders of texts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from palmette.automl.calls import Call
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import DataFacts, Encoder, Layout, Transformer
from palmette.automl.encoders.scaled import scaled

DIRECTIONS = 30
STATISTICS, OVERLAPS = 5, 8
"""Features of a column, and of a pair of columns."""
MOST_PAIRED = 3
"""Columns of which pairs are compared."""
MANY_WORDS = 400_000
"""Words of all rows above which characters take too long."""
VOCABULARY = 100_000
FEATURES, PAIRS = (f"palmette.automl.encoders.text.{module}" for module in ("text_features", "text_pairs"))
Parts = list[tuple[str, Any, Any]]


class _Texts(Encoder):
    kind = "text"

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        each = STATISTICS + DIRECTIONS + (facts.outputs if facts.supervised else 0)
        return (False,) * (each * len(columns) + OVERLAPS * len(list(_pairs(columns))))


class Directions(_Texts):
    name = "text_directions"
    layouts = frozenset({"tree", "dense"})
    description = (
        "Lengths, 30 main directions of the TF-IDF words, and the overlap of two text columns; "
        "for trees also the cross-fitted output of a ridge regression on the words."
    )

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        statistics = scaled(layout, facts, ("statistics", Call(f"{FEATURES}.TextStatistics")))
        found: Parts = [("statistics", statistics, [one.name for one in columns])]
        directions = Call(f"{FEATURES}.TextDirections", {"n_components": DIRECTIONS})
        scores = Call(f"{FEATURES}.TextScores", {"kind": "classes" if facts.classes else "number"})
        for end, name in _ended(columns):
            found.append((f"directions{end}", directions, name))
            if facts.supervised and layout == "tree":
                found.append((f"scores{end}", scores, name))
        found.extend(_overlaps(columns, layout, facts))
        return Call("sklearn.compose.ColumnTransformer", {"transformers": found})

    def seconds(self, facts: DataFacts) -> float:
        return 0.1 + 4e-6 * facts.rows * facts.words * facts.outputs


class Tfidf(_Texts):
    name = "text_tfidf"
    layouts = frozenset({"sparse"})
    description = (
        "TF-IDF of words and pairs of words, and of 2 to 5 characters where rows are not too many; "
        "of two text columns also their overlap and the words of one side only."
    )

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        found: Parts = []
        for end, name in _ended(columns):
            found.append((f"words{end}", _tfidf(token_pattern=r"\w+", ngram_range=(1, 2)), name))
            if _has_characters(facts):
                found.append((f"characters{end}", _tfidf(analyzer="char_wb", ngram_range=(2, 5)), name))
        found.extend(_overlaps(columns, layout, facts))
        one_sided = Call(f"{PAIRS}.OneSidedWords")
        found.extend((f"one_sided{end}", one_sided, names) for end, names in _pairs(columns))
        return Call("sklearn.compose.ColumnTransformer", {"transformers": found})

    def seconds(self, facts: DataFacts) -> float:
        return 0.05 + (4e-5 if _has_characters(facts) else 5e-6) * facts.rows * facts.words


def _has_characters(facts: DataFacts) -> bool:
    return facts.rows * facts.words < MANY_WORDS


def _tfidf(**given: Any) -> Call:
    most = {"sublinear_tf": True, "max_features": VOCABULARY}
    return Call("sklearn.feature_extraction.text.TfidfVectorizer", {**given, **most})


def _overlaps(columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Iterator[tuple[str, Any, list[str]]]:
    overlap = scaled(layout, facts, ("overlap", Call(f"{PAIRS}.TextOverlap")))
    yield from ((f"overlap{end}", overlap, names) for end, names in _pairs(columns))


def _ended(columns: Sequence[ColumnUse]) -> Iterator[tuple[str, str]]:
    """The columns, each with the end of the names of its parts: a number where there are several."""
    yield from ((f"_{place}" if len(columns) > 1 else "", one.name) for place, one in enumerate(columns, 1))


def _pairs(columns: Sequence[ColumnUse]) -> Iterator[tuple[str, list[str]]]:
    """Two of the first columns, with the end of the names of their parts."""
    pairs = itertools.combinations(_ended(columns[:MOST_PAIRED]), 2)
    yield from ((f"{first[0]}{second[0]}", [first[1], second[1]]) for first, second in pairs)
