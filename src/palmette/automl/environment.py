"""Sets up an AutoML run: the request, the data, and the actors with their services."""

import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, Field, JsonValue, ValidationError

from palmette.automl.arguments import RUN_OPTIONS, places_of
from palmette.automl.artefacts import Store
from palmette.automl.composition import unavailable
from palmette.automl.endpoint.folder import require_replaceable
from palmette.automl.kinds import Track
from palmette.automl.report.page import describe
from palmette.automl.samples import DataSource, Samples, TableError
from palmette.automl.task_spec.request import DataSummary, Request
from palmette.automl.task_spec.spec import FieldSource, TaskSpec, merged
from palmette.automl.task_spec.task_file import TaskFile, task_of
from palmette.documents import Model, read_document
from palmette.engine import Human, RunBudget, Setup, build_actors, create, human_of, load_topology
from palmette.errors import UserError, did_you_mean
from palmette.knowledge.datasets import DATASET_SOURCES, DatasetCandidate, candidates, chosen, is_named
from palmette.knowledge.memory import mended_before
from palmette.llm.opening import ModelChoice, about, models_of, open_models
from palmette.llm.text import token_limit
from palmette.problems import error_of
from palmette.sandbox import Sandbox

TOPOLOGIES = Path(__file__).with_name("topologies")
MOST_TEXT = 10_000  # most characters of a request
OVERHEAD = 1800.0  # seconds beyond the training time after which a run is stopped
_SET = re.compile(rf"\b(?:{'|'.join(DATASET_SOURCES)}):[\w-]+(?:[./][\w-]+)*")
_NUMBERED = re.compile(
    r"\b(ucimlrepo|openml)\b[^.]{0,60}\bid\W{0,3}(\d+)|\bid\W{0,3}(\d+)[^.]{0,60}\b(ucimlrepo|openml)\b", re.I
)
_FILE = re.compile(r"(?<!\w)[\w./~-]+\.(?:csv|tsv|parquet|json|jsonl|xlsx|xls|zip|db|sqlite|gz)\b", re.I)
_ASKED = re.compile(
    r"\b(?:find|search for|look for|get)\s+(?:me\s+)?(?:some\s+|a\s+|suitable\s+)*(?:open\s+)?data(?:\s?sets?)?\s+"
    r"(?:about|on|for|of|with)\s+(?P<words>[^.;\n]+?)(?=\s+and\s+(?:predict|forecast|classify|cluster|group)|[.;\n]|$)"
    r"(?:\s+and\b)?[.;]?",
    re.I,
)
_METHOD = re.compile(
    r"\b(?:predict\w*|forecast\w*|classif\w+|cluster\w*|group\w*|models?|build|train|regress\w*|accuracy|auc|roc|f1|rmse|"
    r"mae|at least|at most|best|within|score|i|want|need|please|use|using|whether|without|\d[\w.%]*)\b",
    re.I,
)
"""Words about the model rather than the data."""
SHOWN = 5  # number of candidates offered to a person


class RunArguments(Model):
    """The arguments of the environment, as returned by `arguments_of`."""

    request: str = ""
    """The request in words."""
    task: str = ""
    """Absolute path of a task file."""
    flags: TaskFile = TaskFile()
    """Task fields given as flags or in Python."""
    topology: str = "automl"
    """Name of a built-in topology, or path of a topology file."""
    model: str = "offline"
    models: dict[str, str] = Field(default_factory=dict)
    planner: str | None = None
    human: str = "none"
    approve: tuple[str, ...] = ()
    tokens: int | None = None
    money: float | None = None


def open_automl(
    arguments: dict[str, JsonValue], folder: Path, asker: Callable[[Human], Human] = lambda human: human
) -> Setup:
    """Sets up the environment `automl`; `arguments` are the fields of `RunArguments`.

    Raises:
        InputError: the data or the task file cannot be read; the message names file, reason and remedy.
        UserError: a data set, topology or model is unavailable, or the folder for the package is taken.
    """
    wanted = _arguments(arguments)
    task = _given_task(wanted)
    if len(task.sentence) > MOST_TEXT:
        raise error_of(UserError, "request-too-long", count=len(task.sentence), most=MOST_TEXT)
    human = asker(human_of(wanted.human, folder))
    topology = load_topology(topology_file(wanted.topology)).value
    choice = models_of(ModelChoice(model=wanted.model, models=wanted.models), topology)
    if task.out:
        require_replaceable(Path(task.out))
        if folder.is_relative_to(Path(task.out).absolute()):
            raise error_of(UserError, "folder-taken/run", folder=task.out, run=str(folder))
    if not task.data:
        task = with_found_data(task, human)
    places, samples = _data(task, human)
    sandbox = Sandbox()
    services = {
        "sandbox": sandbox,
        "store": Store(folder / "fitted"),
        "delivered": folder / "delivered",
        "models": open_models(choice, folder),
        "seed": task.seed,
    }
    budget = RunBudget(
        steps=80,
        attempts=160,
        seconds=2 * task.budget + OVERHEAD,
        tokens=token_limit(wanted.tokens, wanted.money),
        money=wanted.money,
    )
    planner = choice.decider(wanted.planner)
    given: dict[str, BaseModel | JsonValue] = {
        "request": Request(text=task.sentence, files=tuple(Path(name).name for name in places.named)),
        "columns": DataSummary.model_validate(samples.model_dump()) if samples else DataSummary(),
        "places": places,
        "given_task": task,
        "tracks": list(task.tracks or [one for one in get_args(Track) if not unavailable(one)] or ["traditional"]),
    }
    return Setup(
        topology=topology,
        actors=build_actors(topology, services),
        planner=create("planner", planner, services),
        given={name: value for name, value in given.items() if name in topology.given},
        human=human_of(wanted.human, folder),
        budget=budget,
        approve=wanted.approve,
        seed=task.seed,
        recall=mended_before,
        about=f"{about(choice, budget)}\nplanner: {planner}\nisolation: {sandbox.isolation.name}",
        finish=lambda: describe(folder),
    )


