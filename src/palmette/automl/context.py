"""Prompt context of the agents: the request, the task, column statistics, the plan, and the learners' settings.

All of it is data for a language model and is never truncated. Excluded columns are omitted.
"""

import json
from collections.abc import Iterable, Iterator

from palmette.automl.artefacts import Plans
from palmette.automl.candidates import Blueprint, Candidate
from palmette.automl.composition import learner_named
from palmette.automl.measure.metrics import METRICS
from palmette.automl.planning.drafting import PlanContext
from palmette.automl.profile import ColumnProfile, NumberFacts, Profile
from palmette.automl.task_spec.spec import TaskSpec
from palmette.knowledge import KnowledgeFinding
from palmette.llm import NEEDED, Section, section

FIGURES = "(removes: the share of a constant prediction's error that the column alone removes on unseen rows)"
EXAMPLES = 3
FEW = 0.0005  # smaller shares are not mentioned
LITTLE = 0.005  # nor are smaller reductions of the error
SKEWED = 1.0  # nor is a smaller skew
MEANING = {
    "latency": "seconds to answer a request for one row",
    "batch_time": "seconds to predict all hold-out rows",
    "size": "bytes of the delivered model",
    "training_time": "seconds of search and final fit",
    "parameters": "parameters of the delivered model",
}
ADVANTAGES = {
    "speed": "fast answers",
    "small": "a small size",
    "explainable": "predictions that people can explain",
    "simple": "few parts",
}


def request(known: PlanContext) -> Section:
    """The request in words, limits, wishes, and measurements of earlier rounds."""
    return section("request", "\n".join(_request(known)), rank=NEEDED)


def task(blueprint: Blueprint, profile: Profile, spec: TaskSpec | None = None) -> Section:
    """The target, the number of rows, the scoring and the remarks; with `spec`, also the request in words."""
    words = _words(spec) if spec else ()
    return section("task", "\n".join([*words, *_task(blueprint, profile)]), rank=NEEDED)


def findings(profile: Profile) -> Section:
    """Findings of the profile about the target and the rows as a whole."""
    return section("findings", "\n".join(profile.suggestions.values()), rank=1)


def columns(blueprint: Blueprint, profile: Profile) -> Section:
    """A line for each used column, strongest first, then the existing derived features."""
    known = {one.name: one for one in profile.columns}
    ranked = sorted(blueprint.columns, key=lambda one: known[one.name].rank if one.name in known else 0)
    lines = [FIGURES]
    for one in ranked:
        unit = f" in {one.reading.affix}" if one.reading.affix else ""
        figures = _figures(known[one.name]) if one.name in known else ()
        lines.append("; ".join(filter(None, [f"{one.name} ({one.kind}{unit})", *figures, one.note])))
    lines += [
        f"derived already: {one.name} = {one.operation}({', '.join(one.columns)}): {one.reason}"
        for one in blueprint.derived
    ]
    return section("columns", "\n".join(lines))


def dropped(blueprint: Blueprint) -> Section:
    """Excluded columns, with reasons."""
    return section("dropped", *(f"{name}: {reason}" for name, reason in blueprint.dropped.items()), rank=1)


def leaks(known: PlanContext) -> Section:
    """Reported leaks of columns that are still used."""
    used = {one.name for one in known.blueprint.columns}
    found = (one.text for one in known.profile.leaks if not one.columns or used.issuperset(one.columns))
    return section("leaks", *found, rank=1)


def insights(found: Iterable[KnowledgeFinding]) -> Section:
    """Insights about similar data."""
    return section("insights", *(f"{one.text} (applies: {one.because})" for one in found), rank=2)


def plan(blueprint: Blueprint) -> Section:
    """The plan's candidates, in order."""
    return section("plan", "\n".join(map(described, blueprint.candidates)))


def learners(names: Iterable[str]) -> Section:
    """Learners, with the settings that they accept."""
    lines = []
    for one in map(learner_named, names):
        accepted = "; ".join(f"{name}: {words}" for name, words in one.settings().items())
        lines.append(f"{one.name} ({one.layout}): {one.description} Settings: {accepted or 'none'}.")
    return section("learners", "\n".join(lines), rank=NEEDED)


def measured(plans: Plans | None) -> Section:
    """All candidates trained in earlier rounds, including those with own features, with their scores."""
    lines = [
        f"{described(one.candidate)}: {one.score:.5g} in {one.seconds:.1f} s"
        + (", with own features" if one.candidate.features else "")
        for done in (plans.rounds if plans else ())
        for one in done.candidates
    ]
    return section("measured", "\n".join(lines), rank=1)


