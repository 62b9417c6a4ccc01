"""The texts of mistakes, in `problems.yaml`: message and remedy by code."""

import functools
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from typing import Any, TypeVar

import yaml

from palmette.errors import Mistake, PalmetteError, nearest

E = TypeVar("E", bound=PalmetteError)
Reporter = Callable[..., None]  # reports a problem, like `palmette.documents.ProblemCollector.report`


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
    code, close = problem.partition("/")[0], nearest(str(value), names) if names else None
    return Mistake(code, message, remedy, value=None if value is None else str(value), nearest=close)


def error_of(kind: type[E], problem: str, value: object = None, known: Iterable[object] = (), /, **facts: Any) -> E:
    """A problem that is not one of a document as an error of this kind; the other arguments are those of `fault`."""
    found = fault(problem, value, known, **facts)
    hint = f" Did you mean {found.nearest!r}?" if found.nearest else ""
    return kind(f"{found.message}{hint}", found.remedy, code=found.code)


class _Names(tuple[object, ...]):
    """Names to list in a text; `{names!r}` quotes each of them."""

    def __str__(self) -> str:
        return ", ".join(map(str, self)) or "none"

    def __repr__(self) -> str:
        return ", ".join(map(repr, self))
