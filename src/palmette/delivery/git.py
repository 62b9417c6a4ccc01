"""Runs git with time limits, without prompts, hooks or signing, and without secrets in arguments and messages.

A team's `.git` folder came with the repository, possibly in an untrusted archive. Its hooks, and settings that name
programs (filters, helpers, signers, addresses that are commands), would run with the user's rights. Git therefore works
in a private folder with the same objects and branches but only the harmless settings. The user's and the machine's
settings apply as usual.
"""

import base64
import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from palmette.errors import DeliveryError, InputError, MachineError, Mistake, nearest
from palmette.sandbox.reading import read_made
from palmette.sandbox.temporary import temporary_folder

SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.fsync": "committed,reference",
    "core.quotePath": "false",
    "commit.gpgSign": "false",
    "credential.interactive": "false",
    "gc.auto": "0",
    "advice.detachedHead": "false",
}
QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}
GRACE = 5.0  # seconds that a command may take to end after SIGTERM
MOST = 32 << 20  # maximum number of characters read from a command's output, which remotes can make endless
_KEPT = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|XDG_\w+"
    r"|SSH_AUTH_SOCK|SSH_AGENT_PID|GNUPGHOME|DBUS_SESSION_BUS_ADDRESS|KRB5\w+|GCM_\w+"
    r"|SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE|(?i:(https?|all|no)_proxy)"
    r"|GIT_EXEC_PATH|GIT_(CONFIG|AUTHOR|COMMITTER|SSH|SSL|HTTP|PROXY)(_\w+)?"
)
"""Environment variables passed to git, for finding itself, its settings, its keys and the network. All others are
removed: remotes' hooks on this machine, filters and credential helpers inherit git's environment, and if palmette was
started by git, variables such as GIT_DIR point to another repository.
"""
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")


class Completed(NamedTuple):
    """The outcome of a command; `code` is None if it timed out."""

    code: int | None
    out: str
    err: str


def redact(text: str, *secrets: str) -> str:
    """`text` without secrets and without credentials in URLs.

    >>> redact("https://me:pa55@forge.example/x refused t0ken", "t0ken")
    'https://***@forge.example/x refused ***'
    """
    for secret in secrets:
        text = text.replace(secret, "***") if secret else text
    return _CREDENTIALS.sub("***@", text)


@dataclass(frozen=True)
class Git:
    """Runs git in one folder."""

    folder: Path
    seconds: float = 60
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings in addition to the user's, passed in the environment."""
    secrets: tuple[str, ...] = ()  # texts that are removed from everything returned or raised
    about: Path | None = None  # the repository that messages name, if the folder is a private one

    @property
    def named(self) -> Path:
        """The path that messages name."""
        return self.about or self.folder

    def __call__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Runs a command and returns its output without the last line break; DeliveryError if it fails."""
        done = self.attempt(*arguments, environment=environment)
        if done.code != 0:
            why = done.err.strip()[-800:] or f"exit status {done.code}"
            if done.code is None:
                why = f"no end after {self.seconds:g} s"
            message = f"`git {arguments[0]}` failed in {str(self.named)!r}: {why}"
            raise DeliveryError(message, "Run it there by hand to see more.", code="git-failed")
        return done.out.rstrip("\n")

    def succeeds(self, *arguments: str) -> bool:
        return self.attempt(*arguments).code == 0

    def attempt(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Completed:
        """Runs a command until it ends or times out."""
        code, out, err = self._run(arguments, environment or {})
        return Completed(code, redact(out, *self.secrets), redact(err, *self.secrets))

    def settings_in(self, file: Path) -> list[tuple[str, str]]:
        """The settings in a file, including passwords; empty if it cannot be read."""
        out = self._run(("config", "--file", str(file), "--null", "--list"), {}).out
        return [(key, value) for key, _, value in (one.partition("\n") for one in out.split("\0")) if key]

    def _run(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Completed:
        try:
            process = subprocess.Popen(
                ["git", *arguments],
                cwd=self.folder,
                env=self._environment(environment),
                encoding="utf-8",
                errors="replace",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError:
            if not self.folder.is_dir():
                raise
            raise MachineError("The program 'git' is not installed.", "Install git.", code="no-git") from None
        assert process.stdout and process.stderr
        code, end = None, time.monotonic() + self.seconds
        with ThreadPoolExecutor(2) as readers:
            try:
                texts = [readers.submit(_beginning, stream) for stream in (process.stdout, process.stderr)]
                if not wait(texts, self.seconds).not_done:
                    code = process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            finally:
                if code is None:
                    self._end(process)
        out, err = (text.result() for text in texts)
        return Completed(code, "" if code is None else out, err)

    def _end(self, process: subprocess.Popen[str]) -> None:
        """Ends the command and its child processes (ssh, remote helpers).

        First with SIGTERM, so that git removes its locks and unfinished files.
        """
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name)}
        kept.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=15")
        settings, theirs = SETTINGS | dict(self.settings), int(kept.get("GIT_CONFIG_COUNT") or 0)
        numbered = {"GIT_CONFIG_COUNT": str(theirs + len(settings))}
        for number, (key, value) in enumerate(settings.items(), start=theirs):
            numbered |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return kept | QUIET | numbered | dict(extra)


def _beginning(stream: IO[str]) -> str:
    """Reads the output up to the limit, then closes the pipe, which ends most commands."""
    with stream:
        return stream.read(MOST)


def basic(user: str, token: str) -> str:
    """User and token, encoded for a Basic authorization header."""
    return base64.b64encode(f"{user}:{token}".encode()).decode("ascii")


def bearer_settings(url: str, user: str, token: str) -> dict[str, str]:
    """Settings that send a token to the host of an http(s) `url` and to no other; empty for other URLs.

    Git would send the header to the target of a redirect, so redirects are not followed.

    >>> list(bearer_settings("https://forge.example/team/offers.git", "x", "t"))
    ['http.https://forge.example/.extraHeader', 'http.followRedirects']
    """
    match = re.match(r"(https?://)(?:[^/@]*@)?([^/]+)/", url)
    if match is None or not token:
        return {}
    header = f"http.{match[1]}{match[2]}/.extraHeader"
    return {header: f"Authorization: Basic {basic(user, token)}", "http.followRedirects": "false"}


_LOOKING_SECONDS = 10
_SHARED = ("objects", "refs", "packed-refs", "reftable", "shallow")
"""Linked even if missing, because other programs may be using the repository."""
_HEAD_BYTES = 4096
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|autocrlf|eol|filemode|ignorecase|precomposeunicode|safecrlf|sharedrepository"
    r"|symlinks)|extensions\.(objectformat|refstorage)|(user|author|committer)\.(name|email)"
    r"|remote\..+\.(url|pushurl)|http\..+\.extraheader",
    re.DOTALL,
)
"""Settings that are kept: repository format, commit identity, addresses of remotes, and HTTP headers."""


class RepositoryLocation(NamedTuple):
    """The location of a folder's git data."""

    repository: Path
    top: Path  # the top of its checkout, or the bare repository
    own: Path  # the git folder of this checkout
    common: Path  # the git folder that all checkouts of the repository share
    checked_out: frozenset[str]  # branches that are checked out in some worktree

    @property
    def prefix(self) -> str:
        """The folder inside the repository; empty for its top."""
        return "/".join(self.repository.resolve().relative_to(self.top).parts)


