"""Networks in a folder of $PALMETTE_MODELS: found by their configuration, read without code, checked by their hash."""

import hashlib
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from palmette.automl.calls import build
from palmette.automl.candidates import Candidate, ColumnUse
from palmette.automl.composition import candidate_track, encoder_named, learner_named
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import FoldData, TrainingSetup
from palmette.automl.weights import network_folder, weights_named

pytest.importorskip("transformers", reason="palmette[gpu] is not installed")
import torch
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = {"[UNK]": 0, "a": 1, "dog": 2, "sleeps": 3, "shares": 4, "fell": 5}
SMALL = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
WAVE = {"conv_dim": (8, 8), "conv_stride": (5, 4), "conv_kernel": (10, 8), "num_feat_extract_layers": 2,
        "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}  # fmt: skip
CELLS: dict[str, list[Any]] = {
    "text": ["a dog sleeps", "", "shares fell " * 400, "a dog sleeps"],
    "image": [np.full((40, 30, 3), 7, np.uint8), np.full((1, 1, 3), 99, np.uint8)],
    "audio": [np.sin(np.arange(4000)).astype("float32"), np.zeros(400, "float32")],
}


def saved(kind: str, folder: Path) -> Path:
    """A network with random weights, as the hub lays it out."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    if kind == "text":
        made = transformers.BertModel(transformers.BertConfig(vocab_size=6, **SMALL))
        with_tokenizer(folder)
    elif kind == "image":
        made = transformers.Dinov2Model(transformers.Dinov2Config(image_size=28, patch_size=14, **SMALL))
        (folder / "preprocessor_config.json").write_text('{"crop_size": {"height": 28, "width": 28}}', "utf-8")
    else:
        made = transformers.Wav2Vec2Model(transformers.Wav2Vec2Config(vocab_size=6, **SMALL, **WAVE))
        transformers.Wav2Vec2FeatureExtractor().save_pretrained(folder)
    made.save_pretrained(folder)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n", "utf-8")
    return folder


def with_tokenizer(folder: Path) -> None:
    pieces = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    pieces.save(str(folder / "tokenizer.json"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALMETTE_MODELS", str(tmp_path))
    (made := tmp_path / "small").mkdir()
    return made


@pytest.mark.parametrize("kind", CELLS)
def test_a_network_in_a_folder_encodes_cells(kind: Any, folder: Path) -> None:
    saved(kind, folder)
    encoder, columns = encoder_named(f"{kind}_folder"), [ColumnUse(name="cell", kind=kind)]
    facts = DataFacts(2, 1, "classification", 1, 2, "", 5, (kind,), words=3.0)
    frame = pd.DataFrame({"cell": pd.Series(CELLS[kind], dtype=object)})
    transformer: Any = build(encoder.transformer(columns, "tree", facts))  # type: ignore[arg-type]  # a call
    made = transformer.fit_transform(frame)
    assert made.shape == (len(frame), len(encoder.categorical(columns, "tree", facts))) and np.isfinite(made).all()
    alone = transformer.transform(frame[1:2])
    assert np.allclose(alone, made[1:2], atol=1e-5)
    assert not encoder.unavailable()
    assert candidate_track(Candidate(name="x", learner="linear", encoders={kind: encoder.name})) == "pretrained"
    assert weights_named("small").licence == "apache-2.0"


@pytest.mark.parametrize("kind", CELLS)
def test_a_network_in_a_folder_is_trained_further(kind: Any, folder: Path) -> None:
    saved(kind, folder)
    learner = learner_named(f"{kind}_fine_tuning")
    cells = [CELLS[kind][0], CELLS[kind][1]] * 10
    frame = pd.DataFrame({"cell": pd.Series(cells, dtype=object)})
    for classes, target in ((2, np.array(["no", "yes"] * 10)), (0, np.array([1.0, 5.0] * 10))):
        facts = DataFacts(20, 1, "", 1, classes, "", 5, (kind,), words=3.0)
        (start,) = learner.portfolio(facts)
        call = learner.estimator({**start.settings, "epochs": 30, "lr": 1e-3}, TrainingSetup(facts))
        model = build(call)
        assert learner.fit(model, FoldData(frame, target, frame[:0], target[:0]), math.inf) == 30
        made = pickle.loads(pickle.dumps(model)).predict(frame)
        assert (made == target).all() if classes else np.abs(made - target).max() < 1.5
        assert np.allclose(model.predict(frame[1:2]), made[1:2]) if not classes else model.predict(frame[1:2]) == "yes"
    with pytest.raises(TimeoutError, match="had seen all rows once"):
        learner.fit(model, FoldData(frame, target, frame[:0], target[:0]), -math.inf)
    assert learner.weights == ("small",) and not learner.unavailable()


def test_a_table_of_static_vectors_encodes_texts(folder: Path) -> None:
    from palmette.automl.encoders.text.network_texts import TextNetworkVectors

    with_tokenizer(folder)
    save_file({"embeddings": np.eye(6, dtype="float32")}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "hidden_dim": 6}), "utf-8")
    found = network_folder("text")
    assert found is not None and found.features == 6
    vectors = TextNetworkVectors(folder="small", sha256=found.sha256, size=6)
    made = vectors.transform(pd.DataFrame({"text": ["a dog", "shares"]}))
    assert np.allclose(made[0], [0, 0.5**0.5, 0.5**0.5, 0, 0, 0]) and np.allclose(made[1], np.eye(6)[4])
    with pytest.raises(ValueError, match="SHA-256 differs"):
        TextNetworkVectors(folder="small", sha256="0" * 64, size=6).transform(pd.DataFrame({"text": ["a"]}))


def test_a_file_of_the_same_name_elsewhere_does_not_hide_weights(folder: Path) -> None:
    from palmette.automl.encoders.transformers import weights_file

    (folder / "model.safetensors").write_bytes(b"another network")
    (other := folder.parent / "zoo" / "deep").mkdir(parents=True)
    (other / "model.safetensors").write_bytes(b"tensors")
    wanted = hashlib.sha256(b"tensors").hexdigest()
    assert weights_file("", "model/model.safetensors", wanted) == other / "model.safetensors"


def test_without_a_folder_the_reason_names_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, text in {"cut": '{"model_type": "be', "list": "[]", "empty": ""}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(text, "utf-8")
    monkeypatch.setenv("PALMETTE_MODELS", str(tmp_path))
    assert "$PALMETTE_MODELS" in encoder_named("image_folder").unavailable()


def check_forecasts(name: str, estimator: type[BaseEstimator], horizon: int) -> None:
    """The learner of the network in the folder forecasts series of unlike lengths."""
    from palmette.automl.learners.forecasting.series import Series

    learner = learner_named(name)
    assert not learner.unavailable() and learner.weights == ("small",)
    series = [Series(key, np.arange(float(count)), np.zeros((count + horizon, 0)), np.zeros((count, 0)))
              for key, count in (("a", 40), ("b", 20))]  # fmt: skip
    model = estimator(folder="small", sha256=weights_named("small").sha256).fit(series, horizon)
    made = model.predict(series)
    assert made.shape == (2, horizon) and np.isfinite(made).all()


def test_a_network_of_the_chronos_family_forecasts(folder: Path) -> None:
    bolt = pytest.importorskip("chronos.chronos_bolt")
    from transformers import T5Config

    from palmette.automl.learners.forecasting.pretrained_forecast import ChronosForecast

    config = T5Config(vocab_size=2, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2,
                      decoder_start_token_id=0, pad_token_id=0, eos_token_id=0)  # fmt: skip
    config.chronos_config = {"context_length": 64, "prediction_length": 8, "input_patch_size": 8,
                             "input_patch_stride": 8, "quantiles": [0.1, 0.5, 0.9]}  # fmt: skip
    bolt.ChronosBoltModelForForecasting(config).save_pretrained(folder)
    saved = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps({**saved, "chronos_pipeline_class": "ChronosBoltPipeline"}), "utf-8")
    assert learner_named("timesfm").unavailable()
    check_forecasts("chronos", ChronosForecast, 5)


@pytest.mark.parametrize("version", ["TimesFm", "TimesFm2_5"])
def test_a_network_of_the_timesfm_family_forecasts_further_than_its_outputs(folder: Path, version: str) -> None:
    transformers = pytest.importorskip("transformers")
    from palmette.automl.learners.forecasting.pretrained_forecast import TimesFmForecast

    sizes = {"patch_length": 8, "context_length": 64, "horizon_length": 16, "num_hidden_layers": 1, "hidden_size": 16,
             "intermediate_size": 16, "head_dim": 8, "num_attention_heads": 2, "num_key_value_heads": 2}  # fmt: skip
    config = getattr(transformers, f"{version}Config")(**sizes)
    getattr(transformers, f"{version}ModelForPrediction")(config).save_pretrained(folder)
    check_forecasts("timesfm", TimesFmForecast, 40)
