"""The tasks of FeatBench, and how one is set up to be worked on.

A task is a folder of `tasks/`: its description, with the same logic in words (`task.yaml`), the specification
(`fsc.yaml`), what the team's own script computes (`gold.py`), and a second, independent definition of the right output
(`expected.sql`, over the registry's tables, with the cut-off as `$as_of`).
"""

import shutil
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from palmette.delivery.git import Git
from palmette.documents import Model, read_document
from palmette.errors import UserError, did_you_mean
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import load_view
from palmette.features.spec.run import CutoffInterval
from palmette.features.spec.view import View
from palmette_bench.featbench.gold import script_of, settings_of
from palmette_bench.featbench.world.draws import CUTOFF
from palmette_bench.featbench.world.tables import write_tables

COMPUTATIONS = ("aggregate", "expression", "lookup", "derive")
"""The fields of a feature that say how it is computed, unless `words` does."""
HERE = Path(__file__).parent
WORLD = HERE / "world"
SAMPLE_ROWS = 1_500
"""Offer interactions of the sample that a run works on; all tables together have some thousand rows."""


class TaskDescription(Model):
    """`task.yaml`."""

    name: str
    """The feature view's name, too."""
    number: int
    """As published; 0 is held out, numbers from 11 on are not of the paper."""
    aliases: tuple[str, ...] = ()
    """Other names that the published tables give it."""
    origin: Literal["paper", "held-out", "open"]
    difficulty: Literal["easy", "medium", "hard"]
    tries: str
    """What it tries, in a sentence."""
    words: dict[str, str]
    """By feature: the same computation in words."""
    interval: CutoffInterval = CutoffInterval(as_of=CUTOFF)
    """Of the run file."""


class BenchTask(Model):
    """A task, and where its files are."""

    description: TaskDescription
    folder: Path

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def script(self) -> str:
        """Path in the repository."""
        return f"recsys_features/views/{self.name}.py"

    @property
    def settings(self) -> str:
        """Path in the repository."""
        return f"settings/{self.name}.yml"

    @property
    def spec(self) -> Path:
        """The feature specification, in expressions."""
        return self.folder / "fsc.yaml"

    def write_spec(self, file: Path, in_words: bool = False) -> Path:
        """Writes the feature specification, in expressions or in words."""
        if not in_words:
            return Path(shutil.copyfile(self.spec, file))
        spec = read_document(self.spec, FeatureSpec).model_dump(mode="json", by_alias=True, exclude_unset=True)
        for feature in spec["features"]:
            if words := self.description.words.get(feature["name"], ""):
                del feature[next(key for key in COMPUTATIONS if key in feature)]
                feature["words"] = words
        file.write_text(yaml.safe_dump(spec, sort_keys=False, allow_unicode=True), encoding="utf-8")
        return file

    @property
    def view(self) -> View:
        """What the specification means."""
        return load_view(self.spec, WORLD / "registry.yaml")

    def gold(self) -> dict[str, str]:
        """The team's own files: path in the repository to text."""
        view, computation = self.view, (self.folder / "gold.py").read_text(encoding="utf-8")
        return {self.script: script_of(view, computation), self.settings: settings_of(view)}

    @property
    def expected(self) -> str:
        """SQL of DuckDB over the tables: the right output for one cut-off, `$as_of`."""
        return (self.folder / "expected.sql").read_text(encoding="utf-8")


@cache
def tasks() -> tuple[BenchTask, ...]:
    """All tasks, by number and name."""
    files = sorted((HERE / "tasks").glob("*/task.yaml"))
    found = [BenchTask(description=read_document(file, TaskDescription), folder=file.parent) for file in files]
    return tuple(sorted(found, key=lambda task: (task.description.number, task.name)))


def task(name: str) -> BenchTask:
    """The task with this name or alias.

    Raises:
        UserError: there is none.
    """
    by_name = {known: task for task in tasks() for known in (task.name, *task.description.aliases)}
    if name not in by_name:
        message = f"FeatBench has no task {name!r}.{did_you_mean(name, by_name)}"
        raise UserError(message, f"The tasks are {', '.join(one.name for one in tasks())}.", code="unknown-task")
    return by_name[name]


def prepare(task: BenchTask, folder: Path, rows: int = SAMPLE_ROWS, seed: int = 0, words: bool = False) -> Path:
    """Sets a task up in `folder`, which need not exist, and returns its run file.

    There are the team's repository (a git checkout), the registry, tables of `rows` offer interactions, and the
    specification; nothing of the gold.
    """
    folder.mkdir(parents=True, exist_ok=True)
    make_repository(folder / "repository")
    write_tables(folder / "tables", rows, seed)
    shutil.copyfile(WORLD / "registry.yaml", folder / "registry.yaml")
    task.write_spec(folder / "fsc.yaml", words)
    run = {
        "run": 1,
        "fsc": "fsc.yaml",
        "dfr": "registry.yaml",
        "repository": {
            "path": "repository",
            "base": "main",
            "utilities": ["recsys_features/lib"],
            "config_class": "recsys_features.settings:ViewSettings",
        },
        "interval": task.description.interval.model_dump(mode="json", exclude_none=True),
        "output": {"path": f"repository/lake/{task.name}"},
        "seed": seed,
    }
    file = folder / "run.yaml"
    file.write_text(yaml.safe_dump(run, sort_keys=False), encoding="utf-8")
    return file


AUTHOR = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "Team"), ("EMAIL", "team@example.com"), ("DATE", "2025-01-01T00:00:00Z"))
}
"""Fixed, so that the commit is the same everywhere."""


def make_repository(path: Path) -> None:
    """A git checkout of the team's repository, with one commit on `main`; what is at `path` is replaced."""
    shutil.rmtree(path, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", ".*", "lake")
    shutil.copytree(WORLD / "repository", path, ignore=ignored)
    (path / ".gitignore").write_text("__pycache__/\n.pytest_cache/\nlake/\n", encoding="utf-8")
    git = Git(path, settings={"core.autocrlf": "false"})
    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all", "--force")
    git("commit", "--quiet", "--message=Features of the recommender", environment=AUTHOR)
