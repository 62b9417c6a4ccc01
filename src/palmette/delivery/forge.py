"""Pull requests on GitHub and merge requests on GitLab, through their REST APIs: opened, or the open one updated."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

from pydantic import AliasChoices, AliasPath, BaseModel, Field, JsonValue, TypeAdapter, ValidationError

from palmette._bounded import OversizedAnswerError, fetch
from palmette.delivery.git import redact
from palmette.documents import Model
from palmette.errors import DeliveryError
from palmette.llm.secrets import hider

ATTEMPTS = 4
CONFLICTS = (409, 422)  # status codes of forges if the pull request already exists
UNREADABLE = 200  # status of a successful response that does not come from a forge
SECONDS = 30.0  # time limit of a response as a whole
MAX_BODY = 65_000  # GitHub accepts 65,536 characters


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


class _Listed(BaseModel):
    """A forge's response about one pull request."""

    url: str = Field(validation_alias=AliasChoices("html_url", "web_url"))
    number: int = Field(validation_alias=AliasChoices("iid", "number"))
    branch: str = Field(default="", validation_alias=AliasChoices(AliasPath("head", "ref"), "source_branch"))


class Forge(ABC):
    """One project on a forge. Its methods raise `ForgeError`, and `ValidationError` for a malformed response."""

    name: ClassVar[str]
    user: ClassVar[str]
    """User name for the token when pushing over HTTP."""
    update_method: ClassVar[str]

    def __init__(self, url: str, token: str, host: str, seconds: float) -> None:
        """`url` is the address of the project's pull requests; `host`, without a port, that of the token."""
        self._url, self.token, self.host, self._seconds = url, token, host, seconds

    @abstractmethod
    def _query(self, draft: PullRequestDraft) -> dict[str, str]:
        """Parameters of a search for open pull requests from the draft's branch into its base."""

    @abstractmethod
    def _branches(self, draft: PullRequestDraft) -> dict[str, Any]: ...

    @abstractmethod
    def _texts(self, draft: PullRequestDraft) -> dict[str, str]: ...

    @abstractmethod
    def compare_url(self, draft: PullRequestDraft) -> str:
        """The web page to open the pull request by hand."""

    def find(self, draft: PullRequestDraft) -> OpenPullRequest | None:
        pulls = TypeAdapter(list[_Listed]).validate_json(self._ask("GET", "", params=self._query(draft)))
        ours = (one for one in pulls if one.branch == draft.branch)
        return next((OpenPullRequest(url=one.url, number=one.number, existing=True) for one in ours), None)

    def create(self, draft: PullRequestDraft) -> OpenPullRequest:
        made = _Listed.model_validate_json(self._ask("POST", "", json={**self._branches(draft), **self._texts(draft)}))
        return OpenPullRequest(url=made.url, number=made.number)

    def update(self, opened: OpenPullRequest, draft: PullRequestDraft) -> None:
        self._ask(self.update_method, f"/{opened.number}", json=self._texts(draft))

    def _ask(self, method: str, path: str, **request: Any) -> bytes:
        """Returns the body of a successful response; ForgeError for any other.

        httpx does not send the token to other hosts on redirects.
        """
        import httpx

        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", "User-Agent": "palmette"}
        try:
            answer = fetch(method, self._url + path, self._seconds, headers=headers, **request)
        except OversizedAnswerError as error:
            raise ForgeError(UNREADABLE, str(error)) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise ForgeError(None, redact(f"{type(error).__name__}: {error}", self.token)) from None
        if answer.is_success:
            return answer.content
        reply = redact(_message(answer.content), self.token)
        is_rate_limit = answer.status_code == 403 and "rate limit" in reply.casefold()
        raise ForgeError(429 if is_rate_limit else answer.status_code, reply)


def _message(body: bytes) -> str:
    try:
        found: JsonValue = TypeAdapter(JsonValue).validate_json(body)
    except ValidationError:
        return body.decode("utf-8", "replace")
    if not isinstance(found, dict):
        return str(found)
    errors = found.get("errors")
    several = errors if isinstance(errors, list) else [errors] if errors else []
    details = [one.get("message", one) if isinstance(one, dict) else one for one in several]
    return "; ".join(map(str, [found.get("message", found), *details]))


class GitHub(Forge):
    """A project on GitHub or GitHub Enterprise (`api`: e.g. `https://github.example/api/v3`)."""

    name, user, update_method = "GitHub", "x-access-token", "PATCH"

    def __init__(
        self, project: str, token: str, web: str = "https://github.com", api: str = "", seconds: float = SECONDS
    ) -> None:
        self._owner, self._page = project.split("/")[0], f"{web}/{project}/compare"
        url = f"{(api or 'https://api.github.com').rstrip('/')}/repos/{project}/pulls"
        super().__init__(url, token, (urlsplit(api).hostname if api else "github.com") or "", seconds)

    def _query(self, draft: PullRequestDraft) -> dict[str, str]:
        return {"state": "open", "head": f"{self._owner}:{draft.branch}", "base": draft.base}

    def _branches(self, draft: PullRequestDraft) -> dict[str, Any]:
        return {"head": draft.branch, "base": draft.base, "draft": draft.draft}

    def _texts(self, draft: PullRequestDraft) -> dict[str, str]:
        cut = "" if len(draft.body) <= MAX_BODY else "\n\n*Cut here: longer than GitHub takes.*\n"
        return {"title": draft.title, "body": draft.body[:MAX_BODY] + cut}

    def compare_url(self, draft: PullRequestDraft) -> str:
        return f"{self._page}/{quote(draft.base)}...{quote(draft.branch)}?expand=1"


class GitLab(Forge):
    """A project on gitlab.com or on a self-hosted GitLab (`web`: e.g. `https://gitlab.example`)."""

    name, user, update_method = "GitLab", "oauth2", "PUT"

    def __init__(
        self, project: str, token: str, web: str = "https://gitlab.com", api: str = "", seconds: float = SECONDS
    ) -> None:
        self._page = f"{web}/{project}/-/merge_requests/new"
        server = (api or web).rstrip("/").removesuffix("/api/v4")
        url = f"{server}/api/v4/projects/{quote(project, safe='')}/merge_requests"
        super().__init__(url, token, urlsplit(api or web).hostname or "", seconds)

    def _query(self, draft: PullRequestDraft) -> dict[str, str]:
        return {"state": "opened", **self._branches(draft)}

    def _branches(self, draft: PullRequestDraft) -> dict[str, Any]:
        return {"source_branch": draft.branch, "target_branch": draft.base}

    def _texts(self, draft: PullRequestDraft) -> dict[str, str]:
        return {"title": f"Draft: {draft.title}" if draft.draft else draft.title, "description": draft.body}

    def compare_url(self, draft: PullRequestDraft) -> str:
        query = {f"merge_request[{name}]": branch for name, branch in self._branches(draft).items()}
        return f"{self._page}?{urlencode(query)}"


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
