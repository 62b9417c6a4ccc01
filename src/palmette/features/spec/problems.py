"""Problems of documents: their texts (`problems.yaml`), and a collector."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import resources
from typing import Any

import yaml

from palmette.documents import Located
from palmette.errors import InputError, Mistake, nearest


@functools.cache
def _texts() -> Mapping[str, tuple[str, str]]:
    text = resources.files(__package__).joinpath("problems.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def fault(problem: str, value: object = None, known: Iterable[object] = (), /, **facts: Any) -> Mistake:
    """A problem with its message and remedy, but without a location.

    Args:
        problem: the key in `problems.yaml`: a code, followed by `/` and a variant if the code has several texts.
        value: the wrong value as the author wrote it.
        known: valid names, for suggestions.
        facts: further values for the texts; collections, but not named tuples, are formatted as lists of names.
    """
    names = [str(name) for name in known]
    facts = {name: _Names(fact) if type(fact) in (list, tuple, dict) else fact for name, fact in facts.items()}
    message, remedy = (text.format(value=value, known=_Names(names), **facts) for text in _texts()[problem])
    return Mistake(
        problem.partition("/")[0],
        message,
        remedy,
        value=None if value is None else str(value),
        nearest=nearest(str(value), names) if names else None,
    )


class _Names(tuple[object, ...]):
    """Names to list in a text; `{names!r}` quotes each of them."""

    def __str__(self) -> str:
        return ", ".join(map(str, self))

    def __repr__(self) -> str:
        return ", ".join(map(repr, self))


Reporter = Callable[..., None]
"""Reports a problem, like `ProblemCollector.report`."""


class ProblemCollector:
    """Collects the problems of one document; nothing is raised until the whole document has been checked."""

    def __init__(self, document: Located[Any]) -> None:
        self._document = document
        self._found: dict[Mistake, None] = {}

    def report(
        self, problem: str, field: str, value: object = None, known: Iterable[object] = (), /, **facts: object
    ) -> None:
        """Adds a problem of a field; the other arguments are those of `fault`."""
        self.add([fault(problem, value, known, **facts)], field)

    def add(self, faults: Iterable[Mistake], field: str) -> None:
        """Adds problems of a field, with its line number."""
        document = self._document
        for found in faults:
            self._found[replace(found, file=document.file, line=document.line(field), field=field)] = None

    def __len__(self) -> int:
        return len(self._found)

    @property
    def problems(self) -> list[Mistake]:
        """The problems, sorted by line."""
        return sorted(self._found, key=lambda found: found.line or 0)

    def raise_if_any(self) -> None:
        """Raises one InputError with all problems, if there are any."""
        if self._found:
            raise InputError(self.problems)
