"""The mistakes that a document can have: their texts (`problems.yaml`), and a collector of those that it has."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import resources
from typing import Any, Protocol, TypeGuard

import yaml

from palmette.documents import Located
from palmette.errors import InputError, Problem, nearest


@functools.cache
def _texts() -> Mapping[str, tuple[str, str]]:
    text = resources.files(__package__).joinpath("problems.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def fault(problem: str, value: object = None, known: Iterable[object] = (), /, **facts: object) -> Problem:
    """A mistake with its message and remedy, but without its place.

    Args:
        problem: the key in `problems.yaml`: the code, with a variant behind a slash where a code has several texts.
        value: what is wrong, as the author wrote it.
        known: the names that could have been meant by it.
        facts: what else the texts mention; collections are lists of names.
    """
    names = [str(name) for name in known]
    facts = {name: _Names(fact) if _is_listed(fact) else fact for name, fact in facts.items()}
    message, remedy = (text.format(value=value, known=_Names(names), **facts) for text in _texts()[problem])
    return Problem(
        problem.partition("/")[0],
        message,
        remedy,
        value=None if value is None else str(value),
        nearest=nearest(str(value), names) if names else None,
    )


def _is_listed(fact: object) -> TypeGuard[Iterable[object]]:
    """Whether a fact is a list of names; named tuples (types) are values."""
    return type(fact) in (list, tuple, dict)


class _Names(tuple[object, ...]):
    """Names that a text lists; `{names!r}` puts each in quotes."""

    def __str__(self) -> str:
        return ", ".join(map(str, self))

    def __repr__(self) -> str:
        return ", ".join(map(repr, self))


class Reporter(Protocol):
    """`ProblemCollector.report`, as functions take it."""

    def __call__(
        self, problem: str, field: str, value: object = None, known: Iterable[object] = (), /, **facts: object
    ) -> None: ...


class ProblemCollector:
    """The mistakes found in one document so far; nothing is raised before all of it was examined."""

    def __init__(self, document: Located[Any]) -> None:
        self._document = document
        self._found: dict[Problem, None] = {}

    def report(
        self, problem: str, field: str, value: object = None, known: Iterable[object] = (), /, **facts: object
    ) -> None:
        """A mistake in a field; the other arguments are those of `fault`."""
        self.place([fault(problem, value, known, **facts)], field)

    def place(self, faults: Iterable[Problem], field: str) -> None:
        """Mistakes in a field, with its line."""
        document = self._document
        for found in faults:
            self._found[replace(found, file=document.file, line=document.line(field), field=field)] = None

    def __len__(self) -> int:
        return len(self._found)

    @property
    def problems(self) -> list[Problem]:
        """In the order of the lines."""
        return sorted(self._found, key=lambda found: found.line or 0)

    def raise_if_any(self) -> None:
        """Raises one InputError with all mistakes."""
        if self._found:
            raise InputError(self.problems)
