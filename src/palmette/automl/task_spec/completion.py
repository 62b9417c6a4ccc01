"""Completes a merged task by the data: names of columns, target, problem, metric and split; refuses what cannot be.

The problem of a target: a number with more than ten different values, or with fractions, is a regression; every other
number, category or boolean, and a text with repeated values, is a classification.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from palmette.automl.kinds import Kind, Track
from palmette.automl.task_spec.request import ColumnSummary, DataSummary, listed, name_words
from palmette.automl.task_spec.spec import Origin, Source, TaskSpec
from palmette.automl.task_spec.vocabulary import nearest_metric, vocabulary
from palmette.errors import UserError, did_you_mean

FEW = 10
"""Different whole numbers, up to which they are classes."""
MOST_CLASSES = 100
"""Different numbers, above which they are no classes, even where a classification is asked for."""
CONVENTIONAL = frozenset({"target", "label", "class", "y", "outcome", "response"})
"""Names of columns that say of themselves that they are the target."""
MARGIN = 0.85
"""Of a limit on the training time: what is planned with, as a fit under way cannot be cut short."""
_ONE = ("target", "labels", "group_by", "time")
_SEVERAL = ("include", "exclude", "known_after")


class Learners(NamedTuple):
    """What learners there are for a problem and the kinds of the columns."""

    usable: tuple[str, ...]
    """Those that can train here."""
    available: frozenset[str]
    """The same, and their families."""
    registered: frozenset[str]
    """All names of learners and families."""


Finder = Callable[[str, Collection[Kind], Collection[Track]], Learners]
"""The learners for a problem, kinds of columns and tracks."""


class OpenTarget(NamedTuple):
    """Nothing decides between these columns."""

    reason: str
    candidates: tuple[str, ...]

    @property
    def question(self) -> str:
        options = ", ".join(f"{number} {name}" for number, name in enumerate(self.candidates, 1))
        return f"{self.reason} Which column is to be predicted? ({options})"

    def answered(self, answer: str | None) -> str:
        """The column that an answer names or numbers.

        Raises:
            UserError: it does neither, or there is none.
        """
        plain = (answer or "").strip().strip("'\"`.")
        for number, name in enumerate(self.candidates, 1):
            if plain.casefold() in (str(number), name.casefold()):
                return name
        remedy = f"Name it: --target COLUMN. Candidates are {listed(self.candidates)}."
        raise UserError(self.reason, remedy, code="request-no-target")


def resolved(task: TaskSpec, data: DataSummary) -> TaskSpec:
    """The task with the names of columns as the data have them.

    Raises:
        UserError: a name is no column.
    """
    update: dict[str, Any] = {}
    for field in _ONE:
        if name := getattr(task, field):
            update[field] = data.require(name, _shown(field)).name
    for field in _SEVERAL:
        names = [part for name in getattr(task, field) for part in _parts(name, data)]
        update[field] = tuple(dict.fromkeys(data.require(name, _shown(field)).name for name in names))
    if task.split.column:
        update["split"] = task.split.model_copy(update={"column": data.require(task.split.column, "--split").name})
    if task.threshold is not None:
        column = data.require(task.threshold.column, "--threshold")
        if column.kind != "number":
            message = f"--threshold compares {column.name!r} with a number, and it holds none."
            raise UserError(message, "Name a column of numbers.", code="no-numbers")
        update["threshold"] = task.threshold.model_copy(update={"column": column.name})
    return task.model_copy(update=update)


def chosen_target(task: TaskSpec, data: DataSummary, candidates: Sequence[str] = ()) -> TaskSpec | OpenTarget:
    """The task with its target, where the task or the data decide it.

    Args:
        task: merged, its names resolved.
        data: the columns.
        candidates: columns between which the sentence leaves the target open.
    """
    if task.target or _is_clustering(task):
        return task
    if task.threshold is not None:
        return _with(task, {"target": task.threshold.column}, "default", "the column of the threshold")
    likely = _likely(task, data)
    if candidates:
        return OpenTarget("The request names more than one column to predict; a model predicts one.", tuple(candidates))
    if len(data.targets) == 1:
        return _with(task, {"target": data.targets[0]}, "data", "the rows to predict lack it, or its source marks it")
    named = [name for name in likely if "".join(name_words(name)) in CONVENTIONAL]
    if len(named) == 1 and not task.unread:
        return _with(task, {"target": named[0]}, "data", "the only column that is named like a target")
    if not task.sentence.strip():
        return OpenTarget("Nothing names the column to predict.", likely)
    return OpenTarget("The request does not name the column to predict as the data have it.", likely)


def completed(task: TaskSpec, data: DataSummary, find: Finder | None = None) -> TaskSpec:
    """The task with problem, metric, split and budget decided; its target is known.

    Args:
        task: merged, its names resolved, its target chosen.
        data: the columns.
        find: finds the learners; None to accept every name.

    Raises:
        UserError: parts of it contradict each other or the data.
    """
    task = _with_problem(task, data)
    task = _with_metric(task)
    task = _with_split(task, data)
    _require_sound(task, data)
    if find is not None and task.learners:
        kinds = {column.kind for column in data.columns if column.name in _usable(task, data)}
        task = _with_learners(task, find(task.problem, kinds, task.tracks))
    limits = [one.value for one in task.constraints if one.quantity == "training_time"]
    if limits and "budget" not in task.sources and MARGIN * min(limits) < task.budget:
        task = _with(task, {"budget": MARGIN * min(limits)}, "default", "within the limit on the training time")
    return task


def problems_for(column: ColumnSummary) -> tuple[tuple[str, ...], str]:
    """The problems that a column can be the target of, the usual one first, and why.

    Raises:
        UserError: it can be the target of none.
    """
    count = "" if column.distinct is None else f" with {column.distinct} values"
    match column.kind:
        case "number":
            whole = all(re.fullmatch(r"-?\d+(?:\.0+)?", value) for value in column.examples)
            if column.distinct is not None and column.distinct <= FEW and whole and column.examples:
                return ("classification", "regression"), f"it holds {column.distinct} different whole numbers"
            return ("regression", "classification"), f"it holds numbers{count}"
        case "category" | "boolean" | "text":
            return ("classification",), f"it is a {column.kind}{count}"
        case _:
            reasons = {"identifier": "it has a different value in every row", "constant": "it is the same in every row"}
            why = reasons.get(column.kind, f"it holds values of the kind {column.kind}")
            message = f"The column {column.name!r} cannot be predicted: {why}."
            raise UserError(message, "Name another: --target COLUMN.", code="bad-target")


def _with_problem(task: TaskSpec, data: DataSummary) -> TaskSpec:
    column = data.column(task.target) if task.target else None
    if column is None:
        reason = "clusters are asked for"
        task = task if task.problem else _with(task, {"problem": "clustering"}, "default", reason)
        return task.model_copy(update={"labels": task.labels})
    if task.problem == "clustering":
        message = f"A clustering has no target, and {task.target!r} is to be predicted."
        raise UserError(message, "Give it as --labels, or leave it out.", code="problem-misfit")
    if task.threshold is not None:
        if task.threshold.column != column.name or task.problem == "regression":
            what = f"the task is {task.problem or 'one'} of {column.name!r}"
            message = f"The threshold {str(task.threshold)!r} makes two classes of its column, and {what}."
            raise UserError(message, "Leave out one of them.", code="problem-misfit")
        return _with(task, {"problem": "classification"}, "default", "the threshold makes two classes")
    fitting, why = problems_for(column)
    if task.problem:
        many = column.kind == "number" and task.problem == "classification" and (column.distinct or 0) > MOST_CLASSES
        if task.problem not in fitting or many:
            message = f"{task.problem.capitalize()} does not fit the target {column.name!r}: {why}."
            classes = f", or for two classes: --threshold '{column.name}>NUMBER'" if many else ""
            remedy = f"Ask for {fitting[0]}{classes}."
            raise UserError(message, remedy, code="problem-misfit")
        return task
    wanted = [vocabulary().metrics[name].problem for name in _metrics(task)]
    meant = next((one for one in wanted if one in fitting), "")
    if len(fitting) > 1 and meant and (meant == fitting[0] or fitting[0] == "classification"):
        return _with(task, {"problem": meant}, "default", f"the metric is one of {meant}")
    return _with(task, {"problem": fitting[0]}, "data", f"of {column.name!r}: {why}")


def _metrics(task: TaskSpec) -> list[str]:
    scores = [one.metric for one in task.constraints if one.quantity == "score"]
    return [name for name in (task.metric, *scores) if name]


def _with_metric(task: TaskSpec) -> TaskSpec:
    for name in _metrics(task):
        known = vocabulary().metrics.get(name)
        if known is None or known.problem != task.problem:
            message = f"{name!r} is no metric of {task.problem}."
            raise UserError(message, nearest_metric(name, task.problem), code="unknown-metric")
    limited = dict.fromkeys(_metrics(task))
    if task.metric or len(limited) != 1:
        return task
    return _with(task, {"metric": next(iter(limited))}, "default", "the metric of the limit")


def _with_learners(task: TaskSpec, learners: Learners) -> TaskSpec:
    """Without wishes for learners that cannot be used; those of flags and files are mistakes."""
    lacking = [one for one in task.learners if one.name not in learners.available]
    wanted = [one for one in lacking if one.level != "forbidden" or one.name not in learners.registered]
    if wanted and task.sources["learners"].origin in ("flag", "file"):
        name = wanted[0].name
        hint = "" if name in learners.registered else did_you_mean(name, learners.registered)
        message = f"There is no learner {name!r} for this {task.problem} here.{hint}"
        raise UserError(message, f"There are {', '.join(learners.usable)}.", code="unknown-learner")
    unmet = [f"{one.words!r}: no learner {one.name!r} for this {task.problem} here" for one in wanted]
    kept = tuple(one for one in task.learners if one not in wanted)
    return task.model_copy(update={"learners": kept, "unmet": tuple(dict.fromkeys((*task.unmet, *unmet)))})


def _with_split(task: TaskSpec, data: DataSummary) -> TaskSpec:
    """The way of the split follows from the columns that it is by; a split by time has a column of times."""
    if not task.split.by and (way := "time" if task.time else "group" if task.group_by else ""):
        field = {"time": "time", "group": "group_by"}[way]
        made = task.split.model_copy(update={"by": way})
        task = task.model_copy(update={"split": made, "sources": {**task.sources, "split.by": task.sources[field]}})
    if task.split.by == "group" and not task.group_by:
        message = "The rows are to be split by groups, and no column is named."
        raise UserError(message, "Add --group-by COLUMN.", code="no-groups")
    if task.split.by != "time" or task.time:
        return task
    dated = [one for one in data.columns if one.kind == "datetime" and one.name != task.target]
    dated = dated or [one for one in data.columns if "year" in name_words(one.name) and one.name != task.target]
    if not dated:
        message = "The rows are to be split by time, and no column holds times."
        raise UserError(message, "Name one: --time COLUMN, or leave that wish out.", code="no-times")
    latest = max(dated, key=lambda one: one.distinct or 0)
    reason = "the only column of times" if len(dated) == 1 else "the column with the most different times"
    return _with(task, {"time": latest.name}, "data", reason)


def _require_sound(task: TaskSpec, data: DataSummary) -> None:
    """Raises UserError where fields contradict each other."""
    wrong = [field for field in ("exclude", "known_after") if task.target in getattr(task, field)]
    if wrong:
        message = f"{task.target!r} is both to be predicted and excluded ({_shown(wrong[0])})."
        raise UserError(message, "Leave out one of them.", code="target-excluded")
    if task.problem != "clustering" and (task.labels or task.clusters != type(task.clusters)()):
        remedy = "Leave out --labels and --clusters, or ask for --problem clustering."
        raise UserError(f"Clusters are asked for beside a {task.problem}.", remedy, code="problem-misfit")
    if data.columns and not _usable(task, data):
        raise UserError("No column is left to learn from.", "Exclude fewer columns.", code="no-columns")
    target = data.column(task.target)
    if task.positive and target is not None and task.threshold is None:
        _require_value(task.positive, target)
    by_name = {"exclude": task.exclude, "known_after": task.known_after}
    for field, names in by_name.items():
        if shared := set(names) & set(task.include):
            message = f"{listed(sorted(shared))} is in --include and in {_shown(field)}."
            raise UserError(message, "Leave out one of them.", code="column-contradiction")


def _usable(task: TaskSpec, data: DataSummary) -> set[str]:
    """The columns that a model may use."""
    left_out = {task.target, task.labels, *task.exclude, *task.known_after}
    return {name for name in data.names if name not in left_out and (not task.include or name in task.include)}


def _require_value(value: str, column: ColumnSummary) -> None:
    if column.values and value.casefold() not in [one.casefold() for one in column.values]:
        message = f"The positive class {value!r} is no value of {column.name!r}.{did_you_mean(value, column.values)}"
        raise UserError(message, f"Its values are {listed(column.values)}.", code="no-such-class")


def _likely(task: TaskSpec, data: DataSummary) -> tuple[str, ...]:
    """Columns that may be the target: those named like one, then those that the sentence mentions, then the last."""
    ruled_out = {*task.exclude, *task.known_after, task.group_by, task.time}
    usable = [one.name for one in data.columns if one.kind in ("number", "category", "boolean", "text")]
    sentence = task.sentence.casefold()

    def rank(name: str) -> tuple[bool, bool, int]:
        words = name_words(name)
        mentioned = any(len(word) > 2 and re.search(rf"\b{re.escape(word[:5])}", sentence) for word in words)
        return "".join(words) not in CONVENTIONAL, not mentioned, -usable.index(name)

    marked = [name for name in data.targets if name in usable]
    return tuple(dict.fromkeys((*marked, *sorted((name for name in usable if name not in ruled_out), key=rank))))


def _is_clustering(task: TaskSpec) -> bool:
    asked = {"labels", "clusters.count", "clusters.least", "clusters.most"} & task.sources.keys()
    return task.problem == "clustering" or (not task.problem and bool(asked))


def _parts(name: str, data: DataSummary) -> list[str]:
    """A name, or the names that it lists with commas."""
    parts = [part.strip() for part in name.split(",")]
    return [name] if data.column(name) else [part for part in parts if part]


def _with(task: TaskSpec, values: Mapping[str, Any], origin: Origin, reason: str) -> TaskSpec:
    source = Source(origin=origin, words=reason)
    kept = {field: source for field in values if field not in task.sources}
    return task.model_copy(update={**values, "sources": {**task.sources, **kept}})


def _shown(field: str) -> str:
    return f"--{field.replace('_', '-')}"
