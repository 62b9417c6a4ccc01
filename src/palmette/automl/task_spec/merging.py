"""Merges partial tasks: fields of stronger tasks win, and lists of wishes are combined."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from palmette.automl.task_spec.spec import Constraint, FieldSource, LearnerWish, TaskSpec

_NESTED = ("split", "clusters", "forecast")
_COLUMNS = ("exclude", "known_after")


def merged(*tasks: TaskSpec) -> TaskSpec:
    """Merges partial tasks, given with the strongest first.

    A task sets the fields listed in its `sources`; nested fields are merged part by part.
    """
    return reduce(_over, tasks)


def _over(strong: TaskSpec, weak: TaskSpec) -> TaskSpec:
    values: dict[str, Any] = {}
    sources = dict(strong.sources)
    nested: dict[str, dict[str, Any]] = {name: {} for name in _NESTED}
    for path, source in weak.sources.items():
        field, _, part = path.partition(".")
        theirs, ours = _at(weak, field, part), _at(strong, field, part)
        value, kept = (theirs, source) if path not in sources else _both(field, ours, theirs, sources[path], source)
        sources[path] = kept
        if part:
            nested[field][part] = value
        else:
            values[field] = value
    for name, parts in nested.items():
        if parts:
            values[name] = getattr(strong, name).model_copy(update=parts)
    return strong.model_copy(
        update={
            **values,
            "sources": sources,
            "sentence": strong.sentence or weak.sentence,
            "unread": tuple(dict.fromkeys((*strong.unread, *weak.unread))),
            "unmet": tuple(dict.fromkeys((*strong.unmet, *weak.unmet))),
        }
    )


def _at(task: TaskSpec, field: str, part: str) -> Any:
    value = getattr(task, field)
    return getattr(value, part) if part else value


def _both(field: str, ours: Any, theirs: Any, strong: FieldSource, weak: FieldSource) -> tuple[Any, FieldSource]:
    """Merges a field that both tasks set."""
    if field in _COLUMNS:
        return tuple(dict.fromkeys((*ours, *theirs))), _together(strong, weak)
    if field in ("constraints", "learners"):
        settled = _same_limit if field == "constraints" else _decides
        lost = [one for one in theirs if any(settled(other, one) for other in ours)]
        kept = (*ours, *(one for one in theirs if one not in lost))
        return kept, _replacing(_together(strong, weak), lost, weak)
    if ours == theirs:
        return ours, strong
    return ours, _replacing(strong, [theirs], weak)


def _together(strong: FieldSource, weak: FieldSource) -> FieldSource:
    return strong.model_copy(update={"words": f"{strong.words}; {weak.origin}: {weak.words}"})


def _replacing(strong: FieldSource, lost: Sequence[Any], weak: FieldSource) -> FieldSource:
    """Returns the source of a value, which mentions the weaker values that it replaces."""
    if not lost:
        return strong
    replaced = f"instead of {', '.join(map(str, lost))}, {weak.origin}"
    return strong.model_copy(update={"words": f"{strong.words} ({replaced})"})


def _same_limit(strong: Constraint, weak: Constraint) -> bool:
    """Returns whether two limits bound the same quantity from the same side."""
    return (strong.quantity, strong.metric, strong.comparison[0]) == (weak.quantity, weak.metric, weak.comparison[0])


def _decides(strong: LearnerWish, weak: LearnerWish) -> bool:
    """Returns whether a stronger wish overrides a weaker one: both name the same learner, or both require learners."""
    return strong.name == weak.name or strong.level == weak.level == "required"
