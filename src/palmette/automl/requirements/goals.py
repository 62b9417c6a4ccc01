"""Task and target, decided together: what the words say, held against the columns; one question at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, cast, get_args

from palmette.automl.requirements.columns import Columns
from palmette.automl.requirements.model import Assumption, Metric, Question, Task
from palmette.automl.requirements.targets import Chosen, Spoken
from palmette.automl.requirements.tasks import Said, fitting
from palmette.automl.requirements.vocabulary import vocabulary

TARGET: Literal["dataset.target_column"] = "dataset.target_column"
TASK: Literal["problem.task"] = "problem.task"
_WHY = {
    "values": "the request speaks of its values",
    "usual": "its name is that of a target",
    "outcome": "its name is that of an outcome",
    "last": "it is the last column",
}
_FIRST: Mapping[tuple[Task, bool], tuple[Metric, ...]] = {
    ("regression", True): ("r2", "mape", "rmse"),
    ("regression", False): ("rmse", "mae", "r2"),
    ("classification", True): ("accuracy", "f1_macro", "roc_auc"),
    ("classification", False): ("log_loss", "accuracy"),
    ("clustering", True): ("silhouette", "adjusted_rand"),
    ("forecasting", True): ("r2", "smape", "mase"),
    ("forecasting", False): ("mae", "rmse", "mase"),
}


_EACH_ROW = (
    "each row is predicted from its own columns, which must be known beforehand, and tested on the latest rows; "
    "a future series is not made"
)


class Goal(NamedTuple):
    """What is to be predicted and how."""

    task: Task | None
    column: str
    chosen: Chosen
    said: Said
    spoken: Spoken | None = None
    """The words for the target."""
    question: Question | None = None
    assumptions: tuple[Assumption, ...] = ()
    named: bool = False
    """Whether the request names an algorithm or a metric."""
    by_time: bool = False
    """Whether it is to be tested on the latest rows, as of a forecast that each row allows on its own."""


def metrics_for(task: Task, bounded: bool) -> tuple[Metric, ...]:
    """Metrics of a task, the one to take by default first; bounded ones for a bound such as 95 %."""
    found = _FIRST.get((task, bounded))
    return found or tuple(name for name, words in vocabulary().metrics.items() if task in words.tasks)


def decide(said: Said, chosen: Chosen, spoken: Sequence[Spoken], columns: Columns, answers: Mapping[str, str]) -> Goal:
    """The goal; its default where something is open, together with the question."""
    if said.task == "clustering":
        return _clustering(said, chosen, spoken)
    words = chosen.spoken or (spoken[0] if spoken and not columns else None)
    if not chosen.column:
        return Goal(said.task, "", chosen, said, words)
    if (column := answers.get(TARGET, "")) in columns:
        return _with_task(Goal(None, column, chosen, said, words), columns, answers)
    if len(options := (chosen.column, *chosen.others)) > 1:
        asked = f"Which column is to be predicted: {_or(options)}?"
        question = Question(about=TARGET, text=asked, options=options)
        noted = Assumption(
            field=TARGET, value=chosen.column, why=f"the request fits {_or(options)} equally; it is the first"
        )
        return _with_task(Goal(None, chosen.column, chosen, said, words, question, (noted,)), columns, answers)
    unsure = chosen.how in ("outcome", "last") or (chosen.how == "usual" and said.strength == "none")
    if unsure and chosen.spoken is not None:
        ranked = (chosen.column, *(name for name in columns if name != chosen.column))[:8]
        asked = f"No column goes by {chosen.spoken.words!r}. Which one is to be predicted?"
        noted = Assumption(
            field=TARGET, value=chosen.column, why=f"no column goes by {chosen.spoken.words!r}; {_WHY[chosen.how]}"
        )
        question = Question(about=TARGET, text=asked, options=ranked, blind=chosen.how != "usual")
        return _with_task(Goal(None, chosen.column, chosen, said, words, question, (noted,)), columns, answers)
    if chosen.how == "last":
        ranked = (chosen.column, *(name for name in columns if name != chosen.column))[:8]
        asked = "No words say which column is to be predicted. Which one?"
        question = Question(about=TARGET, text=asked, options=ranked)
        noted = Assumption(field=TARGET, value=chosen.column, why=_WHY["last"])
        return _with_task(Goal(None, chosen.column, chosen, said, words, question, (noted,)), columns, answers)
    noted_ = (Assumption(field=TARGET, value=chosen.column, why=_WHY[chosen.how]),) if chosen.how in _WHY else ()
    return _with_task(Goal(None, chosen.column, chosen, said, words, None, noted_), columns, answers)


def _clustering(said: Said, chosen: Chosen, spoken: Sequence[Spoken]) -> Goal:
    """The target of a clustering: only labels that the request wants the groups compared with."""
    sure = next((one for one in spoken if one.sure == 0), None)
    hows = ("said", "absent", "usual")
    known = chosen if chosen.how in hows and chosen.spoken is not None and chosen.spoken.sure == 0 else Chosen()
    noted = (Assumption(field=TARGET, value=known.column, why=_WHY["usual"]),) if known.how == "usual" else ()
    return Goal("clustering", known.column, known, said, sure, assumptions=noted)


def _with_task(goal: Goal, columns: Columns, answers: Mapping[str, str]) -> Goal:
    """The goal with its task: the one that the words name where the column allows it."""
    said, hint = goal.said, columns[goal.column]
    fit = fitting(hint)
    if answers.get(TASK) in get_args(Task):
        return goal._replace(task=cast(Task, answers[TASK]))
    if said.task == "forecasting":
        numbers, wants_series = "regression" in fit.tasks, said.serial or said.strength == "implied"
        if numbers and not wants_series and _can_stand_alone(goal, columns):
            noted = Assumption(field=TASK, value="regression", why=_EACH_ROW)
            return goal._replace(task="regression", by_time=True, assumptions=(*goal.assumptions, noted))
        series = numbers and (wants_series or _is_series(columns))
        said = said if series else said._replace(task="regression", strength="weak")
        if series:
            return goal._replace(task="forecasting")
    if said.coming and "regression" in fit.tasks and _is_series(columns):
        return goal._replace(task="forecasting")
    if said.task in fit.tasks and (said.strength != "none"):
        return goal._replace(task=said.task, assumptions=(*goal.assumptions, *_noted(goal, said, fit.tasks, fit.why)))
    disputed = said.strength == "explicit" or len(fit.tasks) > 1
    task = fit.tasks[0]
    noted = Assumption(field=TASK, value=task, why=f"of {goal.column!r}: {fit.why}")
    if not disputed or goal.question is not None:
        return goal._replace(task=task, assumptions=(*goal.assumptions, noted))
    options = tuple(dict.fromkeys((*fit.tasks, *((said.task,) if said.strength == "explicit" and said.task else ()))))
    asked = f"Is {goal.column!r} to be predicted by {_or(options)}? Of the column: {fit.why}."
    question = Question(about=TASK, text=asked, options=options)
    return goal._replace(task=task, question=question, assumptions=(*goal.assumptions, noted))


def _can_stand_alone(goal: Goal, columns: Columns) -> bool:
    """Whether rows have a time, and something else to predict the target from."""
    kinds = {hint.kind for name, hint in columns.items() if name != goal.column}
    return "datetime" in kinds and bool(kinds - {"datetime", "identifier", "constant"})


def _is_series(columns: Columns) -> bool:
    """Whether rows go by a time: one of the columns holds about as many times as any has values."""
    most = max((hint.distinct or 0 for hint in columns.values()), default=0)
    return any(hint.kind == "datetime" and (hint.distinct or most) * 2 >= most for hint in columns.values())


def _noted(goal: Goal, said: Said, tasks: Sequence[Task], why: str) -> tuple[Assumption, ...]:
    """An assumption where words that only hint decided between two tasks."""
    if said.strength != "weak" or len(tasks) < 2:
        return ()
    return (Assumption(field=TASK, value=str(said.task), why=f"of {goal.column!r}: {why}; the words lean to it"),)


def _or(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
