"""An environment's own section of the end screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from palmette.engine import RunResult


class Report(NamedTuple):
    """A section of the screen, of the JSON object, and of what to do next."""

    title: str
    made: str
    """The key in `facts` that is empty as long as there is no product."""
    facts: Callable[[RunResult], dict[str, Any]]
    """What is added to the JSON object of a run."""
    show: Callable[[Mapping[str, Any]], None]
    """Prints the product, from the JSON object."""
    next: Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]]
    """What to do with it: in a word or two, and the command."""
    begin: Callable[[Mapping[str, Any]], None] = lambda _: None
    """Prints the part of the screen before all others."""
