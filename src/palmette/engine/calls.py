"""What a paid call is: an answer that cost something, and is therefore remembered by the journal.

The engine does not know what is asked, or who answers. The caller gives the request as JSON data, an upper bound of
what the answer may cost, and the function that gets it; equal requests give the equal answer, at the cost of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from palmette.documents import Model


class Spend(Model):
    """What paid calls cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0
    """In the currency of the price list (US dollars), of the calls whose price is known."""
    unpriced: int = 0
    """Calls whose price nobody knows; they are not free."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def plus(self, other: Spend) -> Spend:
        return Spend(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            money=self.money + other.money,
            unpriced=self.unpriced + other.unpriced,
        )


class Paid(NamedTuple):
    """An answer, and what it has cost."""

    answer: JsonValue
    spend: Spend
    by_person: bool = False
    """A person was waited for: that is not time in which the run was worked on."""


class Pay(Protocol):
    """Gets an answer: from the journal where it is known, else by a call within the budget."""

    def __call__(self, request: JsonValue, estimate: Spend, make: Callable[[], Paid], role: str = "") -> JsonValue:
        """The answer to `request`.

        Args:
            request: Everything that the answer depends on, and no secret.
            estimate: The most that the call may cost.
            make: Makes the call; what it raises was not answered, and is not remembered.
            role: As which part the answer is given, for the bill.

        Raises:
            RunStopped: the budget (`budget-reached`) does not allow the call.
        """


def pay_unrecorded(request: JsonValue, estimate: Spend, make: Callable[[], Paid], role: str = "") -> JsonValue:  # noqa: ARG001 - as all payers take it
    """A `Pay` without a journal and without a budget: every call is made."""
    return make().answer
