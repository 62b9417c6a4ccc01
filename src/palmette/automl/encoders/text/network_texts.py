"""Text embeddings by a network, or by a table of static vectors, in a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from palmette.automl.encoders.text.text_vectors import TextVectors, window_vectors
from palmette.automl.encoders.trained_networks import TrainedNetwork, json_of, trained_network
from palmette.automl.encoders.transformers import weights_file

PIECES_OF_A_PART = 256  # tokens that the network reads at once


@dataclass(eq=False, repr=False, kw_only=True)
class TextNetworkVectors(TextVectors):
    """Encodes whole texts as vectors; a long text is read in parts."""

    folder: str  # folder of the network in $PALMETTE_MODELS; the fitted model leaves it out
    sha256: str  # SHA-256 of the weights
    size: int  # type: ignore[misc]  # length of a text's vector

    method = "forward"

    def inputs(self, network: TrainedNetwork, cell: str) -> dict[str, torch.Tensor]:
        """Returns the token numbers (1, n) of the first part of a text, and their mask."""
        numbers = torch.as_tensor([_pieces(network.place, _most_pieces(network.config)).encode(cell).ids or [0]])
        return {"input_ids": numbers, "attention_mask": torch.ones_like(numbers)}

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        file = weights_file("", f"{self.folder}/model.safetensors", self.sha256)
        config = json_of(file.parent / "config.json")
        if config["model_type"] == "model2vec":
            pieces = _pieces(file.parent, PIECES_OF_A_PART, special=False)
            return window_vectors(pieces, texts, self.size, _static(file))
        network = trained_network(self.folder, self.sha256)
        most = _most_pieces(config)
        by_first = json_of(file.parent / "1_Pooling" / "config.json").get("pooling_mode_cls_token", False)

        def encoded(numbers: np.ndarray) -> np.ndarray:
            batch = torch.as_tensor(numbers)
            states = network.outputs(input_ids=batch, attention_mask=torch.ones_like(batch)).last_hidden_state
            return np.asarray((states[:, 0] if by_first else states.mean(dim=1)).cpu().double())

        return window_vectors(_pieces(file.parent, most), texts, self.size, encoded)


def _most_pieces(config: Mapping[str, Any]) -> int:
    return min(PIECES_OF_A_PART, int(config.get("max_position_embeddings", PIECES_OF_A_PART)) - 2)


@cache
def _pieces(place: Path, most: int, special: bool = True) -> Any:
    pieces = Tokenizer.from_file(str(place / "tokenizer.json"))
    pieces.no_padding()
    pieces.enable_truncation(most)
    pieces.encode_special_tokens = not special
    return pieces


@cache
def _static(file: Path) -> Any:
    """Returns a function from token numbers to the mean of their vectors in a model2vec table."""
    tensors = load_file(file)
    table = tensors["embeddings"].astype("float64")
    if "weights" in tensors:
        table = table * tensors["weights"][:, None]
    places = tensors.get("mapping", np.arange(len(table)))
    return lambda numbers: table[places[numbers]].mean(axis=1)
