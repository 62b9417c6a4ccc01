"""The small projects, each trained once."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from small_projects import Project, Trained, blueprint_of, guests, training, write

from palmette.automl.selection import select
from palmette.sandbox import Sandbox


@pytest.fixture(scope="session")
def trained(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Trained]:
    """By task: the project, trained at its first use; the binary one searches again, the others fit their members."""
    made: dict[str, Trained] = {}

    def make(task: str) -> Trained:
        if task not in made:
            data, blueprint = guests(task), blueprint_of(task)
            project = Project(write(tmp_path_factory.mktemp(task), blueprint, data), blueprint, data, sandbox)
            made[task] = run(project, guests(task, rows=300, seed=1), is_repeated=task != "binary")
        return made[task]

    return make


def run(project: Project, new: pd.DataFrame, is_repeated: bool) -> Trained:
    """Trains, chooses, predicts, trains again."""
    folder = project.folder
    new.drop(columns="target").to_csv(folder / "new.csv", index=False)
    project.run_all(training("model"))
    found = project.found("model")
    asked = [one for one in found.candidates if one.trial.algorithm in project.blueprint.algorithms]
    chosen = select(asked, project.judge)
    (folder / "model" / "members.json").write_text(chosen.model_dump_json(), encoding="utf-8")
    predicting = ("predict.py", "--model", "model", "--input", "new.csv", "--output", "said.csv")
    again = training("again", *(("--members", "model/members.json") if is_repeated else ()))
    told = project.run_all(predicting, again)
    said = pd.read_csv(folder / "said.csv", dtype={"prediction": str} if project.blueprint.classes else None)
    return Trained(project, found, chosen, project.found("again"), told, is_repeated, new, said)
