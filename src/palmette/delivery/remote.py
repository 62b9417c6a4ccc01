"""The remote repository: pushes a branch, and finds the project on the web from the remote's URL."""

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from palmette.delivery.borrowed import RepositoryLocation
from palmette.delivery.git import Git, basic, bearer_settings, redact
from palmette.delivery.worktree import Worktree
from palmette.errors import DeliveryError, did_you_mean

PUSH_SECONDS = 120
_FAILURES = (
    ("push-rejected", "refused the branch", r"rejected\]|fetch first|fast-forward|protected branch|pre-receive"),
    (
        *("push-unauthorised", "does not let you in"),
        r"Authentication failed|could not read (User|Pass)|prompts disabled|Permission denied|\b40[13]\b",
    ),
    (
        *("remote-unreachable", "cannot be reached"),
        r"not appear to be a git repository|not found|Could not resolve|unable to access|Connection|hung up",
    ),
)
"""Error code, description, and pattern of git's message; the first match counts."""


class Credentials(NamedTuple):
    """User and token for a push over http(s); empty to use git's own credentials."""

    user: str = ""
    token: str = ""


ANONYMOUS = Credentials()


class Place(NamedTuple):
    """A repository's location on the web."""

    host: str
    """With the port, if it is a web URL."""
    project: str
    """`owner/name`; may be longer on GitLab."""


def place_of(url: str) -> Place | None:
    """Host and project of a remote URL; None for a local path.

    >>> place_of("git@github.com:shop/offers.git")
    Place(host='github.com', project='shop/offers')
    >>> place_of("https://me@gitlab.example:8443/data/ml/offers")
    Place(host='gitlab.example:8443', project='data/ml/offers')
    """
    web = r"https?://(?:[^/@]*@)?(?P<host>[^/]+)/(?P<project>.+?)(?:\.git)?/?"
    other = r"(?:ssh|git)://(?:[^/@]*@)?(?P<host>[^/:]+)(?::\d+)?/(?P<project>.+?)(?:\.git)?/?"
    short = r"(?:[^/@:]+@)?(?P<host>[^/:@]{2,}):(?P<project>[^/].*?)(?:\.git)?/?"
    match = re.fullmatch(web, url) or re.fullmatch(other, url) or re.fullmatch(short, url)
    return Place(match["host"], match["project"]) if match else None


def remote_url(git: Git, remote: str) -> str:
    """The URL that the remote pushes to; DeliveryError `unknown-remote` if there is no such remote."""
    found = git.attempt("remote", "get-url", "--push", remote)
    if found.code != 0:
        remotes = git("remote").split()
        there_are = ", ".join(remotes) or "none"
        raise DeliveryError(
            f"{remote!r} is not a remote of {str(git.named)!r}; it has {there_are}.{did_you_mean(remote, remotes)}",
            f"Add it: git remote add {shlex.quote(remote)} URL.",
            code="unknown-remote",
        )
    return found.out.strip()


def _is_inside(url: str, source: RepositoryLocation) -> bool:
    """Whether a remote is a folder inside the repository, or a relative path."""
    path = url.removeprefix("file://")
    if path == url and ":" in url.partition("/")[0]:
        return False
    folder = Path(path).resolve()
    return not path.startswith("/") or any(folder.is_relative_to(one) for one in (source.top, source.common))


def push_command(worktree: Worktree, remote: str) -> str:
    """The command for a person to push the branch."""
    return shlex.join(["git", "-C", str(worktree.source.repository), "push", remote, worktree.branch.name])


def push(worktree: Worktree, remote: str, credentials: Credentials = ANONYMOUS, seconds: float = PUSH_SECONDS) -> None:
    """Pushes the branch, never by force. A token for an http(s) remote is sent only as a header."""
    url = remote_url(worktree.git, remote)
    if _is_inside(url, worktree.source):
        message = f"Remote {remote!r} ({url}) lies in the repository itself; what receives there came with it."
        raise DeliveryError(message, "Give it the address of a repository outside.", code="remote-inside")
    settings = bearer_settings(url, *credentials)
    secrets = (credentials.token, basic(*credentials)) if credentials.token else ()
    git = replace(worktree.git, seconds=seconds, settings=settings, secrets=secrets)
    ref = f"refs/heads/{worktree.branch.name}"
    done = git.attempt("push", "--porcelain", remote, f"{ref}:{ref}")
    if done.code == 0:
        return
    refused = "\n".join(line for line in done.out.splitlines() if line.startswith("!"))
    output = f"{done.err.strip()}\n{refused}".strip()
    if done.code is None:
        code, what = "push-timed-out", f"did not answer within {seconds:g} s"
    else:
        code, what = next(
            ((code, what) for code, what, pattern in _FAILURES if re.search(pattern, output)),
            ("push-failed", "did not take the branch"),
        )
    raise DeliveryError(
        f"Remote {remote!r} ({redact(url, credentials.token)}) {what}: {output[-600:] or 'no message'}.", code=code
    )
