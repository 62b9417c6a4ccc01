"""The actor `assembler`: runs own code on a sample, then searches over all candidates of plan and coders."""

import dataclasses
import hashlib
import time
from collections.abc import Iterator, Sequence

from palmette.automl.actors.debugger.actor import Debugger, DebuggerInput
from palmette.automl.actors.shared import SampleInput, failed
from palmette.automl.artefacts import Assembly, CodeRepair, Plans, Store, TrackRun, WrittenCode
from palmette.automl.candidates import Blueprint, OwnCode, substance
from palmette.automl.composition import candidate_track
from palmette.automl.own_code import SIDES, composed, failure_of, left_out, objections, sampled, side_of
from palmette.automl.problems.problem import problem_of
from palmette.automl.samples import Samples
from palmette.automl.search.job import cores, uses_own_code
from palmette.automl.search.results import CandidateLoad, CandidateResult, read_results, write_results
from palmette.automl.search.runs import Search
from palmette.engine import Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.errors import counted
from palmette.llm import OFFLINE, Models
from palmette.sandbox import Sandbox, relative_to_root

SAMPLE_SECONDS = 20.0  # for own code on a sample of rows
FIT_SHARE, LEAST_FIT, MOST_FIT = 0.18, 2.5, 0.4
"""Of the training time, kept for the final fit: this share, but enough seconds to start the program, up to a share."""
LEAST_SEARCH = 1.0
PLANNED = {"candidates", "shares", "ensembling", "tuning", "seconds", "remarks"}
"""What another plan may change without making outputs incomparable."""
LENGTH = 8
NOTHING = Violation(code="no-candidate", message="No candidate finished.")


class AssemblerInput(SampleInput):
    plans: Plans | None = None
    blueprint: Blueprint
    preprocessing: WrittenCode = WrittenCode()
    models: tuple[WrittenCode, ...] = ()
    sampled: bool = True
    """False: the search begins at once, and what fails of own code is only reported."""
    repairs: int = 9
    """Times that the modules of a run may be repaired; 0: own code that fails goes back to its coder as it is."""

    @property
    def code(self) -> WrittenCode:
        """Own code, features first."""
        return WrittenCode.joined((self.preprocessing, *self.models))


