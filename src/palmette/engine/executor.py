"""The loop: ask the planner, hold its decision against the topology, carry it out, until END."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, JsonValue, ValidationError

from palmette.engine import events as e
from palmette.engine.actor import Violation
from palmette.engine.artefacts import plain
from palmette.engine.invocation import Invoker
from palmette.engine.ledger import Ledger
from palmette.engine.planner import Decision, Situation
from palmette.engine.setup import Setup
from palmette.engine.state import RunState
from palmette.engine.topology import END, STOP
from palmette.engine.wiring import Wiring
from palmette.errors import InputError, Problem, RunError, RunStopped, nearest

MAX_REFUSALS = 5
"""Decisions in a row that the topology forbids, before the run is stopped."""


class Executor:
    """Takes one run from its current state to its end."""

    def __init__(self, setup: Setup, folder: Path, ledger: Ledger) -> None:
        self._setup, self._ledger = setup, ledger
        self._store, self._recorder = ledger.store, ledger.recorder
        self._wiring = Wiring(setup.topology, setup.actors)
        self._invoker = Invoker(setup, self._wiring, ledger, folder)

    def run(self) -> None:
        """Walks until END; raises `RunStopped` when that cannot be reached."""
        while True:
            situation = self.situation()
            decision = self._decide(situation)
            refusal = self._refusal(decision, situation)
            if refusal:
                self._refuse(decision, refusal)
                continue
            self._recorder.record(
                e.Decided(
                    next=decision.next,
                    target=decision.target or decision.next,
                    instruction=decision.instruction,
                    diagnosis=decision.diagnosis,
                    evidence=decision.evidence,
                    question=decision.question,
                    then=decision.then,
                )
            )
            if decision.question:
                self._recorder.ask(self._setup.human, decision.question, "planner")
                self.absorb_edits()
            elif decision.next == END:
                return
            elif decision.next == STOP:
                raise RunStopped(
                    decision.diagnosis or "The planner stopped without saying why.", code="planner-stopped"
                )
            else:
                self._walk(decision.next)

    def _decide(self, situation: Situation) -> Decision:
        """The planner's decision; with the budget used up, END where that is permitted."""
        if END in situation.permitted and self._setup.budget.reached(situation.state, "step"):
            return Decision(END, diagnosis="The budget is used up, and the run may end here.")
        self._recorder.check_budget("step")
        try:
            return self._setup.planner.decide(situation)
        except RunStopped as stop:
            if stop.code == "budget-reached" and END in situation.permitted:
                return Decision(END, diagnosis=stop.message)
            raise

    def situation(self) -> Situation:
        """What the planner decides on now."""
        state, topology = self._recorder.state, self._setup.topology
        digests = state.digests
        fresh = frozenset(name for name in topology.actors if self._is_fresh(name, state))
        ready = frozenset(name for name in topology.actors if not self._wiring.missing(name, digests))
        edges = topology.actors[state.position].next if state.position in topology.actors else ()
        permitted = [name for name in dict.fromkeys([*edges, *topology.start]) if name in ready]
        if self._unmet(state, fresh) is None:
            permitted.append(END)
        return Situation(
            state=state,
            topology=topology,
            actors=self._setup.actors,
            wiring=self._wiring,
            permitted=tuple(permitted),
            fresh=fresh,
            ready=ready,
            implicated=self._implicated,
            pay=self._ledger.payer("planner"),
            artefact=lambda name: self._store.get(digests[name]),
        )

    def absorb_edits(self) -> bool:
        """Makes new versions of what a person edited, and completes working copies that a crash cut short.

        Gives whether anything was edited.
        """
        edited: dict[str, str] = {}
        for name, version in self._recorder.state.artefacts.items():
            if not self._store.is_published(name, version.digest):
                self._store.publish(name, version.digest)
                continue
            digest = self._store.put(self._edited_value(name))
            if digest != version.digest:
                edited[name] = digest
        rank = {self._setup.actors[actor].produces: index for index, actor in enumerate(self._wiring.order)}
        for name in sorted(edited, key=lambda name: rank.get(name, -1)):
            self._absorb(name, edited[name])
        return bool(edited)

    def supply(self, given: dict[str, str]) -> None:
        """Takes over given artefacts whose source has changed since the run began."""
        for name, digest in given.items():
            if self._recorder.state.supplied.get(name) != digest:
                self._recorder.record(e.ArtefactEdited(artefact=name, digest=digest, by="environment"))
                self._store.publish(name, digest)

    def _walk(self, name: str) -> None:
        state = self._recorder.state
        if self._is_fresh(name, state):
            self._recorder.record(e.ActorReused(actor=name))
        elif self._is_approved(name, state):
            self._invoker.invoke(name)

    def _is_approved(self, name: str, state: RunState) -> bool:
        """Whether a person agreed, where the policy asks; False after an edit, which needs a new decision."""
        inputs = self._wiring.present(name, state.digests)
        key = self._wiring.key(name, inputs)
        asked_for = {name, self._setup.actors[name].produces}.intersection(self._setup.approve)
        if not asked_for or (name, key) in state.approved:
            return True
        folders = ", ".join(f"artefacts/{artefact}" for artefact in inputs)
        question = f"May {name} run? Its inputs are in {folders}. (yes/no)"
        answer = self._recorder.ask(self._setup.human, question, "approval", name)
        if self.absorb_edits():
            return False
        if (answer or "").strip().casefold() not in {"y", "yes"}:
            said = f"the answer was {answer!r}" if answer else "nobody is there to ask"
            raise RunStopped(f"{name} needs a person's approval, and {said}.", code="not-approved")
        self._recorder.record(e.Approved(actor=name, key=key))
        return True

    def _is_fresh(self, name: str, state: RunState) -> bool:
        """Whether the last success had exactly the current inputs, and nothing else is asked of the actor."""
        actor = state.actor(name)
        return (
            bool(actor.key)
            and name not in state.pending
            and actor.key == self._wiring.key(name, self._wiring.present(name, state.digests))
        )

    def _unmet(self, state: RunState, fresh: frozenset[str]) -> str | None:
        """Why the run may not end yet; None when it may."""
        stale = [name for name in self._setup.topology.actors if state.actor(name).invocations and name not in fresh]
        if stale:
            return f"{', '.join(stale)} did not meet the criterion with the current inputs."
        if not fresh.intersection(self._setup.topology.end):
            return f"No end actor ({', '.join(self._setup.topology.end)}) has succeeded."
        return None

    def _refusal(self, decision: Decision, situation: Situation) -> str:
        """Why a decision is not permitted; empty when it is."""
        known = situation.topology.actors
        if decision.target and decision.target not in known:
            return f"There is no actor {decision.target!r} to instruct.{_hint(decision.target, known)}"
        if decision.question or decision.next == STOP or decision.next in situation.permitted:
            return ""
        if decision.next == END:
            return self._unmet(situation.state, situation.fresh) or ""
        if decision.next not in known:
            return f"There is no actor {decision.next!r}.{_hint(decision.next, known)}"
        if decision.next not in situation.ready:
            missing = self._wiring.missing(decision.next, situation.state.digests)
            return f"{decision.next} needs {', '.join(missing)}, which nobody has made yet."
        return (
            f"{decision.next} may not follow {situation.state.position or 'the start'}; "
            f"permitted are {', '.join(situation.permitted) or 'none'}."
        )

    def _refuse(self, decision: Decision, reason: str) -> None:
        self._recorder.record(e.DecisionRefused(next=decision.next, reason=reason))
        refusals = self._recorder.state.refusals
        if len(refusals) >= MAX_REFUSALS:
            raise RunStopped(
                f"The planner made {len(refusals)} decisions in a row that are not permitted; the last: {reason}",
                code="planner-refused",
            )

    def _implicated(self, name: str, violation: Violation) -> str | None:
        """What the actor's current (or, without one, its last refused) output has to do with a violation."""
        state, actor = self._recorder.state, self._setup.actors[name]
        version = state.artefacts.get(actor.produces)
        refused = state.actor(name).refused
        if state.actor(name).status == "failed" and refused:
            return actor.implicated(violation, self._invoker.output(name, self._store.get(refused)))
        if version is None or not state.actor(name).key:
            return None
        value = self._store.get(version.digest)
        values = value if self._setup.topology.actors[name].fan_out and isinstance(value, list) else [value]
        answers = (actor.implicated(violation, self._invoker.output(name, one)) for one in values)
        return next((answer for answer in answers if answer), None)

    def _edited_value(self, name: str) -> BaseModel | JsonValue:
        """The working copy of an artefact, as its producer's type where there is one."""
        value = self._store.read_view(name)
        producer = self._wiring.producer.get(name)
        if producer is None:
            return value
        try:
            if self._setup.topology.actors[producer].fan_out:
                return (
                    [plain(self._invoker.output(producer, one)) for one in value] if isinstance(value, list) else value
                )
            return self._invoker.output(producer, value)
        except ValidationError as error:
            raise _spoilt(self._store.views / name, error) from error

    def _absorb(self, name: str, digest: str) -> None:
        if name in self._setup.copied:
            self._store.publish(name, self._recorder.state.artefacts[name].digest)
            raise RunError(
                f"The artefact {name!r} is a copy, so editing it changes nothing; it is as it was.",
                f"Edit {self._setup.copied[name]} and resume.",
                code="edit-refused",
            )
        producer, verdict = self._wiring.producer.get(name, ""), None
        if producer and self._is_fresh(producer, self._recorder.state):
            verdict = self._invoker.recheck(producer, self._store.get(digest))
            if not verdict.ok:
                reasons = "\n".join(f"  {violation.code}: {violation.message}" for violation in verdict.violations)
                raise RunError(
                    f"The edited artefact {name!r} does not meet the criterion of {producer}:\n{reasons}\n",
                    f"Mend it in {str(self._store.views / name)!r}, or delete that to have the old one; then resume.",
                    code="edit-refused",
                )
        self._recorder.record(
            e.ArtefactEdited(artefact=name, digest=digest, by="person", actor=producer, verdict=verdict)
        )
        self._store.publish(name, digest)


def _hint(name: str, known: Iterable[str]) -> str:
    hint = nearest(name, known)
    return f" Did you mean {hint!r}?" if hint else ""


def _spoilt(view: Path, error: ValidationError) -> InputError:
    return InputError(
        [
            Problem(
                "spoilt-artefact",
                f"{detail['msg']}.",
                "Mend it and resume.",
                file=str(view / "value.json"),
                field=".".join(str(part) for part in detail["loc"]),
                value=repr(detail["input"])[:200],
            )
            for detail in error.errors()
        ]
    )
