"""Text embeddings by pretrained models; those of WordLlama are means of static token vectors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from palmette.automl.encoders.transformers import Stateless, side_by_side, weights_file

PARTS_TOGETHER, WINDOWS = 32, 4  # texts in a batch, and parts of a long text that are read


@dataclass(eq=False, repr=False)
class TextVectors(Stateless):
    """Encodes each text of each column as a vector of length 1; there is nothing to fit.

    The vectors of columns are joined by `side_by_side`.
    """

    paired: int = 3  # columns, from the first, that are compared in pairs
    size: ClassVar[int]

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        X = pd.DataFrame(X)
        places, texts = pd.factorize(X.to_numpy(dtype=object).ravel())
        vectors = self.vectors([str(text) for text in texts]).astype("float64").reshape(len(texts), self.size)
        units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return side_by_side(units[places].reshape(*X.shape, self.size).transpose(1, 0, 2), self.paired)

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the vectors (n, size) of distinct texts."""
        raise NotImplementedError


def window_vectors(
    pieces: Any, texts: Sequence[str], size: int, encode: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Encodes texts as (n, size): the mean over the parts of a text, weighted by their lengths.

    Parts of equal length form a batch, so there is no padding. `pieces` is the tokenizer, which truncates; `encode`
    turns token numbers (m, k) into vectors (m, size).
    """
    parts = [[one.ids for one in (first, *first.overflowing)][:WINDOWS] for first in map(pieces.encode, texts)]
    owners = np.array([owner for owner, some in enumerate(parts) for _ in some], dtype=int)
    flat = [part for some in parts for part in some]
    lengths, sums, totals = np.array([len(one) for one in flat]), np.zeros((len(texts), size)), np.zeros(len(texts))
    for length in np.unique(lengths[lengths > 0]):
        alike = np.flatnonzero(lengths == length)
        for some in np.array_split(alike, -(-len(alike) // PARTS_TOGETHER)):
            made = encode(np.array([flat[place] for place in some]))
            np.add.at(sums, owners[some], length * made)
            np.add.at(totals, owners[some], length)
    return sums / np.maximum(totals, 1)[:, None]


WORDLLAMA = (
    "wordllama",
    "weights/l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
WORDLLAMA_TOKENIZER = (
    "wordllama",
    "tokenizers/l2_supercat_tokenizer_config.json",
    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
)
MOST_CHARACTERS = 10_000  # that are read of a text


class StaticVectors(TextVectors):
    """Averages the static 256-dimensional WordLlama vectors of a text's tokens, whatever their order.

    The weights come from the package `wordllama`; the fitted model leaves them out.
    """

    size = 256

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        pieces, table = _static_table()
        found = np.zeros((len(texts), self.size))
        for place, text in enumerate(texts):
            numbers = pieces.encode(text[:MOST_CHARACTERS], add_special_tokens=False).ids
            if numbers:
                found[place] = table[numbers].mean(axis=0, dtype="float64")
        return found


@cache
def _static_table() -> tuple[Any, np.ndarray]:
    """Returns the tokenizer and the vector of each token."""
    pieces = Tokenizer.from_file(str(weights_file(*WORDLLAMA_TOKENIZER)))
    return pieces, load_file(weights_file(*WORDLLAMA))["embedding.weight"].astype("float32")
