"""Opens a pull request on a forge, or updates the open one of the same branch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from palmette.documents import Model
from palmette.errors import DeliveryError
from palmette.llm.secrets import hider

if TYPE_CHECKING:
    from palmette.delivery.forges import Forge

ATTEMPTS = 4
CONFLICTS = (409, 422)  # status codes of forges if the pull request already exists
UNREADABLE = 200  # status of a successful response that does not come from a forge


class PullRequestDraft(Model):
    """A pull request to open."""

    title: str
    body: str
    branch: str
    base: str
    draft: bool = False


class OpenPullRequest(Model):
    """An open pull request."""

    url: str = Field(pattern=r"^https?://[!-~]{1,2000}$")
    number: int = Field(ge=1)
    existing: bool = False
    """Whether it already existed and was updated."""


class ForgeError(Exception):
    """An unsuccessful response from a forge, or none."""

    def __init__(self, status: int | None, message: str) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status; None without a response, `UNREADABLE` for one that does not come from a forge."""

    @property
    def passing(self) -> bool:
        """Whether a later attempt may succeed."""
        return self.status is None or self.status in (UNREADABLE, 429) or self.status >= 500


def open_pull_request(
    forge: Forge, draft: PullRequestDraft, pause: Callable[[float], None] = time.sleep
) -> OpenPullRequest:
    """Opens or updates the pull request. Retries temporary failures, after checking whether it was created."""
    refusal = ForgeError(None, "")
    for attempt in range(ATTEMPTS):
        try:
            found = forge.find(draft)
            if found is None:
                return forge.create(draft)
            forge.update(found, draft)
            return found
        except ForgeError as answer:
            refusal = answer
        except ValidationError:
            refusal = ForgeError(UNREADABLE, "the answer does not have the documented form")
        if not refusal.passing and not (refusal.status in CONFLICTS and attempt == 0):
            break
        if refusal.passing and attempt + 1 < ATTEMPTS:
            pause(0.5 * 2**attempt)
    raise _error(forge.name, refusal) from None


_REFUSALS: dict[int | None, tuple[str, str]] = {
    None: ("forge-unreachable", "did not answer"),
    UNREADABLE: ("forge-unreadable", "gives no answer that can be read"),
    401: ("forge-unauthorised", "does not accept the token"),
    403: ("forge-forbidden", "does not allow it with this token"),
    404: ("forge-no-project", "knows no such project, or hides it from this token"),
}


def _error(name: str, refusal: ForgeError) -> DeliveryError:
    other = ("forge-unavailable", "is unwell") if refusal.passing else ("forge-refused", "refuses the pull request")
    code, what = _REFUSALS.get(refusal.status) or (other[0], f"{other[1]} (status {refusal.status})")
    tried = f" after {ATTEMPTS} attempts" if refusal.passing else ""
    reply = hider()(str(refusal)).strip()  # a proxy may echo the request
    return DeliveryError(f"{name} {what}{tried}: {reply[:500] or 'no message'}.", code=code)
