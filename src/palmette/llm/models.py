"""Which model answers in which role: opened once a run, handed to agents and planners as the service `models`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from palmette.llm.answerer import Answerer


@dataclass(frozen=True)
class Models:
    """The models of a run. A role that no model is named for is answered by the built-in rules."""

    default: Callable[[str], Answerer | None] = field(default=lambda _: None)
    """Makes the answerer of a role."""
    roles: Mapping[str, Answerer | None] = field(default_factory=dict)
    """Roles with a model of their own; None for the built-in rules."""

    def of(self, role: str) -> Answerer | None:
        """Who answers in a role; None for the built-in rules."""
        return self.roles[role] if role in self.roles else self.default(role)


OFFLINE = Models()
"""The built-in rules in every role."""
