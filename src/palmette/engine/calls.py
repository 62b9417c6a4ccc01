"""Paid calls: answers that cost money or a person's time, and that the journal therefore remembers.

The engine knows neither the question nor the provider. The caller passes the request as JSON data, an upper bound of
its cost, and the function that makes the call. Equal requests get the same answer and are paid for once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from palmette.documents import Model


class Spend(Model):
    """Cost of paid calls."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0
    """In US dollars, over the calls with a known price."""
    unpriced: int = 0
    """Calls with an unknown price; they are not free."""
    seconds: float = 0.0
    """Spent waiting for answers, summed over parallel calls."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def plus(self, other: Spend) -> Spend:
        return Spend.model_validate({name: value + getattr(other, name) for name, value in self})


class Paid(NamedTuple):
    """An answer and its cost."""

    answer: JsonValue
    spend: Spend
    by_person: bool = False  # whether the call waited for a person; that time does not count as time spent on the run


class Pay(Protocol):
    """Returns an answer, from the journal or by a call within the budget."""

    def __call__(self, request: JsonValue, estimate: Spend, make: Callable[[], Paid], role: str = "") -> JsonValue:
        """The answer to `request`.

        Args:
            request: Everything that the answer depends on, without secrets.
            estimate: The maximum cost of the call.
            make: Makes the call. If it raises, nothing is remembered.
            role: The role that the cost is booked on.

        Raises:
            RunStopped: the budget (`budget-reached`) does not allow the call.
        """


def pay_unrecorded(request: JsonValue, estimate: Spend, make: Callable[[], Paid], role: str = "") -> JsonValue:  # noqa: ARG001 - as all payers take it
    """A `Pay` without a journal or a budget: it makes every call."""
    return make().answer
