"""Gradient boosting by three libraries: each tree corrects the previous ones until validation rows stop improving."""

import math
import time
from collections.abc import Mapping
from typing import Any

from palmette.automl.calls import Call, function_step, pipeline
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig
from palmette.automl.learners.learner import LABELS, FoldData, Learner, Measured, Range, Settings, TrainingSetup

MOST_ROUNDS = 4000
LEAST_GAIN = 1e-4  # least gain of log loss in `patience` rounds: on classes that are easy to separate, it falls forever
SMALL = 2_000  # rows below which small leaves are worth a try
MEDIUM, LARGE = 200_000, 2_000_000
"""Work from which the learning rate is larger, so that training takes a minute, or a few minutes."""
SMALL_GROUPS = {"min_data_per_group": 20, "cat_l2": 5.0}
"""Rows of a group of categories at least, and the penalty of its splits; the library's 100 and 10 suit large tables."""
MIXED_STEP = 0.05  # learning rate on several kinds of columns, whose encoding costs more than the trees
FAMILIES = frozenset({"gradient_boosting", "tree_ensemble", "boosting", "gbm"})


def usual_step(facts: DataFacts) -> float:
    """Returns the learning rate of LightGBM; the other libraries use 1.6 times as much."""
    return 0.05 if facts.work < MEDIUM else 0.08 if facts.work < LARGE else 0.12


def patience(learning_rate: float) -> int:
    """Returns the rounds without improvement before training stops: more at a small learning rate."""
    return min(150, max(30, round(3 / learning_rate)))


def seeded(name: str, setup: TrainingSetup) -> dict[str, Any]:
    """Returns the seed as an argument, unless it is the libraries' default."""
    return {name: setup.seed} if setup.seed else {}


class LightGBM(Learner):
    name = "lightgbm"
    families = FAMILIES | {"lgbm", "lgb"}
    requires = ("lightgbm",)
    stops_early = True
    description = "Boosted trees that grow leaf by leaf: fast, strong on most tables."
    measured = Measured(0.027, 2.5e-6, kilobytes=190.0, row=0.019, milliseconds=1.1, by_output=True)

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        usual: dict[str, Any] = {"n_estimators": rounds or MOST_ROUNDS, "learning_rate": 0.05}
        usual |= {"objective": "regression_l1"} if setup.is_absolute else {}
        fixed = {"n_jobs": 1, **seeded("random_state", setup)}
        bagging = {"subsample_freq": 1} if "subsample" in settings else {}
        codes = {"categorical_column": setup.places} if setup.places else {}
        usual |= SMALL_GROUPS if setup.places else {}
        return Call(setup.path("lightgbm.LGBM"), {**usual, **settings, **bagging, **fixed, "verbose": -1, **codes})

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        step = usual_step(facts)
        random: Settings = {"learning_rate": step, "extra_trees": True, "colsample_bytree": 0.8}
        leaf = 5 if facts.rows < SMALL else 40
        careful: Settings = {"learning_rate": step, "num_leaves": 15, "min_child_samples": leaf}
        careful = {**careful, "colsample_bytree": 0.6, "subsample": 0.8, "reg_lambda": 3.0}
        if facts.is_mixed:
            careful = {**careful, "learning_rate": MIXED_STEP, "colsample_bytree": 0.3}
        noisy = "small trees on part of the columns, for noisy data"
        deep: Settings = {"learning_rate": round(0.6 * step, 3), "num_leaves": 127, "min_child_samples": 10}
        deep = {**deep, "colsample_bytree": 0.7, "reg_lambda": 1.0}
        return (
            DefaultConfig("lightgbm", {"learning_rate": step}, "the library's defaults, with early stopping", 1),
            DefaultConfig("lightgbm-random", random, "random thresholds vary more, and so average better", 6),
            DefaultConfig("lightgbm-careful", careful, noisy, 0.9 if facts.is_mixed else 9),
            DefaultConfig("lightgbm-deep", deep, "large trees in small steps, where columns act together", 11),
        )

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        found = {
            "learning_rate": Range(0.06 if facts.work > LARGE else 0.02, 0.15, 0.05, log=True),
            "num_leaves": Range.whole(6, 128, 31, log=True),
            "min_child_samples": Range.whole(2, 100, 20, "rows of a leaf at least", log=True),
            "colsample_bytree": Range(0.4, 1.0, 1.0, "share of the columns of each tree"),
            "subsample": Range(0.5, 1.0, 1.0, "share of the rows of each tree"),
            "reg_lambda": Range(1e-2, 30.0, 0.0, log=True),
            "extra_trees": Range.choice(False, True, default=False, note="random thresholds"),
        }
        smoothing = Range(1.0, 50.0, 10.0, "smoothing of categories with few rows", log=True)
        return found | ({"cat_smooth": smoothing} if "category" in facts.kinds or not facts.kinds else {})

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        import lightgbm

        def stop_in_time(state: lightgbm.callback.CallbackEnv) -> None:
            if time.monotonic() > deadline:
                raise lightgbm.callback.EarlyStopException(state.iteration, state.evaluation_result_list or [])

        rounds = patience(estimator.learning_rate)
        stop = lightgbm.early_stopping(rounds, verbose=False, min_delta=LEAST_GAIN * fold.has_classes)
        stops = {"eval_X": fold.valid, "eval_y": fold.valid_target, "callbacks": [stop, stop_in_time]}
        estimator.fit(fold.train, fold.target, **stops, **fold.options)
        return int(estimator.best_iteration_ or estimator.booster_.current_iteration())


