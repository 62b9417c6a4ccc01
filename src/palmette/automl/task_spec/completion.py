"""Completes a merged task from the data: column names, target, problem, metric and split.

Numeric targets with more than ten distinct values or with fractions make a regression, unless they are codes. Other
numbers, categories, booleans and repeated texts make a classification.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from palmette.automl.kinds import STRUCTURE, Kind, Track
from palmette.automl.problem_traits import learning_task, problems_of
from palmette.automl.task_spec.request import ColumnSummary, DataSummary, is_mentioned, is_time, listed, name_words
from palmette.automl.task_spec.spec import FieldSource, Forecast, Origin, TaskSpec
from palmette.automl.task_spec.task_file import nearest_metric, over_classes
from palmette.automl.task_spec.vocabulary import vocabulary
from palmette.engine.registry import load
from palmette.errors import UserError, did_you_mean
from palmette.problems import error_of

FEW = 10  # most distinct whole numbers of a column of classes; also the fewest rows from which a column's kind is known
MOST_CLASSES = 100  # most distinct numbers of a column of classes if the request asks for a classification
CONVENTIONAL = frozenset({"target", "label", "class", "y", "outcome", "response"})  # common names of targets
TIMES = frozenset({"step", "time", "t", "ds", "index", "year"})  # numeric columns that count steps
WIDE = 3  # fewest columns named by times that make rows series
MARGIN = 0.85  # share of a limit on training time that is planned with, because a running fit cannot be interrupted
_FORECAST_ALL = re.compile(r"\bforecast(?!.*\bor\b)", re.I | re.S)
_ONE = ("target", "labels", "group_by", "time")
_SEVERAL = ("include", "exclude", "known_after")


class Learners(NamedTuple):
    """The learners for a problem and kinds of columns."""

    usable: tuple[str, ...]  # learners that can train here
    available: frozenset[str]  # usable learners and their families
    registered: Mapping[str, str]  # all learners and families, with the reason, if any, why one cannot train here


Finder = Callable[[str, Collection[Kind], Collection[Track]], Learners]
"""Finds the learners for a problem, kinds of columns, and tracks."""


class OpenTarget(NamedTuple):
    """Candidates for the target between which nothing decides."""

    reason: str
    candidates: tuple[str, ...]

    @property
    def question(self) -> str:
        options = ", ".join(f"{number} {name}" for number, name in enumerate(self.candidates, 1))
        return f"{self.reason} Which column should be predicted? ({options})"

    def answered(self, answer: str | None) -> str:
        """Returns the column that an answer gives by name or number; raises UserError where the answer is missing or
        gives neither."""
        plain = (answer or "").strip().strip("'\"`.")
        for number, name in enumerate(self.candidates, 1):
            if plain.casefold() in (str(number), name.casefold()):
                return name
        remedy = f"Name it: --target COLUMN. Candidates are {listed(self.candidates)}."
        if not self.candidates:
            remedy = "Put files into a folder per class, or name them in a table with their labels."
        raise UserError(self.reason, remedy, code="request-no-target")


def resolved(task: TaskSpec, data: DataSummary) -> TaskSpec:
    """Replaces column names in the task by those of the data; raises UserError where a name matches no column."""
    task = _with_targets(task, data)

    def one(name: str, flag: str) -> str:
        return data.require(name, flag).name if name else ""

    def several(names: Sequence[str], flag: str) -> tuple[str, ...]:
        parts = (part for name in names for part in ([name] if data.column(name) else map(str.strip, name.split(","))))
        return tuple(dict.fromkeys(one(part, flag) for part in parts if part))

    wish = task.forecast
    ahead = {"series": one(wish.series, "--series"), "known_ahead": several(wish.known_ahead, "--known-ahead")}
    update: dict[str, Any] = {
        **{field: one(getattr(task, field), _shown(field)) for field in _ONE},
        **{field: several(getattr(task, field), _shown(field)) for field in _SEVERAL},
        "forecast": wish.model_copy(update=ahead),
        "split": task.split.model_copy(update={"column": one(task.split.column, "--split")}),
    }
    if task.threshold is not None:
        column = data.require(task.threshold.column, "--threshold")
        if column.kind != "number":
            raise error_of(UserError, "no-numbers/flag", column=column)
        update["threshold"] = task.threshold.model_copy(update={"column": column.name})
    return task.model_copy(update=update)


def _with_targets(task: TaskSpec, data: DataSummary) -> TaskSpec:
    """Adds the targets of a forecast that are given as `a, b` or `all`."""
    unread = " ".join(task.unread).casefold()
    named = any(re.search(rf"(?<!\w){re.escape(one.name.casefold())}(?!\w)", unread) for one in data.columns)
    wanted = task.target or ("all" if task.problem == "forecasting" and not named else "")
    if not _is_forecast(task) or not wanted or data.column(wanted):
        return task
    names = [part.strip() for part in wanted.split(",") if part.strip()]
    if wanted.casefold() == "all":
        aside = {task.time, task.forecast.series, *task.forecast.known_ahead, *task.exclude}
        is_dated = any(one.kind == "datetime" for one in data.columns)
        aside |= {one.name for one in data.columns if one.name.casefold() in TIMES and not is_dated}
        names = [one.name for one in data.columns if one.kind == "number" and one.name not in aside]
    if not names:
        return task
    targets = tuple(dict.fromkeys(data.require(name, "--target").name for name in names))
    if len(targets) >= WIDE and all(is_time(data.require(name, "").source or name) for name in targets):
        others = listed(one.source or one.name for one in data.columns if one.name not in targets)
        raise error_of(UserError, "problem-misfit/wide", first=targets[0], last=targets[-1], others=others)
    made = task.forecast.model_copy(update={"targets": targets})
    return task.model_copy(update={"target": targets[0], "forecast": made})


def chosen_target(task: TaskSpec, data: DataSummary, candidates: Sequence[str] = ()) -> TaskSpec | OpenTarget:
    """Adds the target if the task, with resolved names, or the data determine it; otherwise returns the possible ones:
    the `candidates` if the sentence leaves several open."""
    wants_clusters = {"labels", "clusters.count", "clusters.least", "clusters.most"} & task.sources.keys()
    if task.target or _is_clustering(task) or (not task.problem and wants_clusters):
        return task
    if task.threshold is not None:
        return _with(task, {"target": task.threshold.column}, "default", "the column of the threshold")
    likely = _likely(task, data)
    numbers = all(one.kind == "number" for one in data.columns if one.name in candidates)
    if candidates and numbers and _FORECAST_ALL.search(task.sentence):
        wish = task.forecast.model_copy(update={"targets": tuple(candidates)})
        unread = tuple(one for one in task.unread if not any(name in one for name in candidates))
        task = task.model_copy(update={"forecast": wish, "unread": unread})
        return _with(task, {"target": candidates[0], "problem": "forecasting"}, "default", "several are forecast")
    if candidates:
        return OpenTarget("The request names more than one column to predict; a model predicts one.", tuple(candidates))
    if len(data.targets) == 1:
        return _with(task, {"target": data.targets[0]}, "data", "the rows to predict lack it, or its source marks it")
    named = [name for name in likely if "".join(name_words(name)) in CONVENTIONAL]
    if len(named) == 1 and not task.unread:
        return _with(task, {"target": named[0]}, "data", "the only column that is named like a target")
    if not likely:
        return OpenTarget("The data have no column that can be predicted.", ())
    if not task.sentence.strip():
        return OpenTarget("Nothing names the column to predict.", likely)
    return OpenTarget("The request does not name the column to predict as the data have it.", likely)


def completed(task: TaskSpec, data: DataSummary, find: Finder | None = None) -> TaskSpec:
    """Decides problem, metric, split and budget of a task with resolved names and a chosen target.

    `find` finds the learners; None accepts every name. Raises UserError where fields contradict each other or the data.
    """
    task = _with_problem(_without_values(task, data), data)
    task = _with_metric(task, data)
    task = _with_split(task, data)
    _require_sound(task, data)
    if find is not None and task.learners:
        kinds = {column.kind for column in data.columns if column.name in _usable(task, data)}
        task = _with_learners(task, find(task.problem, kinds, task.tracks))
    limits = [one.value for one in task.constraints if one.quantity == "training_time"]
    if limits and "budget" not in task.sources and MARGIN * min(limits) < task.budget:
        task = _with(task, {"budget": MARGIN * min(limits)}, "default", "within the limit on the training time")
    return task


def _without_values(task: TaskSpec, data: DataSummary) -> TaskSpec:
    """Removes unread lists of the target's classes, which ask for nothing."""
    column = data.column(task.target) if task.target else None
    values = sorted(column.values, key=len, reverse=True) if column is not None and column.kind == "category" else ()
    named = re.compile(rf"(?:\b(?:{'|'.join(map(re.escape, values))})\b|\b(?:and|or)\b|[\s,;/|])+", re.I)
    unread = tuple(one for one in task.unread if not (values and named.fullmatch(one)))
    return task.model_copy(update={"unread": unread})


