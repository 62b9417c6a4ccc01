"""Trained weights: found where they are, checked, and refused where they differ."""

import hashlib
from pathlib import Path

import pytest

from palmette.automl import weights
from palmette.automl.weights import Catalogue, Weights, located, weights_folder
from palmette.automl.weights import catalogue as read_catalogue
from palmette.errors import MachineError, UserError

CONTENT = b"tensors"
ONE = Weights(
    file="net/one.safetensors", sha256=hashlib.sha256(CONTENT).hexdigest(), megabytes=0.1, licence="MIT",
    source="Made here.",
)  # fmt: skip


@pytest.fixture(autouse=True)
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(weights, "catalogue", lambda: Catalogue(weights={"one": ONE}, families={}))
    monkeypatch.delenv("PALMETTE_MODELS", raising=False)
    return tmp_path


def test_a_local_folder_has_weights(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert located("one") is None and weights_folder() is None
    (catalogue / "one.safetensors").write_bytes(CONTENT)
    monkeypatch.setenv("PALMETTE_MODELS", str(catalogue))
    assert located("one") == catalogue / "one.safetensors" and weights_folder() == catalogue


def test_other_content_is_refused(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (catalogue / "one.safetensors").write_bytes(b"other")
    monkeypatch.setenv("PALMETTE_MODELS", str(catalogue))
    with pytest.raises(MachineError, match="SHA-256 differs"):
        located("one")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UserError, match="no weights 'on'"):
        located("on")


def test_listed_weights_state_licence_and_source() -> None:
    for one in read_catalogue().weights.values():
        assert one.licence and one.source.endswith(".") and one.package