class Assembler(BaseActor):
    """A failure of own code on the sample is located and repaired; where that does not help, the module is left out."""

    roles = ("debugger",)
    """The task beside it that may have a model."""

    name = "assembler"
    description = "Runs own code on a sample and repairs it, then trains all candidates on all training rows."
    produces = "assembly"
    Input = AssemblerInput
    Output = Assembly
    is_measured = True
    codes = ("model-missing",)

    def __init__(self, sandbox: Sandbox, store: Store, models: Models = OFFLINE) -> None:
        self.sandbox, self.store, self.debugger = sandbox, store, Debugger(models)

    def run(self, input: AssemblerInput, context: Context) -> Attempt[Assembly]:
        draft = self._draft(input, context)
        if draft.output is None:
            return Attempt(None, draft.reason, draft.fix, draft.violations)
        modules = draft.output.modules
        blueprint = composed(input.blueprint, input.code.candidates, modules)
        name = store_name(blueprint, input.samples, modules)
        made = Assembly(store=name, tracks=(), modules=modules, repairs=draft.output.repairs)
        search = Search(
            folder=self.store.fresh(name),
            blueprint=blueprint,
            splits=input.splits,
            sandbox=self.sandbox,
            progress=context.progress,
        )
        wrong = objections(modules)
        if not wrong and input.sampled and modules:
            context.progress("own code on a sample")
            wrong = list(_on_sample(search, modules))
        if wrong:
            return Attempt(made.model_copy(update={"failures": tuple(wrong)}), draft.reason, draft.fix)
        started = time.monotonic()  # checks of own code are not training
        allowed, earlier = search_seconds(blueprint), self._earlier(input, name, context)
        known = {substance(one.trial.candidate) for one in earlier}
        fresh = [one for one in blueprint.candidates if substance(one) not in known]
        if fresh or not earlier:
            left = max(allowed - (time.monotonic() - started), LEAST_SEARCH)
            load = search.run(left, fresh if earlier else None, modules)
        else:
            load = CandidateLoad()
        seconds = time.monotonic() - started
        if earlier:
            load = with_earlier(load, earlier)
            write_results(search.folder, load)
        facts = {
            "tracks": tuple(_track_runs(load)),
            "seconds": round(seconds, 2),
            "processor_seconds": round(load.processor_seconds, 2),
            "overrun": round(max(0.0, seconds - allowed), 2),
            "failures": () if load.results else (*load.failures, *load.violations, NOTHING)[:1],
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
                detail=f"{counted(one.candidates, 'candidate')} verified, {one.seconds:.0f} s",
                evidence="\n".join(one.failed)[-4000:],
            )
            for one in output.tracks
        ]
        if output.overrun >= 1:
            detail = f"{output.overrun:.0f} s beyond its share of the budget"
            measured.append(Measurement(name="training time", status="warning", detail=detail))
        return Verdict.of([] if load.results else list(load.violations), measured)

    def _earlier(self, input: AssemblerInput, name: str, context: Context) -> list[CandidateResult]:
        """Verified results of the round before that a revised plan need not train again, where outputs can be compared.

        After a missed score all of them, else those of the plan and the baselines.
        """
        last, rounds = context.last, input.plans.rounds if input.plans else ()
        if not rounds or not isinstance(last, Assembly) or last.store.split("-")[1] != name.split("-")[1]:
            return []
        problem = problem_of(input.blueprint)
        load = read_results(self.store.folder(last.store), problem, input.blueprint.rows)
        wanted = {*map(substance, (*input.blueprint.candidates, *problem.baselines()))}
        every = all(one.quantity == "score" for one in rounds[-1].missed)
        registered = (one for one in load.results if not uses_own_code(one.trial.candidate))
        return [one for one in registered if every or substance(one.trial.candidate) in wanted]

    def _draft(self, input: AssemblerInput, context: Context) -> Attempt[WrittenCode]:
        """The coders' code; after a failure of a module, with it repaired or left out."""
        last = context.last
        if context.attempt == 1 or not isinstance(last, Assembly) or not last.failures:
            return Attempt(input.code)
        code = WrittenCode(modules=last.modules, repairs=last.repairs)
        made = self._repaired(code, last.failures[0], input.repairs, context)
        if made.output is None and code.modules and len(context.attempts) >= context.attempt:
            # The coder has been asked again, and it fails still: the module is left out; all where none is named.
            failure, paths = made.violations[0], [one.path for one in code.modules]
            gone = [failure.subject] if failure.subject in paths else paths
            kept = tuple(one for one in code.modules if one.path not in gone)
            repairs = (*code.repairs, *(left_out(path, failure) for path in gone))
            left = WrittenCode(modules=kept, repairs=repairs)
            return Attempt(left, failure.message, f"{', '.join(gone)}: left out.")
        return made

    def _repaired(self, code: WrittenCode, failure: Violation, most: int, context: Context) -> Attempt[WrittenCode]:
        """The code with one module patched; where no patch can be had, the failure, for the planner."""
        if not code.modules or sum(one.by == "model" for one in code.repairs) >= most:
            return failed([failure])
        # The last attempt is what the debugger is asked about; those before it are past.
        alone = dataclasses.replace(context, last=None, instruction="", evidence=(), attempts=context.attempts[:-1])
        done = self.debugger.run(DebuggerInput(failure=failure, modules=code.modules), alone)
        if (made := done.output) is None:
            return failed([failure.model_copy(update={"message": f"{failure.message} {done.reason}".strip()})])
        before = next(one for one in code.modules if one.path == made.path)
        known = {_digest(before.text), *(one.replaced for one in code.repairs if one.path == made.path)}
        if _digest(made.text) in known:
            return failed([failure])
        context.progress(f"{made.path} is repaired: {done.reason}")
        side = side_of(made.path) if failure.code in SIDES else "other"
        facts = {"path": made.path, "failure": side, "reason": done.reason, "replaced": _digest(before.text)}
        modules = tuple(made if one is before else one for one in code.modules)
        repairs = (*code.repairs, CodeRepair.model_validate(facts))
        return Attempt(WrittenCode(modules=modules, repairs=repairs), f"{made.path}: {done.reason}", done.fix)


