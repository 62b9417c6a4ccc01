"""The actor `deployer`: places the package whose model was measured, once its own tests pass."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from palmette.automl.actors.shared import PlanningInput, failed
from palmette.automl.artefacts import Assessment, Comparison, Delivery
from palmette.automl.candidates import Blueprint
from palmette.automl.endpoint.checking import of_tests
from palmette.automl.endpoint.folder import CACHES, differing, place, read_manifest, require_replaceable
from palmette.automl.own_code import located
from palmette.automl.project import FITTED, MODEL, BuiltPackage
from palmette.automl.store import Store
from palmette.engine import Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.errors import DeveloperError, counted
from palmette.sandbox import ExecutionResult, Sandbox

TESTS = "own tests"


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
        measurements = (tests, *([answers] if answers else []))
        package = input.blueprint.package
        return Attempt(
            Delivery(folder=str(folder), package=package, files=tuple(manifest.files), measurements=measurements)
        )

    def check(self, input: DeployerInput, output: Delivery, context: Context) -> Verdict:
        """The folder holds what was measured, and its tests passed."""
        folder, manifest = Path(output.folder), read_manifest(Path(output.folder))
        if manifest is None or not set(output.files) <= manifest.files.keys():
            message = f"{output.folder} is not the folder that was delivered."
            found = [Violation(code="delivery-missing", message=message, subject=output.folder)]
            return Verdict.of(found, output.measurements)
        violations = [*_strayed(input.comparison, folder), *map(_differs, differing(folder, manifest))]
        fitted = self._fitted(input) / MODEL
        violations += [
            _differs(f"{MODEL}/{name}")
            for name in sorted(FITTED)
            if (fitted / name).read_bytes() != (folder / MODEL / name).read_bytes()
        ]
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
        from palmette.automl.samples.load import reload
        from palmette.automl.submission import formulas, prediction_file

        loaded = reload(input.samples)
        if loaded.inference is None:
            return None
        made = BuiltPackage(project, self.sandbox, input.blueprint).predict(loaded.inference, scratch)
        if isinstance(made, ExecutionResult):
            detail = f"the {len(loaded.inference)} rows without a target cannot be predicted: {made.last_line}"
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
