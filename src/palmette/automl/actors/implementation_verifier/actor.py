"""The actor `implementation_verifier`: what was asked for against what is measured on the hold-out."""

from __future__ import annotations

import statistics

from palmette.automl.actors.implementation_verifier.asking import Asking
from palmette.automl.actors.implementation_verifier.counting import parameters_of
from palmette.automl.actors.implementation_verifier.input import ImplementationInput
from palmette.automl.actors.implementation_verifier.judging import Answering, Measured, judged, overall
from palmette.automl.actors.implementation_verifier.unheld import told_of_training_rows
from palmette.automl.artefacts import Assessment, Judged, Score
from palmette.automl.endpoint import Service, rows_of_requests
from palmette.automl.faults import located
from palmette.automl.material import Material
from palmette.automl.project import Project
from palmette.automl.store import Store
from palmette.engine import TERMINATE, Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.sandbox import ExecutionResult, Sandbox

ASKED = 20
"""Requests of one row, of whose times the median counts."""
AT_ONCE = 1_000
"""Rows of a request for many."""


class ImplementationVerifier(BaseActor):
    """The hold-out is used here for the first time, and only to report: it sends nobody back.

    Where there is none, the model is judged by the predictions that it was chosen by.
    """

    name = "implementation_verifier"
    description = "Scores the chosen model on the hold-out and holds every constraint against its measured number."
    produces = "assessment"
    Input = ImplementationInput
    Output = Assessment
    has_criterion = True

    def __init__(self, sandbox: Sandbox, store: Store) -> None:
        self.sandbox, self.store = sandbox, store

    def run(self, input: ImplementationInput, context: Context) -> Attempt[Assessment]:
        material = Material.of(input.dataset, input.profile)
        project = Project(self.store.folder(input.assembly.store), self.sandbox)
        context.progress(f"{len(material.holdout)} rows that no training saw")
        asking = Asking(input, project, material, context.workspace)
        told = asking.told() if len(material.holdout) else told_of_training_rows(input, project, material)
        if isinstance(told, ExecutionResult):
            wrong = located([_failed(told)], project.folder, input.assembly, input.blueprint)
            return Attempt(None, wrong[0].message, TERMINATE, wrong)
        quantities = {one.quantity for one in input.requirements.problem.constraints}
        measured = Measured(
            scores={one.metric: one for one in told.scores},
            scored="on the hold-out" if len(material.holdout) else input.comparison.measured,
            training_seconds=sum(run.seconds for run in input.assembly.tracks),
            megabytes=_megabytes(project),
            answering=self._answering(project, material, input) if "prediction time" in quantities else None,
            members={one.name: one.algorithm for one in input.comparison.selection.members},
            parameters=parameters_of(project, context.workspace) if "parameters" in quantities else None,
        )
        held = tuple(judged(input.requirements, measured))
        return Attempt(
            Assessment(
                rows=len(material.holdout),
                scores=told.scores,
                unmeasured=told.unmeasured,
                judged=held,
                status=overall(held),
                training_seconds=round(measured.training_seconds, 1),
                megabytes=round(measured.megabytes, 3),
                milliseconds=measured.answering.milliseconds if measured.answering else None,
                worths=told.worths,
                curve=told.curve,
                answers=told.answers,
            )
        )

    def check(self, input: ImplementationInput, output: Assessment, context: Context) -> Verdict:
        """Nothing is hidden: every constraint has its number; one that a revised plan could keep goes back, once."""
        measured = [
            Measurement(
                name=f"{one.metric} {'on the hold-out' if output.rows else input.comparison.measured}",
                status="passed" if input.comparison.better else "warning",
                detail=f"{one.value:.4f} (95 % interval {one.low:.4f} to {one.high:.4f})" + _beside(one),
            )
            for one in output.scores[: not output.unmeasured]
        ]
        if output.unmeasured:
            name = f"{input.comparison.selection.metric} on the hold-out"
            measured.append(Measurement(name=name, status="warning", detail=output.unmeasured))
        measured += [
            Measurement(name=one.wish, status="passed" if one.status == "pass" else "warning", detail=one.measured)
            for one in output.judged
        ]
        missed = [one for one in output.judged if one.status == "fail" and _revisable(one)]
        wrong: list[Violation] = []
        if missed and input.revises and input.choice and not input.choice.proposal.data.plan.revision:
            wrong = [
                Violation(code="constraint-missed", message=f"{one.wish}: {one.measured}.", subject=one.wish)
                for one in missed
            ]
        return Verdict.of(wrong, measured)

    def _answering(self, project: Project, material: Material, input: ImplementationInput) -> Answering | None:
        """The times of requests for one row and, some at once, for all of the rows that the model is judged on."""
        kinds = {column.name: column.kind for column in input.blueprint.columns}
        every = rows_of_requests(material.judged.holdout, kinds)
        asked = rows_of_requests(material.train.iloc[:: max(1, len(material.train) // ASKED)][:ASKED], kinds)
        parts = [every[start : start + AT_ONCE] for start in range(0, len(every), AT_ONCE)]
        with Service(self.sandbox, project.folder) as service:
            if not service.is_healthy():
                return None
            times = [service.call("POST", "/predict", row).seconds for row in [*asked, *asked]]
            whole = sum(service.call("POST", "/predict/batch", {"rows": part}).seconds for part in parts)
        return Answering(round(1000 * statistics.median(times[len(asked) :]), 2), round(whole, 3), len(every))


def _revisable(one: Judged) -> bool:
    """Whether another plan can help, and whether that is known without the hold-out."""
    return one.constraint is not None and one.constraint.quantity in ("prediction time", "model size", "training time")


def _beside(one: Score) -> str:
    return "" if one.baseline is None else f"; best baseline {one.baseline:.4f}"


def _failed(done: ExecutionResult) -> Violation:
    last = (done.stderr.strip().splitlines() or [done.note])[-1]
    message = f"Prediction of the hold-out fails: {last}"
    return Violation(code="prediction-failed", message=message, evidence=done.stderr[-4000:], subject="predict.py")


def _megabytes(project: Project) -> float:
    return sum(file.stat().st_size for file in (project.folder / "model").rglob("*") if file.is_file()) / 1e6
