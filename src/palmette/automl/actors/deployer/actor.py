"""The end-stage actor that delivers: a project that was started, asked and tested where it is to stand alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from palmette.automl.actors.deployer import contents
from palmette.automl.actors.deployer.answering import answer_rows
from palmette.automl.actors.deployer.input import DeployerInput
from palmette.automl.artefacts import Delivery
from palmette.automl.endpoint import (
    Asked,
    Measured,
    Service,
    answers_of,
    differing,
    digest,
    measure,
    of_tests,
    place,
    read_manifest,
    require_replaceable,
    rows_of_requests,
)
from palmette.automl.faults import located
from palmette.automl.material import Material
from palmette.automl.project import Project
from palmette.automl.requirements import Requirements
from palmette.automl.store import Store
from palmette.engine import TERMINATE, Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.errors import DeveloperError
from palmette.sandbox import ExecutionResult, Sandbox

SAMPLE = 100
"""Training rows that the endpoint is asked about."""
LONGEST = 3_000
CHECKED = ("health", "answers", "batch answers", "latency", "bad requests", "OpenAPI", "page", "own tests")
"""What must have been measured on every delivery."""


class Deployer(BaseActor):
    """Writes the project with the members that were chosen, measures it as a running endpoint, and places it."""

    name = "deployer"
    description = "Delivers the project with its chosen members, once its endpoint and tests are seen to work."
    produces = "delivery"
    Input = DeployerInput
    Output = Delivery
    has_criterion = True

    def __init__(self, sandbox: Sandbox, store: Store, delivered: Path) -> None:
        """`delivered`: where projects go that name no other folder."""
        self.sandbox, self.store, self.delivered = sandbox, store, delivered

    def run(self, input: DeployerInput, context: Context) -> Attempt[Delivery]:
        folder = self._folder(input)
        require_replaceable(folder)
        project = context.workspace / "project"
        wrong = contents.write(project, self._texts(input), input.comparison.selection, self._fitted(input))
        measured = Measured(violations=tuple(wrong)) if wrong else self._measured(project, input, context)
        if measured.violations:
            reason = "; ".join(violation.message for violation in measured.violations)
            at_fault = located(measured.violations, project, input.assembly, input.blueprint)
            return Attempt(None, reason, TERMINATE, at_fault)
        answers = answer_rows(project, input, self.sandbox, context.workspace)
        manifest = place(project, folder)
        context.progress(f"delivered to {folder}")
        return Attempt(
            Delivery(
                folder=str(folder),
                files=tuple(manifest.files),
                measurements=(*measured.measurements, *([answers] if answers else [])),
                p50=measured.p50,
                p95=measured.p95,
            )
        )

    def check(self, input: DeployerInput, output: Delivery, context: Context) -> Verdict:
        """The folder holds what was chosen and measured: code, members, models; every measurement passed."""
        violations = [*self._strayed(input, output), *_unmeasured(output)]
        measured = [*output.measurements, *_promises(input.requirements, output.p50)]
        return Verdict.of(violations, measured)

    def stands(self, input: DeployerInput, output: Delivery) -> bool:
        """It is where this run delivers to, a run that was moved or copied included."""
        return Path(output.folder) == self._folder(input) and read_manifest(Path(output.folder)) is not None

    def _measured(self, project: Path, input: DeployerInput, context: Context) -> Measured:
        """Starts the endpoint; while it loads, the same rows are predicted from a file, and the tests are run."""
        context.progress("starting the endpoint")
        with Service(self.sandbox, project) as service:
            asked = self._asked(project, input, context.workspace)
            if isinstance(asked, Violation):
                return Measured(violations=(asked,))
            tests, failed = of_tests(self.sandbox, project)
            if not service.is_healthy():
                message = "The endpoint did not become healthy."
                evidence = service.output()[-LONGEST:]
                found = Violation(code="endpoint-unhealthy", message=message, evidence=evidence, subject="serve.py")
                return Measured(violations=(found, *([failed] if failed else ())))
            context.progress("asking the endpoint")
            done = measure(service, asked)
        health = Measurement(name="health", status="passed", detail="the endpoint started and says that it is well")
        measurements = (health, *done.measurements, tests)
        return Measured(measurements, (*done.violations, *([failed] if failed else ())), done.p50, done.p95)

    def _asked(self, project: Path, input: DeployerInput, workspace: Path) -> Asked | Violation:
        """Training rows, and what the project says of them in a file."""
        blueprint = input.blueprint
        train = Material.of(input.dataset, input.profile).train
        rows = train.iloc[:: max(1, len(train) // SAMPLE)][:SAMPLE]
        try:
            made = Project(project, self.sandbox).predict(rows, blueprint, workspace / "asked")
        except (ValueError, KeyError) as error:
            return _failed(str(error), "")
        if isinstance(made, ExecutionResult):
            return _failed(f"it {made.ended} {made.note}", made.stderr)
        return Asked(rows_of_requests(rows, {one.name: one.kind for one in blueprint.columns}), answers_of(made))

    def _strayed(self, input: DeployerInput, output: Delivery) -> Iterator[Violation]:
        """Files of the folder that are not those that were chosen or measured."""
        folder, manifest = Path(output.folder), read_manifest(Path(output.folder))
        if manifest is None or not set(output.files) <= manifest.files.keys():
            message = f"{output.folder} is not the folder that was delivered."
            yield Violation(code="delivery-missing", message=message, subject=output.folder)
            return
        strayed = set(differing(folder, manifest))
        for path, text in self._texts(input).items():
            if (folder / path).is_file() and (folder / path).read_bytes() != text.encode():
                strayed.add(path)
        chosen = dict(contents.models_of(input.comparison.selection, self._fitted(input)))
        held = {path for path in manifest.files if path.startswith(contents.FOLD_MODELS)}
        strayed |= held ^ chosen.keys()
        strayed |= {path for path in held & chosen.keys() if manifest.files[path] != digest(chosen[path])}
        strayed |= self._texts(input).keys() - manifest.files.keys()
        for path in sorted(strayed):
            message = f"{path} in {output.folder} is not what was chosen and measured."
            yield Violation(code="delivery-differs", message=message, subject=path)

    def _texts(self, input: DeployerInput) -> dict[str, str]:
        rows = self._fitted(input) / f"train.{input.blueprint.source.format}"
        return contents.texts_of(input.assembly, input.comparison, rows, self._folder(input))

    def _folder(self, input: DeployerInput) -> Path:
        return Path(input.settings.out).absolute() if input.settings.out else self.delivered

    def _fitted(self, input: DeployerInput) -> Path:
        fitted = self.store.folder(input.assembly.store)
        if not fitted.is_dir():
            raise DeveloperError(f"The store has no folder {input.assembly.store!r}.", code="not-in-store")
        return fitted


def _failed(said: str, evidence: str) -> Violation:
    message = f"predict.py fails on training rows: {said}."
    return Violation(code="prediction-failed", message=message, evidence=evidence[-LONGEST:], subject="predict.py")


def _unmeasured(output: Delivery) -> Iterator[Violation]:
    """What was not measured, or failed."""
    found = {one.name: one.status for one in output.measurements}
    for name in CHECKED:
        if found.get(name, "failed") == "failed":
            message = f"{name} was not measured." if name not in found else f"{name} failed."
            yield Violation(code="delivery-unmeasured", message=message, subject=name)


def _promises(requirements: Requirements, p50: float) -> Iterator[Measurement]:
    """What the request says of the time of a prediction, against requests over HTTP."""
    for wish in requirements.problem.constraints:
        if wish.quantity == "prediction time" and wish.per != "set":
            kept = p50 / 1000 <= wish.value
            detail = f"{wish.words!r}: {p50:.1f} ms over HTTP, median"
            yield Measurement(name="prediction time", status="passed" if kept else "warning", detail=detail)
