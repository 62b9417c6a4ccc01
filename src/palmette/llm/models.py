"""The model of each role, passed to agents and planners as the service `models`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from palmette.llm.answerer import Answerer


@dataclass(frozen=True)
class Models:
    """The models of a run. Roles without a model use the built-in rules."""

    default: Callable[[str], Answerer | None] = field(default=lambda _: None)
    """Creates the answerer of a role."""
    roles: Mapping[str, Answerer | None] = field(default_factory=dict)
    """Roles with a model of their own; None for the built-in rules."""

    def of(self, role: str) -> Answerer | None:
        """The answerer of a role; None for the built-in rules."""
        return self.roles[role] if role in self.roles else self.default(role)


OFFLINE = Models()
"""The built-in rules in every role."""