def problems_for(column: ColumnSummary) -> tuple[tuple[str, ...], str]:
    """Returns the problems that can have the column as target, the default first, with the reason; raises UserError
    where the column cannot be a target."""
    count = "" if column.distinct is None else f" with {column.distinct} values"
    match column.kind:
        case "number":
            whole = all(re.fullmatch(r"-?\d+(?:\.0+)?", value) for value in column.examples)
            if column.distinct is not None and column.distinct <= FEW and whole and column.examples:
                return ("classification", "regression"), f"it holds {column.distinct} different whole numbers"
            if column.codes:
                why = f"its {column.distinct} whole numbers are codes: {column.codes} (else: --problem regression)"
                return ("classification", "regression"), why
            return ("regression", "classification"), f"it holds numbers{count}"
        case "category" | "boolean" | "text":
            return ("classification",), f"it is a {column.kind}{count}"
        case _:
            reasons = {"identifier": "nearly every row has a different value", "constant": "it never changes"}
            why = reasons.get(column.kind, f"it holds values of the kind {column.kind}")
            raise error_of(UserError, "bad-target", column=column, why=why)


def _with_problem(task: TaskSpec, data: DataSummary) -> TaskSpec:
    column = data.column(task.target) if task.target else None
    if column is None:
        return _without_target(task, data)
    if _is_clustering(task):
        raise error_of(UserError, "problem-misfit", task=task)
    if task.threshold is not None:
        if task.threshold.column != column.name or task.problem == "regression":
            what = f"the task is {task.problem or 'one'} of {column.name!r}"
            raise error_of(UserError, "problem-misfit/threshold", threshold=str(task.threshold), what=what)
        return _with(task, {"problem": "classification"}, "default", "the threshold makes two classes")
    if column.distinct == 0 or (data.rows is not None and data.rows < FEW):
        # The kind of the column is uncertain: the split refuses it and states the reason.
        reason = "the column is nearly empty"
        return task if task.problem else _with(task, {"problem": "classification"}, "default", reason)
    task = _without_idle_forecast(task, column, data)
    if _is_forecast(task):
        return _with_forecast(task, column, data)
    tasks, why = problems_for(column)
    fitting = problems_of(tasks, {one.kind for one in data.columns})
    if named := [one for one in fitting if learning_task(one) == task.problem]:
        task = task.model_copy(update={"problem": named[0]})
    if task.problem:
        is_classes = learning_task(task.problem) == "classification"
        many = column.kind == "number" and is_classes and (column.distinct or 0) > MOST_CLASSES
        if task.problem not in fitting or many:
            raise _misfit(task.problem, column, data, fitting, many)
        return task
    if not fitting or learning_task(fitting[0]) != tasks[0]:
        raise _misfit(tasks[0], column, data, fitting, False)
    wanted = [vocabulary().metrics[name].problem for name in _metrics(task)]
    meant = next((one for one in fitting if learning_task(one) in wanted), "")
    if len(fitting) > 1 and meant and (meant == fitting[0] or fitting[0] == "classification"):
        return _with(task, {"problem": meant}, "default", f"the metric is one of {meant}")
    return _with(task, {"problem": fitting[0]}, "data", f"{column.name!r}, as {why}")


