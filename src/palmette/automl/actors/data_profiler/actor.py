"""The actor `data_profiler`: the split and every figure about the training rows."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from typing import Literal

from palmette.automl.actors.shared import verdict
from palmette.automl.kinds import UNUSABLE
from palmette.automl.profile import Leak, LeakDecision, Profile
from palmette.automl.profile.association import LeakContext
from palmette.automl.profile.profile import profile
from palmette.automl.samples import Samples
from palmette.automl.samples.load import reload
from palmette.automl.splitting.data_splits import SplitRequest, split_of, split_request_of
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Measurement, Verdict


class ProfilerInput(Model):
    task: TaskSpec
    samples: Samples


class DataProfiler(BaseActor):
    """Splits the rows, and computes the profile of the training rows."""

    name = "data_profiler"
    description = "Profiles the training rows: columns, target, meta-features, suggestions and leaks, all computed."
    produces = "profile"
    Input = ProfilerInput
    Output = Profile
    needs_person = False

    def run(self, input: ProfilerInput, context: Context) -> Attempt[Profile]:
        made = compute(input.task, input.samples)
        context.progress(f"{made.holdout.training_rows} training rows profiled, {len(made.leaks)} possible leaks")
        usable = [column.name for column in made.columns if column.kind not in UNUSABLE]
        decisions = tuple(decide(made.leaks, usable, context.ask))
        return Attempt(made.model_copy(update={"decisions": decisions}))

    def check(self, input: ProfilerInput, output: Profile, context: Context) -> Verdict:
        """The hold-out and leaks that matter are shown, with what was done about them."""
        found = [leak for leak in output.leaks if leak.severity != "low"]
        shown = [f"{leak.text.rstrip('.')} ({leak.evidence}): {output.done(leak)}" for leak in found]
        warnings = [Measurement(name="leak", status="warning", detail=text) for text in shown]
        none = Measurement(name="leaks", status="passed", detail="none of medium or high severity")
        return verdict("hold-out", (), " ".join(output.holdout.reasons), *(warnings or [none]))


def compute(task: TaskSpec, samples: Samples) -> Profile:
    """The profile, from the files as they are now, without decisions about its leaks.

    Where rows of one entity are on both sides of the split, the rows are split again by that entity, unless the request
    chooses the split.
    """
    reload(samples)  # raises where a file has changed
    request = split_request_of(task, samples)
    made = _computed(samples, request, task.known_after)
    shared = [leak.columns[0] for leak in made.leaks if leak.action == "group" and leak.columns]
    if shared and not request.group and not request.by:
        return _computed(samples, request.model_copy(update={"group": shared[0]}), task.known_after)
    group = request.group or made.holdout.entity
    return made.model_copy(update={"split": request.model_copy(update={"group": group})})


@lru_cache(maxsize=4)
def _computed(samples: Samples, request: SplitRequest, known_after: tuple[str, ...]) -> Profile:
    kinds = {column.name: column.kind for column in samples.columns}
    rows, made = reload(samples).table, split_of(samples, request)
    return profile(LeakContext(rows, request, made, kinds, known_after))


def decide(leaks: Iterable[Leak], usable: Collection[str], ask: Callable[[str], str | None]) -> Iterator[LeakDecision]:
    """Decisions about leaks that call for more than a report; a person is asked where figures leave it open.

    Without an answer, the last of the `usable` columns is kept.
    """
    left = set(usable)
    for leak in leaks:
        if leak.action == "drop":
            decision = _decided(leak, True, "request" if leak.code == "known-after" else "rule")
        elif leak.action == "ask" and leak.columns:
            decision = _asked(leak, leak.default == "drop" and not left <= set(leak.columns), ask)
        else:
            continue
        left -= set(leak.columns) if decision.done == "dropped" else set()
        yield decision


def _asked(leak: Leak, drops: bool, ask: Callable[[str], str | None]) -> LeakDecision:
    usual, named = "yes" if drops else "no", ", ".join(map(repr, leak.columns))
    answer = ask(f"{leak.text.rstrip('.')} ({leak.evidence}). Leave out {named}? (yes, no; default: {usual})")
    word = (answer or "").strip().casefold()[:1]
    return _decided(leak, word == "y", "person") if word in ("y", "n") else _decided(leak, drops, "default")


def _decided(leak: Leak, drops: bool, by: Literal["request", "rule", "person", "default"]) -> LeakDecision:
    return LeakDecision(code=leak.code, columns=leak.columns, done="dropped" if drops else "kept", by=by)
