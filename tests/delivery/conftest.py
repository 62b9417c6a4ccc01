"""A team's repository with a bare remote, both real and small."""

from pathlib import Path

import pytest
from git_by_hand import git

IDENTITY = {"user.name": "A Person", "user.email": "person@team.example"}


@pytest.fixture(autouse=True)
def own_git_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings and tokens but those of the test."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[init]\n\tdefaultBranch = main\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in (
        "GITHUB_TOKEN",
        "GITLAB_TOKEN",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit on `main`, a remote `origin`, and a person's work in progress."""
    folder = tmp_path / "team"
    folder.mkdir()
    git(tmp_path, "init", "--quiet", "--bare", "origin.git")
    git(folder, "init", "--quiet")
    for key, value in IDENTITY.items():
        git(folder, "config", key, value)
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("A = 1\n", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Start")
    git(folder, "remote", "add", "origin", str(tmp_path / "origin.git"))
    git(folder, "push", "--quiet", "origin", "main")
    (folder / "src" / "a.py").write_text("A = 2  # not committed\n", encoding="utf-8")
    (folder / "staged.py").write_text("", encoding="utf-8")
    git(folder, "add", "staged.py")
    return folder
