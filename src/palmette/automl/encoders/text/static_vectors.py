"""Text embeddings as the mean of static token vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from palmette.automl.encoders.packaged_weights import weights_file
from palmette.automl.encoders.text.text_vectors import TextVectors

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
