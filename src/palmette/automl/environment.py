"""Puts an AutoML run together: what is wanted, where the data are, and who works with what."""

from __future__ import annotations

import unicodedata
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, Field, JsonValue, ValidationError

from palmette.automl.artefacts import Settings, Track
from palmette.automl.data import Dataset, Places, TableError
from palmette.automl.endpoint.folder import require_replaceable
from palmette.automl.report import describe
from palmette.automl.requirements import DataSummary, Request, read_request
from palmette.automl.store import Store
from palmette.documents import Model
from palmette.engine import Budget, ConsoleHuman, Human, NoHuman, Setup, build_actors, create, load_topology
from palmette.errors import UserError, did_you_mean
from palmette.llm.opening import ModelChoice, about, check_roles, open_models
from palmette.llm.tokens import token_limit
from palmette.sandbox import Sandbox

TOPOLOGIES = Path(__file__).with_name("topologies")
MOST_TEXT = 10_000
"""Characters of a request."""
OVERHEAD = 1800.0
"""Seconds that a run may take beyond its training, before it is ended."""


class Wanted(Model):
    """The arguments of the environment; those of `palmette automl`."""

    text: str = ""
    """The request in words."""
    data: tuple[str, ...] = ()
    """Absolute paths of files and folders, or names of sets such as `sklearn:iris`."""
    table: str = ""
    """Which sheet, table or file of an archive is meant."""
    settings: Settings = Settings()
    tracks: tuple[Track, ...] = ("traditional",)
    topology: str = "automl"
    """Name of a built-in topology, or the path of a file."""
    model: str = "offline"
    models: dict[str, str] = Field(default_factory=dict)
    planner: str | None = None
    human: str = "none"
    approve: tuple[str, ...] = ()
    tokens: int | None = None
    money: float | None = None


def open_automl(arguments: dict[str, JsonValue], folder: Path) -> Setup:
    """The environment `automl`; `arguments` are those of `Wanted`.

    Raises:
        InputError: the data cannot be read; the message names file, reason and remedy.
        UserError: a named set, topology or model cannot be had, or the folder for the project is taken.
    """
    wanted = _wanted(arguments)
    if len(wanted.text) > MOST_TEXT:
        message = f"The request has {len(wanted.text)} characters; {MOST_TEXT} at most are read."
        raise UserError(message, "Say it shorter: what to predict, and what matters.", code="request-too-long")
    human: Human = ConsoleHuman() if wanted.human == "console" else NoHuman()
    choice = ModelChoice(model=wanted.model, models=wanted.models)
    topology = load_topology(topology_file(wanted.topology)).value
    check_roles(choice, topology)
    if wanted.settings.out:
        require_replaceable(Path(wanted.settings.out))
    places, dataset = _data(wanted, human)
    sandbox = Sandbox()
    services = {
        "sandbox": sandbox,
        "store": Store(folder / "fitted"),
        "delivered": folder / "delivered",
        "models": open_models(choice, folder),
        "seed": wanted.settings.seed,
    }
    budget = Budget(
        steps=80,
        attempts=160,
        seconds=2 * wanted.settings.seconds + OVERHEAD,
        tokens=token_limit(wanted.tokens, wanted.money),
        money=wanted.money,
    )
    planner = choice.decider(wanted.planner)
    written = unicodedata.normalize("NFC", wanted.text)  # as names of columns are
    given: dict[str, BaseModel | JsonValue] = {
        "request": Request(text=written, files=tuple(Path(name).name for name in places.named)),
        "columns": DataSummary.model_validate(dataset.model_dump()) if dataset else DataSummary(),
        "places": places,
        "settings": wanted.settings,
        "tracks": list(wanted.tracks),
    }
    return Setup(
        topology=topology,
        actors=build_actors(topology, services),
        planner=create("planner", planner, services),
        given={name: value for name, value in given.items() if name in topology.given},
        human=human,
        budget=budget,
        approve=wanted.approve,
        seed=wanted.settings.seed,
        about=f"{about(choice, budget)}\nplanner: {planner}\nisolation: {sandbox.isolation.name}",
        finish=lambda: describe(folder),
    )


def _wanted(arguments: dict[str, JsonValue]) -> Wanted:
    try:
        return Wanted.model_validate(arguments)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])).removeprefix("settings.").replace("seconds", "budget")
        known = {"request", "budget", *Wanted.model_fields, *Settings.model_fields} - {"text", "settings", "seconds"}
        guess = "" if name in known else did_you_mean(name, known)
        message = f"The argument {name!r} is {first['input']!r}: {first['msg']}.{guess}"
        raise UserError(message, f"Arguments are: {', '.join(sorted(known))}.", code="bad-argument") from error


def topology_file(name: str) -> Path:
    """The file of a built-in topology, or of a path.

    Raises:
        UserError: there is neither.
    """
    built_in = {path.stem: path for path in TOPOLOGIES.glob("*.yaml")}
    if name in built_in:
        return built_in[name]
    with suppress(OSError):  # longer than a path can be
        if Path(name).is_file():
            return Path(name)
    raise UserError(
        f"There is no topology {name!r}.{did_you_mean(name, built_in)}",
        f"Built in are {', '.join(sorted(built_in))}; or give the path of a topology file.",
        code="no-topology",
    )


def _data(wanted: Wanted, human: Human) -> tuple[Places, Dataset | None]:
    """Where the data are, and what is in them; nothing where none are given or named in the request."""
    named = wanted.data or _named_in(wanted.text)
    if not named:
        return Places(named=()), None
    try:
        return _read(named, wanted.table)
    except TableError as error:
        said = human.ask(f"{error.message} Which one is meant: {', '.join(map(repr, error.options))}?")
        table = (said or "").strip().strip("'\"`")
        if wanted.table or table not in error.options:
            raise
        return _read(named, table)


def _read(named: tuple[str, ...], table: str) -> tuple[Places, Dataset]:
    from palmette.automl.data.load import load

    dataset = load(named, table).dataset
    return Places(named=named, table=table, digests=tuple(file.sha256 for file in dataset.files)), dataset


def _named_in(text: str) -> tuple[str, ...]:
    """Files that the request names and that exist, else the first set of a hub."""
    dataset = read_request(text).requirements.dataset
    files = tuple(str(Path(name).absolute()) for name in dataset.files if _is_there(name))
    hubs = [f"{one.hub}:{one.id}" for one in dataset.hub if one.hub in ("openml", "uci", "sklearn")]
    return files or tuple(hubs[:1])


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError:  # longer than a path can be
        return False