def _without_target(task: TaskSpec, data: DataSummary) -> TaskSpec:
    """Decides the problem of a task that has no target: clusters where none is named."""
    task = task if task.problem else _with(task, {"problem": "clustering"}, "default", "clusters are asked for")
    wanted = "clustering" if _is_clustering(task) else task.problem
    fitting = problems_of((wanted,), {one.kind for one in data.columns})
    if fitting and task.problem not in (wanted, *fitting):
        raise error_of(UserError, "problem-misfit/edges", task=task)
    return task.model_copy(update={"problem": fitting[0]}) if fitting else task


def _misfit(problem: str, column: ColumnSummary, data: DataSummary, fitting: Sequence[str], many: bool) -> UserError:
    """Reports that the data or the target do not fit the problem."""
    kinds = {one.kind for one in data.columns} & STRUCTURE
    why = f"the data are a graph, whose nodes can be classified; {problems_for(column)[1]}" if kinds else ""
    needs = sorted(load("problem", problem).needs - {one.kind for one in data.columns})
    why = why or (f"the data have no {' and no '.join(needs)}" if needs else problems_for(column)[1])
    message = f"{problem.capitalize().replace('_', ' ')} does not fit the target {column.name!r}: {why}."
    classes = f", or for two classes: --threshold '{column.name}>NUMBER'" if many else ""
    remedy = f"Ask for {fitting[0] if fitting else 'another column'}{classes}."
    return UserError(message, remedy, code="problem-misfit")


