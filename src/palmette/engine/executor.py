"""The main loop: ask the planner, check its decision against the topology, carry it out, until END."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from palmette.engine import events as e
from palmette.engine.actor import Violation
from palmette.engine.edits import Edits
from palmette.engine.human import is_yes
from palmette.engine.invocation import Invoker
from palmette.engine.planner import Decision, Situation
from palmette.engine.recorder import PaidCallCache
from palmette.engine.setup import Setup
from palmette.engine.state import RunState
from palmette.engine.topology import END, STOP
from palmette.engine.wiring import Wiring
from palmette.errors import RunStopped, did_you_mean

MAX_REFUSALS = 5  # consecutive refused decisions that stop the run


class Executor:
    """Runs one run from its current state to its end."""

    def __init__(self, setup: Setup, folder: Path, paid_calls: PaidCallCache) -> None:
        self._setup, self._paid_calls = setup, paid_calls
        self._store, self._recorder = paid_calls.store, paid_calls.recorder
        self._wiring = Wiring(setup.topology, setup.actors)
        self._invoker = Invoker(setup, self._wiring, paid_calls, folder)
        self._edits = Edits(setup, self._wiring, paid_calls, self._invoker)

    def run(self, given: Mapping[str, str]) -> None:
        """Takes over changes from outside, then loops until END; `given`: the digests of given artefacts.

        Raises:
            RunStopped: END cannot be reached.
        """
        self._edits.supply(given)
        self._edits.absorb()
        self._edits.look_outside()
        while True:
            situation = self._situation()
            decision = self._decide(situation)
            refusal = self._refusal(decision, situation)
            if refusal:
                self._refuse(decision, refusal)
                continue
            self._recorder.record(e.Decided(**vars(decision) | {"target": decision.target or decision.next}))
            if decision.question:
                self._recorder.ask(self._setup.human, decision.question, "planner")
                self._edits.absorb()
            elif decision.next == END:
                return
            elif decision.next == STOP:
                raise RunStopped(decision.diagnosis or "The planner stopped without a reason.", code="planner-stopped")
            else:
                for name in self._reachable(situation.state, situation.fresh)[decision.next]:
                    self._recorder.record(e.ActorReused(actor=name))
                self._walk(decision.next)

    def _decide(self, situation: Situation) -> Decision:
        """The planner's decision; END if the budget is used up and END is permitted."""
        if END in situation.permitted and self._setup.budget.reached(situation.state, "step"):
            return Decision(END, diagnosis="The budget is used up, and the run may end here.")
        self._recorder.check_budget("step")
        try:
            return self._setup.planner.decide(situation)
        except RunStopped as stop:
            if stop.code == "budget-reached" and END in situation.permitted:
                return Decision(END, diagnosis=stop.message)
            raise

    def _situation(self) -> Situation:
        """The planner's current situation."""
        state, topology = self._recorder.state, self._setup.topology
        digests = state.digests
        fresh = frozenset(name for name in topology.actors if self._wiring.is_fresh(name, state))
        permitted = [*self._reachable(state, fresh)]
        if self._unmet(state, fresh) is None:
            permitted.append(END)
        return Situation(
            state=state,
            topology=topology,
            actors=self._setup.actors,
            wiring=self._wiring,
            permitted=tuple(permitted),
            fresh=fresh,
            implicated=self._implicated,
            pay=self._paid_calls.payer("planner"),
            artefact=lambda name: self._store.get(digests[name]),
            recall=self._setup.recall,
        )

    def _reachable(self, state: RunState, fresh: frozenset[str]) -> dict[str, tuple[str, ...]]:
        """The actors that the next step may go to, each with the fresh actors passed on the way, at no cost."""
        nodes, digests = self._setup.topology.actors, state.digests
        edges = nodes[state.position].next if state.position in nodes else ()
        ways = {name: tuple[str, ...]() for name in (*edges, *self._setup.topology.start)}
        waiting = list(ways)
        for name in waiting:  # grows while fresh actors lead on
            found = [other for other in nodes[name].next if name in fresh and other not in ways]
            ways |= {other: (*ways[name], name) for other in found}
            waiting += found
        return {name: way for name, way in ways.items() if not self._wiring.missing(name, digests)}

    def _walk(self, name: str) -> None:
        state = self._recorder.state
        if self._wiring.is_fresh(name, state):
            self._recorder.record(e.ActorReused(actor=name))
        elif self._is_approved(name, state):
            self._invoker.invoke(name)

    def _is_approved(self, name: str, state: RunState) -> bool:
        """Whether a person approved, where the policy requires it; False after an edit, which needs a new decision."""
        inputs = self._wiring.present(name, state.digests)
        key = self._wiring.key(name, inputs)
        names = {name, self._setup.actors[name].produces}
        if names.isdisjoint(self._setup.approve) or (name, key) in state.approved:
            return True
        if names.isdisjoint(self._setup.agreed) and not self._agrees(name, inputs):
            return False
        self._recorder.record(e.Approved(actor=name, key=key))
        return True

    def _agrees(self, name: str, inputs: Iterable[str]) -> bool:
        """Whether a person approves when asked; False after an edit."""
        folders = ", ".join(f"artefacts/{artefact}" for artefact in inputs)
        question = f"May {name} run? Its inputs are in {folders}. (yes/no)"
        answer = self._recorder.ask(self._setup.human, question, "approval", name)
        if self._edits.absorb():
            return False
        if not is_yes(answer):
            reply = f"the answer was {answer!r}" if answer else "nobody is there to ask"
            look = f"Look at {folders}; to agree, resume with --approve {name}."
            raise RunStopped(f"{name} needs a person's approval, and {reply}. {look}", code="not-approved")
        return True

    def _unmet(self, state: RunState, fresh: frozenset[str]) -> str | None:
        """Why the run may not end yet; None if it may."""
        stale = [name for name in self._setup.topology.actors if state.actor(name).invocations and name not in fresh]
        if stale:
            return f"{', '.join(stale)} did not meet the criterion with the current inputs."
        if not fresh.intersection(self._setup.topology.end):
            return f"No end actor ({', '.join(self._setup.topology.end)}) has succeeded."
        return None

    def _refusal(self, decision: Decision, situation: Situation) -> str:
        """Why a decision is not permitted; empty if it is."""
        known = situation.topology.actors
        targets = filter(None, (decision.target, *(order.actor for order in decision.also)))
        if unknown := next((name for name in targets if name not in known), None):
            return f"There is no actor {unknown!r} to instruct.{did_you_mean(unknown, known)}"
        if decision.question or decision.next == STOP or decision.next in situation.permitted:
            return ""
        if decision.next == END:
            return self._unmet(situation.state, situation.fresh) or ""
        if decision.next not in known:
            return f"There is no actor {decision.next!r}.{did_you_mean(decision.next, known)}"
        if missing := self._wiring.missing(decision.next, situation.state.digests):
            return f"{decision.next} needs {', '.join(missing)}, which does not exist yet."
        return (
            f"{decision.next} may not follow {situation.state.position or 'the start'}; "
            f"permitted are {', '.join(situation.permitted) or 'none'}."
        )

    def _refuse(self, decision: Decision, reason: str) -> None:
        self._recorder.record(e.DecisionRefused(next=decision.next, reason=reason))
        refusals = self._recorder.state.refusals
        if len(refusals) >= MAX_REFUSALS:
            message = f"The planner made {len(refusals)} decisions in a row that are not permitted; the last: {reason}"
            raise RunStopped(message, code="planner-refused")

    def _implicated(self, name: str, violation: Violation) -> str | None:
        """How the actor's current output, or its last rejected one, relates to a violation."""
        state = self._recorder.state
        version = state.artefacts.get(self._setup.actors[name].produces)
        refused = state.actor(name).refused
        if state.actor(name).status == "failed" and refused:
            return self._invoker.implicated(name, violation, self._store.get(refused))
        if version is None or not state.actor(name).key:
            return None
        value = self._store.get(version.digest)
        values = value if self._setup.topology.actors[name].fan_out and isinstance(value, list) else [value]
        answers = (self._invoker.implicated(name, violation, one) for one in values)
        return next((answer for answer in answers if answer), None)
