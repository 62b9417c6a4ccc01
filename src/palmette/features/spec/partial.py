"""Documents with malformed parts: the other parts can still be checked.

This way one run reports both the unknown key in one feature and the unknown column in another.
"""

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from palmette._yaml import parse_yaml
from palmette.documents import Located, read_text
from palmette.errors import Mistake

M = TypeVar("M", bound=BaseModel)
_PART = re.compile(r"(?P<key>\w+)(?:\[(?P<index>\d+)\])?")


class Partial(NamedTuple, Generic[M]):
    """A document without its malformed parts."""

    document: Located[M]
    without: frozenset[str]
    """Top-level keys that were left out."""
    omitted: Mapping[str, frozenset[str]]
    """Names of the list elements that were left out, by list."""
    kept: Mapping[str, list[int]]
    """For each list, the index in the file of every element that was kept."""

    def locate(self, problems: Iterable[Mistake]) -> list[Mistake]:
        """Locates problems of the partial document in the file; drops those of keys that were left out."""
        places = {key: dict(enumerate(indices)) for key, indices in self.kept.items()}
        found = [each for each in problems if _part(each.field)[0] not in self.without]
        return [dataclasses.replace(each, field=_moved(each.field, places)) for each in found]


def without_broken(
    path: Path, model: type[M], problems: Iterable[Mistake], optional: Collection[str]
) -> Partial[M] | None:
    """Reads a document without the parts that have problems.

    Args:
        optional: top-level keys that other parts do not depend on. In lists, only the broken elements are left out.

    Returns:
        None if a part outside of `optional` is broken.
    """
    parsed = parse_yaml(read_text(path).removeprefix("\ufeff"))
    if not isinstance(parsed.value, dict):
        return None
    broken: dict[str, set[int]] = {}
    without: set[str] = set()
    for problem in problems:
        key, index, _ = _part(problem.field)
        meant = key if key in model.model_fields else problem.nearest
        if not key or (meant is not None and meant not in optional):
            return None
        if index is None or not isinstance(parsed.value.get(key), list):
            without.add(key)
        else:
            broken.setdefault(key, set()).add(index)
    document = {key: value for key, value in parsed.value.items() if key not in without}
    kept = {key: [index for index in range(len(document[key])) if index not in broken[key]] for key in broken}
    elements = {key: [document[key][index] for index in broken[key]] for key in broken}
    omitted = {key: frozenset(str(one.get("name")) for one in elements[key] if isinstance(one, dict)) for key in broken}
    document |= {key: [document[key][index] for index in kept[key]] for key in broken}
    try:
        value = model.model_validate(document)
    except ValidationError:
        return None
    places = {key: {index: place for place, index in enumerate(indices)} for key, indices in kept.items()}
    lines = {_moved(field, places): line for field, line in parsed.lines.items()}
    return Partial(Located(value, str(path), lines), frozenset(without), omitted, kept)


def _part(field: str) -> tuple[str, int | None, str]:
    """Splits a field into top-level key, list index and remainder."""
    match = _PART.match(field)
    if match is None:
        return "", None, field
    return match["key"], int(match["index"]) if match["index"] else None, field[match.end() :]


def _moved(field: str, places: Mapping[str, Mapping[int, int]]) -> str:
    """A field with its list index translated, by list; empty if the element was left out."""
    key, index, rest = _part(field)
    if index is None or key not in places:
        return field
    return f"{key}[{places[key][index]}]{rest}" if index in places[key] else ""