def _is_clustering(task: TaskSpec) -> bool:
    return bool(task.problem) and learning_task(task.problem) == "clustering"


def _is_forecast(task: TaskSpec) -> bool:
    return task.problem == "forecasting" or any(path.startswith("forecast.") for path in task.sources)


def _without_idle_forecast(task: TaskSpec, column: ColumnSummary, data: DataSummary) -> TaskSpec:
    """Ignores horizon and series in sentences such as `Predict churn of each customer in the next 3 months`; only dated
    numbers are forecast."""
    given = {path: one for path, one in task.sources.items() if path.startswith("forecast.")}
    is_dated = column.kind == "number" and bool(_times(task, column, data))
    wants_one = task.problem == "forecasting" or (is_dated and not task.problem and "forecast.horizon" in given)
    if not given or wants_one or any(one.origin != "sentence" for one in given.values()):
        return task
    kept = {path: one for path, one in task.sources.items() if path not in given}
    unread = (*task.unread, *(one.words for one in given.values()))
    return task.model_copy(update={"forecast": Forecast(), "sources": kept, "unread": unread})


def _with_forecast(task: TaskSpec, column: ColumnSummary, data: DataSummary) -> TaskSpec:
    """Adds the targets and the time column."""
    if column.kind not in ("number", "identifier", "constant"):
        raise error_of(UserError, "problem-misfit/forecast", column=column)
    wish = task.forecast
    if not wish.targets:
        task = task.model_copy(update={"forecast": wish.model_copy(update={"targets": (column.name,)})})
    task = _with(task, {"problem": "forecasting"}, "default", "a horizon, a frequency or series are named")
    if task.time or not (found := _times(task, column, data)):
        return task
    latest = max(found, key=lambda one: one.distinct or 0)
    return _with(task, {"time": latest.name}, "data", "the column of times")


def _times(task: TaskSpec, column: ColumnSummary, data: DataSummary) -> list[ColumnSummary]:
    """Returns the columns of datetimes, else of numbers with a conventional name."""
    dated = [one for one in data.columns if one.kind == "datetime"]
    others = [one for one in data.columns if one.name not in (column.name, *task.forecast.targets)]
    numbered = [one for one in others if one.kind in ("number", "identifier") and one.name.casefold() in TIMES]
    if not task.forecast.series:  # a year repeats where months stand beside it
        numbered = [one for one in numbered if 2 * (one.distinct or 0) > (data.rows or 0)]
    return dated or numbered


def _metrics(task: TaskSpec) -> list[str]:
    scores = [one.metric for one in task.constraints if one.quantity == "score"]
    return [name for name in (task.metric, *scores) if name]


def _with_metric(task: TaskSpec, data: DataSummary) -> TaskSpec:
    for name in _metrics(task):
        known = vocabulary().metrics.get(name)
        if known is None or not {task.problem, learning_task(task.problem)} & {known.problem, *known.also}:
            message = f"{name!r} is not a metric of {task.problem}."
            raise UserError(message, nearest_metric(name, task.problem), code="unknown-metric")
    column = data.column(task.target) if task.target else None
    task = over_classes(task, column.distinct or 0 if column is not None else 0)
    limited = dict.fromkeys(_metrics(task))
    if task.metric or len(limited) != 1:
        return task
    return _with(task, {"metric": next(iter(limited))}, "default", "the metric of the limit")


