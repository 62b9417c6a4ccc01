"""What lies in the git folder of a repository steers nothing: no program of it is started, nothing is led astray."""

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from git_by_hand import git

from palmette.delivery import Change, Delivered, Target, deliver, preflight
from palmette.delivery.worktree import Worktree, export_base, file_on
from palmette.errors import DeliveryError, InputError
from palmette.sandbox.temporary import temporary_folder

CHANGE = Change(files={"src/new.py": "NEW = 1\n"}, allow=("src/**",), title="Add new", body="A view.")
ORIGIN = Target(remote="origin")
HOOKS = "pre-commit post-checkout post-index-change reference-transaction pre-push"

SETTINGS: Mapping[str, Mapping[str, str]] = {
    "a filter that writes files": {"filter.x.smudge": "RUN; cat"},
    "a filter that reads files": {"filter.x.clean": "RUN; cat"},
    "a filter that goes on": {"filter.x.process": "RUN; cat"},
    "settings elsewhere": {"include.path": "more"},
    "settings of a worktree": {"extensions.worktreeConfig": "true"},
    "an address that is a command": {"protocol.ext.allow": "always", "remote.origin.url": "ext::sh -c RUN"},
    "an address to push to": {"protocol.ext.allow": "always", "remote.origin.pushurl": "ext::sh -c RUN"},
    "a protocol of its own": {"protocol.ext.allow": "always", "remote.origin.vcs": "ext"},
    "who receives": {"remote.origin.receivepack": "RUN; git-receive-pack"},
    "who proves it": {"log.showSignature": "true", "gpg.program": "REPOSITORY/.git/run"},
    "who signs a push": {"push.gpgSign": "if-asked", "gpg.program": "REPOSITORY/.git/run"},
    "who watches": {"core.fsmonitor": "RUN"},
    "who knows the password": {"credential.helper": "!RUN;", "remote.origin.url": "http://127.0.0.1:9/x.git"},
    "who goes between": {"core.gitProxy": "REPOSITORY/.git/run", "remote.origin.url": "git://127.0.0.1:9/x"},
    "hooks elsewhere": {"core.hooksPath": "REPOSITORY/.git/hooks"},
    "who has what is not there": {"extensions.partialClone": "origin", "remote.origin.uploadpack": "RUN"},
}


@pytest.fixture
def ran(repository: Path, tmp_path: Path) -> Path:
    """A file that is there as soon as a program of the repository ran: each file has a filter, each event a hook."""
    mark = tmp_path / "ran"
    program = repository / ".git" / "run"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n", encoding="utf-8")
    program.chmod(0o755)
    more = f'[filter "x"]\n\tsmudge = touch {mark}; cat\n'
    for name in ("more", "config.worktree"):
        (repository / ".git" / name).write_text(more, encoding="utf-8")
    (repository / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n", encoding="utf-8")
    for name in HOOKS.split():
        shutil.copy(program, repository / ".git" / "hooks" / name)
    return mark


def run(repository: Path, folder: Path, target: Target = ORIGIN) -> Delivered:
    """All that a run has git do."""
    preflight(repository, None, "features/new", target)
    export_base(repository, None, folder / "base")
    with temporary_folder() as place:
        delivered = deliver(
            Worktree.open(repository, place / "checkout", branch="features/new"), CHANGE, target, folder
        )
    assert file_on(repository, delivered.branch, "src/new.py") == "NEW = 1\n"
    return delivered


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_no_program_of_the_repository_is_started(
    settings: Mapping[str, str], repository: Path, ran: Path, tmp_path: Path
) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    signed = git(repository, "cat-file", "commit", commit).replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n -----END PGP SIGNATURE-----\n\n", 1
    )
    (tmp_path / "signed").write_text(signed.replace("Start", f"parent {commit}\n\nMade-with: palmette"), "utf-8")
    earlier = git(repository, "hash-object", "-t", "commit", "-w", str(tmp_path / "signed"))
    git(repository, "update-ref", "refs/heads/features/new", earlier)
    ran.unlink(missing_ok=True)  # by the reference-transaction hook
    for key, value in settings.items():
        git(repository, "config", key, value.replace("RUN", f"touch {ran}").replace("REPOSITORY", str(repository)))
    try:
        run(repository, tmp_path / "run")
    except DeliveryError as error:
        assert error.code.startswith(("push-", "remote-")), error
    assert not ran.exists()


