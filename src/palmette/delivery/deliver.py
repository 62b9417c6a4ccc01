"""From files to an open pull request: branch, commit, description and patch, push, forge; in this order.

Completed steps stay after a failure, and the error explains how to finish by hand. Repeating is safe: the same branch
and its open pull request are updated.
"""

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import StringConstraints

from palmette.delivery.forge import Forge, GitHub, GitLab, OpenPullRequest, PullRequestDraft, open_pull_request
from palmette.delivery.git import Git, RepositoryLocation, basic, bearer_settings, borrowed, redact
from palmette.delivery.worktree import Worktree, base_of, check_branch_name, subject_line
from palmette.documents import Model
from palmette.errors import DeliveryError, InputError, MachineError, Mistake, did_you_mean

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


class Place(NamedTuple):
    """A repository's location on the web."""

    host: str  # with the port, if it is a web URL
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


def push(worktree: Worktree, remote: str, forge: Forge | None = None) -> None:
    """Pushes the branch, never by force. The forge's token is sent to an http(s) remote only as a header."""
    url = remote_url(worktree.git, remote)
    if _is_inside(url, worktree.source):
        message = f"Remote {remote!r} ({url}) lies in the repository itself; what receives there came with it."
        raise DeliveryError(message, "Give it the address of a repository outside.", code="remote-inside")
    git = replace(worktree.git, seconds=PUSH_SECONDS)
    if forge and is_hosted(url, forge):
        settings, secrets = bearer_settings(url, forge.user, forge.token), (forge.token, basic(forge.user, forge.token))
        git = replace(git, settings=settings, secrets=secrets)
    ref = f"refs/heads/{worktree.branch.name}"
    done = git.attempt("push", "--porcelain", remote, f"{ref}:{ref}")
    if done.code == 0:
        return
    refused = "\n".join(line for line in done.out.splitlines() if line.startswith("!"))
    output = f"{done.err.strip()}\n{refused}".strip()
    if done.code is None:
        code, what = "push-timed-out", f"did not answer within {PUSH_SECONDS:g} s"
    else:
        code, what = next(
            ((code, what) for code, what, pattern in _FAILURES if re.search(pattern, output)),
            ("push-failed", "did not take the branch"),
        )
    shown = redact(url, *git.secrets)
    raise DeliveryError(f"Remote {remote!r} ({shown}) {what}: {output[-600:] or 'no message'}.", code=code)


Text = Annotated[str, StringConstraints(min_length=1)]


class Target(Model):
    """The destination of a pull request."""

    target: Literal["local", "github", "gitlab"] = "local"
    """`local`: a branch, its description as a Markdown file, and a patch."""
    remote: Text | None = None
    """Git remote to push to. Default for `local`: none."""
    project: Text | None = None
    """`owner/name` on the forge. Default: from the URL of the remote."""
    api: Text | None = None
    """Base URL of the API of a self-hosted forge."""
    token_env: Text | None = None
    """Environment variable of the token. Default: GITHUB_TOKEN or GITLAB_TOKEN."""
    draft: bool = False
    """Opens a draft."""


class Change(Model):
    """The files and the text of a pull request."""

    files: dict[str, str]
    """Text by path, relative to the worktree's root."""
    allow: tuple[str, ...]
    """Globs of the paths that the change may touch."""
    title: str
    """Subject of the commit and title of the pull request, cut to 72 characters."""
    message: str = ""
    body: str
    """Description of the pull request, Markdown."""


class Delivered(Model):
    """The result of a delivery."""

    branch: str
    base: str
    commit: str
    paths: tuple[str, ...]
    """Paths that the branch changes, relative to the top of the repository."""
    body: str
    patch: str
    """Path of the patch, a single commit for `git am`."""
    remote: str | None = None
    """The remote that the branch was pushed to."""
    opened: OpenPullRequest | None = None


