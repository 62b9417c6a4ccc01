"""The actor `assembler`: runs own code on a sample, then searches over all candidates of plan and coders."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from palmette.automl.actors.assembler.earlier import revises_a_score, store_name, with_earlier
from palmette.automl.actors.assembler.repair import Draft, Repairer
from palmette.automl.artefacts import Assembly, Code, Plans, TrackCode, TrackRun
from palmette.automl.candidates import Blueprint, OwnCode
from palmette.automl.import_policy import objections
from palmette.automl.own_code import composed, failure_of, sampled, track_of
from palmette.automl.problems.registry import problem_of
from palmette.automl.profile import Profile
from palmette.automl.samples import DataSplits, Samples
from palmette.automl.search.job import SearchJob, uses_own_code
from palmette.automl.search.program import cores
from palmette.automl.search.results import read_results, write_results
from palmette.automl.search.runs import Search, SearchRun
from palmette.automl.store import Store
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.llm import OFFLINE, Models
from palmette.sandbox import Sandbox, told_from

SAMPLE_SECONDS = 20.0
"""For own code on a sample of rows."""
FIT_SHARE, LEAST_FIT, MOST_FIT = 0.18, 2.5, 0.4
"""Of the training time, kept for the final fit: this share, but enough seconds to start the program, up to a share."""
LEAST_SEARCH = 1.0


class AssemblerInput(Model):
    samples: Samples
    profile: Profile
    plans: Plans | None = None
    blueprint: Blueprint
    preprocessing: Code = Code()
    models: tuple[TrackCode, ...] = ()
    sampled: bool = True
    """False: the search begins at once, and what fails of own code is only reported."""

    @property
    def code(self) -> tuple[Code, ...]:
        """Own code, features first."""
        return (self.preprocessing, *self.models)


class Assembler(BaseActor):
    """A failure of own code on the sample is located and repaired; where that does not help, the module is left out."""

    roles = ("error_analyser", "debugger")
    """Tasks beside it that may have a model."""

    name = "assembler"
    description = "Runs own code on a sample and repairs it, then trains all candidates on all training rows."
    produces = "assembly"
    Input = AssemblerInput
    Output = Assembly
    has_criterion = True

    def __init__(self, sandbox: Sandbox, store: Store, models: Models = OFFLINE) -> None:
        self.sandbox, self.store, self.repairer = sandbox, store, Repairer(models)

    def run(self, input: AssemblerInput, context: Context) -> Attempt[Assembly]:
        draft = self._draft(input, context)
        if isinstance(draft, Violation):
            return Attempt(None, draft.message, TERMINATE, (draft,))
        own = [one for part in input.code for one in part.candidates]
        blueprint = composed(input.blueprint, own, draft.modules)
        name = store_name(blueprint, input.samples, draft.modules)
        made = Assembly(store=name, tracks=(), modules=draft.modules, repairs=draft.repairs)
        search = Search(
            folder=self.store.fresh(name),
            blueprint=blueprint,
            splits=DataSplits.of(input.samples, input.profile),
            sandbox=self.sandbox,
            progress=context.progress,
        )
        started = time.monotonic()
        wrong = objections(draft.modules)
        if not wrong and input.sampled and draft.modules:
            context.progress("own code on a sample")
            wrong = list(_on_sample(search, draft.modules))
        if wrong:
            return Attempt(made.model_copy(update={"failures": tuple(wrong)}), draft.reason, draft.fix)
        allowed = search_seconds(blueprint)
        run = search.run(max(allowed - (time.monotonic() - started), LEAST_SEARCH), modules=draft.modules)
        seconds, last = time.monotonic() - started, context.last
        if isinstance(last, Assembly) and revises_a_score(input.plans):
            write_results(search.folder, with_earlier(run.load, name, last, self.store, blueprint))
        facts = {
            "tracks": tuple(_track_runs(run)),
            "seconds": round(seconds, 2),
            "processor_seconds": round(run.processor_seconds, 2),
            "overrun": round(max(0.0, seconds - allowed), 2),
            "failures": () if run.load.results else (_nothing(run),),
        }
        return Attempt(made.model_copy(update=facts), draft.reason, draft.fix)

    def check(self, input: AssemblerInput, output: Assembly, context: Context) -> Verdict:
        """Candidates have finished, and their out-of-fold outputs are there and sound."""
        if output.failures:
            return Verdict.of(output.failures)
        load = read_results(self.store.folder(output.store), problem_of(input.blueprint), input.blueprint.rows)
        measured = [
            Measurement(
                name=f"{one.track} training",
                status="passed" if one.candidates else "warning",
                detail=f"{one.candidates} candidates verified, {one.seconds:.0f} s",
                evidence="\n".join(one.failed)[-4000:],
            )
            for one in output.tracks
        ]
        if output.overrun >= 1:
            detail = f"{output.overrun:.0f} s beyond its share of the budget"
            measured.append(Measurement(name="training time", status="warning", detail=detail))
        return Verdict.of([] if load.results else list(load.violations), measured)

    def implicated(self, violation: Violation, output: Assembly) -> str | None:
        """To blame where what it had trained is gone."""
        return f"Train again: {violation.message}" if violation.code == "model-missing" else None

    def _draft(self, input: AssemblerInput, context: Context) -> Draft | Violation:
        """The coders' modules; after a failure of one, with it repaired or left out."""
        modules = tuple(one for part in input.code for one in part.modules)
        repairs = tuple(one for part in input.code for one in part.repairs)
        last = context.last
        if context.attempt == 1 or not isinstance(last, Assembly) or not last.failures:
            return Draft(modules, repairs)
        failure, failed = last.failures[0], Draft(last.modules, last.repairs)
        if not failed.modules:
            return failure
        repaired = self.repairer.repaired(failed, failure, context)
        if isinstance(repaired, Violation) and len(context.attempts) >= context.attempt:
            return failed.without(repaired)  # the coder has been asked again, and it fails still
        return repaired


