"""What actors need of a modality: how its blueprint is drawn, its project written, and what that leaves read back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from palmette.automl.artefacts import Derived, Score, Track, Worth
from palmette.automl.data import Dataset
from palmette.automl.evidence import Evidence
from palmette.automl.goal import Goal, goal_of
from palmette.automl.material import Material
from palmette.automl.measure import Predictions
from palmette.automl.modalities.facts import AlgorithmFacts
from palmette.automl.modalities.words import Words
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.automl.selection import Candidate, Found, Scorer
from palmette.engine import TextFile

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Outline:
    """What a blueprint is drawn from."""

    requirements: Requirements
    dataset: Dataset
    profile: Profile
    rows: pd.DataFrame
    """To learn from."""
    left_out: Mapping[str, str]
    """By column that no model is given: why."""
    reasons: Mapping[str, str]
    """By column that is used: why it is treated as it is, where that was said."""
    algorithms: Sequence[str]
    """Those that are wanted, in order; empty for all."""
    seed: int
    kinds: Mapping[str, str] = field(default_factory=dict)
    """By column that is taken for another kind than the file's: which."""
    derived: Sequence[Derived] = ()
    """Features beside the columns."""
    validation: str = ""
    """Why candidates are compared as they are, in words."""

    @property
    def goal(self) -> Goal:
        return goal_of(self.requirements, self.profile)


class Modality(Protocol):
    """A blueprint at work. Frames hold rows as loaded, with the target where it is known."""

    TASKS: ClassVar[frozenset[str]]
    BASELINES: ClassVar[tuple[str, ...]]
    """Names of the candidates that every track is compared with; the first is the dummy."""
    PROBE: ClassVar[str]
    """A program that holds what the preparation makes of the file `rows` to the contract, and prints their number."""
    FIXED: ClassVar[tuple[str, ...]]
    """Fields of the blueprint that nobody who writes one may choose."""
    ALGORITHMS: ClassVar[tuple[str, ...]]
    """Those that the rules can write; any other is a coder's own."""
    FACTS: ClassVar[Mapping[str, AlgorithmFacts]]
    """By algorithm that its tracks may have."""
    PREPARATION: ClassVar[Words]
    """For whoever writes `preprocess.py`."""
    MODELS: ClassVar[Words]
    """For whoever writes `models/<track>.py`."""
    PARTS: ClassVar[tuple[float, ...]]
    """Shares of the training rows that a learning curve has points at; none where more rows are not better models."""

    COMPARED: ClassVar[str]
    """How candidates are compared, where that is not by out-of-fold predictions of a target; else empty."""

    @staticmethod
    def available(tracks: Sequence[Track]) -> tuple[str, ...]:
        """The algorithms of these tracks that can be had here, in the order of preference."""

    @staticmethod
    def usual_folds(profile: Profile) -> int:
        """How many folds candidates are compared in, if nothing speaks for fewer."""

    @property
    def positive(self) -> str | None:
        """The class that a single probability is of; None where answers have none."""

    @staticmethod
    def draft(outline: Outline) -> Any:
        """The blueprint that follows from an outline by rules.

        Raises:
            UserError: no column is left to learn from.
        """

    def preparation_files(self) -> tuple[TextFile, ...]:
        """The project's files about rows and features."""

    @staticmethod
    def unavailable(track: Track) -> str:
        """Why there are no models of a track here, and what would help; empty where there are."""

    def track_files(self, track: Track) -> tuple[TextFile, ...]:
        """The project's files that only this track has, `models/<track>.py` among them."""

    def shared_files(self, tracks: Sequence[Track]) -> tuple[TextFile, ...]:
        """All other files of a project with these tracks."""

    def sample(self, material: Material, most: int) -> Material:
        """A part of the training rows on which a project that is sound runs."""

    def folds(self, material: Material) -> NDArray[np.int64]:
        """(n,): the fold of each training row."""

    def write_rows(self, rows: pd.DataFrame, path: Path) -> None:
        """Writes rows in the form that the project reads: with the target, if they have it."""

    def candidates(self, folder: Path, material: Material) -> Found:
        """What training left in a folder, verified."""

    def judge(self, material: Material) -> Scorer:
        """Who compares candidates, on the training rows."""

    def predictions(self, table: pd.DataFrame, rows: int) -> Predictions:
        """Predictions from the text that `predict.py` wrote for so many rows.

        Raises:
            KeyError, ValueError: it is not of these rows, or has no value that can be.
        """

    def scores(
        self, material: Material, made: Predictions, baseline: Predictions | None, also: Sequence[str] = ()
    ) -> list[Score]:
        """What predictions of the hold-out are worth, the metric of the run first; `also` are those of constraints.

        A metric that has no value on these rows is left out.
        """

    def unmeasured(self, material: Material) -> str:
        """Why the metric of the run has no value on the hold-out, as a clause; empty where it has one."""

    def worths(self, material: Material, ask: Callable[[pd.DataFrame], Predictions]) -> tuple[Worth, ...]:
        """What each column of the hold-out is worth to the model that answers, the largest first.

        Raises:
            ValueError: the model fails, or the rows do not allow for the measure.
        """

    def evidence(self, material: Material, made: Predictions | None, found: Iterable[Candidate], best: str) -> Evidence:
        """What a report shows of predictions of the hold-out, of the candidates, and of the best of them by name."""