def search_seconds(blueprint: Blueprint) -> float:
    """The part of the training time in which candidates are searched; the rest is for the final fit."""
    total = blueprint.seconds
    return total - min(max(FIT_SHARE * total, LEAST_FIT), MOST_FIT * total)


def _on_sample(search: Search, modules: Sequence[OwnCode]) -> Iterator[Violation]:
    """The first failure of own candidates on a sample, in one fold whose targets are hidden."""
    own = tuple(one for one in search.blueprint.candidates if uses_own_code(one))
    if not own:
        return
    sample = dataclasses.replace(search, splits=sampled(search.blueprint, search.splits))
    load, done = sample.run_fold(0 if search.problem.has_target else None, own, modules, SAMPLE_SECONDS, cores())
    trials = {one.candidate.name: one for one in load.trials}
    late = {one.candidate.name for one in load.trials if one.status == "stopped"} if load.results else set()
    for one in own:
        trial = trials.get(one.name)
        if one.name in late or (trial is None and done.ok):
            continue  # not failing: the sample's time was too short for all
        wrong = next((found.message for found in load.violations if found.subject == one.name), "")
        note = wrong or (trial.note if trial else relative_to_root(search.folder, done.stderr)[-4000:] or done.note)
        if wrong or trial is None or trial.status != "finished":
            path = one.learner if "." in one.learner else one.features
            yield failure_of(note, f"it {done.ended}", modules, f"{path.partition('.')[0]}.py")
            return


def _track_runs(load: CandidateLoad) -> Iterator[TrackRun]:
    """What came of each track; the clock's seconds are divided by those of the fits."""
    trials = load.trials
    total = sum(one.seconds for one in trials) or 1.0
    finished = {one.name for one in load.results}
    for track in dict.fromkeys(candidate_track(one.candidate) for one in trials):
        mine = [one for one in trials if candidate_track(one.candidate) == track]
        notes = {one.subject: one.message for one in load.violations}
        failed = {one.candidate.name: one.note for one in mine if one.status == "failed"}
        failed |= {one.candidate.name: notes[one.candidate.name] for one in mine if one.candidate.name in notes}
        yield TrackRun(
            track=track,
            seconds=round(load.seconds * sum(one.seconds for one in mine) / total, 1),
            candidates=sum(one.candidate.name in finished for one in mine),
            failed=tuple(f"{name}: {note}" for name, note in failed.items()),
        )


def store_name(blueprint: Blueprint, samples: Samples, modules: Sequence[OwnCode]) -> str:
    """Equal for equal blueprints, data and code; begins alike where outputs can be compared."""
    basis = _digest(blueprint.model_dump_json(exclude=PLANNED), samples.model_dump_json())
    return f"search-{basis}-{_digest(blueprint.model_dump_json(), *(one.text for one in modules))}"


def with_earlier(load: CandidateLoad, earlier: Sequence[CandidateResult]) -> CandidateLoad:
    """What was trained now and earlier; an earlier candidate whose name is taken has a name of its own."""
    known, added = {one.candidate.name: one.candidate for one in load.trials}, list[CandidateResult]()
    for one in earlier:
        candidate = one.trial.candidate
        if known.get(one.name, candidate) != candidate:
            candidate = candidate.model_copy(update={"name": f"{one.name}-before"})
        if candidate.name not in known:
            added.append(CandidateResult(one.trial.model_copy(update={"candidate": candidate}), one.outputs))
    trials, results = (*load.trials, *(one.trial for one in added)), (*load.results, *added)
    return dataclasses.replace(load, trials=trials, results=results, violations=() if results else load.violations)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:LENGTH]
