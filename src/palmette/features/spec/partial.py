"""A specification some of whose features or tests have mistakes of form: the rest of it can still be examined.

So a person sees the unknown key in one feature and the unknown column in another at once.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from palmette._yaml import parse_yaml
from palmette.documents import Located, read_text
from palmette.errors import Problem
from palmette.features.spec.fsc import FeatureSpec

_ELEMENT = re.compile(r"(?P<list>features|tests)\[(?P<index>\d+)\]")


class Partial(NamedTuple):
    """What is left of a specification."""

    spec: Located[FeatureSpec]
    omitted: frozenset[str]
    """Names of features that were left out."""
    kept: Mapping[str, list[int]]
    """Places in the file, by list."""

    def as_written(self, problem: Problem) -> Problem:
        """A problem of what is left, with its field as it is in the file."""
        place = _ELEMENT.match(problem.field)
        if place is None:
            return problem
        index = self.kept[place["list"]][int(place["index"])]
        return dataclasses.replace(problem, field=f"{place['list']}[{index}]{problem.field[place.end() :]}")


def without_broken(path: Path, problems: Iterable[Problem]) -> Partial | None:
    """The specification without the features and tests that have problems; None where others are broken, too."""
    broken: dict[str, set[int]] = {"features": set(), "tests": set()}
    for problem in problems:
        place = _ELEMENT.match(problem.field)
        if place is None:
            return None
        broken[place["list"]].add(int(place["index"]))
    parsed = parse_yaml(read_text(path))
    document, kept, names = dict(parsed.value), dict[str, list[int]](), set[str]()
    for name, indices in broken.items():
        items = document.get(name) or []
        kept[name] = [index for index in range(len(items)) if index not in indices]
        document[name] = [items[index] for index in kept[name]]
        names |= {str(items[index].get("name")) for index in indices if isinstance(items[index], dict)}
    try:
        spec = FeatureSpec.model_validate(document)
    except ValidationError:
        return None
    lines = {_moved(field, kept): line for field, line in parsed.lines.items()}
    return Partial(Located(spec, str(path), lines), frozenset(names), kept)


def _moved(field: str, kept: Mapping[str, list[int]]) -> str:
    """A field of the file as it is in what is left; empty for what was left out."""
    place = _ELEMENT.match(field)
    if place is None:
        return field
    index = int(place["index"])
    if index not in kept[place["list"]]:
        return ""
    return f"{place['list']}[{kept[place['list']].index(index)}]{field[place.end() :]}"
