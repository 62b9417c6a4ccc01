"""What must hold of requirements, whoever wrote them: each mistake says what to do instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from palmette.automl.requirements import ColumnHint, Constraint, Requirements
from palmette.automl.requirements.quantities import Amount, amounts
from palmette.automl.requirements.quoting import quotations, quoted
from palmette.automl.requirements.tasks import fitting, fitting_metric
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.thresholds import as_classes
from palmette.automl.requirements.vocabulary import algorithm_mentions, metric_mentions, vocabulary
from palmette.engine import Violation
from palmette.errors import nearest

UPPER, LOWER = ("<=", "<"), (">=", ">")
Columns = Mapping[str, ColumnHint]


def mistakes(made: Requirements, columns: Columns, answers: Mapping[str, str]) -> list[Violation]:
    """Everything that is wrong with requirements, the request and the columns given."""
    wrong = [*_misquoted(made), *_threshold(made, columns)]
    columns = as_classes(columns, made.problem.threshold)
    return [
        *wrong,
        *_numbers(made, columns),
        *_target(made, columns, answers),
        *_metric(made),
        *_algorithms(made),
    ]


def _misquoted(made: Requirements) -> Iterator[Violation]:
    for field, words in quotations(made):
        if not quoted(words, made.text):
            message = f"The request does not say {words!r}. Quote it exactly, or leave out what rests on it."
            yield Violation(code="quote-not-found", message=message, subject=field)


def _threshold(made: Requirements, columns: Columns) -> Iterator[Violation]:
    """It makes classes of the target, which holds numbers, at a number that its words have."""
    one, known = made.problem.threshold, columns.get(made.dataset.target_column)
    if one is None:
        return
    if one.column != made.dataset.target_column or made.problem.task != "classification":
        message = f"{str(one)!r} makes classes of another column, or of no classification. Leave the threshold out."
        yield Violation(code="task-misfit", message=message, subject="problem.threshold")
    elif known is not None and known.kind != "numeric":
        message = f"{one.column!r} holds no numbers to compare with {one.value:g}. Leave the threshold out."
        yield Violation(code="task-misfit", message=message, subject="problem.threshold")
    if one.words and one.value not in [amount.number for amount in _amounts(one.words)]:
        message = f"{str(one)!r} cannot be read from {one.words!r}."
        yield Violation(code="number-not-found", message=message, subject="problem.threshold")


def _numbers(made: Requirements, columns: Columns) -> Iterator[Violation]:
    for constraint in made.problem.constraints:
        yield from _constraint(constraint)
    problem, sequence, split = made.problem, made.dataset.sequence, made.dataset.split
    hint = columns.get(made.dataset.target_column)
    counts = {
        "problem.n_clusters": problem.n_clusters,
        "problem.n_classes": None if problem.n_classes in (2, len(problem.classes)) else problem.n_classes,
        "dataset.split.folds": split.folds or None if split else None,
        **{f"dataset.sequence.{name}": value for name, value in (sequence or {}) if name != "unit"},
    }
    said = {float(digits) for digits in re.findall(r"\d+", Text(made.text).plain)}
    known = {float(hint.distinct)} if hint is not None and hint.distinct is not None else set()
    for field, value in counts.items():
        if value is not None and float(value) not in (said | (known if field == "problem.n_classes" else set())):
            message = f"The request has no number {value}. Leave {field} out, or give the number that it says."
            yield Violation(code="number-not-found", message=message, subject=field)


def wordless(made: Requirements) -> list[Violation]:
    """Constraints that rest on no words: only a person may write such."""
    message = "has no words. Quote what it was read from."
    return [
        Violation(code="quote-not-found", message=f"{str(one)!r} {message}", subject="problem.constraints")
        for one in made.problem.constraints
        if not one.words
    ]


def _constraint(one: Constraint) -> Iterator[Violation]:
    """The value stands in the words, with that unit, and the words do not say the opposite."""
    if one.words:
        yield from _misread(one)
    if one.quantity == "score" and one.metric is None:
        message = f"{str(one)!r} has no metric. Name the one that the request means."
        yield Violation(code="metric-missing", message=message, subject="problem.constraints")


def _misread(one: Constraint) -> Iterator[Violation]:
    found = [amount for amount in _amounts(one.words) if _fits(one, amount)]
    if not found and one.metric == "accuracy" and any(_fits(_wrong(one), amount) for amount in _amounts(one.words)):
        return  # read from the share of wrong answers
    if not found:
        units = "Values are in seconds, bytes, counts, or as the metric gives them."
        message = f"{str(one)!r} cannot be read from {one.words!r}. {units}"
        yield Violation(code="number-not-found", message=message, subject="problem.constraints")
        return
    flips = one.quantity == "score" and one.metric is not None and vocabulary().metrics[one.metric].better == "lower"
    signs = {amount.comparison for amount in found}
    opposite = (one.comparison in UPPER and signs <= set(LOWER)) or (one.comparison in LOWER and signs <= set(UPPER))
    if opposite and not flips:
        message = f"{one.words!r} does not say {one.comparison!r}. Give the comparison that it says."
        yield Violation(code="comparison-differs", message=message, subject="problem.constraints")


def _wrong(one: Constraint) -> Constraint:
    """The accuracy of a constraint as a share of wrong answers."""
    return one.model_copy(update={"value": 1 - one.value})


def _fits(one: Constraint, amount: Amount) -> bool:
    units = {"score": ("", "percent", "time"), "model size": ("size",), "parameters": ("parameters", "")}
    shares = amount.unit in ("", "percent")
    values = [amount.number, amount.number / 100] if shares or one.quantity == "score" else [amount.value]
    return amount.unit in units.get(one.quantity, ("time",)) and any(
        abs(value - one.value) <= 1e-9 * max(1.0, abs(value)) for value in values
    )


def _target(made: Requirements, columns: Columns, answers: Mapping[str, str]) -> Iterator[Violation]:
    data, task = made.dataset, made.problem.task
    said = answers.get("dataset.target_column")
    if said and data.target_column != said:
        message = f"The answer to the question was {said!r}. Predict that column, not {data.target_column!r}."
        yield Violation(code="target-missing", message=message, subject="dataset.target_column")
    if not columns:
        return
    names = [("dataset.target_column", data.target_column)] if data.target_column or task != "clustering" else []
    names += [("dataset.excluded", one.column) for one in data.excluded]
    names += [("dataset.split.group", data.split.group)] if data.split and data.split.group else []
    for field, name in names:
        if name not in columns:
            meant = f" Did you mean {close!r}?" if (close := nearest(name, columns)) else ""
            message = f"There is no column {name!r}.{meant} There are {', '.join(list(columns)[:20])}."
            code = "target-missing" if field == "dataset.target_column" else "column-missing"
            yield Violation(code=code, message=message, subject=field)
    if data.target_column in [one.column for one in data.excluded]:
        message = f"{data.target_column!r} is to be predicted and not to be used. Choose another target."
        yield Violation(code="target-missing", message=message, subject="dataset.target_column")
    if data.target_column in columns and task is not None:
        yield from _task(made, columns[data.target_column])


def _task(made: Requirements, hint: ColumnHint) -> Iterator[Violation]:
    """A column of classes is not for a regression, nor amounts for classes; other tasks take any."""
    fit = fitting(hint)
    task = "regression" if made.problem.task == "forecasting" else made.problem.task
    if task in ("classification", "regression") and task not in fit.tasks:
        message = f"{made.problem.task} does not fit {made.dataset.target_column!r}: {fit.why}. Take {fit.tasks[0]}."
        yield Violation(code="task-misfit", message=message, subject="problem.task")


def _metric(made: Requirements) -> Iterator[Violation]:
    task = made.problem.task
    named = {"problem.metric": made.problem.metric}
    named |= {f"problem.constraints[{number}]": one.metric for number, one in enumerate(made.problem.constraints)}
    for field, metric in named.items():
        if metric is not None and task is not None and not fitting_metric(metric, task):
            fits = ", ".join(name for name, words in vocabulary().metrics.items() if task in words.tasks)
            message = f"{metric} is no metric of {task}; those are {fits}."
            yield Violation(code="metric-misfit", message=message, subject=field)


def _algorithms(made: Requirements) -> Iterator[Violation]:
    for one in made.model.algorithms:
        if one.name not in vocabulary().algorithms:
            meant = f" Did you mean {close!r}?" if (close := nearest(one.name, vocabulary().algorithms)) else ""
            message = f"{one.name!r} is no known algorithm.{meant}"
            yield Violation(code="algorithm-unknown", message=message, subject="model.algorithms")


def _amounts(words: str) -> list[Amount]:
    """The numbers in some words, those in names of metrics and algorithms aside."""
    text = Text(words)
    names = [Span(one.start, one.end) for one in (*metric_mentions(text.plain), *algorithm_mentions(text.plain))]
    return amounts(text, names)
