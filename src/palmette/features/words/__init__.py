"""Computations in free words: a model interprets phrasings that the built-in grammar does not cover."""

from palmette.features.words.reader import OpenWords, WordsReader, feature_of

__all__ = ["OpenWords", "WordsReader", "feature_of"]