class XGBoost(Learner):
    name = "xgboost"
    families = FAMILIES | {"xgb"}
    requires = ("xgboost",)
    stops_early = True
    description = "Boosted trees that grow level by level, on samples of rows and columns."
    measured = Measured(0.039, 2.5e-6, kilobytes=300.0, row=0.019, milliseconds=1.4, by_output=True)

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        usual: dict[str, Any] = {"n_estimators": rounds or MOST_ROUNDS, "learning_rate": 0.08}
        usual |= {"subsample": 0.9, "colsample_bytree": 0.8}
        usual |= {"objective": "reg:absoluteerror"} if setup.is_absolute else {}
        fixed: dict[str, Any] = {"n_jobs": 1, **seeded("random_state", setup)}
        if setup.places and not setup.more:
            types = ["c" if is_code else "q" for is_code in setup.categorical]
            fixed |= {"feature_types": types, "enable_categorical": True}
        call = Call(setup.path("xgboost.XGB"), {**usual, **settings, **fixed})
        return Call(LABELS, {"estimator": call}) if setup.facts.classes else call

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        step: Settings = {"learning_rate": round(1.6 * usual_step(facts), 3)}
        if facts.is_mixed:
            trees = {"max_depth": 4, "subsample": 0.8, "colsample_bytree": 0.3, "reg_lambda": 3.0}
            step = {"learning_rate": MIXED_STEP, **trees}
        return (DefaultConfig("xgboost", step, "limited depth, on samples of rows and columns", 2),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "learning_rate": Range(0.08 if facts.work > LARGE else 0.03, 0.2, 0.08, log=True),
            "max_depth": Range.whole(3, 10, 6),
            "min_child_weight": Range(0.5, 30.0, 1.0, log=True),
            "subsample": Range(0.5, 1.0, 0.9, "share of the rows of each tree"),
            "colsample_bytree": Range(0.4, 1.0, 0.8, "share of the columns of each tree"),
            "reg_lambda": Range(1e-2, 30.0, 1.0, log=True),
        }

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        import xgboost

        class StopInTime(xgboost.callback.TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                return time.monotonic() > deadline

        inner = getattr(estimator, "estimator", estimator)
        rounds, least = patience(inner.learning_rate), LEAST_GAIN * fold.has_classes
        stop = xgboost.callback.EarlyStopping(rounds=rounds, min_delta=least)
        inner.set_params(callbacks=[stop, StopInTime()])
        shown = [(fold.valid, fold.valid_target)]
        estimator.fit(fold.train, fold.target, eval_set=shown, verbose=False, **fold.options)
        fitted = getattr(estimator, "estimator_", estimator)
        for one in (inner, fitted):
            one.set_params(callbacks=None)
        return int(fitted.best_iteration) + 1


class CatBoost(Learner):
    name = "catboost"
    families = FAMILIES
    requires = ("catboost",)
    stops_early = True
    description = "Boosted symmetric trees, strong on categories; slower to train."
    measured = Measured(0.108, 1e-5, kilobytes=380.0, row=0.019, milliseconds=1.1, by_output=True)

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        usual: dict[str, Any] = {"iterations": rounds or MOST_ROUNDS, "learning_rate": 0.08}
        usual |= {"loss_function": "MAE"} if setup.is_absolute else {}
        fixed = {"thread_count": 1, **seeded("random_seed", setup), "allow_writing_files": False}
        call = Call(setup.path("catboost.CatBoost"), {**usual, **settings, **fixed, "verbose": False})
        if not (places := setup.places):
            return call
        whole = function_step("palmette.automl.learners.wrappers.whole_codes", columns=places)
        return pipeline(("codes", whole), ("model", call.where(cat_features=tuple(places))))

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        step: Settings = {"learning_rate": round(1.6 * usual_step(facts), 3)}
        return (DefaultConfig("catboost", step, "symmetric trees, strong on categories", 3),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "learning_rate": Range(0.08 if facts.work > LARGE else 0.03, 0.2, 0.08, log=True),
            "depth": Range.whole(4, 8, 6),
            "l2_leaf_reg": Range(0.5, 20.0, 3.0, log=True),
            "random_strength": Range(0.1, 5.0, 1.0, log=True),
        }

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        codes, model = (estimator[:-1], estimator[-1]) if hasattr(estimator, "steps") else (None, estimator)
        train, valid = fold.train, fold.valid
        if codes is not None:
            train, valid = codes.fit_transform(train), codes.transform(valid)
        rounds, least = patience(model.get_params()["learning_rate"]), LEAST_GAIN * fold.has_classes

        class Stop:
            lowest, since = math.inf, 0

            def after_iteration(self, info: Any) -> bool:
                (losses,) = info.metrics["validation"].values()
                gains = losses[-1] < self.lowest - least
                self.lowest, self.since = (losses[-1], 0) if gains else (self.lowest, self.since + 1)
                return self.since < rounds and time.monotonic() < deadline

        stops = {"eval_set": (valid, fold.valid_target), "use_best_model": True, "callbacks": [Stop()]}
        model.fit(train, fold.target, **stops, **fold.options)
        return int(model.tree_count_)