def search_seconds(blueprint: Blueprint) -> float:
    """The part of the training time in which candidates are searched; the rest is for the final fit."""
    total = blueprint.seconds
    return total - min(max(FIT_SHARE * total, LEAST_FIT), MOST_FIT * total)


def _on_sample(search: Search, modules: Sequence[OwnCode]) -> Iterator[Violation]:
    """The first failure of own candidates on a sample, in one fold whose targets are hidden."""
    blueprint, problem = search.blueprint, problem_of(search.blueprint)
    own = tuple(one for one in blueprint.candidates if uses_own_code(one))
    if not own:
        return
    splits = sampled(blueprint, search.splits)
    folds = problem.folds(splits)
    job = SearchJob(
        blueprint=blueprint,
        candidates=own,
        seconds=SAMPLE_SECONDS,
        started=time.time(),
        workers=cores(),
        tuning=False,
        only_fold=0 if problem.has_target else None,
    )
    done = search.drive(job, modules, splits, folds, "sample")
    rows = int(np.sum(folds == 0)) if problem.has_target else len(folds)
    load = read_results(search.folder / "sample", problem, rows, own, whole=not problem.has_target)
    trials = {one.candidate.name: one for one in load.trials}
    for one in own:
        trial = trials.get(one.name)
        wrong = next((found.message for found in load.violations if found.subject == one.name), "")
        note = wrong or (trial.note if trial else told_from(search.folder, done.stderr)[-4000:] or done.note)
        if wrong or trial is None or trial.status != "finished":
            last = note.strip().splitlines()[-1] if note.strip() else f"it {done.ended}"
            path = one.learner if "." in one.learner else one.features
            yield failure_of(note, last, modules, f"{path.partition('.')[0]}.py")
            return


def _track_runs(run: SearchRun) -> Iterator[TrackRun]:
    """What came of each track; the clock's seconds are divided by those of the fits."""
    trials = run.load.trials
    total = sum(one.seconds for one in trials) or 1.0
    finished = {one.name for one in run.load.results}
    for track in dict.fromkeys(track_of(one.candidate) for one in trials):
        mine = [one for one in trials if track_of(one.candidate) == track]
        notes = {one.subject: one.message for one in run.load.violations}
        failed = {one.candidate.name: one.note for one in mine if one.status == "failed"}
        failed |= {one.candidate.name: notes[one.candidate.name] for one in mine if one.candidate.name in notes}
        yield TrackRun(
            track=track,
            seconds=round(run.seconds * sum(one.seconds for one in mine) / total, 1),
            candidates=sum(one.candidate.name in finished for one in mine),
            failed=tuple(f"{name}: {note}" for name, note in failed.items()),
        )


def _nothing(run: SearchRun) -> Violation:
    """That no candidate finished."""
    found = (*run.failures, *run.load.violations)
    return found[0] if found else Violation(code="no-candidate", message="No candidate finished.")
