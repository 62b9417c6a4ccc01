"""One invocation of an actor: inputs, attempts, criterion, and fan-out over a list."""

import json
import os
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, JsonValue, ValidationError

from palmette.engine import events as e
from palmette.engine.actor import TERMINATE, Actor, Attempt, Context, OutsideActor, PastAttempt, Verdict, Violation
from palmette.engine.artefacts import canonical
from palmette.engine.human import NoHuman, is_yes
from palmette.engine.recorder import PaidCallCache
from palmette.engine.setup import Setup
from palmette.engine.storage import clear_workspaces, make_workspace
from palmette.engine.wiring import Wiring, elements
from palmette.errors import DeveloperError, InputError, Mistake, PalmetteError, machine_error

SHOWN = 2000  # characters of an output that a person is asked to confirm


class _Task(NamedTuple):
    """The subject of one series of attempts: the whole input, or one element of a fan-out."""

    name: str
    input: BaseModel
    key: str
    order: e.Order
    last: str | None = None  # digest of the actor's last output
    item: int | None = None


class _Outcome(NamedTuple):
    """Result of one attempt, or of a whole invocation."""

    verdict: Verdict
    output: str | None = None  # digest of the output
    reason: str = ""
    fix: str = ""
    hands_over: bool = False  # whether the planner decides next, although attempts may be left

    @property
    def ok(self) -> bool:
        return self.verdict.ok and self.output is not None


