"""An environment's own section of the end screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from palmette.engine import RunResult


class Report(NamedTuple):
    """An environment's section of the screen, of the JSON object, and of the next steps."""

    title: str
    made: str
    """The key in `facts` that is empty until there is a product."""
    facts: Callable[[RunResult], dict[str, Any]]
    """Additions to the JSON object of a run."""
    show: Callable[[Mapping[str, Any]], None]
    """Prints the product, from the JSON object."""
    next: Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]]
    """Next steps: a short label and the command."""
    begin: Callable[[Mapping[str, Any]], None] = lambda _: None
    """Prints the first part of the screen."""
