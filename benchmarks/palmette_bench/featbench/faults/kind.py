"""A kind of fault: a small, documented change of a real artefact, and the evidence that identifies it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from palmette.engine import Violation
from palmette.features.spec.view import View


class Faulted(NamedTuple):
    """An artefact with a fault in it."""

    output: Any
    tells: tuple[str, ...] = ()
    """Every violation of the fault contains one of these; empty where its code identifies it."""


class FaultSite(NamedTuple):
    """Where a fault is put in."""

    view: View
    passes: Callable[[Any], bool]
    """Whether the actor's own criterion lets an artefact pass."""


Mutate = Callable[[Any, FaultSite], "Faulted | None"]
"""Puts the fault into an artefact; None where it has no place there."""


def anywhere(change: Callable[[Any], Faulted | None]) -> Mutate:
    """A change that needs nothing but the artefact."""

    @wraps(change)
    def mutate(output: Any, site: FaultSite) -> Faulted | None:  # noqa: ARG001 - as all take it
        return change(output)

    return mutate


def with_text(output: Any, text: str) -> Any:
    """An artefact with another text of its file."""
    return output.model_copy(update={"file": output.file.model_copy(update={"text": text})})


class FaultKind(NamedTuple):
    """A kind of fault of one actor."""

    name: str
    actor: str
    latent: bool
    """Whether the actor's own criterion lets it pass, so that it shows downstream only."""
    codes: frozenset[str]
    """Of the violations that it leads to."""
    mutate: Mutate

    def betrayed_by(self, violation: Violation, tells: tuple[str, ...]) -> bool:
        """Whether this violation is evidence of this fault."""
        text = f"{violation.subject}\n{violation.message}\n{violation.evidence}"
        return violation.code in self.codes and (not tells or any(tell in text for tell in tells))
