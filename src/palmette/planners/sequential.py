"""A fixed order: the actors as listed in the topology file. A baseline that does not locate faults."""

from __future__ import annotations

from palmette.engine.planner import Decision, Situation
from palmette.engine.topology import END, STOP


class SequentialPlanner:
    """Visits the actors in the order of the file, without instructions; the first failure ends the run."""

    def decide(self, situation: Situation) -> Decision:
        state = situation.state
        for name in situation.topology.actors:
            if name in situation.fresh:
                continue
            if failure := state.actor(name).failure:
                what = "; ".join(violation.message for violation in failure.violations) or failure.reason
                return Decision(STOP, diagnosis=f"{name} failed, and a fixed order has no answer to that: {what}")
            way = situation.way(name)
            if not way:
                return Decision(STOP, diagnosis=f"{name} comes next in the file, but no permitted way leads to it.")
            return Decision(way[0])
        return Decision(END)
