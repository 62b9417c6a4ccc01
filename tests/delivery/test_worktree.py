"""A worktree of its own: the user's checkout is never touched, branches are re-used only when safe."""

import subprocess
from pathlib import Path

import pytest
from git_by_hand import git

from palmette.delivery.git import Git
from palmette.delivery.worktree import TRAILER, Worktree
from palmette.errors import DeliveryError, InputError

FILES = {"src/new.py": "NEW = 1\n"}
ALLOW = ("src/**",)


def make(repository: Path, run: Path, files: dict[str, str] | None = None, **options: str) -> Worktree:
    worktree = Worktree.open(repository, run / "checkout", branch="features/new", **options)
    worktree.write(files or FILES, ALLOW)
    worktree.commit(files or FILES, "Add the feature view new", "Why it is there.")
    return worktree


def test_the_users_checkout_index_and_branch_stay(repository: Path, tmp_path: Path) -> None:
    before = git(repository, "status", "--porcelain"), git(repository, "rev-parse", "main")
    make(repository, tmp_path / "run")
    assert (git(repository, "status", "--porcelain"), git(repository, "rev-parse", "main")) == before
    assert git(repository, "show", "features/new:src/new.py") == "NEW = 1"
    assert git(repository, "show", "features/new:src/a.py") == "A = 1"
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_the_commit_has_the_users_name_a_trailer_and_a_short_subject(repository: Path, tmp_path: Path) -> None:
    worktree = Worktree.open(repository, tmp_path / "run", branch="b")
    worktree.write(FILES, ALLOW)
    worktree.commit(FILES, "Add " + "a very long name " * 9, "# Why\nBecause.")
    author, subject, body = git(repository, "log", "-1", "--format=%an <%ae>%n%s%n%b", "b").split("\n", 2)
    assert author == "A Person <person@team.example>"
    assert len(subject) <= 72 and subject.endswith("name")
    assert body.startswith("# Why\nBecause.") and body.endswith(TRAILER)


def test_without_a_configured_name_the_author_is_neutral(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "--unset", "user.name")
    git(repository, "config", "--unset", "user.email")
    make(repository, tmp_path / "run")
    assert git(repository, "log", "-1", "--format=%an <%ae>", "features/new") == "palmette <palmette@localhost>"


def test_hooks_and_signing_of_the_repository_do_not_run(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "commit.gpgSign", "true")
    for name in ("pre-commit", "commit-msg", "post-checkout", "reference-transaction"):
        hook = repository / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'hooked'}\nexit 1\n", encoding="utf-8")
        hook.chmod(0o755)
    make(repository, tmp_path / "run")
    assert not (tmp_path / "hooked").exists()


def test_repeating_a_run_changes_nothing_and_a_new_text_adds_a_commit(repository: Path, tmp_path: Path) -> None:
    make(repository, tmp_path / "one")
    tip = git(repository, "rev-parse", "features/new")
    make(repository, tmp_path / "two")
    assert git(repository, "rev-parse", "features/new") == tip
    make(repository, tmp_path / "three", {"src/new.py": "NEW = 2\n"})
    assert git(repository, "rev-parse", "features/new~1") == tip
    assert git(repository, "branch", "--list", "features/new*", "--format=%(refname:short)") == "features/new"


def test_what_an_earlier_run_wrote_and_a_later_one_does_not_is_gone(repository: Path, tmp_path: Path) -> None:
    earlier = {"src/new.py": "NEW = 1\n", "src/old.py": "OLD = 1\n", "src/a.py": "A = 9\n"}
    make(repository, tmp_path / "one", earlier)
    first = git(repository, "rev-parse", "features/new")
    git(repository, "stash", "--quiet", "--include-untracked")
    (repository / "later.py").write_text("", encoding="utf-8")
    git(repository, "add", "later.py")
    git(repository, "commit", "--quiet", "-m", "The base goes on")
    second = make(repository, tmp_path / "two", {"src/new.py": "NEW = 2\n"})
    assert git(repository, "ls-tree", "-r", "--name-only", second.branch.name) == "later.py\nsrc/a.py\nsrc/new.py"
    assert git(repository, "show", "features/new:src/a.py") == "A = 1"
    assert git(repository, "log", "-1", "--format=%P", "features/new").split() == [first, second.base_commit]
    assert second.changed() == ("src/new.py",)
    assert "+NEW = 2" in second.patch() and "OLD" not in second.patch()


@pytest.mark.parametrize("state", ["foreign commit", "checked out"])
def test_a_branch_of_somebody_else_gets_a_numbered_sister(repository: Path, tmp_path: Path, state: str) -> None:
    make(repository, tmp_path / "one")
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "review"), "features/new")
    if state == "foreign commit":
        git(tmp_path / "review", "commit", "--quiet", "--allow-empty", "-m", "Review remarks")
        git(repository, "worktree", "remove", str(tmp_path / "review"))
    tip = git(repository, "rev-parse", "features/new")
    assert make(repository, tmp_path / "two").branch.name == "features/new-2"
    assert git(repository, "rev-parse", "features/new") == tip


