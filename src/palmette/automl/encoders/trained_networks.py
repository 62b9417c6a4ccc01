"""Frozen networks in a folder of $PALMETTE_MODELS, loaded by transformers; code in the folder is never run."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import torch

from palmette.automl.encoders.transformers import Stateless, features_of, weights_file

CELLS_TOGETHER = 16  # batch size


def fastest_device() -> str:
    """Returns the fastest device of this machine."""
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"


class TrainedNetwork(NamedTuple):
    """A network in memory, with its folder and configuration."""

    place: Path
    config: Mapping[str, Any]
    model: Any

    def outputs(self, method: str = "forward", **inputs: torch.Tensor) -> Any:
        """Calls a method of the network."""
        with torch.inference_mode():
            return getattr(self.model, method)(**{name: one.to(self.model.device) for name, one in inputs.items()})


@cache
def trained_network(folder: str, sha256: str) -> TrainedNetwork:
    """Loads the network of a folder onto the fastest device, after its weights match `sha256`."""
    from transformers import AutoModel

    place = weights_file("", f"{folder}/model.safetensors", sha256).parent
    given = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    model = AutoModel.from_pretrained(place, **given).eval().to(fastest_device())
    return TrainedNetwork(place, json_of(place / "config.json"), model)


def json_of(file: Path) -> dict[str, Any]:
    """Returns the object in a JSON file; empty if there is no such file."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


@dataclass(eq=False, repr=False)
class NetworkVectors(Stateless):
    """Encodes each cell of each column as a vector; there is nothing to fit, and the network is not stored."""

    method: ClassVar[str]  # method that reads this kind of data, in networks that read several kinds

    folder: str  # folder of the network in $PALMETTE_MODELS
    sha256: str  # SHA-256 of the weights
    size: int  # length of a cell's vector

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        return features_of(pd.DataFrame(X), self.vectors)

    def vectors(self, cells: Iterable[Any]) -> Iterator[np.ndarray]:
        """Yields a vector (size,) for each cell; cells of equal shape go through the network in one batch."""
        network, rest = trained_network(self.folder, self.sha256), iter(cells)
        while some := list(islice(rest, CELLS_TOGETHER)):
            inputs = [self.inputs(network, cell) for cell in some]
            alike = len({tuple(one.shape for one in each.values()) for each in inputs}) == 1
            for part in [inputs] if alike else [[one] for one in inputs]:
                stacked = {name: torch.cat([one[name] for one in part]) for name in part[0]}
                method = self.method if hasattr(network.model, self.method) else "forward"
                yield from pooled_outputs(network.outputs(method, **stacked), self.size).cpu().double().numpy()

    def inputs(self, network: TrainedNetwork, cell: Any) -> dict[str, torch.Tensor]:
        """Returns the tensors of a cell, (1, ...) each, by the names of the network's arguments."""
        raise NotImplementedError


def pooled_outputs(made: Any, size: int) -> torch.Tensor:
    """Pools outputs to (n, size): the first token and the mean of the others, or the network's own pooling."""
    states = made.last_hidden_state
    if states.ndim == 3 and 2 * states.shape[2] == size:
        return torch.cat([states[:, 0], states[:, 1:].mean(dim=1)], dim=1)
    return states.mean(dim=(2, 3)) if states.ndim == 4 and states.shape[1] == size else made.pooler_output
