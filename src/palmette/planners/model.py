"""A language model as the planner: after a failure it names the cause and plans the rest of the run.

The model is asked after a failure, a refusal or a human's answer; then its route is followed. Where nothing has failed,
the rules plan, because what each actor needs decides who comes next. With `planner_calls: step` the model is asked
before every step instead, and writes a prompt for each actor. The engine checks its choice against the topology; a
refused choice is in the next prompt with the reason. It cannot overrule a verdict, because it is never asked for one.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, JsonValue

from palmette.documents import load_plain, read_text
from palmette.engine import STOP, Decision, Situation, Violation
from palmette.engine.events import ActorFailed
from palmette.errors import UserError
from palmette.llm import NEEDED, Answer, AnswerError, Models, Prompt, Section, section
from palmette.llm.agent import fill, load_prompt
from palmette.llm.context import abridged
from palmette.llm.opening import PLANNER
from palmette.planners.offline import OfflinePlanner

EVIDENCE = 1200  # characters shown of a violation's evidence
EVIDENCED = 2  # violations of a code that are shown with their evidence
LINES = 12  # lines shown of an artefact's file
WIDTH = 160  # characters shown of a line, or of a value in an artefact
ATTEMPTS = 4  # past attempts shown per actor, the latest ones

_FOLDERS = re.compile(r"(?<![\w:/.)\]}])/(?:[^\s/'\"`:,;()<>]+/)+")


class NumberedViolation(NamedTuple):
    """A violation of an open failure."""

    number: int
    """1-based; the model refers to it."""
    actor: str
    violation: Violation


def failures(situation: Situation) -> Iterator[tuple[str, ActorFailed]]:
    """The open failures by actor: those of actors that have not succeeded since."""
    for name in situation.topology.actors:
        actor = situation.state.actor(name)
        if actor.failure and name not in situation.fresh:
            yield name, actor.failure


def open_failures(situation: Situation) -> tuple[NumberedViolation, ...]:
    """The violations of all open failures."""
    found = [(name, violation) for name, failure in failures(situation) for violation in failure.violations]
    return tuple(NumberedViolation(number, *one) for number, one in enumerate(found, 1))


def planner_context(situation: Situation) -> tuple[Section, ...]:
    """The sections of the prompt."""
    failed = [name for name, _ in failures(situation)]
    nearest = [name for actor in failed for name in (actor, *situation.wiring.lineage[actor])]
    return (
        _section("topology", *_topology(situation), rank=NEEDED),
        _section("state", *_state(situation), rank=NEEDED),
        _section("errors", *_errors(situation)),
        _section("attempts", *(text for name in failed for text in _attempts(situation, name)), rank=2),
        _section("remarks", *_remarks(situation), rank=NEEDED),
        _section("artefacts", *_artefacts(situation, nearest), rank=3),
        _section("permitted", ", ".join(situation.permitted) or "nobody", rank=NEEDED),
    )


def _section(name: str, *items: str, rank: int = 1) -> Section:
    """A section in which file paths omit this machine's folders."""
    return section(name, *(_FOLDERS.sub(".../", item) for item in items), rank=rank)


def _topology(situation: Situation) -> Iterator[str]:
    topology, wiring = situation.topology, situation.wiring
    ends = f"Start actors: {', '.join(topology.start)}. End actors: {', '.join(topology.end)}."
    yield " ".join([topology.description, ends]).strip()
    for name, node in topology.actors.items():
        actor = situation.actors[name]
        needs = ", ".join(dict.fromkeys(wiring.required[name].values())) or "nothing"
        if takes := ", ".join(dict.fromkeys(wiring.optional[name].values())):
            needs += f"; takes {takes}"
        measured = "" if actor.has_criterion else "; nothing measures it"
        yield (
            f"{name}: {actor.description}\n"
            f"  needs {needs}; makes {actor.produces}{measured}; next: {', '.join(node.next) or 'nobody'}"
        )


def _state(situation: Situation) -> Iterator[str]:
    state = situation.state
    spent = state.spent
    yield f"The run is at {state.position or 'its start'}."
    names = situation.topology.actors
    untried = [name for name in names if not state.actor(name).invocations and name not in situation.fresh]
    lines = [f"{name}: {_status(situation, name)}" for name in names if name not in untried]
    yield "\n".join([*lines, *([f"Not run yet: {', '.join(untried)}."] if untried else [])])
    yield (
        f"Spent: {spent.steps} steps, {spent.attempts} attempts, {spent.spend.calls} calls of models, "
        f"{spent.spend.tokens} tokens."
    )