def _arguments(arguments: dict[str, JsonValue]) -> RunArguments:
    try:
        return RunArguments.model_validate(arguments)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"][: 2 if first["loc"][0] == "flags" else 1])).removeprefix("flags.")
        known = {"request", "task", "approve", *RUN_OPTIONS, *TaskFile.model_fields}
        guess = "" if name in known else did_you_mean(name, known)
        reason = first["msg"].removeprefix("Value error, ")
        message = f"The argument {name!r} is {first['input']!r}: {reason}.{guess}"
        remedy = "Correct it." if name in known else f"Arguments are: {', '.join(sorted(known))}."
        raise UserError(message, remedy, code="bad-argument") from error


def _given_task(wanted: RunArguments) -> TaskSpec:
    """Merges flags and task file into a partial task; the command's sentence takes precedence over the file's."""
    flags = task_of(wanted.flags, "flag")
    file = TaskSpec()
    if wanted.task:
        path = Path(wanted.task)
        file = task_of(read_document(path, TaskFile), "file")
        file = file.model_copy(update={"data": places_of(file.data, path)})
        if file.out:
            file = file.model_copy(update={"out": str(path.parent / file.out)})
    task = merged(flags, file)
    sentence = unicodedata.normalize("NFC", wanted.request or task.sentence)  # like the names of columns
    named = () if task.data else _named_in(sentence)
    if named:
        source = FieldSource(origin="sentence", words=", ".join(named))
        task = task.model_copy(update={"data": named, "sources": {**task.sources, "data": source}})
    return task.model_copy(update={"sentence": sentence})


def topology_file(name: str) -> Path:
    """Returns the file of a built-in topology, or the path itself if it is a file, else raises UserError."""
    built_in = {path.stem: path for path in TOPOLOGIES.glob("*.yaml")}
    if name in built_in:
        return built_in[name]
    if os.path.isfile(name):  # noqa: PTH113 - of any length
        return Path(name)
    raise error_of(UserError, "no-topology", name, built_in, name=name, built_in=", ".join(sorted(built_in)))


def _data(task: TaskSpec, human: Human) -> tuple[DataSource, Samples | None]:
    """Locates and loads the data; asks a person if a file holds several tables. Loads nothing if no data are given."""
    if not task.data:
        return DataSource(named=()), None
    try:
        return _read(task, task.table)
    except TableError as error:
        answer = human.ask(f"{error.message} Which one is meant: {', '.join(map(repr, error.options))}?")
        table = (answer or "").strip().strip("'\"`")
        if task.table or table not in error.options:
            raise
        return _read(task, table)


def _read(task: TaskSpec, table: str) -> tuple[DataSource, Samples]:
    from palmette.automl.samples.load import load

    samples = load(task.data, table, task.arrays).samples
    digests = tuple(file.sha256 for file in samples.files)
    return DataSource(named=task.data, table=table, arrays=task.arrays, digests=digests), samples


def _named_in(text: str) -> tuple[str, ...]:
    """Returns the existing files that the request names, else the first data set of a hub."""
    files = tuple(str(Path(name).absolute()) for name in _FILE.findall(text) if os.path.exists(name))  # noqa: PTH110 - of any length
    sets = _SET.findall(text)
    for hub, after, before, hub_after in _NUMBERED.findall(text):
        sets.append(f"{'openml' if 'openml' in (hub or hub_after).casefold() else 'uci'}:{after or before}")
    return files or tuple(sets[:1])


def with_found_data(task: TaskSpec, human: Human) -> TaskSpec:
    """Adds a data set that fits the sentence; returns the task unchanged if none fits.

    Raises UserError where the sentence asks for data ("find data about ..."), and no set fits.
    """
    asked = _ASKED.search(task.sentence)
    words = asked["words"] if asked else _METHOD.sub(" ", task.sentence)
    if not words.strip():
        return task
    found, notes = candidates(words, task.problem, task.target)
    listed = "\n".join(f"{number}. {one}" for number, one in enumerate(found[:SHOWN], start=1))
    place = _answered(human, words, found, listed) if found else ""
    why = "chosen by the person who was asked"
    if not place and (best := chosen(found)):
        place, why = best.record.place, f"{best}; nothing rules it out"
    if not place and asked:
        why = f"Candidates are:\n{listed}\n" if listed else f"{' '.join(notes)} "
        raise error_of(UserError, "no-data-found", words=words.strip(), why=why)
    if not place:
        return task
    source = FieldSource(origin="answer" if why.startswith("chosen") else "default", words=why)
    sentence = task.sentence.replace(asked[0], " ").strip() if asked else task.sentence
    changes = {"data": (place,), "sentence": sentence, "sources": {**task.sources, "data": source}}
    return task.model_copy(update=changes)


def _answered(human: Human, words: str, found: list[DatasetCandidate], listed: str) -> str:
    """Returns the place that a person chooses by number or name, or '' without an answer."""
    answer = human.ask(f"Which data about {words.strip()!r}? Answer with a number or a name.\n{listed}") or ""
    if answer.strip().isdecimal() and 1 <= int(answer) <= len(found[:SHOWN]):
        return found[int(answer) - 1].record.place
    return answer.strip() if is_named(answer.strip()) else ""
