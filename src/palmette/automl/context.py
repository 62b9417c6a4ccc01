"""Prompt context of the coders: the task, the figures of the columns that are used, the plan, the settings of learners.

Everything here is data for a model to read, cut nowhere. Excluded columns do not occur.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from palmette.automl.candidates import Blueprint, Candidate, ColumnUse
from palmette.automl.composition import available_learners, learner_named
from palmette.automl.kinds import Track
from palmette.automl.measure import METRICS
from palmette.automl.profile import ColumnProfile, NumberFacts, Profile
from palmette.llm import NEEDED, Section, section

FIGURES = (
    "error alone: the share of the dummy's error that the column removes by itself on unseen rows; "
    "missing: the share of rows without a value"
)
EXAMPLES = 3
FEW = 0.0005
"""Shares below this are not worth a word."""


def task(blueprint: Blueprint, profile: Profile, sentence: str = "") -> Section:
    """The request in words, what is predicted from how many rows, how it is scored, and the blueprint's remarks."""
    words = [f"request: {sentence}"] if sentence else []
    return section("task", "\n".join([*words, *_task(blueprint, profile)]), rank=NEEDED)


def columns(blueprint: Blueprint, profile: Profile) -> Section:
    """A line for each column that is used, the strongest first, then the features that are derived already."""
    known = {one.name: one for one in profile.columns}
    ranked = sorted(blueprint.columns, key=lambda one: known[one.name].rank if one.name in known else 0)
    lines = [f"({FIGURES})", *(_column(one, known.get(one.name)) for one in ranked)]
    lines += [
        f"derived already: {one.name} = {one.operation}({', '.join(one.columns)}): {one.reason}"
        for one in blueprint.derived
    ]
    return section("columns", "\n".join(lines))


def plan(blueprint: Blueprint) -> Section:
    """The candidates that are trained anyway, in their order."""
    return section("plan", "\n".join(map(described, blueprint.candidates)))


def settings(blueprint: Blueprint, track: Track) -> Section:
    """The learners of a track that can be used here, with the settings that each accepts."""
    kinds = [one.kind for one in blueprint.columns]
    lines = []
    for one in map(learner_named, available_learners(blueprint.problem, kinds, (track,), blueprint.rows)):
        accepted = "; ".join(f"{name}: {words}" for name, words in one.settings().items())
        lines.append(f"{one.name} ({one.layout}): {one.description} Settings: {accepted or 'none'}.")
    return section("learners", "\n".join(lines), rank=NEEDED)


def described(candidate: Candidate) -> str:
    """A candidate in a line."""
    given = json.dumps(dict(candidate.settings), ensure_ascii=False) if candidate.settings else "usual settings"
    strategy = candidate.strategy.model_dump(exclude_defaults=True)
    around = f", {json.dumps(strategy)}" if strategy else ""
    tuned = ", tuned with the time that is left" if candidate.tuned else ""
    return f"{candidate.name} ({candidate.learner}): {given}{around}{tuned}"


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
    match folds.kind:
        case "time":
            yield f"rows to predict are later than all training rows, by {folds.by!r}"
        case "grouped":
            yield f"rows to predict belong to values of {folds.by!r} that training has not seen"
        case _:
            yield "rows to predict are like the training rows"
    yield "every column below is known when a row is predicted; rows are predicted one by one"
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


def _column(use: ColumnUse, found: ColumnProfile | None) -> str:
    unit = f" in {use.reading.affix}" if use.reading.affix else ""
    parts = [f"{use.name} ({use.kind}{unit})", *(_figures(found) if found else ())]
    notes = [one for one in use.note.split("; ") if not one.lstrip("-")[:1].isdigit()]  # the rules' are figures
    return "; ".join(filter(None, [*parts, *notes]))


def _figures(found: ColumnProfile) -> Iterator[str]:
    if found.numbers:
        yield _numbers(found.numbers)
    elif found.times:
        yield f"{found.times.first} to {found.times.last}"
    elif found.text:
        yield f"{found.text.words:.0f} words on average"
        yield from (f"e.g. {_quoted(one.value)}" for one in found.frequent[:1])
    elif found.frequent:
        common = ", ".join(f"{_quoted(one.value)} {one.share:.0%}" for one in found.frequent[:EXAMPLES])
        yield f"{found.distinct} values: {common}"
    if found.missing > FEW:
        yield f"missing {found.missing:.1%}"
    if found.rank:
        yield f"error alone {found.error_reduction:.0%}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _numbers(found: NumberFacts) -> str:
    whole = "whole numbers " if found.whole else ""
    return f"{whole}{found.least:.4g} to {found.most:.4g}, median {found.median:.4g}, skew {found.skew:.1f}"
