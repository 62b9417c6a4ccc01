"""A small team with a repository and a view, on which the actors of the feature environment run for real."""

import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from palmette.engine import Attempt, Context, create, load, names
from palmette.features.environment import services_of
from palmette.features.inputs import RunInputs, read_inputs
from palmette.llm.answerer import Models
from palmette.sandbox import Sandbox, WarmSpark
from palmette_bench.featbench.open_task import SharedWorkbench

DOCUMENTS = Path(__file__).with_name("small_team.yaml")
PREFIX = "features."
"""Of the names of the environment's actors."""


def makers() -> dict[str, str]:
    """By artefact: the registered name of the actor that produces it."""
    return {load("actor", name).produces: name for name in names("actor") if name.startswith(PREFIX)}


class SmallTeam:
    """Makes actors with real services, and inputs out of what the actors upstream produce."""

    def __init__(self, folder: Path, sandbox: Sandbox, spark: WarmSpark) -> None:
        self.folder, self._sandbox, self._spark = folder, sandbox, spark
        self._artefacts: dict[str, BaseModel] = {}
        documents = yaml.safe_load(DOCUMENTS.read_text(encoding="utf-8"))
        for path, text in documents.pop("repository").items():
            self._write(f"repository/{path}", text)
        for name, document in documents.items():
            self._write(f"{name}.yaml", yaml.safe_dump(document, sort_keys=False))
        for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "The team's code"]):
            author = ["-c", "user.name=team", "-c", "user.email=team@localhost"]
            subprocess.run(["git", *author, *command], cwd=self.repository, check=True)

    def _write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    @cached_property
    def inputs(self) -> RunInputs:
        return read_inputs(self.folder / "run.yaml")

    @cached_property
    def services(self) -> dict[str, object]:
        run, view = self.inputs.run, self.inputs.view
        bench = SharedWorkbench(
            run=run,
            repository=self.repository,
            checkout=self.repository,
            sandbox=self._sandbox,
            spark=self._spark,
            tables=view.tables,
        )
        return services_of(view, bench, Models())

    def actor(self, name: str) -> Any:
        return create("actor", name, self.services)

    def input(self, name: str) -> BaseModel:
        """Its required fields filled from upstream, as the engine does; optional ones are left out."""
        model = load("actor", name).Input
        required = [field for field, info in model.model_fields.items() if info.is_required()]
        found = model.model_validate({field: self._artefact(field) for field in required})
        assert isinstance(found, BaseModel)
        return found

    def _artefact(self, name: str) -> BaseModel:
        if name == "request":
            return self.inputs.request
        if name not in self._artefacts:
            maker = makers()[name]
            context = Context(actor=maker, workspace=self.folder / "work" / name)
            context.workspace.mkdir(parents=True)
            attempt: Attempt[Any] = self.actor(maker).run(self.input(maker), context)
            assert attempt.output is not None, attempt
            self._artefacts[name] = attempt.output
        return self._artefacts[name]

    def files(self) -> dict[str, str]:
        """The team's files as they are now: nobody but the team changes them."""
        listed = [file for file in self.repository.rglob("*") if file.is_file() and ".git" not in file.parts]
        return {str(file.relative_to(self.repository)): file.read_text(encoding="utf-8") for file in listed}
