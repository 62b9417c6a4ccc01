"""Pushing to a real bare repository, and what each refusal becomes."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from git_by_hand import git

from palmette.delivery.deliver import Place, place_of, push
from palmette.delivery.forge import GitHub
from palmette.delivery.git import Git, redact
from palmette.delivery.worktree import Worktree
from palmette.errors import DeliveryError

TOKEN = "t0p-secret-token"


@pytest.fixture
def worktree(repository: Path, tmp_path: Path) -> Worktree:
    made = Worktree.open(repository, tmp_path / "run", branch="features/new")
    made.write({"src/new.py": "NEW = 1\n"}, ["src/**"])
    made.commit(["src/new.py"], "Add new")
    return made


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://github.com/shop/offers.git", Place("github.com", "shop/offers")),
        ("https://me:pw@github.com/shop/offers", Place("github.com", "shop/offers")),
        ("ssh://git@gitlab.example:2222/data/ml/offers.git", Place("gitlab.example", "data/ml/offers")),
        ("https://gitlab.example:8443/data/offers", Place("gitlab.example:8443", "data/offers")),
        ("git@gitlab.com:data/ml/offers.git", Place("gitlab.com", "data/ml/offers")),
        ("/srv/git/offers.git", None),
        ("../origin.git", None),
        ("C:\\git\\offers", None),
    ],
)
def test_the_place_of_a_remote(url: str, place: Place | None) -> None:
    assert place_of(url) == place


def test_a_push_arrives(worktree: Worktree, tmp_path: Path) -> None:
    push(worktree, "origin")
    assert git(tmp_path / "origin.git", "show", "features/new:src/new.py") == "NEW = 1"
    push(worktree, "origin")


def test_a_branch_that_others_have_pushed_to_is_not_overwritten(worktree: Worktree, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "origin.git", "other")
    other = tmp_path / "other"
    git(other, "checkout", "--quiet", "-b", "features/new")
    git(
        other,
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@x",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "Theirs",
    )
    git(other, "push", "--quiet", "origin", "features/new")
    with pytest.raises(DeliveryError) as caught:
        push(worktree, "origin")
    assert caught.value.code == "push-rejected"
    assert git(tmp_path / "origin.git", "log", "-1", "--format=%s", "features/new") == "Theirs"


def test_a_hook_of_the_remote_that_refuses_is_quoted(worktree: Worktree, tmp_path: Path) -> None:
    hook = tmp_path / "origin.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'ticket number missing' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    with pytest.raises(DeliveryError, match="ticket number missing") as caught:
        push(worktree, "origin")
    assert caught.value.code == "push-rejected"


def test_programs_that_git_starts_see_no_keys(
    worktree: Worktree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, seen = tmp_path / "origin.git" / "hooks" / "pre-receive", tmp_path / "seen"
    hook.write_text(f"#!/bin/sh\nenv > {seen}\n", encoding="utf-8")
    hook.chmod(0o755)
    secrets = ("OPENAI_API_KEY", "GITHUB_TOKEN", "GIT_PASSWORD", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL")
    for name in secrets:
        monkeypatch.setenv(name, TOKEN)
    for name in ("HTTPS_PROXY", "no_proxy", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "kept")
    push(worktree, "origin")
    names = {line.partition("=")[0] for line in seen.read_text("utf-8").splitlines()}
    assert names.isdisjoint(secrets) and TOKEN not in seen.read_text("utf-8")
    assert {"PATH", "HOME", "GIT_CONFIG_GLOBAL", "HTTPS_PROXY", "no_proxy", "SSH_AUTH_SOCK"} <= names


def test_settings_that_the_user_gives_in_the_environment_hold(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("COUNT", "1"), ("KEY_0", "user.name"), ("VALUE_0", "Somebody")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    assert Git(repository)("config", "user.name") == "Somebody"
    assert Git(repository)("config", "gc.auto") == "0"


def test_a_remote_that_does_not_exist(worktree: Worktree) -> None:
    with pytest.raises(DeliveryError, match="Did you mean 'origin'") as caught:
        push(worktree, "orgin")
    assert caught.value.code == "unknown-remote"


def test_a_remote_that_is_gone(worktree: Worktree, repository: Path, tmp_path: Path) -> None:
    git(worktree.path, "remote", "set-url", "origin", str(tmp_path / "gone.git"))
    with pytest.raises(DeliveryError) as caught:
        push(worktree, "origin")
    assert caught.value.code == "remote-unreachable"


def test_a_remote_that_hangs_is_ended_with_all_it_started(
    worktree: Worktree, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(worktree.path, "remote", "set-url", "origin", "ssh://nobody@127.0.0.1/x.git")
    monkeypatch.setenv("GIT_SSH_COMMAND", "sleep 30; true")
    monkeypatch.setitem(push.__globals__, "PUSH_SECONDS", 0.5)
    with pytest.raises(DeliveryError, match=r"within 0\.5 s") as caught:
        push(worktree, "origin")
    assert caught.value.code == "push-timed-out"


@contextmanager
def host(behave: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """The address of a host that behaves so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            behave(self)

        do_POST = do_GET  # noqa: N815 - the server's name

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def refusing(handler: BaseHTTPRequestHandler, status: int, text: str = "", **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "text/plain", "Content-Length": str(len(text)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(text.encode())


def test_a_token_is_sent_in_a_header_and_shown_nowhere(worktree: Worktree, repository: Path) -> None:
    """Not even by a host that shows what it was sent."""
    seen: list[str] = []

    def shows(handler: BaseHTTPRequestHandler) -> None:
        seen.append(str(handler.headers["Authorization"]))
        refusing(handler, 401, f"No, {seen[-1]}.", WWW_Authenticate='Basic realm="x"')

    with host(shows) as place, pytest.raises(DeliveryError) as caught:
        git(worktree.path, "remote", "set-url", "origin", f"http://me:passw0rd@{place}/shop/offers.git")
        push(worktree, "origin", GitHub("shop/offers", TOKEN, api=f"http://{place}"))
    assert caught.value.code == "push-unauthorised" and "No, Basic ***" in str(caught.value)
    assert seen[0].startswith("Basic ") and seen[0].partition(" ")[2] not in str(caught.value)
    assert TOKEN not in str(caught.value) and "passw0rd" not in str(caught.value)
    settings = (worktree.path / ".git" / "config").read_text(encoding="utf-8")
    assert TOKEN not in settings and "extraHeader" not in settings


def test_a_token_is_taken_to_no_host_that_the_remote_redirects_to(worktree: Worktree) -> None:
    reached: list[str] = []

    def takes(handler: BaseHTTPRequestHandler) -> None:
        reached.append(handler.path)
        refusing(handler, 403)

    with host(takes) as other, pytest.raises(DeliveryError, match="302") as caught:
        elsewhere = f"http://{other.replace('127.0.0.1', 'localhost')}/stolen/info/refs?service=git-receive-pack"
        with host(lambda handler: refusing(handler, 302, Location=elsewhere)) as place:
            git(worktree.path, "remote", "set-url", "origin", f"http://{place}/shop/offers.git")
            push(worktree, "origin", GitHub("shop/offers", TOKEN, api=f"http://{place}"))
    assert caught.value.code == "remote-unreachable" and not reached


def test_what_a_remote_says_is_read_no_further_than_it_may_be(
    worktree: Worktree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palmette.delivery.git.MOST", 1000)
    hook = tmp_path / "origin.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nyes no | head -c 300000 >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    done = worktree.git.attempt("push", "origin", "HEAD:refs/heads/new")
    assert done.code != 0 and 0 < len(done.err) <= 1000


def test_redaction() -> None:
    assert redact("ssh://git@h/x and https://a:b@h/y: s3cret", "s3cret", "") == "ssh://***@h/x and https://***@h/y: ***"
