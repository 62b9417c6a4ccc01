"""Baselines that do not locate faults: the order of the topology file, and a random walk on the permitted edges."""

from random import Random

from palmette.engine import END, STOP, Decision, Situation


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


class RandomPlanner:
    """Chooses uniformly among the successors, without instructions; where the run may end, ending is one of them.

    It goes to a start actor only where no edge leads on. Nothing draws it to a complete task.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def decide(self, situation: Situation) -> Decision:
        if not situation.permitted:
            return Decision(STOP, diagnosis="No actor is permitted from here.")
        position = situation.state.position
        edges = situation.topology.actors[position].next if position in situation.topology.actors else ()
        ahead = [name for name in situation.permitted if name in edges or name == END]
        eligible = ahead or [name for name in situation.permitted if name in situation.topology.start]
        return Decision(Random(f"{self._seed}:{situation.state.decisions}").choice(eligible))
