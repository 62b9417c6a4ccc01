"""Opening a pull request on a forge, once: an open one of the same branch is updated, never doubled."""

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
"""What forges answer when there is a pull request already."""
UNREADABLE = 200
"""Status of a successful answer that is not a forge's."""


class PullRequestDraft(Model):
    """A pull request to be opened."""

    title: str
    body: str
    """Markdown."""
    branch: str
    base: str
    draft: bool = False


class OpenPullRequest(Model):
    """A pull request that is open."""

    url: str = Field(pattern=r"^https?://[!-~]{1,2000}$")
    number: int = Field(ge=1)
    existing: bool = False
    """True when it was open before and has been updated."""


class ForgeError(Exception):
    """A forge's answer that is no success, or its silence."""

    def __init__(self, status: int | None, message: str) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status; None when there was no answer, `UNREADABLE` for one that is none."""

    @property
    def passing(self) -> bool:
        """Whether asking again later can help."""
        return self.status is None or self.status in (UNREADABLE, 429) or self.status >= 500


class Forge(Protocol):
    """A forge's interface to one project. All but `compare_url` raise `ForgeError`, and `ValidationError` for
    an answer that they cannot read."""

    name: str
    user: str
    """User name that goes with a token when pushing over http(s)."""
    token: str
    host: str
    """Name of the host that the token is for, without a port."""

    def find(self, draft: PullRequestDraft) -> OpenPullRequest | None:
        """The open pull request from the draft's branch into its base."""

    def create(self, draft: PullRequestDraft) -> OpenPullRequest:
        """Opens a pull request."""

    def update(self, opened: OpenPullRequest, draft: PullRequestDraft) -> None:
        """Gives an open pull request the draft's title and body."""

    def compare_url(self, draft: PullRequestDraft) -> str:
        """The page on which a person opens the pull request."""


def open_pull_request(
    forge: Forge, draft: PullRequestDraft, pause: Callable[[float], None] = time.sleep
) -> OpenPullRequest:
    """Opens or updates the pull request; tries again, looking first, when the forge is silent or unwell."""
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
    reply = hider()(str(refusal)).strip()  # e.g. of a proxy that shows what it was sent
    return DeliveryError(f"{name} {what}{tried}: {reply[:500] or 'no message'}.", code=code)
