"""A language model as the planner: after a failure it names the cause and plans the rest of the run.

The model is asked after a failure, a refusal or a human's answer; then its route is followed. Where nothing has failed,
the rules plan, because what each actor needs decides who comes next. With `planner_calls: step` the model is asked
before every step instead, and writes a prompt for each actor. The engine checks its choice against the topology; a
refused choice is in the next prompt with the reason. It cannot overrule a verdict, because it is never asked for one.
"""

from pathlib import Path
from typing import Literal

from pydantic import Field

from palmette.documents import load_plain, read_text
from palmette.engine.actor import Violation
from palmette.engine.planner import Decision, Situation
from palmette.engine.topology import STOP
from palmette.errors import UserError
from palmette.llm import Answer, AnswerError, Models, Prompt
from palmette.llm.opening import PLANNER
from palmette.llm.prompt import fill, load_prompt
from palmette.planners.offline import OfflinePlanner
from palmette.planners.planner_context import failures, open_failures, planner_context


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
