"""What the vocabulary names exists, and every field of a task is read by something."""

import ast
from collections.abc import Iterator
from pathlib import Path

from palmette.automl.composition import meant
from palmette.automl.measure.metrics import METRICS
from palmette.automl.task_spec import spec
from palmette.automl.task_spec.spec import Clusters, SplitSpec, TaskSpec
from palmette.automl.task_spec.vocabulary import learner_named, metric_named, vocabulary

SOURCE = Path(spec.__file__).parents[1]
RULES = ("phrases.py", "sentence.py", "vocabulary.py", "vocabulary.yaml")
MISSING = {"autogluon", "gaussian_process", "lstm"}
"""Learners that people ask for and that there are not; asking for one is an unmet wish."""
OUTSIDE = frozenset({"sources"})
"""Fields that are only shown."""


def test_metrics_are_those_that_are_measured() -> None:
    known = vocabulary().metrics
    assert known.keys() == METRICS.keys()
    for name, metric in METRICS.items():
        assert (known[name].problem, known[name].better == "higher") == (metric.task, metric.greater_is_better), name
        assert metric_named(name) == name


def test_every_learner_of_the_vocabulary_is_registered_or_known_to_be_missing() -> None:
    assert {name for name in vocabulary().learners if not meant(name)} == MISSING
    assert all(learner_named(name) == name for name in vocabulary().learners)


def test_the_rules_stay_small() -> None:
    folder = SOURCE / "task_spec"
    assert sum(len((folder / name).read_text("utf-8").splitlines()) for name in RULES) <= 900


def test_every_field_of_a_task_changes_the_run_or_judges_it() -> None:
    read = set(_accessed())
    unread = [name for name in TaskSpec.model_fields if name not in OUTSIDE and f"task.{name}" not in read]
    nested = {"split": SplitSpec, "clusters": Clusters}
    unread += [
        f"{field}.{part}"
        for field, model in nested.items()
        for part in model.model_fields
        if not any(name.endswith(f".{part}") for name in read)
    ]
    assert not unread, f"nothing outside of task_spec reads {unread}"


def _accessed() -> Iterator[str]:
    """`task.metric` for every access to an attribute outside of this package, by the last two names."""
    for path in SOURCE.rglob("*.py"):
        if "task_spec" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute):
                owner = node.value
                name = (
                    owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
                )
                yield f"{name}.{node.attr}"
