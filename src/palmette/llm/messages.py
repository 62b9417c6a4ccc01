"""What goes to a language model and what comes back: plain data, the same for every provider."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

from pydantic import AfterValidator, Field

from palmette.documents import Model
from palmette.engine import Spend


class Message(Model):
    """One turn of a conversation."""

    speaker: Literal["system", "user", "assistant"]
    text: str


class Prompt(Model):
    """A conversation that waits for the model's turn."""

    role: str
    """As which part the model answers, e.g. `code_generator` or `planner`."""
    messages: tuple[Message, ...]

    def then(self, *messages: Message) -> Prompt:
        """The conversation, continued."""
        return Prompt(role=self.role, messages=(*self.messages, *messages))


class Settings(Model):
    """How a model is asked."""

    temperature: float = Field(default=0.1, ge=0, le=2)
    """0 is the most predictable."""
    max_tokens: int = Field(default=8192, ge=1)
    """Most tokens of one answer."""
    prompt_tokens: int = Field(default=20000, ge=500)
    """Most tokens of one prompt; what matters least is left out."""
    timeout: float = Field(default=300, gt=0)
    """Seconds to wait for one answer."""


def _writable(text: str) -> str:
    """Halves of characters, which JSON can spell and no file can hold, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Reply(Model):
    """What a model answered, and what that took."""

    text: Annotated[str, AfterValidator(_writable)]
    finish: Literal["stop", "length", "refused"] = "stop"
    """`length`: cut off at `max_tokens`. `refused`: the model or its provider declined."""
    model: str
    """Which model it was, as `provider:name`."""
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    counted: bool = True
    """The provider counted the tokens; else they are estimates."""
    by_person: bool = False
    """A person brought it."""

    def spend(self, price: float | None) -> Spend:
        """What one call with this reply cost; `price` is None where nobody knows it."""
        return Spend(
            calls=1,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            money=price or 0.0,
            unpriced=int(price is None),
        )


class Provider(Protocol):
    """Where replies come from: an API, a person, a recording."""

    name: str
    """As a person names it: `provider:model`."""

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        """One exchange. Raises `ModelError` when nothing that could be read came back."""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars for so many tokens; None when nobody knows."""