def deliver(worktree: Worktree, change: Change, target: Target, folder: Path) -> Delivered:
    """Commits the change to the worktree's branch, writes it to `folder`, pushes, and opens the pull request."""
    worktree.write(change.files, change.allow)
    commit = worktree.commit(change.files, change.title, change.message)
    folder.mkdir(parents=True, exist_ok=True)
    body, patch = folder / "pull_request.md", folder / f"{worktree.branch.name.replace('/', '-')}.patch"
    body.write_text(change.body, encoding="utf-8")
    patch.write_text(worktree.patch(), encoding="utf-8")
    is_local = target.target == "local"
    remote = target.remote or (None if is_local else "origin")
    branch, base, paths = worktree.branch.name, worktree.base, worktree.changed()
    done = Delivered(branch=branch, base=base, commit=commit, paths=paths, body=str(body), patch=str(patch))
    title = subject_line(change.title)
    draft = PullRequestDraft(title=title, body=change.body, branch=branch, base=base, draft=target.draft)
    forge: Forge | None = None
    try:
        forge = None if is_local else forge_of(target, worktree.git, remote or "origin")
        if remote is not None:
            push(worktree, remote, forge)
            done = done.model_copy(update={"remote": remote})
        return done.model_copy(update={"opened": open_pull_request(forge, draft) if forge else None})
    except (DeliveryError, MachineError) as error:
        steps = list[str]()
        if remote is not None and done.remote is None:
            steps.append(shlex.join(["git", "-C", str(worktree.source.repository), "push", remote, branch]))
        if not is_local:
            page = forge.compare_url(draft) if forge else f"a pull request from {draft.branch!r} into {draft.base!r}"
            steps.append(f"open {page} and paste {body}")
        error.remedy = _by_hand(error.remedy, worktree, done, steps)
        raise


def _by_hand(remedy: str, worktree: Worktree, done: Delivered, steps: Sequence[str]) -> str:
    """Instructions for a person to finish a delivery that failed. Completed steps are kept."""
    kept = f"Nothing is lost: branch {done.branch!r} in {worktree.source.repository}, "
    lines = [remedy, f"{kept}description {done.body}, patch {done.patch}."]
    if steps:
        lines.append(f"To finish by hand: {'; then '.join(steps)}. Or mend the cause and resume the run.")
    return "\n".join(line for line in lines if line)


def preflight(repository: Path, base: str | None, branch: str | None, target: Target) -> list[Mistake]:
    """Obstacles to a pull request, before any work is done; their fields are those of a run file."""
    try:
        with borrowed(repository) as git:
            return _problems(git, base, branch, target)
    except InputError as error:
        return list(error.problems)


def _problems(git: Git, base: str | None, branch: str | None, target: Target) -> list[Mistake]:
    problems, name = list[Mistake](), base
    try:
        name, _ = base_of(git, base)
    except InputError as error:
        problems += error.problems
    if branch is not None:
        problems += check_branch_name(git, branch, name)
    try:
        if target.target != "local":
            forge_of(target, git, target.remote or "origin")
        elif target.remote:
            remote_url(git, target.remote)
    except DeliveryError as error:
        field = {"no-project": "project", "no-token": "token_env"}.get(error.code, "remote")
        problems.append(Mistake(error.code, error.message, error.remedy, field=f"pull_request.{field}"))
    return problems


def forge_of(target: Target, git: Git, remote: str) -> Forge:
    """The forge that `target` names. Its token comes from the environment only."""
    place = place_of(remote_url(git, remote))
    project = target.project or (place.project if place else None)
    if project is None:
        message = f"The URL of remote {remote!r} does not tell the project."
        raise DeliveryError(message, "Write it as `pull_request.project: owner/name`.", code="no-project")
    variable = target.token_env or f"{target.target.upper()}_TOKEN"
    token = os.environ.get(variable, "").strip()
    if not token:
        message = f"The environment variable {variable} holds no token for {target.target}."
        remedy = f"Set {variable}, or name another variable under `pull_request.token_env`."
        raise DeliveryError(message, remedy, code="no-token")
    if find_spec("httpx") is None:
        message = "The library 'httpx' is not installed."
        raise MachineError(message, f"pip install 'palmette[{target.target}]'", code="missing-extra")
    web = f"https://{place.host}" if place else f"https://{target.target}.com"
    return (GitHub if target.target == "github" else GitLab)(project, token, web=web, api=target.api or "")


def is_hosted(url: str, forge: Forge) -> bool:
    """Whether a repository is on the host that the forge's token belongs to."""
    place = place_of(url)
    return place is not None and place.host.split(":")[0] == forge.host
