"""Forecasts of Toto networks with random weights equal those of Toto's own package."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from palmette.automl.composition import learner_named
from palmette.automl.learners.forecasting.series import Series
from palmette.automl.learners.forecasting.toto import TotoForecast, TotoNetwork
from palmette.automl.weights import weights_named

CONFIG = {
    "patch_size": 8, "stride": 8, "embed_dim": 16, "num_layers": 4, "num_heads": 2, "mlp_hidden_dim": 24,
    "spacewise_every_n_layers": 2, "spacewise_first": False, "dropout": 0.1, "use_memory_efficient_attention": False,
    "scaler_cls": "<class 'model.scaler.CausalPatchStdMeanScaler'>", "output_distribution_kwargs": {"k_components": 3},
    "output_distribution_classes": ["<class 'model.distribution.MixtureOfStudentTsOutput'>"],
    "stabilize_with_global": True, "scale_factor_exponent": 0.1,
}  # fmt: skip
# Steps 1, 8, 9 and 20 of TotoForecaster(toto.model).forecast(..., 20, use_kv_cache=False) with these weights, by
# toto-ts 0.2.0; `Toto.load_from_checkpoint` reads them from the folder that `saved` writes.
EXPECTED = {
    5: [43.4379, 10.5025, 45.4068, 75.4935],
    64: [77.5928, 98.2706, 13.1413, 62.3772],
    203: [36.3797, 218.6807, -292.328, 254.0702],
}


def weights(fused: bool = False) -> dict[str, np.ndarray]:
    """Random weights by the names of the hub's files."""
    size, patch, wide = 16, 8, 24
    head = "model.output_distribution"
    shapes = {"model.patch_embed.projection": (size, patch), "model.unembed": (size * patch, size)}
    shapes |= {f"{head}.{name}": (3, size) for name in ("df", "loc_proj", "scale_proj", "mixture_weights")}
    for number in range(4):
        layer = f"model.transformer.layers.{number}"
        inner, outer = ("mlp.0.w12", "mlp.0.w3") if fused else ("mlp.0", "mlp.2")
        shapes |= {f"{layer}.attention.wQKV": (3 * size, size), f"{layer}.attention.wO": (size, size)}
        shapes |= {f"{layer}.{inner}": (2 * wide, size), f"{layer}.{outer}": (size, wide)}
    rng, made = np.random.default_rng(0), {}
    for name, shape in shapes.items():
        made[f"{name}.weight"] = rng.normal(0, shape[1] ** -0.5, shape).astype("float32")
        made[f"{name}.bias"] = rng.normal(0, 0.2, shape[0]).astype("float32")
    norms = [f"model.transformer.layers.{number}.norm{one}.scale" for number in range(4) for one in (1, 2)]
    return made | {name: rng.normal(1, 0.2, size).astype("float32") for name in norms}


def saved(folder: Path) -> Path:
    """A folder in the hub's layout, with the names of xFormers."""
    save_file = pytest.importorskip("safetensors.numpy").save_file
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    save_file(weights(fused=True), folder / "model.safetensors")
    return folder


def values(count: int) -> np.ndarray:
    steps = np.arange(count)
    return 50 + 10 * np.sin(steps / 5) + steps**1.5 / 10


@pytest.mark.parametrize("count", EXPECTED)
def test_forecasts_equal_those_of_the_package(count: int) -> None:
    network = TotoNetwork(CONFIG, {name: torch.tensor(one) for name, one in weights().items()})
    missing = -count % 8
    known = torch.tensor(np.pad(values(count), (missing, 0)), dtype=torch.float32)[None]
    present = torch.arange(known.shape[1])[None] >= missing
    made = network.forecast(known, present, 20)[0].numpy()
    assert np.allclose(made[[0, 7, 8, 19]], EXPECTED[count], rtol=1e-4)


def test_a_folder_forecasts_series_of_unlike_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "small")
    monkeypatch.setenv("PALMETTE_MODELS", str(tmp_path))
    learner = learner_named("toto")
    assert not learner.unavailable() and learner.weights == ("small",)
    assert learner_named("chronos").unavailable() and weights_named("small").source.endswith("architecture toto.")
    series = [Series(str(count), values(count), np.zeros((count + 20, 0)), np.zeros((count, 0))) for count in EXPECTED]
    model = TotoForecast(folder="small", sha256=weights_named("small").sha256).fit(series, 20)
    for made, expected in zip(model.predict(series), EXPECTED.values(), strict=True):
        assert np.allclose(made[[0, 7, 8, 19]], expected, rtol=1e-4)


def test_networks_with_another_scaler_are_refused() -> None:
    with pytest.raises(ValueError, match=r"scaler_cls .*\.StdMeanScaler"):
        TotoNetwork(CONFIG | {"scaler_cls": "<class 'model.scaler.StdMeanScaler'>"}, {})
