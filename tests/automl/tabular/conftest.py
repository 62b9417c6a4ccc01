"""The small projects, each trained once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from small_projects import Project, Trained, blueprint_of, guests, write

from palmette.automl.selection import select
from palmette.sandbox import Sandbox


@pytest.fixture(scope="session")
def trained(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Trained]:
    """By task: the project, trained at its first use."""
    made: dict[str, Trained] = {}

    def make(task: str) -> Trained:
        if task not in made:
            data, blueprint = guests(task), blueprint_of(task)
            project = Project(write(tmp_path_factory.mktemp(task), blueprint, data), blueprint, data, sandbox)
            found = project.found(project.train("model"))
            chosen = select(found.candidates, project.judge, blueprint.algorithms)
            (project.folder / "model" / "members.json").write_text(chosen.model_dump_json(), encoding="utf-8")
            made[task] = Trained(project, found, chosen)
        return made[task]

    return make
