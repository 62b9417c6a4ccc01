"""On which branch a pull request lies when a run is repeated, and what it says of that."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palmette.engine.actor import Context, TextFile
from palmette.features.actors.pull_request.actor import PullRequestActor, PullRequestInput
from palmette.features.artefacts import Config, FeatureDelivery, RunRequest, Script, Template, Tests
from palmette.features.repository import read_conventions
from palmette.features.spec.run import Run
from palmette.features.spec.view import View


def git(folder: Path, *arguments: str) -> str:
    named = ("-c", "user.name=A Person", "-c", "user.email=person@team.example")
    done = subprocess.run(["git", *named, *arguments], cwd=folder, check=True, capture_output=True, encoding="utf-8")
    return done.stdout.strip()


@pytest.mark.parametrize("is_reviewed", [False, True], ids=["of runs alone", "with a reviewer's commit"])
def test_a_repeated_run(
    is_reviewed: bool, user_offers: Callable[..., View], run_spec: Run, request_artefact: RunRequest, tmp_path: Path
) -> None:
    team = tmp_path / "team"
    team.mkdir()
    git(team, "init", "--quiet", "--initial-branch=main")
    git(team, "commit", "--quiet", "--allow-empty", "-m", "Start")
    conventions = read_conventions(team, run_spec, user_offers())
    template = Template(file=TextFile(path="x.py", text=""), conventions=conventions)
    bench: Any = SimpleNamespace(run=run_spec, checkout=team, repository=team)

    def run(attempt: str, script: str) -> FeatureDelivery:
        given = PullRequestInput(
            request=request_artefact,
            config=Config(file=TextFile(path="configs/v.yaml", text="a: 1\n"), class_name="", accessors={}),
            template=template,
            tests=Tests(file=TextFile(path="tests/test_v.py", text=f"{attempt} = 1\n")),
            script=Script(file=TextFile(path=script, text="x = 1\n"), entry="build"),
        )
        output = PullRequestActor(user_offers(), bench).run(given, Context("pull_request", tmp_path / attempt)).output
        assert output is not None
        return output

    first = run("first", "features/old_name.py")
    assert first.branch == "features/user_offers" and "branch beside it" not in first.body.text
    if is_reviewed:
        git(team, "checkout", "--quiet", first.branch)
        git(team, "commit", "--quiet", "--allow-empty", "-m", "Reviewed")
        git(team, "checkout", "--quiet", "main")
    before = git(team, "rev-parse", first.branch)
    second = run("second", "features/v.py")
    assert second.files == ("configs/v.yaml", "features/v.py", "tests/test_v.py")
    assert git(team, "ls-tree", "-r", "--name-only", second.branch).splitlines() == list(second.files)
    assert ("What is to become of the branch `features/user_offers`?" in second.body.text) is is_reviewed
    assert (second.branch == first.branch) is not is_reviewed
    assert (git(team, "rev-parse", first.branch) == before) is is_reviewed
