"""Costs of learners on this machine, beside what `Learner.cost` expects.

`python -m palmette_bench costs TABLE.csv:TARGET [TABLE.csv:TARGET ...]`, on a machine that does nothing else. The first
configuration of every learner is fitted on one fold, one thread, and predicts one row after the other. Milliseconds
include the encoders, which `Learner.cost` leaves out.
"""

from __future__ import annotations

import pickle
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
from threadpoolctl import threadpool_limits

from palmette.automl.actors.data_profiler.actor import compute
from palmette.automl.calls import build
from palmette.automl.candidates import Candidate
from palmette.automl.composition import encoder_of, fit_fold, learner_of, reader_of
from palmette.automl.learners.learner import Cost, FoldData
from palmette.automl.planning.drafting import PlanContext
from palmette.automl.problems.registry import problem_of
from palmette.automl.samples.load import load
from palmette.automl.splitting import DataSplits
from palmette.automl.task_spec.completion import completed
from palmette.automl.task_spec.spec import TaskSpec

PATIENCE = 600.0
"""Seconds of one fit."""
ROWS = 50


class LearnerCosts(NamedTuple):
    """A learner on a table: measured, and expected."""

    learner: str
    measured: Cost
    expected: Cost


@click.command()
@click.argument("tables", nargs=-1, required=True, metavar="TABLE.csv:TARGET ...")
def main(tables: tuple[str, ...]) -> None:
    """Compare the measured costs of learners on tables with the expected ones."""
    print("learner table | seconds, MB, ms a row: measured (expected)")
    for table in tables:
        path, _, target = table.rpartition(":")
        for one in measured(Path(path), target):
            pairs = zip(one.measured, one.expected, strict=True)
            print(f"{one.learner} {Path(path).stem} | {'  '.join(f'{made:.3g} ({due:.3g})' for made, due in pairs)}")


def measured(path: Path, target: str) -> Iterator[LearnerCosts]:
    """The first configuration of every learner."""
    samples = load([path]).samples
    task = completed(TaskSpec(target=target, data=(str(path),)), samples)
    profile = compute(task, samples)
    known = PlanContext.of(task, samples, profile)
    first: dict[str, Candidate] = {}
    for one in known.portfolio:
        first.setdefault(one.learner, one)
    splits = DataSplits.of(samples, profile)
    for name, candidate in first.items():
        with threadpool_limits(1):
            yield LearnerCosts(name, _cost(candidate, known, splits), known.costs.of(candidate))


def _cost(candidate: Candidate, known: PlanContext, splits: DataSplits) -> Cost:
    blueprint, problem = known.blueprint, problem_of(known.blueprint)
    rows = build(reader_of(blueprint)).transform(splits.train)
    target, held = problem.encoded_target(splits.train, candidate.strategy), problem.folds(splits) == 0
    encoder, learner = build(encoder_of(candidate, blueprint)), build(learner_of(candidate, blueprint))
    started = time.monotonic()
    features = encoder.fit_transform(rows[~held], None if target is None else target[~held])
    there = (None, None) if target is None else (target[~held], target[held])
    fold = FoldData(features, there[0], encoder.transform(rows[held]), there[1])
    fit_fold(candidate, learner, fold, started + PATIENCE)
    seconds = time.monotonic() - started
    times = []
    for place in range(min(ROWS, len(rows))):
        started = time.perf_counter()
        learner.predict(encoder.transform(rows.iloc[[place]]))
        times.append(1000 * (time.perf_counter() - started))
    size = len(pickle.dumps((encoder, learner))) / 1e6
    return Cost(seconds * blueprint.folds.count, size, statistics.median(times))

