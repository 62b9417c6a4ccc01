"""Pull requests on GitHub and merge requests on GitLab, through their REST APIs."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from palmette._bounded import OversizedAnswerError, fetch
from palmette.delivery.forge import UNREADABLE, ForgeError, OpenPullRequest, PullRequestDraft
from palmette.delivery.git import redact

SECONDS = 30.0
"""Time limit of a response as a whole."""
MAX_BODY = 65_000
"""GitHub accepts 65,536 characters."""


class _Api:
    """The REST API of one project. httpx does not send the token to other hosts on redirects."""

    def __init__(self, url: str, token: str, seconds: float) -> None:
        self._url, self._token, self._seconds = url.rstrip("/"), token, seconds

    def __call__(self, method: str, path: str, **request: Any) -> bytes:
        """Returns the body of a successful response; ForgeError for any other."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "User-Agent": "palmette"}
        try:
            answer = fetch(method, f"{self._url}/{path}".rstrip("/"), self._seconds, headers=headers, **request)
        except OversizedAnswerError as error:
            raise ForgeError(UNREADABLE, str(error)) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise ForgeError(None, redact(f"{type(error).__name__}: {error}", self._token)) from None
        if answer.is_success:
            return answer.content
        reply = redact(_message(answer.content), self._token)
        is_rate_limit = answer.status_code == 403 and "rate limit" in reply.casefold()
        raise ForgeError(429 if is_rate_limit else answer.status_code, reply)


def _message(body: bytes) -> str:
    """The explanation in an unsuccessful response."""
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


class _Head(BaseModel):
    ref: str


class _Pull(BaseModel):
    """GitHub's response about a pull request."""

    html_url: str
    number: int
    head: _Head


class GitHub:
    """A project on GitHub or GitHub Enterprise (`api`: e.g. `https://github.example/api/v3`)."""

    name = "GitHub"
    user = "x-access-token"

    def __init__(
        self,
        project: str,
        token: str,
        *,
        web: str = "https://github.com",
        api: str | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self.token = token
        self.host = urlsplit(api).hostname or "" if api else "github.com"
        self._project, self._web = project, web
        self._api = _Api(f"{(api or 'https://api.github.com').rstrip('/')}/repos/{project}/pulls", token, seconds)

    def find(self, draft: PullRequestDraft) -> OpenPullRequest | None:
        wanted = {"state": "open", "head": f"{self._project.split('/')[0]}:{draft.branch}", "base": draft.base}
        pulls = TypeAdapter(list[_Pull]).validate_json(self._api("GET", "", params=wanted))
        ours = (pull for pull in pulls if pull.head.ref == draft.branch)
        return next((OpenPullRequest(url=pull.html_url, number=pull.number, existing=True) for pull in ours), None)

    def create(self, draft: PullRequestDraft) -> OpenPullRequest:
        asked = {"head": draft.branch, "base": draft.base, "draft": draft.draft, **self._texts(draft)}
        pull = _Pull.model_validate_json(self._api("POST", "", json=asked))
        return OpenPullRequest(url=pull.html_url, number=pull.number)

    def update(self, opened: OpenPullRequest, draft: PullRequestDraft) -> None:
        self._api("PATCH", str(opened.number), json=self._texts(draft))

    def compare_url(self, draft: PullRequestDraft) -> str:
        return f"{self._web}/{self._project}/compare/{quote(draft.base)}...{quote(draft.branch)}?expand=1"

    def _texts(self, draft: PullRequestDraft) -> dict[str, str]:
        """Title and body, cut to GitHub's limit."""
        cut = "" if len(draft.body) <= MAX_BODY else "\n\n*Cut here: longer than GitHub takes.*\n"
        return {"title": draft.title, "body": draft.body[:MAX_BODY] + cut}


class _MergeRequest(BaseModel):
    """GitLab's response about a merge request."""

    web_url: str
    iid: int


class GitLab:
    """A project on gitlab.com or on a self-hosted GitLab (`web`: e.g. `https://gitlab.example`)."""

    name = "GitLab"
    user = "oauth2"

    def __init__(
        self,
        project: str,
        token: str,
        *,
        web: str = "https://gitlab.com",
        api: str | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self.token = token
        self.host = urlsplit(api or web).hostname or ""
        self._project, self._web = project, web
        server = (api or web).rstrip("/").removesuffix("/api/v4")
        url = f"{server}/api/v4/projects/{quote(project, safe='')}/merge_requests"
        self._api = _Api(url, token, seconds)

    def find(self, draft: PullRequestDraft) -> OpenPullRequest | None:
        wanted = {"state": "opened", "source_branch": draft.branch, "target_branch": draft.base}
        found = TypeAdapter(list[_MergeRequest]).validate_json(self._api("GET", "", params=wanted))
        return next((OpenPullRequest(url=one.web_url, number=one.iid, existing=True) for one in found), None)

    def create(self, draft: PullRequestDraft) -> OpenPullRequest:
        asked = {"source_branch": draft.branch, "target_branch": draft.base, **self._texts(draft)}
        made = _MergeRequest.model_validate_json(self._api("POST", "", json=asked))
        return OpenPullRequest(url=made.web_url, number=made.iid)

    def update(self, opened: OpenPullRequest, draft: PullRequestDraft) -> None:
        self._api("PUT", str(opened.number), json=self._texts(draft))

    def compare_url(self, draft: PullRequestDraft) -> str:
        query = urlencode({"merge_request[source_branch]": draft.branch, "merge_request[target_branch]": draft.base})
        return f"{self._web}/{self._project}/-/merge_requests/new?{query}"

    def _texts(self, draft: PullRequestDraft) -> dict[str, str]:
        return {"title": f"Draft: {draft.title}" if draft.draft else draft.title, "description": draft.body}