def located(repository: Path) -> RepositoryLocation:
    """Locates a repository with commands that start no other program; InputError if there is none."""
    if not repository.is_dir():
        raise problem("no-such-folder", "there is no such folder", repository, "Give the path of a git checkout.")
    git = Git(repository, _LOOKING_SECONDS)
    found = git.attempt("rev-parse", "--absolute-git-dir", "--git-common-dir")
    if found.code != 0:
        remedy = "Give the path of a git checkout, or make one: git init && git add . && git commit."
        late = f"git did not tell within {_LOOKING_SECONDS} s what it is"
        owner = "git does not trust its owner" if "dubious ownership" in found.err else "this is not a git repository"
        raise problem("not-a-repository", late if found.code is None else owner, repository, remedy)
    own, common = ((repository / line).resolve() for line in found.out.splitlines())
    whole = repository.resolve()
    top = next((folder for folder in (whole, *whole.parents) if folder == own or (folder / ".git").exists()), whole)
    listed = git("worktree", "list", "--porcelain").splitlines()
    branches = (line.removeprefix("branch refs/heads/") for line in listed if line.startswith("branch "))
    return RepositoryLocation(repository, top, own, common, frozenset(branches))


def borrow(source: RepositoryLocation, folder: Path) -> Git:
    """Creates a `.git` folder with shared data in `folder`. It contains the remotes' addresses, including passwords."""
    place = folder / ".git"
    place.mkdir(mode=0o700, parents=True)
    for name in _SHARED:
        (place / name).symlink_to(source.common / name)
    git = Git(folder, about=source.repository)
    try:
        (place / "HEAD").write_bytes(read_made(source.own, "HEAD", _HEAD_BYTES))
    except OSError as error:
        raise problem("not-a-repository", f"its HEAD cannot be read: {error}", source.repository, "Mend it.") from None
    settings = git.settings_in(source.common / "config")
    (place / "config").write_text("".join(_written(settings)), encoding="utf-8")
    return git


@contextmanager
def borrowed(repository: Path) -> Iterator[Git]:
    """Opens a temporary git folder for reading a repository."""
    with temporary_folder() as folder:
        yield borrow(located(repository), folder)


def check_out(git: Git, tree: str) -> None:
    """Writes the files of a commit or tree to the folder of `git`."""
    git("read-tree", tree)
    git("checkout-index", "--all")


def _written(settings: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Formats settings for a git configuration file, without those that could start programs."""
    for key, value in settings:
        if _HARMLESS.fullmatch(key):
            section, _, rest = key.partition(".")
            subsection, dot, name = rest.rpartition(".")
            yield f"[{section}{f' {_quoted(subsection)}' if dot else ''}]\n\t{name} = {_quoted(value)}\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def problem(
    code: str, message: str, value: object, remedy: str, *, field: str = "repository.path", known: Iterable[str] = ()
) -> InputError:
    """An InputError about the repository or branches of a run."""
    text = str(value)
    hint = nearest(text, known)
    return InputError([Mistake(code, f"{text!r}: {message}.", remedy, field=field, value=text, nearest=hint)])
