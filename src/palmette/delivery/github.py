"""Pull requests on GitHub, over PyGithub (`pip install 'palmette[github]'`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import requests
from github import Auth, Github, GithubException, RateLimitExceededException
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester

from palmette._bounded import Bounded, EndlessError
from palmette.delivery.forge import UNREADABLE, ForgeError, Opened, PullRequestDraft
from palmette.delivery.git import redact

MAX_BODY = 65_000
"""GitHub takes 65,536 characters."""


class _Plain(HTTPRequestsConnectionClass):
    """A connection of the library with bounded answers."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.session.mount("http://", Bounded())


class _Secure(HTTPSRequestsConnectionClass):
    """The same over TLS."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.session.mount("https://", Bounded())


Requester.injectConnectionClasses(_Plain, _Secure)


class GitHub:
    """One project on GitHub or GitHub Enterprise (`api`: e.g. `https://github.example/api/v3`)."""

    name = "GitHub"
    user = "x-access-token"

    def __init__(
        self,
        project: str,
        token: str,
        *,
        web: str = "https://github.com",
        api: str | None = None,
        seconds: int = 15,
    ) -> None:
        self.token = token
        self._project = project
        self._web = web
        self.host = urlsplit(api).hostname or "" if api else "github.com"
        self._github = Github(
            auth=Auth.Token(token),
            base_url=(api or "https://api.github.com").rstrip("/"),
            timeout=seconds,
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            lazy=True,
        )

    def find(self, draft: PullRequestDraft) -> Opened | None:
        owner = self._project.split("/")[0]
        with self._refusals():
            pulls = self._github.get_repo(self._project).get_pulls(
                state="open", head=f"{owner}:{draft.branch}", base=draft.base
            )
            ours = (pull for pull in pulls if pull.head.ref == draft.branch)
            return next((Opened(url=pull.html_url, number=pull.number, existing=True) for pull in ours), None)

    def create(self, draft: PullRequestDraft) -> Opened:
        with self._refusals():
            pull = self._github.get_repo(self._project).create_pull(
                base=draft.base,
                head=draft.branch,
                title=draft.title,
                body=_fitted(draft.body),
                draft=draft.draft,
            )
            return Opened(url=pull.html_url, number=pull.number)

    def update(self, opened: Opened, draft: PullRequestDraft) -> None:
        with self._refusals():
            self._github.get_repo(self._project).get_pull(opened.number).edit(
                title=draft.title, body=_fitted(draft.body)
            )

    def compare_url(self, draft: PullRequestDraft) -> str:
        return f"{self._web}/{self._project}/compare/{quote(draft.base)}...{quote(draft.branch)}?expand=1"

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Turns the library's errors into refusals without secrets."""
        try:
            yield
        except GithubException as error:
            data = error.data if isinstance(error.data, dict) else {}
            details = [
                str(item.get("message", item)) if isinstance(item, dict) else str(item)
                for item in data.get("errors") or ()
            ]
            said = "; ".join([str(data.get("message", error.data)), *details])
            status = 429 if isinstance(error, RateLimitExceededException) else error.status
            raise ForgeError(status, redact(said, self.token)) from None
        except EndlessError as error:
            raise ForgeError(UNREADABLE, str(error)) from None
        except requests.RequestException as error:
            raise ForgeError(None, redact(f"{type(error).__name__}: {error}", self.token)) from None


def _fitted(body: str) -> str:
    """The body, cut where it is longer than GitHub takes."""
    return body if len(body) <= MAX_BODY else body[:MAX_BODY] + "\n\n*Cut here: longer than GitHub takes.*\n"