def _with_learners(task: TaskSpec, learners: Learners) -> TaskSpec:
    """Removes wishes for unavailable learners; raises `UserError` for those from flags or files."""
    lacking = [one for one in task.learners if one.name not in learners.available]
    wanted = [one for one in lacking if one.level != "forbidden" or one.name not in learners.registered]
    if wanted and task.sources["learners"].origin in ("flag", "file"):
        name = wanted[0].name
        hint = learners.registered[name] if name in learners.registered else did_you_mean(name, learners.registered)
        raise error_of(UserError, "unknown-learner", name=name, task=task, hint=hint, usable=learners.usable)
    unmet = [
        f"{one.words!r}: no learner {one.name!r} for this {task.problem} here{'.' * bool(why)}{why}"
        for one in wanted
        for why in (learners.registered.get(one.name, ""),)
    ]
    kept = tuple(one for one in task.learners if one not in wanted)
    return task.model_copy(update={"learners": kept, "unmet": tuple(dict.fromkeys((*task.unmet, *unmet)))})


def _with_split(task: TaskSpec, data: DataSummary) -> TaskSpec:
    """Derives the method of the split from the columns given, and adds a time column if it is missing."""
    if not task.split.by and (way := "time" if task.time else "group" if task.group_by else ""):
        field = {"time": "time", "group": "group_by"}[way]
        made = task.split.model_copy(update={"by": way})
        task = task.model_copy(update={"split": made, "sources": {**task.sources, "split.by": task.sources[field]}})
    if task.split.by == "group" and not task.group_by:
        raise error_of(UserError, "no-groups")
    if task.split.by != "time" or task.time:
        return task
    dated = [one for one in data.columns if one.kind == "datetime" and one.name != task.target]
    dated = dated or [one for one in data.columns if "year" in name_words(one.name) and one.name != task.target]
    if not dated:
        raise error_of(UserError, "no-times")
    latest = max(dated, key=lambda one: one.distinct or 0)
    reason = "the only column of times" if len(dated) == 1 else "the column with the most different times"
    return _with(task, {"time": latest.name}, "data", reason)


def _require_sound(task: TaskSpec, data: DataSummary) -> None:
    """Raises `UserError` if fields contradict each other."""
    for field in ("exclude", "known_after"):
        if task.target in getattr(task, field):
            raise error_of(UserError, "target-excluded", task=task, field=_shown(field))
    if learning_task(task.problem) != "clustering" and (task.labels or task.clusters != type(task.clusters)()):
        raise error_of(UserError, "problem-misfit/clusters", task=task)
    if data.columns and not _usable(task, data):
        raise error_of(UserError, "no-columns")
    target = data.column(task.target)
    values = target.values if target is not None and task.threshold is None else ()
    if task.positive and values and task.positive.casefold() not in [one.casefold() for one in values]:
        raise error_of(UserError, "no-such-class", task.positive, values, task=task, values=listed(values))
    for field in ("exclude", "known_after"):
        if shared := {*getattr(task, field)} & {*task.include}:
            raise error_of(UserError, "column-contradiction", shared=listed(sorted(shared)), field=_shown(field))


def _usable(task: TaskSpec, data: DataSummary) -> set[str]:
    """Returns the columns that a model may use."""
    left_out = {task.labels, "" if task.problem == "forecasting" else task.target, *task.exclude, *task.known_after}
    return {name for name in data.names if name not in left_out and (not task.include or name in task.include)}


def _likely(task: TaskSpec, data: DataSummary) -> tuple[str, ...]:
    """Ranks possible targets: conventional names, names in the sentence, the last columns; texts come last."""
    ruled_out = {*task.exclude, *task.known_after, task.group_by, task.time}
    kinds = {one.name: one.kind for one in data.columns if one.kind in ("number", "category", "boolean", "text")}
    usable = list(kinds)

    def rank(name: str) -> tuple[bool, bool, bool, int]:
        is_unusual = "".join(name_words(name)) not in CONVENTIONAL
        return kinds[name] == "text", is_unusual, not is_mentioned(name, task.sentence), -usable.index(name)

    marked = [name for name in data.targets if name in usable]
    return tuple(dict.fromkeys((*marked, *sorted((name for name in usable if name not in ruled_out), key=rank))))


def _with(task: TaskSpec, values: Mapping[str, Any], origin: Origin, reason: str) -> TaskSpec:
    source = FieldSource(origin=origin, words=reason)
    kept = {field: source for field in values if field not in task.sources}
    return task.model_copy(update={**values, "sources": {**task.sources, **kept}})


def _shown(field: str) -> str:
    return f"--{field.replace('_', '-')}"
