"""A random walk on the permitted edges: the weakest baseline."""

from __future__ import annotations

from random import Random

from palmette.engine.planner import Decision, Situation
from palmette.engine.topology import END, STOP


class RandomPlanner:
    """Chooses uniformly among the successors, without instructions, until the task is complete.

    It follows the edges of the topology and goes to a start actor only where no edge leads on. Completion is not
    random: an end actor whose inputs are all fresh is visited at once, and the run ends as soon as it may.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def decide(self, situation: Situation) -> Decision:
        if END in situation.permitted:
            return Decision(END)
        if not situation.permitted:
            return Decision(STOP, diagnosis="No actor is permitted from here.")
        position = situation.state.position
        edges = situation.topology.actors[position].next if position in situation.topology.actors else ()
        eligible = [name for name in edges if name in situation.permitted] or list(situation.permitted)
        complete = [name for name in eligible if self._completes(situation, name)]
        return Decision(Random(f"{self._seed}:{situation.state.decisions}").choice(complete or eligible))

    def _completes(self, situation: Situation, name: str) -> bool:
        return name in situation.topology.end and situation.fresh.issuperset(situation.wiring.upstream[name])
