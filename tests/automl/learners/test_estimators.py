"""Estimators that are delivered: scikit-learn's own checks pass."""

from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from palmette.automl.learners.clustering.clusters import NumberedClusters, RandomClusters
from palmette.automl.learners.wrappers import LogCountRatio, Rebalanced

EXPECTED = {
    "RandomClusters": {"check_clustering": "it does not look for clusters"},
}


@parametrize_with_checks(
    [
        LogCountRatio(),
        NumberedClusters(KMeans(2, n_init=1, random_state=0)),
        NumberedClusters(AgglomerativeClustering(2)),
        RandomClusters(),
    ],
    expected_failed_checks=lambda estimator: EXPECTED.get(type(estimator).__name__, {}),
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_scikit_learn_accepts_networks() -> None:
    pytest.importorskip("torch")
    from palmette.automl.learners.neural.networks import tabm
    from palmette.automl.learners.neural.training import NetworkRegressor

    known = dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_all_zero_sample_weights_error"),
        "rows are learnt in batches",
    ) | dict.fromkeys(
        ("check_methods_sample_order_invariance", "check_methods_subset_invariance"), "it has single precision"
    )
    check_estimator(NetworkRegressor(partial(tabm, width=32), epochs=8), expected_failed_checks=known, on_skip=None)


def test_training_steps_stay_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of `meta` have no values: copying one to the processor raises."""
    torch = pytest.importorskip("torch")
    from palmette.automl.learners.neural.networks import tabm
    from palmette.automl.learners.neural.training import NetworkRegressor

    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: torch.device("meta"))
    monkeypatch.setattr(torch.random, "fork_rng", lambda **_: nullcontext())
    ends = iter([False, True])
    network = NetworkRegressor(partial(tabm, width=32))
    with pytest.raises(NotImplementedError, match="no data"):
        network.fit(np.eye(80, 3), np.arange(80.0), monitor=lambda: next(ends))
    assert not [*ends], "both epochs ended before the network was moved"


@pytest.mark.parametrize(
    ("how", "estimator", "share"),
    [
        ("weights", LogisticRegression(C=1e-6), 0.5),
        ("weights", KNeighborsClassifier(n_neighbors=150), 0.5),
        ("oversample", KNeighborsClassifier(n_neighbors=180), 0.5),
        ("undersample", KNeighborsClassifier(n_neighbors=20), 0.5),
    ],
)
def test_rebalanced_classes_are_equally_likely(how: str, estimator: Any, share: float) -> None:
    random = np.random.default_rng(0)
    rows, target = random.normal(size=(100, 2)), np.array(["rare"] * 10 + ["usual"] * 90)
    made = Rebalanced(estimator, how=how).fit(rows, target).predict_proba(rows)
    assert made[:, 0].mean() == pytest.approx(share, abs=0.1)


def test_clusters_are_numbered_by_size() -> None:
    random = np.random.default_rng(0)
    rows = np.concatenate([random.normal(place, 0.1, (size, 2)) for place, size in ((0, 20), (5, 50), (9, 30))])
    for divider in (KMeans(3, random_state=0), AgglomerativeClustering(3)):
        model = NumberedClusters(divider).fit(rows)
        assert np.bincount(model.labels_).tolist() == [50, 30, 20]
        assert model.predict([[5.1, 4.9], [9, 9]]).tolist() == [0, 1]


def test_rows_that_cannot_be_divided_are_refused() -> None:
    with pytest.raises(ValueError, match="one cluster"):
        NumberedClusters(AgglomerativeClustering(1)).fit([[0.0], [1.0], [2.0]])
