"""Simple peers: `python -m palmette_bench.automl.peers NAME TRAIN ROWS TARGET TASK METRIC BUDGET OUT`.

`dummy` predicts the most frequent class or the mean; `lightgbm` is LightGBM with its defaults (for text, TF-IDF with a
logistic regression). Where they are installed: `flaml`, and `autogluon` with its preset `medium_quality`.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

TEXT_LENGTH = 40
"""Mean number of characters from which a column is text."""
LOGARITHMS = {"rmsle": (np.log1p, np.expm1), "rmse_log": (np.log, np.exp)}
"""By metric that compares logarithms: what is learnt of a target, and its inverse."""


class PeerTask(NamedTuple):
    """What a peer is given."""

    train: pd.DataFrame
    rows: pd.DataFrame
    target: str
    numeric: bool
    metric: str
    seconds: float


def dummy(task: PeerTask) -> pd.DataFrame:
    if task.target not in task.train:
        return pd.DataFrame({"prediction": np.zeros(len(task.rows), int)})
    target = task.train[task.target]
    answers = pd.DataFrame({"prediction": [target.mean() if task.numeric else target.mode()[0]] * len(task.rows)})
    shares = {} if task.numeric else target.astype(str).value_counts(normalize=True).to_dict()
    return answers.assign(**{f"proba_{name}": share for name, share in shares.items()})


def lightgbm(task: PeerTask) -> pd.DataFrame:
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    features = task.train.drop(columns=task.target)
    strings = features.select_dtypes("object")
    words = [name for name in strings if strings[name].astype(str).str.len().mean() > TEXT_LENGTH]
    if words and not task.numeric:
        empty = dict.fromkeys(words, "")
        features, task = features.fillna(empty), task._replace(rows=task.rows.fillna(empty))
        encode = make_column_transformer(*((TfidfVectorizer(max_features=50_000), name) for name in words))
        model = make_pipeline(encode, LogisticRegression(max_iter=1000))
    else:
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        encode = make_column_transformer(
            (codes, [name for name in strings if name not in words]), ("drop", words), remainder="passthrough"
        )
        model = make_pipeline(encode, (LGBMRegressor if task.numeric else LGBMClassifier)(verbose=-1, n_jobs=2))
    model.fit(features, task.train[task.target])
    return _answers(model, task)


FLAML_METRICS = {"accuracy": "accuracy", "f1": "f1", "f1_macro": "macro_f1", "mae": "mae"}
"""Its names; other metrics of numbers are rooted squared errors, the area under the ROC of two classes `roc_auc`."""


def flaml(task: PeerTask) -> pd.DataFrame:
    from flaml import AutoML

    features, target = task.train.drop(columns=task.target), task.train[task.target]
    kind = "regression" if task.numeric else "classification"
    metric = FLAML_METRICS.get(task.metric, "rmse" if task.numeric else task.metric)
    model = AutoML()
    model.fit(features, target, task=kind, metric=metric, time_budget=task.seconds, n_jobs=2, verbose=0)
    return _answers(model, task)


def _answers(model: Any, task: PeerTask) -> pd.DataFrame:
    """Predictions, and the probabilities of classes, of a model in scikit-learn's form."""
    answers = pd.DataFrame({"prediction": model.predict(task.rows)})
    if task.numeric:
        return answers
    probabilities = model.predict_proba(task.rows)
    return answers.assign(**{f"proba_{name}": probabilities[:, at] for at, name in enumerate(model.classes_)})


def autogluon(task: PeerTask) -> pd.DataFrame:
    from autogluon.tabular import TabularPredictor

    predictor = TabularPredictor(task.target, verbosity=0)
    predictor.fit(task.train, time_limit=task.seconds, presets="medium_quality")
    answers = pd.DataFrame({"prediction": predictor.predict(task.rows)})
    return answers if task.numeric else answers.assign(**predictor.predict_proba(task.rows).add_prefix("proba_"))


PEERS = {"dummy": dummy, "lightgbm": lightgbm, "flaml": flaml, "autogluon": autogluon}


def main() -> None:
    """Writes the predictions of one peer; it learns logarithms where the metric compares them."""
    name, train, rows, target, task, metric, budget, out = sys.argv[1:]
    numeric = task.endswith(("regression", "forecasting"))
    learnt, (logarithm, power) = pd.read_csv(train), LOGARITHMS.get(metric, (None, None))
    if logarithm:
        learnt[target] = logarithm(learnt[target])
    answers = PEERS[name](PeerTask(learnt, pd.read_csv(rows), target, numeric, metric, float(budget)))
    if power:
        answers["prediction"] = power(answers["prediction"])
    answers.to_csv(Path(out), index=False)


if __name__ == "__main__":
    main()
