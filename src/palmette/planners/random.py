"""A random walk on the permitted edges: the weakest baseline for comparison."""

from __future__ import annotations

from random import Random

from palmette.engine.planner import Decision, Situation
from palmette.engine.topology import END, STOP


class RandomPlanner:
    """Chooses uniformly among what is permitted, without instructions; ends as soon as that is allowed."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def decide(self, situation: Situation) -> Decision:
        if END in situation.permitted:
            return Decision(END)
        if not situation.permitted:
            return Decision(STOP, diagnosis="No actor is permitted from here.")
        choice = Random(f"{self._seed}:{situation.state.decisions}").choice(situation.permitted)
        return Decision(choice)
