"""Encoders of texts."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from palmette.automl.calls import Call, pipeline
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import MOST_PAIRED, DataFacts, DefaultConfig, Encoder, Layout, Transformer
from palmette.automl.encoders.shared import FromFolder, VectorEncoder, scaled, score_step, standard

DIRECTIONS = 30
STATISTICS, OVERLAPS = 5, 8  # number of features of a column, and of a pair of columns
TFIDF = Call("sklearn.feature_extraction.text.TfidfVectorizer", {"sublinear_tf": True, "max_features": 100_000})
PAIRS_FIRST = 0.9  # subtracted from a starting point's rank if texts are compared with each other
LONG = 500  # words of a row, on average, beyond which pairs of words cost more than they tell
PENALTY = 0.03  # `C` of a linear model on vectors
FEATURES = "palmette.automl.encoders.text.text_features"
Parts = list[tuple[str, Any, Any]]


class _Texts(Encoder):
    kind = "text"


class Directions(_Texts):
    name = "text_directions"
    cell = 4e-6
    layouts = frozenset({"dense"})
    description = "Lengths, 30 main directions of the TF-IDF words, and the overlap of two text columns."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Call:
        statistics = scaled(layout, facts, ("statistics", Call(f"{FEATURES}.TextStatistics")))
        directions = Call(f"{FEATURES}.TextDirections", {"n_components": DIRECTIONS})
        found: Parts = [(f"directions{end}", directions, name) for end, name in _ended(columns)]
        if facts.supervised:
            found = [("statistics", statistics, [one.name for one in columns]), *found]
            found += _overlaps(columns, layout, facts)
        return Call("sklearn.compose.ColumnTransformer", {"transformers": found})


class Tfidf(_Texts):
    name = "text_tfidf"
    layouts = frozenset({"sparse"})
    description = "TF-IDF of words and pairs of words, and the overlap of two text columns."
    reads = ("category",)
    characters: ClassVar[bool] = False
    cell = 5e-6

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        words = TFIDF.where(token_pattern=r"\w+", ngram_range=(1, _grams(facts)))
        characters = TFIDF.where(analyzer="char_wb", ngram_range=(2, 5))
        several, texts = len(columns) > 1, [one for one in columns if one.kind == self.kind]
        apart = [] if several and facts.is_mixed else texts
        found: Parts = [(f"words{end}", words, name) for end, name in _ended(apart)]
        of_all = [("words", words)] * several + [("characters", characters)] * self.characters
        for name, part in of_all:
            joined = pipeline(("joined", Call(f"{FEATURES}.JoinedTexts")), (name, part))
            found.append((f"all_{name}", joined, [one.name for one in columns]))
        found.extend(_overlaps(texts, layout, facts))
        return Call("sklearn.compose.ColumnTransformer", {"transformers": found})


class Characters(Tfidf):
    name = "text_characters"
    usual = False
    description = "TF-IDF of words, pairs of words, and 2 to 5 characters, which know parts and misspellings of words."
    characters = True
    cell = 4e-5

    def starts(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        reason = "on words and their parts"
        later = facts.later("text")
        ranks = {"nb_svm": 1.3, "ridge_classifier": 1.7, "linear_svc": 2.7} if facts.classes else {"linear": 1.7}
        return tuple(DefaultConfig(learner, {}, reason, rank + later) for learner, rank in ranks.items())


class Contrast(_Texts):
    name = "text_contrast"
    layouts = frozenset({"sparse"})
    usual = False
    cell = 1e-5
    description = "How much two text columns overlap, and the TF-IDF of words that only one of them has."

    def starts(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        reason = "on what one text has and the other has not"
        starts = (DefaultConfig("linear", {}, reason, 0.0), DefaultConfig("linear_svc", {}, reason, 0.3))
        return starts if facts.is_alone("text") and facts.pairs else ()

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        one_sided = Call(f"{FEATURES}.OneSidedWords")
        found = [(f"one_sided{end}", one_sided, names) for end, names in _pairs(columns, facts)]
        return Call("sklearn.compose.ColumnTransformer", {"transformers": [*found, *_overlaps(columns, layout, facts)]})


class _Vectors(VectorEncoder):
    """Text embeddings by a pretrained model."""

    kind = "text"
    usual = False
    rank: ClassVar[float]  # rank of the first starting point, as in `DefaultConfig`

    def starts(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        pairs = facts.is_alone("text") and facts.pairs  # single words cannot compare texts
        first = self.rank + facts.later("text") - (PAIRS_FIRST if pairs else 0.0)
        reason = "on vectors of a model that has read many other texts"
        return (
            DefaultConfig("linear", {"C": PENALTY} if facts.classes else {"alpha": 100.0}, reason, first),
            DefaultConfig("lightgbm", {}, reason, first + (0.3 if pairs else 6.0)),
            DefaultConfig("svc", {}, reason, first + 3.0),
        )

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        vectors = self.vectors if any(_pairs(columns, facts)) else self.vectors.where(paired=0)
        steps = vectors if layout == "tree" else pipeline(("vectors", vectors), *standard(facts))
        found: Parts = [("vectors", steps, [one.name for one in columns]), *_overlaps(columns, layout, facts)]
        return Call("sklearn.compose.ColumnTransformer", {"transformers": found}) if len(found) > 1 else steps

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        pair = 2 * self.size + 1 + OVERLAPS
        return (False,) * (self.size * len(columns) + pair * len(list(_pairs(columns, facts))))


class Static(_Vectors):
    name = "text_static"
    requires = ("safetensors", "tokenizers")
    trained = ("wordllama", "wordllama-tokenizer")
    description = "The mean of static vectors of the words, from WordLlama: quick, and knows words that are alike."
    path = "palmette.automl.encoders.text.text_vectors.StaticVectors"
    features = 256
    cell = 1e-5
    rank = 1.0


class Scores(_Texts):
    name = "text_scores"
    reads = ("category",)
    layouts = frozenset({"tree"})
    cell = 2e-5
    description = (
        "Lengths, the overlap of two text columns, and the cross-fitted outputs of regressions: on the words of each "
        "text, on the words of all texts and categories, and on static vectors where they are installed."
    )

    @property
    def weights(self) -> tuple[str, ...]:
        return () if Static().unavailable() else Static.trained

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Call:
        texts = [one for one in columns if one.kind == self.kind]
        words, joined = Call(f"{FEATURES}.Words", {"grams": _grams(facts)}), Call(f"{FEATURES}.JoinedTexts")
        of_words = pipeline(("words", words), score_step(facts, alpha=1.0))
        found: Parts = [("statistics", Call(f"{FEATURES}.TextStatistics"), [one.name for one in texts])]
        found += [(f"scores{end}", of_words, name) for end, name in _ended(texts)]
        if len(columns) > 1:
            of_all = pipeline(("joined", joined), ("words", words), score_step(facts, alpha=0.5))
            found.append(("scores_all", of_all, [one.name for one in columns]))
        if self.weights:
            vectors = pipeline(("vectors", Static().vectors), *standard(facts), score_step(facts))
            found += [(f"vectors{end}", vectors, [name]) for end, name in _ended(texts)]
        found.extend(_overlaps(texts, layout, facts))
        return Call("sklearn.compose.ColumnTransformer", {"transformers": found})

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        texts = [one for one in columns if one.kind == self.kind]
        scores = (2 if self.weights else 1) * len(texts) + (len(columns) > 1)
        features = STATISTICS * len(texts) + facts.outputs * scores + OVERLAPS * len(list(_pairs(texts, facts)))
        return (False,) * features


class Sentences(_Vectors):
    name = "text_sentences"
    requires = ("safetensors", "tokenizers", "torch")
    trained = ("minilm", "minilm-tokenizer")
    description = "Vectors of whole sentences by the network MiniLM: slow, and knows what sentences mean."
    path = "palmette.automl.encoders.text.sentence_network.SentenceVectors"
    features = 384
    cell = 6e-4
    rank = 1.05


class TextFolder(_Vectors, FromFolder):
    name = "text_folder"
    description = "Vectors of texts by the network in a folder of $PALMETTE_MODELS, such as a sentence encoder."
    path = "palmette.automl.encoders.text.network_texts.TextNetworkVectors"
    rank = 1.02
    pieces = 1.4  # tokens per word


def _grams(facts: DataFacts) -> int:
    """Returns the longest sequence of words that is counted: long texts have enough single words."""
    return 1 if facts.words > LONG else 2


def _overlaps(columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Iterator[tuple[str, Any, list[str]]]:
    overlap = scaled(layout, facts, ("overlap", Call(f"{FEATURES}.TextOverlap")))
    yield from ((f"overlap{end}", overlap, names) for end, names in _pairs(columns, facts))


def _ended(columns: Sequence[ColumnUse]) -> Iterator[tuple[str, str]]:
    """Yields each column with the suffix of its step names: a number if there are several columns."""
    yield from ((f"_{place}" if len(columns) > 1 else "", one.name) for place, one in enumerate(columns, 1))


def _pairs(columns: Sequence[ColumnUse], facts: DataFacts) -> Iterator[tuple[str, list[str]]]:
    """Yields the pairs of the first columns that may be compared, with the suffix of their step names."""
    compared = columns[:MOST_PAIRED] if facts.pairs or not facts.is_mixed else ()
    pairs = itertools.combinations(_ended(compared), 2)
    yield from ((f"{first[0]}{second[0]}", [first[1], second[1]]) for first, second in pairs)
