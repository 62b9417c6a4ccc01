"""Opens a pull request on a forge, or updates the open one of the same branch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from pydantic import Field, ValidationError

from palmette.documents import Model
from palmette.errors import DeliveryError
from palmette.llm.secrets import hider

ATTEMPTS = 4
CONFLICTS = (409, 422)
"""Status codes of forges if the pull request already exists."""
UNREADABLE = 200
"""Status of a successful response that does not come from a forge."""


class PullRequestDraft(Model):
    """A pull request to open."""

    title: str
    body: str
    """Markdown."""
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


class Forge(Protocol):
    """The interface of a forge to one project. All methods but `compare_url` raise `ForgeError`, and `ValidationError`
    for a response that they cannot parse.
    """

    name: str
    user: str
    """User name for the token when pushing over HTTP."""
    token: str
    host: str
    """Name of the host that the token is valid for, without a port."""

    def find(self, draft: PullRequestDraft) -> OpenPullRequest | None:
        """The open pull request from the draft's branch into its base."""

    def create(self, draft: PullRequestDraft) -> OpenPullRequest:
        """Opens a pull request."""

    def update(self, opened: OpenPullRequest, draft: PullRequestDraft) -> None:
        """Gives an open pull request the draft's title and body."""

    def compare_url(self, draft: PullRequestDraft) -> str:
        """The web page to open the pull request by hand."""


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


def _error(name: str, refusal: ForgeError) -> DeliveryError:
    match refusal.status:
        case None:
            code, what = "forge-unreachable", "did not answer"
        case status if status == UNREADABLE:
            code, what = "forge-unreadable", "gives no answer that can be read"
        case 401:
            code, what = "forge-unauthorised", "does not accept the token"
        case 403:
            code, what = "forge-forbidden", "does not allow it with this token"
        case 404:
            code, what = "forge-no-project", "knows no such project, or hides it from this token"
        case status if status == 429 or status >= 500:
            code, what = "forge-unavailable", f"is unwell (status {status})"
        case status:
            code, what = "forge-refused", f"refuses the pull request (status {status})"
    tried = f" after {ATTEMPTS} attempts" if refusal.passing else ""
    reply = hider()(str(refusal)).strip()  # a proxy may echo the request
    return DeliveryError(f"{name} {what}{tried}: {reply[:500] or 'no message'}.", code=code)
