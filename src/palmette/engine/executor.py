"""The main loop: ask the planner, check its decision against the topology, carry it out, until END.

Before it, and after each question, it takes over changes from outside: edited artefacts, changed inputs and
deleted results.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import GenericAlias
from typing import Any

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from palmette.documents import mistakes
from palmette.engine import events as e
from palmette.engine.actor import Verdict, Violation
from palmette.engine.artefacts import VALUE, canonical, plain
from palmette.engine.events import ActorUndone, ArtefactEdited
from palmette.engine.human import is_yes
from palmette.engine.invocation import Invoker
from palmette.engine.planner import Decision, Situation
from palmette.engine.recorder import PaidCallCache
from palmette.engine.setup import Setup
from palmette.engine.state import RunState
from palmette.engine.topology import END, STOP
from palmette.engine.wiring import Wiring
from palmette.errors import InputError, RunError, RunStopped, did_you_mean


class Edits:
    """Makes new versions of changed artefacts, so that exactly their dependants become stale."""

    def __init__(self, setup: Setup, wiring: Wiring, paid_calls: PaidCallCache, invoker: Invoker) -> None:
        self._setup, self._wiring, self._invoker = setup, wiring, invoker
        self._store, self._recorder = paid_calls.store, paid_calls.recorder

    def supply(self, given: Mapping[str, str]) -> None:
        """Takes over given artefacts, by name and digest, whose source has changed since the run began."""
        for name, digest in given.items():
            if self._recorder.state.supplied.get(name) != digest:
                self._recorder.record(ArtefactEdited(artefact=name, digest=digest, by="environment"))
                self._store.publish(name, digest)

    def absorb(self) -> bool:
        """Takes over edits, and completes working copies that a crash left incomplete.

        Returns whether anything was edited.

        Raises:
            InputError: a working copy is unreadable or no longer matches its type.
            RunError: an edited output does not meet its actor's criterion, is measured, or is a copy.
        """
        edited: dict[str, str] = {}
        for name, version in self._recorder.state.artefacts.items():
            if not self._store.is_published(name, version.digest):
                self._store.publish(name, version.digest)
                continue
            digest = self._store.put(self._value(name))
            if digest != version.digest:
                edited[name] = digest
        rank = {self._setup.actors[actor].produces: index for index, actor in enumerate(self._wiring.order)}
        for name in sorted(edited, key=lambda name: rank.get(name, -1)):
            self._take_over(name, edited[name])
        return bool(edited)

    def look_outside(self) -> None:
        """Marks actors stale whose results outside the artefacts no longer exist."""
        for name in self._setup.topology.actors:
            if self._wiring.is_fresh(name, self._recorder.state) and not self._invoker.stands(name):
                self._recorder.record(ActorUndone(actor=name))

    def _value(self, name: str) -> JsonValue:
        """The working copy of an artefact, as its producer's type where there is one."""
        value = self._store.read_copy(name)
        producer = self._wiring.producer.get(name)
        if producer is None:
            return value
        is_list = bool(self._setup.topology.actors[producer].fan_out)
        return typed(value, self._setup.actors[producer].Output, is_list, self._store.copies / name / VALUE)

    def _take_over(self, name: str, digest: str) -> None:
        producer = self._wiring.producer.get(name, "")
        if name in self._setup.copied:
            raise self._refused(name, "is a copy", f"Edit {self._setup.copied[name]} and resume.")
        if producer and self._setup.actors[producer].is_measured:
            raise self._refused(name, "is measured", f"Edit what {producer} measures, and resume.")
        verdict = self._verdict(name, producer, digest) if producer else None
        edit = ArtefactEdited(artefact=name, digest=digest, by="person", actor=producer, verdict=verdict)
        self._recorder.record(edit)
        self._store.publish(name, digest)

    def _refused(self, name: str, why: str, remedy: str) -> RunError:
        """The error for an edit without effect, after restoring the artefact."""
        self._store.publish(name, self._recorder.state.artefacts[name].digest)
        message = f"The artefact {name!r} {why}, so editing it changes nothing; it is as it was."
        return RunError(message, remedy, code="edit-refused")

    def _verdict(self, name: str, producer: str, digest: str) -> Verdict | None:
        """The verdict of the producer's criterion, which must be ok; None if the producer will redo its work anyway."""
        if not self._wiring.is_fresh(producer, self._recorder.state):
            return None
        verdict = self._invoker.recheck(producer, self._store.get(digest))
        if not verdict.ok:
            reasons = "\n".join(f"  {violation.code}: {violation.message}" for violation in verdict.violations)
            message = f"The edited artefact {name!r} does not meet the criterion of {producer}:\n{reasons}\n"
            remedy = f"Mend it in {str(self._store.copies / name)!r}, or delete that to have the old one; then resume."
            raise RunError(message, remedy, code="edit-refused")
        return verdict


def typed(value: JsonValue, output: type[BaseModel], is_list: bool, file: Path) -> JsonValue:
    """An edited artefact as its actor's type, with defaults; InputError with lines of the file if it does not fit."""
    model: Any = GenericAlias(list, (output,)) if is_list else output
    try:
        return plain(TypeAdapter(model).validate_json(canonical(value)))
    except ValidationError as error:
        raise InputError(mistakes(error, model, value, file.read_text("utf-8-sig"), str(file))) from error


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
