"""What an encoder is: columns of one kind become features in one layout, as a scikit-learn transformer.

An encoder is a plug-in (entry points `palmette.encoders`): a subclass of `Encoder` that states what differs. It is
chosen by kind of column and layout of the learner:

- `tree`: float columns, missing values are NaN, categories are codes at known positions
- `dense`: float columns, scaled, nothing missing, few columns
- `sparse`: a sparse or dense matrix, scaled, nothing missing, any number of columns

A new kind of column is a folder here with its encoders; nothing else changes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from palmette.automl.calls import Call
from palmette.automl.candidates import ColumnUse
from palmette.automl.kinds import Kind

Layout = Literal["tree", "dense", "sparse"]
LAYOUTS: frozenset[Layout] = frozenset({"tree", "dense", "sparse"})
Transformer = Call | Literal["passthrough"]


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
    """Of the columns, each once."""
    clusters: tuple[int, ...] = ()
    """Numbers of clusters to try."""
    words: float = 0.0
    """Mean number of words in a row, over all text columns."""

    @property
    def work(self) -> int:
        """Rows times columns times outputs."""
        return self.rows * self.columns * self.outputs

    @property
    def supervised(self) -> bool:
        """Whether there is a target to learn."""
        return not self.clusters

    @property
    def is_text_alone(self) -> bool:
        """Whether there is nothing but texts to learn from."""
        return bool(self.words) and {*self.kinds} == {"text"}


class Encoder:
    """Columns of one kind as features."""

    name: ClassVar[str]
    """As candidates and plans write it, e.g. `text_tfidf`."""
    kind: ClassVar[Kind]
    layouts: ClassVar[frozenset[Layout]] = LAYOUTS
    """The layouts that it serves."""
    usual: ClassVar[bool] = True
    """Whether it is taken where a candidate names none for kind and layout; one encoder for each pair is usual."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Modules that must be installed beside scikit-learn."""
    cell: ClassVar[float] = 2e-7
    """Seconds to encode a cell of the training rows."""
    description: ClassVar[str]
    """One sentence for plans and prompts."""

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
