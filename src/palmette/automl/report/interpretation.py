"""How a request was read: each value with the words, flag or default that it comes from."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from palmette.automl.candidates import Blueprint
from palmette.automl.formatting import clean, constraint, learner, metric, names, seconds
from palmette.automl.task_spec.spec import FieldSource, TaskSpec
from palmette.documents import Model

LEVELS = {"required": "only", "preferred": "first", "forbidden": "without", "baseline": "compared with"}


class Interpreted(NamedTuple):
    field: str
    value: str
    source: str  # the origin of the value


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _fields(found: Model) -> str:
    """The fields that have a value, as a task file names them."""
    given = ((name.replace("_", " "), value) for name, value in found if value not in (None, "", ()))
    return "; ".join(f"{name} {_plain(value)}" for name, value in given)


FORMATS: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(("clusters", "forecast", "split"), _fields),
    "metric": metric,
    "constraints": lambda found: "; ".join(map(constraint, found)),
    "learners": lambda found: "; ".join(f"{LEVELS[one.level]} {learner(one.name)}" for one in found),
    "ensemble": lambda found: "several models together" if found else "one model",
    "data": lambda found: ", ".join(place.rstrip("/").rpartition("/")[2] for place in found),
    "budget": seconds,
}
"""Formatters of fields that `_plain` does not show well."""
ELSEWHERE = frozenset({"sentence", "sources", "unread", "unmet"})  # fields that are shown beside the interpretation
DECIDED = ("problem", "target", "metric", "positive")  # fields that the data decide if the request does not


def interpretation(task: TaskSpec, blueprint: Blueprint | None = None) -> tuple[Interpreted, ...]:
    """Fields that were given, read or assumed; with a blueprint also those that the data decided."""
    found = []
    for name, field in type(task).model_fields.items():
        value = getattr(task, name)
        sources = [one for path, one in task.sources.items() if path.partition(".")[0] == name]
        if name in DECIDED and not value and blueprint and getattr(blueprint, name):
            value, sources = getattr(blueprint, name), sources or [FieldSource(origin="data")]
        is_default = value == field.get_default(call_default_factory=True)
        if name not in ELSEWHERE and value not in (None, "", ()) and (sources or not is_default):
            shown = task.forecast.targets or value if name == "target" else value
            text = FORMATS.get(name, _plain)(shown)
            words = dict.fromkeys(_source(one, name) for one in sources)
            found.append(Interpreted(name, text, "; ".join(words) or "default"))
    return tuple(one for one in found if one.value)


def interpretation_lines(task: TaskSpec) -> list[str]:
    """The interpretation as lines of text, followed by unread words and unmet wishes."""
    rows = [[clean(text) for text in one] for one in interpretation(task)]
    field, value = (max((len(row[place]) for row in rows), default=0) for place in (0, 1))
    lines = [f"{row[0]:<{field}}  {row[1]:<{min(value, 40)}}  {row[2]}" for row in rows]
    unread = [f"? not understood, without effect: {clean(words)}" for words in task.unread]
    return [*lines, *unread, *(f"✗ cannot be met: {clean(words)}" for words in task.unmet)]


def _source(source: FieldSource, name: str) -> str:
    match source.origin:
        case "flag" if source.words:
            return source.words.partition(" ")[0] if name == "data" else source.words  # paths are long
        case "sentence" | "model" | "answer" if source.words:
            reader = ", read by a language model" if source.origin == "model" else ""
            return f"“{source.words}”{reader}"
        case _:
            origin = names("origins")[source.origin]
            return f"{origin}: {source.words}" if source.words else origin
