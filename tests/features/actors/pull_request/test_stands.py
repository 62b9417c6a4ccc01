"""A local branch that somebody deleted is made again; one that was pushed or merged is not."""

from types import SimpleNamespace
from typing import Any

import pytest

from palmette.features.actors.pull_request.actor import PullRequestActor

FILE = SimpleNamespace(path="a.py", text="new\n")


@pytest.mark.parametrize(
    ("branches", "pushed_to", "stands"),
    [
        ({"features/a": "new\n", "main": None}, "", True),
        ({"features/a": "a reviewer's\n", "main": "old\n"}, "", True),
        ({"main": "new\n"}, "", True),
        ({"main": None}, "origin", True),
        ({"main": "old\n"}, "", False),
        ({"main": None}, "", False),
    ],
)
def test_what_stands(branches: dict[str, str | None], pushed_to: str, stands: bool) -> None:
    bench: Any = SimpleNamespace(file_on=lambda branch, path: branches.get(branch))
    input: Any = SimpleNamespace(script=SimpleNamespace(file=FILE))
    output: Any = SimpleNamespace(branch="features/a", base="main", pushed_to=pushed_to)
    assert PullRequestActor(view=None, workbench=bench).stands(input, output) is stands  # type: ignore[arg-type]  # unused