def _status(situation: Situation, name: str) -> str:
    actor = situation.state.actor(name)
    now = situation.wiring.present(name, situation.state.digests)
    changed = [artefact for artefact in now if actor.inputs.get(artefact) != now[artefact]]
    missing = situation.wiring.missing(name, situation.state.digests)
    text = "fresh" if name in situation.fresh else "failed" if actor.failure else "stale"
    if text != "fresh" and changed:
        text += f"; what it works on has changed since: {', '.join(changed)}"
    if name in situation.state.pending:
        text += "; you have given it an instruction that it has not carried out yet"
    return text + (f"; lacks {', '.join(missing)}" if missing else "")


def _errors(situation: Situation) -> Iterator[str]:
    numbered = open_failures(situation)
    for name, failure in failures(situation):
        if failure.reason or not failure.violations:
            yield f"{name} gave up: {failure.reason or 'no reason given.'}"
    codes = [violation.code for _, _, violation in numbered]
    for number, name, violation in numbered:
        about = f" (about {violation.subject})" if violation.subject else ""
        lines = [f"Error {number}: {name} [{violation.code}] {violation.message}{about}"]
        is_shown = codes[: number - 1].count(violation.code) < EVIDENCED
        evidence = violation.evidence.strip()
        lines += [abridged(evidence, EVIDENCE)] if is_shown and evidence else []
        for suspect in (*situation.wiring.lineage[name], name):
            if advice := situation.implicated(suspect, violation):
                lines.append(f"may be due to {suspect}: {advice.replace(violation.message, '(this)')}")
        back = [suspect for suspect in situation.topology.actors if situation.state.returns(suspect, violation)]
        lines += [f"Already sent back for this: {', '.join(back)}"] if back else []
        lines += map(str, situation.recall(violation.code))
        yield "\n".join(lines)


def _attempts(situation: Situation, name: str) -> Iterator[str]:
    for attempt in situation.state.actor(name).attempts[-ATTEMPTS:]:
        codes = ", ".join(dict.fromkeys(violation.code for violation in attempt.violations))
        facts = {"reason": attempt.reason, "fix": attempt.fix, "result": codes or "no output"}
        yield f"{name}, attempt {attempt.number}: {'; '.join(f'{key}: {text}' for key, text in facts.items() if text)}"


def _remarks(situation: Situation) -> Iterator[str]:
    state = situation.state
    for reason in state.refusals:
        yield f"Your choice was refused: {reason}"
    if state.answer:
        text = state.answer.answer if state.answer.answer is not None else "(nobody is there to answer)"
        yield f"You asked: {state.answer.question}\nThe human answered: {text}"
    for name, order in state.pending.items():
        yield f"{name} has yet to carry out: {order.instruction}"
    for name in situation.topology.actors:
        verdict = state.actor(name).verdict
        for violation in verdict.violations if verdict and name in situation.fresh else ():
            yield f"{name} passed, with this tolerated: [{violation.code}] {violation.message}"


def _artefacts(situation: Situation, nearest: list[str]) -> Iterator[str]:
    """Artefacts that may have caused a failure first; without a failure, only their names."""
    made = {situation.actors[name].produces for name in nearest}
    names = list(situation.state.artefacts)
    for name in [*(one for one in names if one in made), *(one for one in names if one not in made)]:
        version = situation.state.artefacts[name]
        files: list[str] = []
        rest = _brief(situation.artefact(name), files)
        data = [json.dumps(rest, ensure_ascii=False)[: 4 * WIDTH]] if rest else []
        head = f"{name}, version {version.number}, {version.by if version.by == 'given' else f'by {version.by}'}"
        yield "\n".join([head, *(data + files if made and version.by != "given" else [])])


def _brief(value: JsonValue, files: list[str]) -> JsonValue:
    """A value without its text files, and with long parts cut."""
    if isinstance(value, list):
        return [_brief(item, files) for item in value]
    if isinstance(value, str):
        return value if len(value) <= WIDTH else f"{value[:WIDTH]}..."
    if not isinstance(value, dict):
        return value
    if value.keys() == {"path", "text"}:
        files.append(_file(str(value["path"]), str(value["text"])))
        return value["path"]
    return {key: _brief(item, files) for key, item in value.items()}


def _file(path: str, text: str) -> str:
    lines = text.splitlines()
    shown = [f"  {line[:WIDTH]}" for line in lines[:LINES]]
    more = [f"  ({len(lines) - LINES} lines more)"] if len(lines) > LINES else []
    return "\n".join([f"{path}, {len(lines)} lines, {len(text)} characters:", *shown, *more])


