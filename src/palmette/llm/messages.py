"""Prompts and replies as plain data, the same for every provider."""

from typing import Annotated, Literal, Protocol, Self

from pydantic import AfterValidator, Field

from palmette.documents import Model
from palmette.engine import Spend
from palmette.llm.text import estimate_tokens


class Message(Model):
    """One turn of a conversation."""

    speaker: Literal["system", "user", "assistant"]
    text: str


class Prompt(Model):
    """A conversation in which the model is next."""

    role: str
    """The role in which the model answers, e.g. `code_generator` or `planner`."""
    messages: tuple[Message, ...]

    def then(self, *messages: Message) -> Self:
        """The conversation with more messages."""
        return self.model_copy(update={"messages": (*self.messages, *messages)})


class Settings(Model):
    """Settings of a call."""

    temperature: float = Field(default=0.1, ge=0, le=2)
    """0 is the most deterministic."""
    max_tokens: int = Field(default=8192, ge=1)
    """Maximum tokens of an answer."""
    prompt_tokens: int = Field(default=20000, ge=500)
    """Maximum tokens of a prompt; the least relevant parts are left out."""
    timeout: float = Field(default=300, gt=0)
    """Timeout in seconds."""


class Reply(Model):
    """A model's answer with its token counts."""

    text: Annotated[str, AfterValidator(lambda text: text.encode("utf-8", "replace").decode("utf-8"))]
    """Lone surrogates, which JSON can express and no file can hold, become question marks."""
    finish: Literal["stop", "length", "refused"] = "stop"
    """`length`: cut off at `max_tokens`. `refused`: the model or its provider declined."""
    model: str
    """The model as `provider:name`."""
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    counted: bool = True
    """Whether the provider counted the tokens; otherwise they are estimates."""
    by_person: bool = False
    """Whether a person supplied it."""

    @classmethod
    def estimated(cls, model: str, prompt: str, answer: str, *, by_person: bool = False) -> Self:
        """An answer whose tokens nobody counted."""
        asked, answered = estimate_tokens(prompt), estimate_tokens(answer)
        return cls(
            text=answer, model=model, input_tokens=asked, output_tokens=answered, counted=False, by_person=by_person
        )

    def spend(self, price: float | None) -> Spend:
        """Cost of a call with this reply; `price` is None if unknown."""
        read, written = self.input_tokens, self.output_tokens
        return Spend(calls=1, input_tokens=read, output_tokens=written, money=price or 0.0, unpriced=int(price is None))


class Provider(Protocol):
    """A source of replies: an API, a person, a recording."""

    name: str  # as `provider:model`

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        """Makes one exchange. Raises `ModelError` if no readable reply arrives."""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """Price in US dollars; None if unknown."""