def test_a_merged_branch_starts_from_the_base_again(repository: Path, tmp_path: Path) -> None:
    make(repository, tmp_path / "one")
    git(repository, "stash", "--quiet", "--include-untracked")
    git(repository, "merge", "--quiet", "--no-ff", "-m", "Merge", "features/new")
    worktree = make(repository, tmp_path / "two", {"src/new.py": "NEW = 2\n"})
    assert worktree.branch.name == "features/new"
    assert git(repository, "rev-parse", "features/new~1") == git(repository, "rev-parse", "main")


def test_files_that_the_base_has_already_are_nothing_to_deliver(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError) as caught:
        make(repository, tmp_path / "run", {"src/a.py": "A = 1\n"})
    assert caught.value.code == "nothing-to-deliver"


def test_ignored_files_are_committed_and_line_ends_kept(repository: Path, tmp_path: Path) -> None:
    (repository / ".git" / "info" / "exclude").write_text("*.py\n", encoding="utf-8")
    make(repository, tmp_path / "run", {"src/new.py": "a\r\nb\n"})
    assert (tmp_path / "run" / "checkout" / "src" / "new.py").read_bytes() == b"a\r\nb\n"
    assert "src/new.py" in git(repository, "ls-tree", "-r", "--name-only", "features/new")


def test_a_part_of_a_monorepo_is_a_repository_too(repository: Path, tmp_path: Path) -> None:
    worktree = Worktree.open(repository / "src", tmp_path / "run", branch="b")
    worktree.write({"new.py": "NEW = 1\n"}, ["*.py"])
    worktree.commit(["new.py"], "Add new")
    assert worktree.changed() == ("src/new.py",)


def test_the_patch_applies_to_the_base(repository: Path, tmp_path: Path) -> None:
    worktree = make(repository, tmp_path / "run")
    git(tmp_path, "clone", "--quiet", str(tmp_path / "origin.git"), "other")
    (tmp_path / "p.patch").write_text(worktree.patch(), encoding="utf-8")
    git(
        tmp_path / "other",
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@x",
        "am",
        "--quiet",
        str(tmp_path / "p.patch"),
    )
    assert (tmp_path / "other" / "src" / "new.py").read_text(encoding="utf-8") == "NEW = 1\n"


def test_a_base_that_only_the_remote_has_is_found(repository: Path, tmp_path: Path) -> None:
    git(repository, "push", "--quiet", "origin", "main:release")
    git(repository, "fetch", "--quiet")
    assert make(repository, tmp_path / "run", base="release").base == "release"


@pytest.mark.parametrize(
    ("prepare", "options", "code", "says"),
    [
        ("rm -r .git", {}, "not-a-repository", "git init"),
        ("rm -r .git; git init -q", {}, "no-commits", "Commit something"),
        ("true", {"base": "mian"}, "unknown-branch", "Did you mean 'main'?"),
        ("git checkout -q -f --detach", {}, "no-base", "Name the base branch"),
        ("true", {"branch": "a..b"}, "bad-branch-name", "pull_request.branch"),
    ],
)
def test_mistakes_are_named(
    repository: Path, tmp_path: Path, prepare: str, options: dict[str, str], code: str, says: str
) -> None:
    subprocess.run(prepare, shell=True, cwd=repository, check=True)
    with pytest.raises(InputError) as caught:
        Worktree.open(repository, tmp_path / "run", **{"branch": "b", **options})
    assert [problem.code for problem in caught.value.problems] == [code]
    assert says in str(caught.value)


def test_nothing_is_written_when_one_path_is_not_allowed(repository: Path, tmp_path: Path) -> None:
    worktree = Worktree.open(repository, tmp_path / "run", branch="b")
    with pytest.raises(DeliveryError):
        worktree.write({"src/new.py": "", "setup.py": ""}, ALLOW)
    assert not (tmp_path / "run" / "src" / "new.py").exists()


def test_git_that_is_cut_off_leaves_nothing_in_the_repository(repository: Path, tmp_path: Path) -> None:
    """Neither a worktree that is half made nor a lock."""
    (repository / ".git" / "info" / "attributes").write_text("a.py filter=slow\n", encoding="utf-8")
    git(repository, "config", "filter.slow.smudge", "sleep 30")
    with pytest.raises(DeliveryError, match="no end after"):
        Git(repository, 0.5)("worktree", "add", "--detach", "--quiet", str(tmp_path / "checkout"), "main")
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert not list((repository / ".git").rglob("*.lock"))


def test_a_commit_and_its_branch_outlast_a_loss_of_power(repository: Path, tmp_path: Path) -> None:
    """Git leaves single objects to the operating system, if it is not told otherwise."""
    told, blob = tmp_path / "trace", tmp_path / "blob"
    blob.write_text("new", encoding="utf-8")
    Git(repository)("hash-object", "-w", str(blob), environment={"GIT_TRACE2_EVENT": str(told)})
    assert "fsync/" in told.read_text("utf-8")
