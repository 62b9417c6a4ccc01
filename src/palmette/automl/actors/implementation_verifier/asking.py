"""What the chosen model says of the hold-out, and what that is worth."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from palmette.automl.actors.implementation_verifier.curve import learning_curve
from palmette.automl.actors.implementation_verifier.input import ImplementationInput
from palmette.automl.artefacts import CurveFact, Score, Worth
from palmette.automl.material import Material
from palmette.automl.measure import Predictions
from palmette.automl.modalities import modality_of
from palmette.automl.project import Project
from palmette.automl.requirements import Requirements
from palmette.engine import TextFile
from palmette.sandbox import ExecutionResult

if TYPE_CHECKING:
    import pandas as pd

SAID = "said.csv"


@dataclass(frozen=True)
class Told:
    """What came of asking."""

    scores: tuple[Score, ...]
    unmeasured: str = ""
    """Why the metric of the run is not among them, in a sentence."""
    worths: tuple[Worth, ...] = ()
    curve: tuple[CurveFact, ...] = ()
    answers: TextFile | None = None


class Asking:
    """A trained project, asked about the hold-out; the target never goes along."""

    def __init__(self, input: ImplementationInput, project: Project, material: Material, scratch: Path) -> None:
        self.input, self.project, self.material, self.scratch = input, project, material, scratch

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
        modality = modality_of(self.input.blueprint)
        other = None if isinstance(baseline, ExecutionResult) else baseline
        scores = modality.scores(self.material, made, other, wanted(self.input.requirements))
        said = (self.scratch / "model" / SAID).read_text(encoding="utf-8")
        answers = TextFile(path="answers.csv", text=said)
        return Told(tuple(scores), self._unmeasured(), worths.result(), curve.result(), answers)

    def _unmeasured(self) -> str:
        why, comparison = modality_of(self.input.blueprint).unmeasured(self.material), self.input.comparison
        told = comparison.selection
        out_of_fold = f"; {comparison.measured} it is {told.score:.4g}"
        return f"{told.metric} cannot be computed on the hold-out, because {why}{out_of_fold}." if why else ""

    def _asked(self, rows: pd.DataFrame, model: str, place: str = "") -> Predictions | ExecutionResult:
        return self.project.predict(rows, self.input.blueprint, self.scratch / (place or model), model=model)

    def _curve(self) -> tuple[CurveFact, ...]:
        return learning_curve(self.project, self.material, self.input.blueprint, self.input.comparison)

    def _worths(self) -> tuple[Worth, ...]:
        def ask(rows: pd.DataFrame) -> Predictions:
            made = self._asked(rows, "model", "shuffled")
            if isinstance(made, ExecutionResult):
                raise ValueError(made.note)
            return made

        try:
            return modality_of(self.input.blueprint).worths(self.material, ask)
        except ValueError:  # a metric that a sample does not allow for, or a project that fails on it
            return ()


def wanted(requirements: Requirements) -> list[str]:
    """The metrics that constraints name."""
    return [one.metric for one in requirements.problem.constraints if one.metric]
