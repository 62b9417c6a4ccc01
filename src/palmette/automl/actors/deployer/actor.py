"""The actor `deployer`: places the package whose model was measured, with predictions of the inference rows."""

import filecmp
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from palmette.automl.actors.shared import PlanningInput, failed
from palmette.automl.artefacts import Assessment, Comparison, Delivery, Store
from palmette.automl.candidates import Blueprint
from palmette.automl.endpoint.checking import of_tests
from palmette.automl.endpoint.folder import CACHES, differing, place, read_manifest, require_replaceable
from palmette.automl.kinds import YES_AND_NO
from palmette.automl.measure.metrics import Predictions
from palmette.automl.own_code import located
from palmette.automl.project.built import FITTED, MODEL, BuiltPackage
from palmette.automl.samples import Loaded
from palmette.automl.samples.load import reload
from palmette.automl.samples.tables import clean_names
from palmette.engine import Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.errors import DeveloperError, counted
from palmette.sandbox import ExecutionResult, Sandbox

TESTS = "own tests"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters of cells that a spreadsheet evaluates as formulas
SUBMISSION, PREDICTIONS = "submission.csv", "predictions.csv"


class DeployerInput(PlanningInput):
    blueprint: Blueprint
    comparison: Comparison
    assessment: Assessment


class Deployer(BaseActor):
    """Delivers exactly the package that was measured: its files as written, its model as fitted."""

    name = "deployer"
    description = "Delivers the package with its fitted model, once its own tests pass."
    produces = "delivery"
    Input = DeployerInput
    Output = Delivery
    is_measured = True

    def __init__(self, sandbox: Sandbox, store: Store, delivered: Path) -> None:
        """`delivered`: where packages go that name no other folder."""
        self.sandbox, self.store, self.delivered = sandbox, store, delivered

    def run(self, input: DeployerInput, context: Context) -> Attempt[Delivery]:
        folder = self._folder(input)
        require_replaceable(folder)
        project = context.workspace / "project"
        shutil.copytree(self._fitted(input), project, ignore=shutil.ignore_patterns(*CACHES))
        if wrong := list(_strayed(input.comparison, project)):
            return failed(wrong)
        context.progress("running the package's own tests")
        tests, broken = of_tests(self.sandbox, project)
        if broken:
            return failed(located([broken], project, ()))
        answers = self._answers(input, project, context.workspace / "answers")
        manifest = place(project, folder)
        context.progress(f"delivered to {folder}")
        package, made = input.blueprint.package, tuple(filter(None, (tests, answers)))
        return Attempt(Delivery(folder=str(folder), package=package, files=tuple(manifest.files), measurements=made))

    def check(self, input: DeployerInput, output: Delivery, context: Context) -> Verdict:
        """The folder holds what was measured, and its tests passed."""
        folder, manifest = Path(output.folder), read_manifest(Path(output.folder))
        if manifest is None or not set(output.files) <= manifest.files.keys():
            message = f"{output.folder} is not the folder that was delivered."
            found = [Violation(code="delivery-missing", message=message, subject=output.folder)]
            return Verdict.of(found, output.measurements)
        violations = [*_strayed(input.comparison, folder), *map(_differs, differing(folder, manifest))]
        fitted = self._fitted(input) / MODEL
        _, changed, missing = filecmp.cmpfiles(fitted, folder / MODEL, sorted(FITTED), shallow=False)
        violations += [_differs(f"{MODEL}/{name}") for name in (*changed, *missing)]
        if {one.name: one.status for one in output.measurements}.get(TESTS, "failed") == "failed":
            message = "The package's own tests did not pass."
            violations.append(Violation(code="delivery-unmeasured", message=message, subject=TESTS))
        return Verdict.of(violations, output.measurements)

    def stands(self, input: DeployerInput, output: Delivery) -> bool:
        """Whether it is where this run delivers to, also when the run was moved or copied."""
        return Path(output.folder) == self._folder(input) and read_manifest(Path(output.folder)) is not None

    def _folder(self, input: DeployerInput) -> Path:
        return Path(input.task.out).absolute() if input.task.out else self.delivered

    def _fitted(self, input: DeployerInput) -> Path:
        fitted = self.store.folder(input.comparison.package)
        if not fitted.is_dir():
            raise DeveloperError(f"The store has no folder {input.comparison.package!r}.", code="not-in-store")
        return fitted

    def _answers(self, input: DeployerInput, project: Path, scratch: Path) -> Measurement | None:
        """Writes predictions of the rows that came without the target; None where there are no such rows."""
        loaded = reload(input.samples)
        if loaded.inference is None:
            return None
        made = BuiltPackage(project, self.sandbox, input.blueprint).predict(loaded.inference, scratch)
        if isinstance(made, ExecutionResult):
            detail = f"the {len(loaded.inference)} rows without a target cannot be predicted: {made.error_line}"
            return Measurement(name="new rows", status="warning", detail=detail, evidence=made.stderr[-2000:])
        name, frame = prediction_file(loaded, made, input.blueprint.target, input.blueprint.positive)
        frame.to_csv(project / name, index=False)
        detail = f"{counted(len(frame), 'row')} in {name}"
        if count := formulas(frame):
            detail += f"; {count} cells begin as formulas do, so open it as text in a spreadsheet"
        return Measurement(name="new rows", status="passed", detail=detail)


