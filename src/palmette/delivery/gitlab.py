"""Merge requests on GitLab, over python-gitlab (`pip install 'palmette[gitlab]'`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

import gitlab
import requests

from palmette._bounded import Bounded, EndlessError
from palmette.delivery.forge import UNREADABLE, ForgeError, Opened, PullRequestDraft
from palmette.delivery.git import redact


class _Session(requests.Session):
    """Takes the token to no other place, wherever the forge redirects to or has the next page; bounds answers."""

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = server
        for scheme in ("http://", "https://"):
            self.mount(scheme, Bounded())

    def send(self, request: requests.PreparedRequest, **named: Any) -> requests.Response:
        if self.should_strip_auth(self._server, str(request.url)):
            request.headers.pop("PRIVATE-TOKEN", None)
        return super().send(request, **named)


class GitLab:
    """One project on gitlab.com or on one's own GitLab (`web`: e.g. `https://gitlab.example`)."""

    name = "GitLab"
    user = "oauth2"

    def __init__(
        self,
        project: str,
        token: str,
        *,
        web: str = "https://gitlab.com",
        api: str | None = None,
        seconds: float = 15,
    ) -> None:
        self.token = token
        self._project = project
        self._web = web
        self.host = urlsplit(api or web).hostname or ""
        server = (api or web).rstrip("/").removesuffix("/api/v4")
        self._gitlab = gitlab.Gitlab(
            server,
            private_token=token,
            timeout=seconds,
            retry_transient_errors=False,
            keep_base_url=True,
            session=_Session(server),
        )

    def find(self, draft: PullRequestDraft) -> Opened | None:
        with self._refusals():
            found = self._requests.list(
                state="opened",
                source_branch=draft.branch,
                target_branch=draft.base,
                get_all=True,
                obey_rate_limit=False,
            )
            return next((Opened(url=item.web_url, number=item.iid, existing=True) for item in found), None)

    def create(self, draft: PullRequestDraft) -> Opened:
        with self._refusals():
            item = self._requests.create(
                {
                    "source_branch": draft.branch,
                    "target_branch": draft.base,
                    "title": _title(draft),
                    "description": draft.body,
                },
                obey_rate_limit=False,
            )
            return Opened(url=item.web_url, number=item.iid)

    def update(self, opened: Opened, draft: PullRequestDraft) -> None:
        with self._refusals():
            self._requests.update(
                opened.number, {"title": _title(draft), "description": draft.body}, obey_rate_limit=False
            )

    def compare_url(self, draft: PullRequestDraft) -> str:
        query = urlencode({"merge_request[source_branch]": draft.branch, "merge_request[target_branch]": draft.base})
        return f"{self._web}/{self._project}/-/merge_requests/new?{query}"

    @property
    def _requests(self) -> Any:
        return self._gitlab.projects.get(self._project, lazy=True).mergerequests

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Turns the library's errors into refusals without secrets."""
        try:
            yield
        except (gitlab.GitlabParsingError, gitlab.RedirectError) as error:
            raise ForgeError(UNREADABLE, redact(str(error.error_message), self.token)) from None
        except gitlab.GitlabError as error:
            raise ForgeError(error.response_code, redact(str(error.error_message), self.token)) from None
        except EndlessError as error:
            raise ForgeError(UNREADABLE, str(error)) from None
        except requests.RequestException as error:
            raise ForgeError(None, redact(f"{type(error).__name__}: {error}", self.token)) from None


def _title(draft: PullRequestDraft) -> str:
    return f"Draft: {draft.title}" if draft.draft else draft.title
