"""What a tabular project is to be: everything that the writer needs to know, and nothing of how it was found out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from palmette.automl.artefacts import Derived
from palmette.automl.data import Dialect, Reading, Threshold
from palmette.automl.modalities.tabular.algorithms import ALGORITHMS, Algorithm
from palmette.automl.modalities.tabular.derived import objections
from palmette.automl.modalities.tabular.instants import PARTS, Part
from palmette.automl.modalities.tabular.names import distinct, plain
from palmette.automl.modalities.tabular.scoring import CLASSIFICATION, REGRESSION
from palmette.documents import Model

if TYPE_CHECKING:
    from palmette.automl.measure.metrics import Floats

Kind = Literal["numeric", "categorical", "boolean", "datetime", "text"]
Transform = Literal["none", "log", "log1p"]
WHOLE = re.compile(r"-?\d+\.0")
Example = str | bool | float | None


class ColumnPlan(Model):
    """A column that the model is given."""

    name: str
    """In the rows, as people and requests write it."""
    kind: Kind
    """What it is to the model; everything but the numeric and the boolean is read as text or as an instant."""
    treatment: str = ""
    """What was found, what is done with it, and why, in words: the comment beside it in preprocess.py."""
    source: str = ""
    """Its name in the file, where that is another."""
    reading: Reading = Reading(form="native")
    """How its values are written in the file."""
    nullable: bool = True
    """False: a row without a value is refused, in a file as in a request. Not for what merely had none so far."""
    minimum: float | None = None
    """A smaller number is refused: what cannot be, not what was not seen."""
    maximum: float | None = None
    categories: tuple[str, ...] = ()
    """The values seen, of a categorical column with few; another one is not refused."""
    parts: tuple[Part, ...] = PARTS
    """Of an instant: what is made of it."""
    examples: tuple[Example, ...] = ()
    """A few values for documentation and tests, instants as ISO text."""


class Dropped(Model):
    """A column that the model is not given."""

    name: str
    reason: str


class Folds(Model):
    """How training rows are divided for out-of-fold predictions."""

    count: int = Field(default=5, ge=2)
    kind: Literal["stratified", "random", "grouped", "time"] = "random"
    by: str = ""
    """The column of the groups, or of the time."""


class Source(Model):
    """How files with rows are read."""

    format: Literal["csv", "parquet", "json", "excel"] = "csv"
    """json: one object a line."""
    dialect: Dialect = Dialect(encoding="utf-8", delimiter=",")
    """Of csv."""
    target: str = ""
    """The target's name in the file, where that is another."""
    target_reading: Reading = Reading(form="native")
    threshold: Threshold | None = None
    """What makes the classes of the target's numbers."""


class TableBlueprint(Model):
    """What projects on tables share."""

    title: str
    """What it is about, for headings."""
    target: str = ""
    """The column that is learnt; empty where there is none."""
    rows: int = Field(ge=1)
    """Training rows: starting points and limits depend on it."""
    columns: tuple[ColumnPlan, ...] = Field(min_length=1)
    dropped: tuple[Dropped, ...] = ()
    derived: tuple[Derived, ...] = ()
    """Features beside the columns."""
    training: str = ""
    """Which settings suit these data, and which do not; in words, for whoever writes the models."""
    source: Source = Source()
    threads: int = Field(default=2, ge=1)
    """Of one fit; fits run one after the other."""
    seconds: float | None = Field(default=None, gt=0)
    """That training may take at most; None where the request does not say."""
    trials: int = Field(default=200, ge=0)
    """Settings that are tried beyond the starting points, if the time allows."""
    seed: int = 0

    @model_validator(mode="after")
    def _derives_from_what_there_is(self) -> Self:
        if found := [message for _, message in self.objections(self.derived)]:
            raise ValueError("; ".join(found))
        return self

    def objections(self, derived: Iterable[Derived]) -> Iterator[tuple[str, str]]:
        """Names of features that cannot be derived from these columns, each with why."""
        kinds = {column.name: column.kind for column in self.columns}
        return objections(derived, kinds, self.feature_names.values())

    @property
    def feature_names(self) -> dict[str, str]:
        """By column: what its feature is called, or begins with."""
        return distinct((column.name for column in self.columns), plain)


class Blueprint(TableBlueprint):
    """A project for tabular classification or regression."""

    modality: Literal["tabular"] = "tabular"
    task: Literal["classification", "regression"]
    target: str
    metric: str
    classes: tuple[str, ...] = ()
    """In the order of the probabilities, which a quadratic kappa is about: numbers by size; as text, whole numbers
    without a fraction: 1, not 1.0."""
    positive: str | None = None
    """The class that a metric of one class is about; the last where none is given."""
    transform: Transform = "none"
    """What is learnt of a numeric target: the logarithm where the metric is of logarithms."""
    bounds: tuple[float, float] | None = None
    """Predicted numbers are kept within."""
    algorithms: tuple[Algorithm, ...] = Field(default=ALGORITHMS, min_length=1)
    """Those that the project may use, and that are installed where it runs."""
    folds: Folds = Folds()
    validation: str = ""
    """Why candidates are compared so, and what that cannot say; in words."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        metrics = CLASSIFICATION if self.task == "classification" else REGRESSION
        names = [one.name for one in self.columns]
        wrong = {
            f"metric {self.metric!r} is not one of {self.task}: {', '.join(sorted(metrics))}": self.metric in metrics,
            "a name stands for two columns": len(set(names)) == len(names),
            f"the target {self.target!r} is among the columns": self.target not in names,
            "classification needs at least two classes": self.task == "regression" or len(self.classes) > 1,
            "classes that are whole numbers have no fraction": not any(map(WHOLE.fullmatch, self.classes)),
            f"{self.positive!r} is not a class": self.positive is None or self.positive in self.classes,
            "only numbers are transformed or bounded": self.task == "regression"
            or (self.transform, self.bounds) == ("none", None),
            "folds by group or time need the column": bool(self.folds.by) or self.folds.kind not in ("grouped", "time"),
        }
        failed = [message for message, holds in wrong.items() if not holds]
        if failed:
            raise ValueError("; ".join(failed))
        return self

    @property
    def outputs(self) -> tuple[str, ...]:
        """What the outputs of a model are called: the classes, or the target as it is learnt."""
        name = self.target if self.transform == "none" else f"{self.transform}({self.target})"
        return self.classes or (name,)

    def restored(self, outputs: Floats) -> Floats:
        """Outputs (n,) on the scale that is learnt, in the unit of the target and within bounds."""
        import numpy as np

        values = {"none": np.positive, "log": np.exp, "log1p": np.expm1}[self.transform](outputs)
        return values if self.bounds is None else np.clip(values, *self.bounds)