def _strayed(comparison: Comparison, folder: Path) -> Iterator[Violation]:
    for file in comparison.files:
        path = folder / file.path
        if not path.is_file() or path.read_bytes() != file.text.encode():
            yield _differs(file.path)


def _differs(path: str) -> Violation:
    return Violation(code="delivery-differs", message=f"{path} is not what was measured.", subject=path)


def prediction_file(
    loaded: Loaded, made: Predictions, target: str, positive: str | None = None
) -> tuple[str, pd.DataFrame]:
    """Returns the file name and its rows: those of the user's file with predictions, or a submission.

    A submission has the rows and columns of the sample, in the same order. Other columns of the data stay as they are.
    If there are several columns left, each is filled with the probability of its class. A single column holds the
    probability of the positive class if the sample has fractions, else labels, spelled like the sample's yes and no.
    """
    rows, sample, order = loaded.inference, loaded.submission, loaded.submission_order
    assert rows is not None and len(rows) == len(made)
    if sample is None or order is None:
        table = rows.drop(columns=target, errors="ignore").assign(prediction=made.values)
        if made.probabilities is not None:
            table[[f"probability_{name}" for name in made.classes]] = made.probabilities
        return PREDICTIONS, table
    names = zip(sample, clean_names(list(map(str, sample))), strict=True)
    asked = [(source, name) for source, name in names if name != loaded.samples.key]
    own = [source for source, name in asked if name == target or name not in loaded.samples.names]
    wanted = own or [source for source, _ in asked]
    filled = sample.copy()
    for name in wanted:
        answers = _of_class(str(name), made) if len(wanted) > 1 else _single(sample[name], made, positive)
        filled[name] = np.asarray(answers)[order]
    return SUBMISSION, filled.rename(columns=str)


def formulas(frame: pd.DataFrame) -> int:
    """Counts cells, including column names, that a spreadsheet would evaluate as formulas.

    They are kept, because programs join predictions by their exact values.
    """
    texts = frame.select_dtypes(exclude=["number", "bool", "datetime"])
    cells = (cell for place in range(texts.shape[1]) for cell in texts.iloc[:, place].array)
    suspect = [cell for cell in (*frame, *cells) if isinstance(cell, str) and cell.startswith(_FORMULA)]
    return int(pd.to_numeric(pd.Series(suspect, dtype=object), errors="coerce").isna().sum())


def _of_class(name: str, made: Predictions) -> object:
    """Returns the probability of the class that a column is named after, or labels if there is none."""
    found = [one for one in made.classes if name == one or name.endswith(f"_{one}")]
    if made.probabilities is None or not found:
        return made.values
    return made.probabilities[:, made.classes.index(max(found, key=len))]


def _single(sample: pd.Series, made: Predictions, positive: str | None) -> object:
    """Returns labels, or the probability of the positive class if the sample has fractions."""
    if made.probabilities is None or positive is None:
        return made.values
    numbers = pd.to_numeric(sample, errors="coerce")
    if numbers.notna().all() and (numbers % 1 != 0).any():  # the sample has fractions
        return made.probabilities[:, made.classes.index(positive)]
    words = _words(sample, made.classes)
    return made.values if words is None else np.where(made.values == positive, *words)


def _words(sample: pd.Series, classes: Sequence[str]) -> tuple[str, str] | None:
    """Returns the sample's spellings of yes and no; None if it uses the class names or neither word."""
    shown = {str(one).strip() for one in sample.dropna()}
    pairs = [pair for pair in YES_AND_NO if {one.casefold() for one in shown} <= set(pair)]
    if shown <= set(classes) or not pairs:
        return None
    first = next(iter(shown))
    written = str.title if first.istitle() else str.upper if first.isupper() else str.lower
    return written(pairs[0][0]), written(pairs[0][1])