def described(candidate: Candidate) -> str:
    given = json.dumps(dict(candidate.settings), ensure_ascii=False) if candidate.settings else "usual settings"
    strategy = candidate.strategy.model_dump(exclude_defaults=True)
    around = f", {json.dumps(strategy)}" if strategy else ""
    learner = "" if candidate.name == candidate.learner else f" ({candidate.learner})"
    return f"{candidate.name}{learner}: {given}{around}{', tuned' if candidate.tuned else ''}"


def _words(task: TaskSpec) -> Iterator[str]:
    if task.sentence:
        yield f"request in words: {task.sentence}"
    if task.unread:
        yield f"not understood so far: {'; '.join(map(repr, task.unread))}"


def _request(known: PlanContext) -> Iterator[str]:
    task, wanted = known.task, known.constraints
    yield from _words(task)
    for one in task.constraints:
        meaning = MEANING.get(one.quantity, "on rows that training has not seen")
        yield f"must hold: {one} ({meaning})"
    if wanted.required:
        yield f"the delivered model must be one of: {', '.join(wanted.required)}"
    yield from (f"tried first: {one}" for one in wanted.preferred)
    yield from (f"trained for comparison: {one}" for one in wanted.compared)
    yield from (f"preferred: a model with {ADVANTAGES[one]}" for one in task.prefer)
    if task.ensemble is not None:
        yield "several models together are wanted" if task.ensemble else "one model is wanted"
    for number, done in enumerate(known.rounds, 1):
        scores = ", ".join(f"{one.candidate.name} {one.score:.5g} in {one.seconds:.1f} s" for one in done.candidates)
        latency = "" if done.milliseconds is None else f"{done.milliseconds:.1f} ms, "
        delivered = f"delivered {', '.join(done.selection.names)}: {latency}{done.megabytes:.2f} MB"
        yield f"measured in round {number} ({done.plan.name}): {scores}; {delivered}"
        yield f"missed in round {number}: {', '.join(map(str, done.missed))}"


def _task(blueprint: Blueprint, profile: Profile) -> Iterator[str]:
    metric = METRICS[blueprint.metric]
    target = f" of {blueprint.target!r}" if blueprint.target else ""
    better = "greater is better" if metric.greater_is_better else "smaller is better"
    yield f"{blueprint.problem}{target}, scored by {blueprint.metric} ({better})"
    if profile.target:
        yield "target: " + "; ".join(_target(blueprint, profile))
    folds = blueprint.folds
    by = f" by {folds.by!r}" if folds.by else ""
    yield f"{blueprint.rows} training rows, {folds.count} {folds.kind} folds{by}"
    relations = {
        "time": f"are later than all training rows, by {folds.by!r}",
        "grouped": f"belong to values of {folds.by!r} that training has not seen",
    }
    yield f"rows to predict {relations.get(folds.kind, 'are like the training rows')}"
    yield "columns that are known only later are dropped; rows are predicted one by one"
    one = "one model is wanted" if blueprint.ensembling == "single" else f"ensembles: {blueprint.ensembling}"
    yield f"{blueprint.seconds:.0f} s for search and final fit; {one}"
    yield from blueprint.remarks


def _target(blueprint: Blueprint, profile: Profile) -> Iterator[str]:
    assert profile.target is not None
    if blueprint.classes:
        shares = {one.value: one.share for one in profile.target.classes}
        yield ", ".join(f"{_quoted(name)} {shares.get(name, 0):.1%}" for name in blueprint.classes)
        if blueprint.positive is not None:
            yield f"the metric is about {_quoted(blueprint.positive)}"
    elif profile.target.numbers:
        yield _numbers(profile.target.numbers)
        if blueprint.target_reading.affix:
            yield f"in {blueprint.target_reading.affix}"


def _figures(found: ColumnProfile) -> Iterator[str]:
    if found.numbers:
        yield _numbers(found.numbers)
    elif found.times:
        yield " to ".join(found.times)
    elif found.words:
        yield f"{found.words:.0f} words on average"
        yield from (f"e.g. {_quoted(one.value)}" for one in found.frequent[:1])
    elif found.frequent:
        common = ", ".join(f"{_quoted(one.value)} {one.share:.0%}" for one in found.frequent[:EXAMPLES])
        yield f"{found.distinct} values: {common}"
    if found.missing > FEW:
        yield f"missing {found.missing:.1%}"
    if found.rank and found.error_reduction >= LITTLE:
        yield f"removes {found.error_reduction:.0%}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _numbers(found: NumberFacts) -> str:
    whole = "whole numbers " if found.whole else ""
    skew = f", skew {found.skew:.1f}" if abs(found.skew) >= SKEWED else ""
    return f"{whole}{found.least:.4g} to {found.most:.4g}, median {found.median:.4g}{skew}"