class Invoker:
    """Runs actors for the executor."""

    def __init__(self, setup: Setup, wiring: Wiring, paid_calls: PaidCallCache, folder: Path) -> None:
        self._setup, self._wiring, self._paid_calls = setup, wiring, paid_calls
        self._store, self._recorder = paid_calls.store, paid_calls.recorder
        self._folder = folder

    def invoke(self, name: str) -> None:
        """Runs attempts until the actor meets its criterion or gives up, and journals the result."""
        begun, state = time.monotonic(), self._recorder.state
        inputs = self._wiring.present(name, state.digests)
        key, artefact = self._wiring.key(name, inputs), self._setup.actors[name].produces
        order = state.pending.get(name, e.Order(actor=name))
        if state.actor(name).status == "running":  # the previous process was interrupted here
            clear_workspaces(self._folder, state.actor(name).invocations, name)
        self._recorder.record(e.InvocationStarted(actor=name, inputs=inputs, instruction=order.instruction))
        if self._setup.topology.actors[name].fan_out:
            outcome = self._fan_out(name, inputs, order)
        else:
            last = state.actor(name).refused or self._made(name)
            outcome = self._attempts(_Task(name, self._input(name, inputs), key, order, last))
        about: dict[str, Any] = {"actor": name, "key": key, "inputs": inputs, "seconds": time.monotonic() - begun}
        if outcome.output is None or not outcome.ok:
            self._recorder.record(e.ActorFailed(**about, violations=outcome.verdict.violations, reason=outcome.reason))
            return
        clear_workspaces(self._folder, self._recorder.state.actor(name).invocations, name)
        self._recorder.record(
            e.ActorSucceeded(**about, artefact=artefact, output=outcome.output, verdict=outcome.verdict)
        )
        self._store.publish(artefact, outcome.output)

    def _made(self, name: str) -> str | None:
        """Digest of the actor's output in this run; None before its first success."""
        state, artefact = self._recorder.state, self._setup.actors[name].produces
        return state.artefacts[artefact].digest if state.actor(name).key and artefact in state.artefacts else None

    def recheck(self, name: str, value: JsonValue) -> Verdict:
        """Applies the actor's criterion to an edited output."""
        inputs = self._wiring.present(name, self._recorder.state.digests)
        items: list[JsonValue] = [None]
        outputs: list[JsonValue] = [value]
        if self._setup.topology.actors[name].fan_out:
            items, outputs = self._items(name, inputs), value if isinstance(value, list) else []
        if len(items) != len(outputs):
            message = f"{len(outputs)} outputs for {len(items)} inputs."
            return Verdict.of([Violation(code="wrong-length", message=message)])
        given, made = [self._input(name, inputs, item) for item in items], [self.output(name, one) for one in outputs]
        pairs = zip(given, made, strict=True)
        return Verdict.together([self._measured(name, *pair, self._context(name)) for pair in pairs])

    def stands(self, name: str) -> bool:
        """Whether the actor's result outside the artefacts still exists."""
        actor, made = self._actor(name), self._made(name)
        if made is None or not isinstance(actor, OutsideActor):
            return True
        inputs = self._wiring.present(name, self._recorder.state.digests)
        with _asked(name, "whether what it made is there", "stands"):
            return actor.stands(self._input(name, inputs), self.output(name, self._store.get(made)))

    def implicated(self, name: str, violation: Violation, value: JsonValue) -> str | None:
        """How a stored output (one element of a fan-out) relates to a violation."""
        output = self.output(name, value)
        with _asked(name, f"whether it is to blame for {violation.code!r}", "implicated"):
            return self._actor(name).implicated(violation, output)

    def output(self, name: str, value: JsonValue) -> BaseModel:
        """A stored output (one element of a fan-out) as the actor's type."""
        return self._actor(name).Output.model_validate_json(json.dumps(value))

    def _fan_out(self, name: str, inputs: Mapping[str, str], order: e.Order) -> _Outcome:
        items = self._items(name, inputs)
        fan_out = self._setup.topology.actors[name].fan_out
        rest = {artefact: digest for artefact, digest in inputs.items() if fan_out and artefact != fan_out.artefact}
        before = self._made(name)
        made = self._store.get(before) if before else None
        known = made if isinstance(made, list) and len(made) == len(items) else [None] * len(items)

        ready = threading.Event()  # a pool does not wait for a thread whose start an interrupt ends

        def attempts(index: int) -> _Outcome:
            ready.wait()
            key = self._wiring.key(name, {**rest, "": canonical(items[index])})
            last = self._store.put(known[index]) if known[index] is not None else None
            return self._attempts(_Task(name, self._input(name, inputs, items[index]), key, order, last, index))

        with ThreadPoolExecutor(max_workers=max(1, min(len(items), os.cpu_count() or 1))) as pool:
            try:
                running = pool.map(attempts, range(len(items)))
                ready.set()
                outcomes = list(running)
            except KeyboardInterrupt:
                self._recorder.interrupt(name)
                raise
            finally:
                ready.set()
        if failures := [outcome for outcome in outcomes if not outcome.ok]:
            reasons = dict.fromkeys(failure.reason for failure in failures if failure.reason)
            verdict = Verdict.together([failure.verdict for failure in failures])
            return _Outcome(verdict, reason=" ".join(reasons))
        output = self._store.put([self._store.get(outcome.output) for outcome in outcomes if outcome.output])
        return _Outcome(Verdict.together([outcome.verdict for outcome in outcomes]), output)

    def _attempts(self, task: _Task) -> _Outcome:
        """Attempts until the criterion is met, the actor hands over, or no attempts are left."""
        known = self._recorder.state.actor(task.name).done.get(task.key)
        if known:
            return _Outcome(known.verdict, known.output)
        past = list(self._recorder.state.actor(task.name).attempts) if task.item is None else []
        refused: dict[str, Verdict] = {}
        outcome = _Outcome(Verdict(ok=False))
        for number in range(1, self._setup.topology.actors[task.name].retries + 1):
            self._recorder.check_budget("attempt")
            begun = time.monotonic()
            outcome = self._try(task, self._context(task.name, task, tuple(past), number), refused)
            self._record_attempt(task, number, outcome, time.monotonic() - begun)
            if outcome.ok or outcome.hands_over:
                break
            if outcome.output:
                refused[outcome.output] = outcome.verdict
                task = task._replace(last=outcome.output)
            found = outcome.verdict.violations
            past.append(PastAttempt(number=len(past) + 1, reason=outcome.reason, fix=outcome.fix, violations=found))
        return outcome

    def _record_attempt(self, task: _Task, number: int, outcome: _Outcome, seconds: float) -> None:
        about: dict[str, Any] = {
            **{"actor": task.name, "item": task.item, "output": outcome.output, "seconds": seconds},
            **{"reason": outcome.reason, "fix": outcome.fix},
        }
        verdict = outcome.verdict
        if outcome.ok:
            self._recorder.record(e.AttemptSucceeded(**about, key=task.key, verdict=verdict))
        else:
            about |= {"violations": verdict.violations, "measurements": verdict.measurements}
            self._recorder.record(e.AttemptFailed(**about, number=number))

    def _try(self, task: _Task, context: Context, refused: Mapping[str, Verdict]) -> _Outcome:
        """Runs the actor and applies its criterion; a crash of either becomes a violation with the trace."""
        attempt: Attempt[Any] = Attempt(None)
        digest: str | None = None

        def outcome(verdict: Verdict, *, hands_over: bool = False) -> _Outcome:
            return _Outcome(verdict, digest, attempt.reason, attempt.fix, hands_over)

        try:
            attempt = self._actor(task.name).run(task.input, context)
            if attempt.output is not None:
                digest = self._store.put(self._typed(task.name, attempt.output))
            if digest is None or attempt.fix.strip() == TERMINATE:
                message = f"{task.name} gave up: {attempt.reason or 'It gave no reason.'}"
                gave_up = Violation(code="actor-gave-up", message=message, subject=task.name)
                return outcome(Verdict(ok=False, violations=attempt.violations or (gave_up,)), hands_over=True)
            if digest in refused:  # a repeated output: another measurement or attempt would give the same result
                return outcome(refused[digest], hands_over=True)
            stored = self.output(task.name, self._store.get(digest))
        except PalmetteError:
            raise
        except Exception as error:  # noqa: BLE001 - the process boundary to actors: what they raise is evidence
            return outcome(Verdict.of([_crash(task.name, error)]))
        return outcome(self._confirmed(task.name, digest, self._measured(task.name, task.input, stored, context)))

    def _confirmed(self, name: str, digest: str, verdict: Verdict) -> Verdict:
        """A person's verdict on an output that no criterion judges; `verdict` for others, or if nobody can be asked."""
        actor, nobody = self._actor(name), isinstance(self._setup.human, NoHuman)
        if nobody or not getattr(actor, "needs_person", False) or actor.has_criterion:
            return verdict
        text = canonical(self._store.get(digest))
        shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}...\n"
        made = f"{name} has no success criterion, and made this (objects/{digest}):\n{shown}"
        answer = self._recorder.ask(self._setup.human, f"{made}Is it right? (yes, or what to change)", "actor", name)
        if answer is None or is_yes(answer):
            return verdict
        message = f"A person asks for a change: {answer}"
        return Verdict.of([Violation(code="not-confirmed", message=message, subject=name)])

    def _measured(self, name: str, input: BaseModel, output: BaseModel, context: Context) -> Verdict:
        """Applies the actor's criterion; a crash becomes a violation."""
        try:
            return self._actor(name).check(input, output, context)
        except PalmetteError:
            raise
        except Exception as error:  # noqa: BLE001 - the process boundary to actors: what they raise is evidence
            return Verdict.of([_crash(name, error)])

    def _actor(self, name: str) -> Actor:
        return self._setup.actors[name]

    def _typed(self, name: str, output: object) -> BaseModel:
        expected = self._actor(name).Output
        if not isinstance(output, expected):
            message = f"Actor {name!r} gave a {type(output).__name__}, not its Output {expected.__name__}."
            remedy = "Return `Attempt(output=...)` with an instance of Output."
            raise DeveloperError(message, remedy, code="wrong-output")
        return output

    def _items(self, name: str, inputs: Mapping[str, str]) -> list[JsonValue]:
        fan_out = self._setup.topology.actors[name].fan_out
        artefact = fan_out.artefact if fan_out else ""
        items = elements(self._store.get(inputs[artefact]))
        if items is None:
            message = f"{name!r} fans out over {artefact!r}, which is not a list."
            remedy = "Give a list, or a model whose only field is one."
            raise InputError([Mistake("not-a-list", message, remedy, field=artefact)])
        return items

    def _input(self, name: str, inputs: Mapping[str, str], item: JsonValue = None) -> BaseModel:
        """The actor's input, filled by field name from artefacts and fixed parameters."""
        node = self._setup.topology.actors[name]
        fields = self._wiring.fields(name).items()
        values = {field: self._store.get(inputs[artefact]) for field, artefact in fields if artefact in inputs}
        if node.fan_out:
            values[node.fan_out.field] = item
        try:
            return self._actor(name).Input.model_validate_json(json.dumps(values | node.parameters))
        except ValidationError as error:
            details = [(".".join(map(str, one["loc"])), one["msg"], repr(one["input"])[:200]) for one in error.errors()]
            remedy = f"Mend the artefact, or the `Input` of {name!r}."
            problems = [
                Mistake("input-does-not-fit", f"{place}: {what}.", remedy, field=name, value=found)
                for place, what, found in details
            ]
            raise InputError(problems) from error

    def _context(
        self, name: str, task: _Task | None = None, past: tuple[PastAttempt, ...] = (), number: int = 1
    ) -> Context:
        state = self._recorder.state
        order = task.order if task else e.Order(actor=name)
        return Context(
            actor=name,
            workspace=make_workspace(self._folder, state.actor(name).invocations, name, task.item if task else None),
            seed=self._setup.seed,
            instruction=order.instruction,
            evidence=order.evidence,
            attempt=number,
            attempts=past,
            last=self.output(name, self._store.get(task.last)) if task and task.last else None,
            verdicts={other: known.verdict for other, known in state.actors.items() if known.verdict},
            ask=lambda question: self._recorder.ask(self._setup.human, question, "actor", name),
            pay=self._paid_calls.payer(name, task.item if task else None),
            recall=self._setup.recall,
            progress=lambda message: self._recorder.progress(name, message),
        )


def _crash(name: str, error: Exception) -> Violation:
    """An actor's exception as a violation; failures of the machine are raised as such."""
    if fault := machine_error(error):
        raise fault from error
    message, trace = f"{name} raised {type(error).__name__}: {error}", traceback.format_exception(error, limit=-8)
    return Violation(code="actor-crashed", message=message, evidence="".join(trace)[-4000:], subject=name)


@contextmanager
def _asked(name: str, what: str, method: str) -> Iterator[None]:
    """The process boundary to actors for questions, where a crash is the actor's mistake and not evidence."""
    try:
        yield
    except PalmetteError:
        raise
    except Exception as error:  # an actor may raise anything
        message = f"{name} raised {type(error).__name__}, asked {what}: {error}."
        raise DeveloperError(message, f"Mend its `{method}`, and resume the run.", code="actor-crashed") from error