def test_the_name_of_who_works_and_the_forms_of_lines_are_the_repositorys(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "user.name", 'A "Person" \\ of # many; names')
    git(repository, "config", "core.autocrlf", "true")
    run(repository, tmp_path / "run")
    assert git(repository, "log", "-1", "--format=%an", "features/new") == 'A "Person" \\ of # many; names'
    assert (tmp_path / "run" / "base" / "src" / "a.py").read_bytes() == b"A = 1\r\n"


def test_a_password_in_an_address_is_used_and_kept_nowhere(repository: Path, tmp_path: Path) -> None:
    git(repository, "remote", "set-url", "origin", "http://me:passw0rd@127.0.0.1:9/x.git")
    with pytest.raises(DeliveryError, match=r"http://\*\*\*@127") as caught:
        run(repository, tmp_path / "run")
    assert caught.value.code == "remote-unreachable" and "passw0rd" not in str(caught.value)
    assert not any(b"passw0rd" in path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())


@pytest.mark.parametrize("url", ["evil.git", "../team/.git/evil.git", "{team}/.git/evil.git", "file://{team}/evil.git"])
def test_a_remote_in_the_repository_receives_nothing(url: str, repository: Path, tmp_path: Path) -> None:
    git(repository, "remote", "set-url", "origin", url.format(team=repository))
    with pytest.raises(DeliveryError) as caught:
        run(repository, tmp_path / "run")
    assert caught.value.code == "remote-inside"


def test_links_that_lead_out_are_not_exported(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a key", encoding="utf-8")
    for name, target in (("key", tmp_path / "key"), ("etc", "/etc"), ("above", "../../key"), ("same", "a.py")):
        (repository / "src" / name).symlink_to(target)
    (repository / "round").symlink_to(".")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", "Links")
    folder = export_base(repository, None, tmp_path / "base")
    assert {path.name for path in folder.rglob("*") if path.is_symlink()} == {"same", "round"}


def test_content_that_stands_for_another_is_not_shown(repository: Path, tmp_path: Path) -> None:
    """What is read and checked is what the commits hold."""
    (tmp_path / "other").write_text("A = 666\n", encoding="utf-8")
    other = git(repository, "hash-object", "-w", str(tmp_path / "other"))
    git(repository, "replace", git(repository, "rev-parse", "HEAD:src/a.py"), other)
    assert (export_base(repository, None, tmp_path / "base") / "src" / "a.py").read_text("utf-8") == "A = 1\n"


def _settings_are_a_pipe(repository: Path) -> None:
    (repository / ".git" / "config").unlink()
    os.mkfifo(repository / ".git" / "config")


def _head_is_a_link(repository: Path) -> None:
    (repository / ".git" / "HEAD").rename(repository / ".git" / "other")
    (repository / ".git" / "HEAD").symlink_to("other")


@pytest.mark.parametrize("prepare", [_settings_are_a_pipe, _head_is_a_link])
def test_what_holds_git_up_or_leads_it_elsewhere_is_named(
    prepare: Callable[[Path], None], repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palmette.delivery.git._LOOKING_SECONDS", 0.5)
    prepare(repository)
    with pytest.raises(InputError) as caught:
        export_base(repository, "main", tmp_path / "base")
    assert [problem.code for problem in caught.value.problems] == ["not-a-repository"]
    assert re.search(r"did not tell within 0.5 s|HEAD cannot be read|not a git repository", str(caught.value))


def test_a_worktree_and_a_bare_repository_are_repositories(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "-b", "review", str(tmp_path / "review"))
    assert run(tmp_path / "review", tmp_path / "one").base == "review"
    assert run(tmp_path / "origin.git", tmp_path / "two", Target()).base == "main"