class PlannerAnswer(Answer):
    """What a decision on a route and one on a step have in common."""

    reason: str = Field(default="")
    """What has happened and, after a failure, why it is the fault of the target; one or two sentences."""
    target: str = ""
    """After a failure: the one actor that must do its work anew although its inputs have not changed."""
    instruction: str = ""
    """What the target, or else the next actor, should make or do differently; it does not see this page."""
    errors: tuple[int, ...] = ()
    """Numbers of the errors that the target is responsible for. Default: all."""
    question: str = ""
    """One precise question, when only a human can decide."""


class DecisionAnswer(PlannerAnswer):
    """The model's decision on the rest of the run."""

    route: tuple[str, ...]
    """The actors to go to, in order, then END; ["STOP"] when nothing can help; [] with a question."""


class StepAnswer(PlannerAnswer):
    """The model's decision on one step."""

    next: str = ""
    """The actor to go to; END when the run is complete, STOP when nothing can help; empty with a question."""


class LanguageModelPlanner:
    """Asks a language model, which sees only the situation."""

    def __init__(self, models: Models, planner_calls: Literal["route", "step"] = "route") -> None:
        model = models.of(PLANNER)
        if model is None:
            raise UserError(
                "The planner 'model' needs a model, and none is named for the role 'planner'.",
                "Name one with --model or in `models`, or choose the planner 'offline'.",
                code="planner-without-model",
            )
        self.model = model
        by_step = planner_calls == "step"
        self.answer: type[PlannerAnswer] = StepAnswer if by_step else DecisionAnswer
        self.file = load_prompt(Path(__file__).with_suffix(".md"))
        texts = load_plain(read_text(Path(__file__).with_name("calls.yaml")))
        repair = texts[planner_calls].pop("repair")
        self.parts = {**texts[planner_calls], "failure": fill(texts["failure"], {"repair": repair})}

    def decide(self, situation: Situation) -> Decision:
        if self.answer is DecisionAnswer:
            if route := situation.state.route:
                while route[0] in situation.fresh and route[1:2] and route[1] in situation.permitted:
                    route = route[1:]
                return Decision(route[0], then=route[1:])
            if not (any(failures(situation)) or situation.state.refusals or situation.state.answer):
                return OfflinePlanner().decide(situation)
        try:
            answer = self.model.ask(self.render(situation), self.answer, situation.pay)
        except AnswerError as error:
            return Decision(STOP, diagnosis=error.message)
        if isinstance(answer, PlannerAnswer) and answer.question:
            return _ask(answer, situation)
        if isinstance(answer, DecisionAnswer):
            return _go(answer, situation)
        if isinstance(answer, StepAnswer):
            return _step(answer, situation)
        return Decision(STOP, diagnosis=f"The model hands the planning over: {answer.reason or 'no reason given.'}")

    def render(self, situation: Situation) -> Prompt:
        """The complete prompt."""
        tokens = self.model.settings.prompt_tokens
        return self.file.prompt(PLANNER, self.answer, planner_context(situation), tokens, self.parts)


def _ask(answer: PlannerAnswer, situation: Situation) -> Decision:
    """The question, unless it was already asked and there is nothing more to learn."""
    last = situation.state.answer
    if last and (last.answer is None or last.question == answer.question):
        why = "nobody is there to answer" if last.answer is None else f"the answer was {last.answer!r}"
        diagnosis = f"{answer.reason} Only a human can decide, and {why}: {answer.question}"
        return Decision(STOP, diagnosis=diagnosis.strip())
    return Decision(question=answer.question, diagnosis=answer.reason)


def _go(answer: DecisionAnswer, situation: Situation) -> Decision:
    following, then = (answer.route[0], answer.route[1:]) if answer.route else ("", ())
    target, blamed = answer.target, _blamed(answer, situation) if answer.target else ()
    return Decision(following, target, answer.instruction, answer.reason, blamed, then=then)


def _step(answer: StepAnswer, situation: Situation) -> Decision:
    """One step. An actor that is fresh gets a prompt only after a failure, because a prompt makes it run again."""
    target = answer.target or answer.next
    blamed = _blamed(answer, situation)
    if target not in situation.topology.actors or (target in situation.fresh and not blamed):
        return Decision(answer.next, diagnosis=answer.reason)
    return Decision(answer.next, target, answer.instruction, answer.reason, blamed if answer.target else ())


def _blamed(answer: PlannerAnswer, situation: Situation) -> tuple[Violation, ...]:
    faults = open_failures(situation)
    return tuple(fault.violation for fault in faults if not answer.errors or fault.number in answer.errors)
