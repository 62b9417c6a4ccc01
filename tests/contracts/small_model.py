"""A small table on its way to a model, by the built-in rules, with a sandbox that runs nothing twice."""

from __future__ import annotations

import hashlib
import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from palmette.automl.actors.assembler.actor import Assembler
from palmette.automl.actors.comparator.actor import Comparator
from palmette.automl.actors.data_profiler.actor import DataProfiler
from palmette.automl.actors.guideline_writer.actor import GuidelineWriter
from palmette.automl.actors.implementation_verifier.actor import ImplementationVerifier
from palmette.automl.actors.modeling_coder.actor import ModelingCoder
from palmette.automl.actors.preprocessing_coder.actor import PreprocessingCoder
from palmette.automl.artefacts import Settings
from palmette.automl.store import Store
from palmette.engine import Context
from palmette.llm import OFFLINE, Models
from palmette.sandbox import ExecutionResult, Sandbox

STEPS: tuple[Callable[..., Any], ...] = (
    DataProfiler, GuidelineWriter, PreprocessingCoder, ModelingCoder, Assembler, Comparator, ImplementationVerifier
)  # fmt: skip


class Remembering(Sandbox):
    """Runs a program once on each state of its files; later it puts there what the program left."""

    def __init__(self, memory: Path) -> None:
        super().__init__()
        self.memory, self.started = memory, list[tuple[str, ...]]()

    def run(self, argv: Sequence[str], *, cwd: Path, **options: Any) -> ExecutionResult:
        given, left = [Path(one) for one in argv[1:] if one.startswith("/")], dict[Path, str]()
        named = [_state(path) if path in given else text for text in argv[1:] for path in [Path(text)]]
        before = {path: _state(path) for path in _files(cwd)}
        known = sorted((str(path.relative_to(cwd)), state) for path, state in before.items())
        kept = self.memory / hashlib.sha256(repr((named, known)).encode()).hexdigest()[:20]
        if not (kept / "result.json").exists():
            self.started.append(tuple(argv))
            result = super().run(argv, cwd=cwd, **options)
            left = {path: str(path.relative_to(cwd)) for path in _files(cwd) if before.get(path) != _state(path)}
            left |= {path: f"given/{number}" for number, path in enumerate(given) if path.is_file()}
            for path, name in left.items():
                (kept / "left" / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, kept / "left" / name)
            kept.mkdir(parents=True, exist_ok=True)
            (kept / "result.json").write_text(result.model_dump_json(), "utf-8")
        else:
            for file in _files(kept / "left"):
                name = file.relative_to(kept / "left")
                place = given[int(name.name)] if name.parts[0] == "given" else cwd / name
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)
        return ExecutionResult.model_validate_json((kept / "result.json").read_text("utf-8"))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _state(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


class SmallModel:
    """What each actor makes of the table, step by step."""

    def __init__(self, folder: Path, known: dict[str, Any], tracks: Sequence[str] = ("traditional",)) -> None:
        self.sandbox, self.store = Remembering(folder / "memory"), Store(folder / "store")
        self.folder, self.tracks = folder, tracks
        self.known: dict[str, Any] = {**known, "settings": Settings(seconds=1.0)}
        self._workspaces = (folder / f"work{number}" for number in itertools.count())

    def context(self, **fields: Any) -> Context:
        workspace = next(self._workspaces)
        workspace.mkdir(parents=True)
        return Context("small", workspace, **fields)

    def make(self, actor: Any, models: Models = OFFLINE) -> Any:
        """An actor with its services."""
        import inspect

        services = {"sandbox": self.sandbox, "store": self.store, "models": models}
        names = inspect.signature(actor).parameters
        return actor(**{name: service for name, service in services.items() if name in names})

    def input(self, actor: Any) -> Any:
        """The input of an actor, with what those before it make."""
        before = STEPS[: STEPS.index(actor)] if actor in STEPS else STEPS
        for step in before:
            if step.produces not in self.known:
                made = self.make(step).run(self._given(step), self.context()).output
                made = getattr(made, "root", made)
                self.known[step.produces] = (made,) if step is ModelingCoder else made
        return self._given(actor)

    def _given(self, actor: Any) -> Any:
        known = {**self.known, "track": self.tracks[0], "tracks": tuple(self.tracks)}
        return actor.Input(**{name: known[name] for name in actor.Input.model_fields if name in known})
