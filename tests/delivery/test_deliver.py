"""The whole delivery: what is done stays, what is left is said, and no token is anywhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from forges import ForgeServer
from git_by_hand import git

from palmette.delivery import Change, Delivered, Target, Worktree, deliver, preflight
from palmette.delivery.deliver import forge_of, is_hosted
from palmette.delivery.forge import PullRequestDraft
from palmette.delivery.git import Git
from palmette.delivery.worktree import export_base
from palmette.errors import DeliveryError
from palmette.sandbox.temporary import temporary_folder

TOKEN = "t0p-secret-token"
CHANGE = Change(
    files={"src/new.py": "NEW = 1\n"},
    allow=("src/new.py",),
    title="Add the feature view new",
    message="Why.",
    body="# What\n\nA view.\n",
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgeServer]:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setattr("palmette.delivery.forge.ATTEMPTS", 1)
    with ForgeServer() as forge:
        yield forge


def run(repository: Path, folder: Path, target: Target, change: Change = CHANGE) -> Delivered:
    with temporary_folder() as place:
        worktree = Worktree.open(repository, place / "worktree", branch="features/new")
        return deliver(worktree, change, target, folder)


def github(server: ForgeServer) -> Target:
    return Target(target="github", project="shop/offers", api=server.url)


def test_local_is_a_branch_a_description_and_a_patch(repository: Path, tmp_path: Path) -> None:
    done = run(repository, tmp_path / "run", Target())
    assert git(repository, "rev-parse", done.branch) == done.commit and done.paths == ("src/new.py",)
    assert Path(done.body).read_text(encoding="utf-8") == CHANGE.body
    assert "+NEW = 1" in Path(done.patch).read_text(encoding="utf-8")
    assert done.opened is None and done.remote is None
    assert git(tmp_path / "origin.git", "branch", "--list") == "* main"


def test_local_with_a_remote_pushes(repository: Path, tmp_path: Path) -> None:
    done = run(repository, tmp_path / "run", Target(remote="origin"))
    assert git(tmp_path / "origin.git", "rev-parse", "features/new") == done.commit


def test_a_forge_gets_one_pull_request_for_two_runs(repository: Path, tmp_path: Path, server: ForgeServer) -> None:
    first = run(repository, tmp_path / "one", github(server))
    second = run(
        repository,
        tmp_path / "two",
        github(server),
        CHANGE.model_copy(update={"files": {"src/new.py": "NEW = 2\n"}}),
    )
    assert first.opened and second.opened and first.opened.url == second.opened.url and second.opened.existing
    assert git(tmp_path / "origin.git", "rev-parse", "features/new") == second.commit
    assert len(server.pulls) == 1


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (401, "forge-unauthorised"),
        (403, "forge-forbidden"),
        (404, "forge-no-project"),
        (422, "forge-refused"),
        (500, "forge-unavailable"),
        ("drop", "forge-unreachable"),
    ],
)
def test_a_forge_that_fails_loses_nothing(
    repository: Path, tmp_path: Path, server: ForgeServer, failure: int | str, code: str
) -> None:
    server.failures = [("POST", failure)] * 4
    with pytest.raises(DeliveryError) as caught:
        run(repository, tmp_path / "run", github(server))
    message = str(caught.value)
    assert caught.value.code == code and caught.value.exit_code == 5
    assert git(tmp_path / "origin.git", "show", "features/new:src/new.py") == "NEW = 1"
    body, patch = tmp_path / "run" / "pull_request.md", tmp_path / "run" / "features-new.patch"
    assert body.exists() and patch.exists() and str(body) in message and str(patch) in message
    assert "https://github.com/shop/offers/compare/main...features/new" in message
    assert "git -C" not in message, "it is pushed already"
    assert TOKEN not in message


def test_after_a_failure_a_repeated_run_finishes(repository: Path, tmp_path: Path, server: ForgeServer) -> None:
    server.failures = [("POST", 401)]
    with pytest.raises(DeliveryError):
        run(repository, tmp_path / "run", github(server))
    assert run(repository, tmp_path / "run", github(server)).opened


@pytest.mark.parametrize(
    ("target", "code", "says"),
    [
        ({"remote": "upstream"}, "unknown-remote", "git remote add upstream"),
        ({"project": None}, "no-project", "owner/name"),
        ({"token_env": "MY_TOKEN"}, "no-token", "MY_TOKEN"),
    ],
)
def test_what_is_missing_is_said_after_the_branch_is_made(
    repository: Path, tmp_path: Path, server: ForgeServer, target: dict[str, str | None], code: str, says: str
) -> None:
    with pytest.raises(DeliveryError) as caught:
        run(repository, tmp_path / "run", github(server).model_copy(update=target))
    assert caught.value.code == code and says in str(caught.value)
    assert git(repository, "show", "features/new:src/new.py") == "NEW = 1"
    assert "git -C" in str(caught.value) and "push" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"remote": "upstream"}, "remote", "unknown-remote"),
        ({"project": None}, "project", "no-project"),
        ({"token_env": "MY_TOKEN"}, "token_env", "no-token"),
    ],
)
def test_what_is_missing_is_said_before_the_work(
    repository: Path, server: ForgeServer, change: dict[str, str | None], field: str, code: str
) -> None:
    target = github(server)
    assert preflight(repository, "main", None, target) == []
    found = preflight(repository, "main", None, target.model_copy(update=change))
    assert [(problem.field, problem.code) for problem in found] == [(f"pull_request.{field}", code)]


def test_the_project_is_read_from_the_remote(repository: Path, server: ForgeServer) -> None:
    address = "https://github.com/shop/offers.git"
    git(repository, "remote", "set-url", "origin", address)
    forge = forge_of(Target(target="github", api=server.url), Git(repository), "origin")
    draft = PullRequestDraft(title="t", body="b", branch="features/new", base="main")
    assert forge.compare_url(draft).startswith("https://github.com/shop/offers/compare/")


def test_no_file_of_the_run_holds_the_token(repository: Path, tmp_path: Path, server: ForgeServer) -> None:
    run(repository, tmp_path / "run", github(server))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("target", "url", "sent"),
    [
        ({"target": "github"}, "https://github.com/shop/offers", True),
        ({"target": "github"}, "https://elsewhere.example/shop/offers", False),
        ({"target": "github", "api": "https://ghe.example/api/v3"}, "https://ghe.example:8443/a/b", True),
        ({"target": "gitlab", "token_env": "GITHUB_TOKEN"}, "https://gitlab.example/data/ml/offers", True),
        (
            {"target": "gitlab", "api": "https://gitlab.com", "token_env": "GITHUB_TOKEN"},
            "https://x.example/a/b",
            False,
        ),
    ],
)
def test_a_token_goes_to_its_own_host_alone(
    repository: Path, monkeypatch: pytest.MonkeyPatch, target: dict[str, str], url: str, sent: bool
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    git(repository, "remote", "set-url", "origin", url)
    forge = forge_of(Target.model_validate(target), Git(repository), "origin")
    assert is_hosted(url, forge) is sent


def test_the_base_branch_is_exported_without_work_in_progress(repository: Path, tmp_path: Path) -> None:
    (repository / ".gitattributes").write_text("src export-ignore\n", encoding="utf-8")
    git(repository, "add", ".gitattributes")
    git(repository, "commit", "--quiet", "-m", "Attributes", "--", ".gitattributes")
    folder = export_base(repository, "main", tmp_path / "base")
    assert (folder / "src" / "a.py").read_text(encoding="utf-8") == "A = 1\n"
    assert not (folder / "staged.py").exists()
    assert (export_base(repository / "src", None, tmp_path / "part") / "a.py").exists()
    assert (export_base(tmp_path / "origin.git", "main", tmp_path / "bare") / "src" / "a.py").exists()
    assert sorted(path.name for path in tmp_path.glob("*.index")) == []
