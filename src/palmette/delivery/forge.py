"""Opening a pull request on a forge, once: an open one of the same branch is updated, never doubled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Protocol, TypeVar

from pydantic import Field

from palmette.documents import Model
from palmette.errors import DeliveryError
from palmette.llm.secrets import hider

ATTEMPTS = 4
SECONDS = 60.0
"""That an answer may take as a whole, however it trickles in, over however many pages."""
CONFLICTS = (409, 422)
"""What forges answer when there is a pull request already."""


UNREADABLE = 200
"""Status of an answer that says that all is well, and is not what a forge answers."""

T = TypeVar("T")


class PullRequestDraft(Model):
    """A pull request to be opened."""

    title: str
    body: str
    """Markdown."""
    branch: str
    base: str
    draft: bool = False


class Opened(Model):
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
    """A forge's interface to one project. All but `compare_url` raise `ForgeError`."""

    name: str
    user: str
    """User name that goes with a token when pushing over http(s)."""
    token: str
    host: str
    """Name of the host that the token is for, without a port."""

    def find(self, draft: PullRequestDraft) -> Opened | None:
        """The open pull request from the draft's branch into its base."""

    def create(self, draft: PullRequestDraft) -> Opened:
        """Opens a pull request."""

    def update(self, opened: Opened, draft: PullRequestDraft) -> None:
        """Gives an open pull request the draft's title and body."""

    def compare_url(self, draft: PullRequestDraft) -> str:
        """The page on which a person opens the pull request."""


def open_pull_request(forge: Forge, draft: PullRequestDraft, pause: Callable[[float], None] = time.sleep) -> Opened:
    """Opens or updates the pull request; tries again, looking first, when the forge is silent or unwell."""
    refusal = ForgeError(None, "")
    for attempt in range(ATTEMPTS):
        try:
            found = _in_time(partial(forge.find, draft))
            if found is None:
                return _in_time(partial(forge.create, draft))
            _in_time(partial(forge.update, found, draft))
            return found
        except ForgeError as answer:
            refusal = answer
            if not answer.passing and not (answer.status in CONFLICTS and attempt == 0):
                break
            if answer.passing and attempt + 1 < ATTEMPTS:
                pause(0.5 * 2**attempt)
    raise _error(forge.name, refusal) from None


def _in_time(ask: Callable[[], T]) -> T:
    """What a forge answers; an answer without an end is none."""
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(ask())
        except ForgeError as refusal:
            answer.set_exception(refusal)
        except Exception as error:  # noqa: BLE001 - the boundary to a forge: its libraries expect answers as documented
            answer.set_exception(ForgeError(UNREADABLE, type(error).__name__))

    threading.Thread(target=work, daemon=True).start()
    try:
        return answer.result(SECONDS)
    except TimeoutError:
        raise ForgeError(None, f"no end after {SECONDS:g} s") from None


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
    said = hider()(str(refusal)).strip()  # e.g. of a proxy that shows what it was sent
    return DeliveryError(f"{name} {what}{tried}: {said[:500] or 'no message'}.", code=code)
