"""What the chosen model says of the hold-out, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from palmette.automl.actors.implementation_verifier.curve import learning_curve
from palmette.automl.artefacts import Comparison, CurveFact, Score, Worth
from palmette.automl.material import Material
from palmette.automl.measure import Predictions
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.project import Project
from palmette.engine import TextFile
from palmette.sandbox import ExecutionResult

if TYPE_CHECKING:
    import pandas as pd

SAID = "said.csv"


@dataclass(frozen=True)
class Told:
    """What came of asking."""

    scores: tuple[Score, ...]
    worths: tuple[Worth, ...] = ()
    curve: tuple[CurveFact, ...] = ()
    answers: TextFile | None = None


class Asking:
    """A trained project, asked about the hold-out; the target never goes along."""

    def __init__(
        self,
        project: Project,
        material: Material,
        blueprint: Blueprint,
        comparison: Comparison,
        scratch: Path,
        metrics: Sequence[str] = (),
    ) -> None:
        """`metrics` are those of constraints."""
        self.project, self.material, self.blueprint, self.scratch = project, material, blueprint, scratch
        self.comparison, self.metrics = comparison, metrics

    def told(self) -> Told | ExecutionResult:
        """Scores beside those of the best baseline, and what each column is worth; how it ended where it fails."""
        with ThreadPoolExecutor(2) as beside:
            base = beside.submit(self._asked, self.material.holdout, "baseline")
            worths = beside.submit(self._worths)
            curve = beside.submit(self._curve)
            made = self._asked(self.material.holdout, "model")
            if isinstance(made, ExecutionResult):
                return made
            baseline = base.result()
        modality = modality_of(self.blueprint)
        other = None if isinstance(baseline, ExecutionResult) else baseline
        scores = modality.scores(self.material, made, other, self.metrics)
        said = (self.scratch / "model" / SAID).read_text(encoding="utf-8")
        return Told(tuple(scores), worths.result(), curve.result(), TextFile(path="answers.csv", text=said))

    def _asked(self, rows: pd.DataFrame, model: str, place: str = "") -> Predictions | ExecutionResult:
        return self.project.predict(rows, self.blueprint, self.scratch / (place or model), model=model)

    def _curve(self) -> tuple[CurveFact, ...]:
        return learning_curve(self.project, self.material, self.blueprint, self.comparison)

    def _worths(self) -> tuple[Worth, ...]:
        def ask(rows: pd.DataFrame) -> Predictions:
            made = self._asked(rows, "model", "shuffled")
            if isinstance(made, ExecutionResult):
                raise ValueError(made.note)
            return made

        try:
            return modality_of(self.blueprint).worths(self.material, ask)
        except ValueError:  # a metric that a sample does not allow for, or a project that fails on it
            return ()
