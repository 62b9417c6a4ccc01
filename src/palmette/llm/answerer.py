"""Asks a model for a typed answer within the budget, and again, a bounded number of times, if it is unusable.

Every answered exchange is one paid call. A repeated question contains the bad answer, so it is a different request,
and a resumed run gets the whole conversation from the journal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import JsonValue

from palmette.engine import Paid, Pay, Spend, Violation
from palmette.errors import ModelError
from palmette.llm.answers import Answer, BadAnswer, read_answer
from palmette.llm.messages import Message, Prompt, Provider, Reply, Settings
from palmette.llm.text import estimate_tokens

RE_ASKS = 2  # repeated questions, with the error, before the task is given up

A = TypeVar("A", bound=Answer)


@dataclass
class AnswerError(ModelError):
    """A task has no answer: the model's is unusable, or there was nothing to ask."""

    violations: tuple[Violation, ...] = field(default=(), kw_only=True)
    """The evidence for the planner; defaults to the message."""

    def __post_init__(self) -> None:
        super().__post_init__()
        message = f"{self.message} {self.remedy}".strip()
        self.violations = self.violations or (Violation(code=self.code, message=message, subject="answer"),)


@dataclass(frozen=True)
class Answerer:
    """A model in its role, with its fallbacks."""

    role: str
    providers: tuple[Provider, ...]
    settings: Settings = field(default_factory=Settings)
    hide: Callable[[str], str] = str  # removes secrets from every text that is sent, stored or shown

    @property
    def name(self) -> str:
        """The models that answer, e.g. `openai:a, else anthropic:b`."""
        return ", else ".join(provider.name for provider in self.providers)

    def ask(
        self, prompt: Prompt, answer: type[A], pay: Pay, objection: Callable[[A], str] = lambda _: ""
    ) -> A | Answer:
        """The model's answer, or a bare `Answer` that hands the task over.

        Args:
            prompt: The question.
            answer: The type to read the reply into.
            pay: Pays for the exchange.
            objection: Why a readable answer is unusable; empty if it is usable.

        Raises:
            AnswerError: the answers were unusable, also after asking again.
            ModelError: no model could be reached.
            RunStopped: the budget does not allow another call.
        """
        asked, bad = prompt, BadAnswer("", "")
        for _ in range(RE_ASKS + 1):
            reply = self.reply(asked, pay)
            found = read_answer(reply, answer)
            if isinstance(found, answer) and (why := objection(found)):
                found = BadAnswer("answer-impossible", why)
            if isinstance(found, Answer):
                return found
            bad = found
            if bad.final:
                break
            shown = [] if bad.code == "answer-truncated" else [Message(speaker="assistant", text=reply.text or " ")]
            asked = asked.then(*shown, Message(speaker="user", text=f"Your answer could not be used. {bad.message}"))
        message = f"{self.name} gave no answer as {self.role} that could be used; the last: {bad.message}"
        remedy = "Look at it with `palmette show RUN --calls`; try another model, or more `max_tokens`."
        raise AnswerError(message, remedy, code=bad.code)

    def reply(self, prompt: Prompt, pay: Pay) -> Reply:
        """One exchange, remembered and counted."""
        hidden = tuple(one.model_copy(update={"text": self.hide(one.text)}) for one in prompt.messages)
        prompt = Prompt(role=prompt.role, messages=hidden)
        request: JsonValue = {
            "models": [provider.name for provider in self.providers],
            "settings": self.settings.model_dump(mode="json", include={"temperature", "max_tokens"}),
            **prompt.model_dump(mode="json"),
        }
        answer = pay(request, self._estimate(prompt), lambda: self._exchange(prompt), self.role)
        return Reply.model_validate(answer)

    def _estimate(self, prompt: Prompt) -> Spend:
        """The maximum cost of an exchange."""
        tokens = sum(estimate_tokens(message.text) + 8 for message in prompt.messages)
        most = self.settings.max_tokens
        prices = [provider.price(tokens, most) for provider in self.providers]
        money = max((price for price in prices if price is not None), default=0.0)
        return Spend(calls=1, input_tokens=tokens, output_tokens=most, money=money, unpriced=int(None in prices))

    def _exchange(self, prompt: Prompt) -> Paid:
        """The reply of the first model that answers."""
        errors: list[ModelError] = []
        for provider in self.providers:
            try:
                reply = provider.reply(prompt, self.settings)
            except ModelError as error:
                errors.append(error)
                continue
            price = provider.price(reply.input_tokens, reply.output_tokens)
            safe = reply.model_copy(update={"text": self.hide(reply.text)})
            return Paid(safe.model_dump(mode="json"), reply.spend(price), reply.by_person)
        message = " ".join(error.message for error in errors)
        raise ModelError(message, errors[0].remedy, code=errors[0].code) from errors[-1]


@dataclass(frozen=True)
class Models:
    """The models of a run. Roles without a model use the built-in rules."""

    default: Callable[[str], Answerer | None] = field(default=lambda _: None)  # creates the answerer of a role
    roles: Mapping[str, Answerer | None] = field(default_factory=dict)
    """Roles with a model of their own; None for the built-in rules."""

    def of(self, role: str) -> Answerer | None:
        """The answerer of a role; None for the built-in rules."""
        return self.roles[role] if role in self.roles else self.default(role)


OFFLINE = Models()  # the built-in rules in every role
