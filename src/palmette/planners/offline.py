"""Plans a run by rules, without a language model: locates the fault, never retries blindly.

After a failure every upstream actor, first to last, and then the failed actor itself, is asked whether the
violations implicate its output; those that fixed such failures in earlier runs are asked before the others. Each
violation goes, as an instruction, to the first one implicated that was not yet sent back for it; the first of these
runs next, and the others run again on the way back. If none is left, an implicated actor whose output has changed since
may be sent back again. Then the human is asked one question; without an answer the run
stops and reports what was tried. Without a failure, the next actor is the nearest stale one.
"""

from collections.abc import Iterable
from dataclasses import replace

from palmette.engine import END, STOP, Decision, Situation, Violation
from palmette.engine.events import ActorFailed, Order

RETURNS = 5  # maximum outputs for which an actor is sent back because of one violation


class OfflinePlanner:
    """Decides by rules, from the situation alone."""

    def decide(self, situation: Situation) -> Decision:
        for name in self._wanted(situation):
            failure = situation.state.actor(name).failure
            if failure and self._is_open(situation, name, failure):
                if advice := self._advice(situation, name, failure):
                    return self._send_back(situation, name, advice)
                if name not in situation.fresh:
                    return self._ask(situation, name, failure)
        return self._advance(situation)

    def _wanted(self, situation: Situation) -> tuple[str, ...]:
        """The actors that must be fresh before the run may end, producers first."""
        invoked = [name for name in situation.topology.actors if situation.state.actor(name).invocations]
        instructed = [name for name in situation.topology.actors if name in situation.state.pending]
        return situation.wiring.needed([*situation.topology.end, *invoked, *instructed])

    def _is_open(self, situation: Situation, name: str, failure: ActorFailed) -> bool:
        """Whether a failure still holds: none of its inputs has changed or is about to.

        An actor that did not manage what it was sent back for is open although its earlier output is still there.
        """
        if name in situation.state.pending or (name in situation.fresh and not situation.state.actor(name).refused):
            return False
        wiring = situation.wiring
        if failure.key != wiring.current_key(name, situation.state.digests):
            return False
        return situation.fresh.issuperset(wiring.upstream[name]) and situation.state.pending.keys().isdisjoint(
            wiring.lineage[name]
        )

    def _advice(self, situation: Situation, name: str, failure: ActorFailed) -> dict[str, dict[Violation, str]]:
        """By suspect, the most upstream first: the violations that it should mend, and what it should do differently.

        Each violation is for the first actor that it implicates and that was not yet sent back for it, or else for one
        whose output has changed since. Those that fixed such failures in earlier runs are asked first.
        """
        upstream = (*situation.wiring.lineage[name], name)
        suspects = [suspect for suspect in upstream if situation.way(suspect)]
        found: dict[str, dict[Violation, str]] = {suspect: {} for suspect in upstream}
        for violation in failure.violations:
            recalled = [one.fault for one in situation.recall(violation.code) if one.fault in suspects]
            ways = ((again, suspect) for again in (False, True) for suspect in dict.fromkeys((*recalled, *suspects)))
            for again, suspect in ways:
                if self._may_return(situation, suspect, violation, again=again) and (
                    text := situation.implicated(suspect, violation)
                ):
                    found[suspect][violation] = text
                    break
        return {suspect: advice for suspect, advice in found.items() if advice}

    def _may_return(self, situation: Situation, suspect: str, violation: Violation, *, again: bool) -> bool:
        """Whether a suspect was not yet sent back for a violation; with `again`, not for its current output."""
        before = situation.state.returns(suspect, violation)
        if not again:
            return not before
        return situation.state.output_of(suspect) not in before and len(before) < RETURNS

    def _send_back(self, situation: Situation, name: str, advice: dict[str, dict[Violation, str]]) -> Decision:
        """Goes to the first suspect, with instructions to all."""
        first, *others = (
            Order(actor=suspect, instruction="\n".join(dict.fromkeys(texts.values())), evidence=tuple(texts))
            for suspect, texts in advice.items()
        )
        causes = (
            f"{suspect}: {'; '.join(dict.fromkeys(violation.message for violation in texts))}"
            for suspect, texts in advice.items()
        )
        diagnosis = f"{name} failed because of {', and of '.join(causes)}"
        return replace(self._go(situation, first, diagnosis), also=tuple(others))

    def _ask(self, situation: Situation, name: str, failure: ActorFailed) -> Decision:
        found = failure.violations
        tried = sorted(actor for actor in situation.actors if any(situation.state.returns(actor, v) for v in found))
        what = "; ".join(dict.fromkeys(f"{v.message} [{v.code}]" for v in failure.violations)) or failure.reason
        sent = f"Sent back without success: {', '.join(tried)}." if tried else ""
        history = sent or "No actor recognises its output as the cause."
        answer = situation.state.answer
        if answer is None:
            unsure = [actor for actor in situation.wiring.lineage[name] if not situation.actors[actor].has_criterion]
            look = f" Nothing measures the output of {', '.join(unsure)}: please look at it." if unsure else ""
            return Decision(
                question=f"{name} failed: {what} {history}{look} What should {name} do differently? "
                "(`actor: instruction` tells another one)",
                diagnosis=f"Nobody is left to send {name}'s failure back to.",
            )
        if not answer.answer:
            return Decision(STOP, diagnosis=f"{name} failed: {what} {history} Nobody could be asked.")
        actor, colon, text = answer.answer.partition(":")
        target = actor.strip() if colon and actor.strip() in situation.topology.actors else name
        instruction = text.strip() if target == actor.strip() and colon else answer.answer
        order = Order(actor=target, instruction=instruction, evidence=failure.violations)
        return self._go(situation, order, "As the human answered.")

    def _advance(self, situation: Situation) -> Decision:
        """Goes to the nearest stale actor that depends on no other stale one; ties follow the order of the file."""
        stale = {name for name in self._wanted(situation) if name not in situation.fresh}
        if not stale:
            return Decision(END, diagnosis="Everything that was invoked is fresh.")
        listed = list(situation.topology.actors)
        while True:
            first = [name for name in stale if stale.isdisjoint(situation.wiring.upstream[name])]
            ways = self._ways(situation, first) or self._ways(situation, stale)
            if not ways:
                return self._stuck(situation, stale)
            nearest = min(ways, key=lambda name: (len(ways[name]), listed.index(name)))
            on_the_way = stale.union(situation.wiring.needed(ways[nearest])) - situation.fresh
            if on_the_way == stale:
                return Decision(ways[nearest][0])
            stale = on_the_way  # actors on the way run too, so their dependants come later

    def _ways(self, situation: Situation, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
        return {name: way for name in names if (way := situation.way(name))}

    def _stuck(self, situation: Situation, stale: Iterable[str]) -> Decision:
        missing = sorted(
            {artefact for name in stale for artefact in situation.wiring.missing(name, situation.state.digests)}
        )
        lacking = f"; missing: {', '.join(missing)}" if missing else ""
        return Decision(STOP, diagnosis=f"No permitted way leads to {', '.join(sorted(stale))}{lacking}.")

    def _go(self, situation: Situation, order: Order, diagnosis: str) -> Decision:
        """One step along the shortest permitted path to the actor of an order."""
        way = situation.way(order.actor)
        if not way:
            return Decision(STOP, diagnosis=f"{diagnosis} No permitted way leads back to {order.actor}.")
        return Decision(way[0], order.actor, order.instruction, diagnosis, order.evidence)
