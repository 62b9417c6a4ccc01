"""Computations in free words: what the built-in phrasings leave open, a model puts into the specification's terms."""

from palmette.features.words.reader import WordsReader

__all__ = ["WordsReader"]
