"""What people write on the page: artefacts, specifications, uploads, and the start of a run; all of it is validated."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from secrets import token_hex
from typing import Any

from pydantic import JsonValue

from palmette.documents import parse_document, parse_located, read_document, read_located, write_text
from palmette.engine import ArtefactStore, Topology, new_run_folder, run_state, runs_folder
from palmette.engine.artefacts import VALUE
from palmette.engine.executor import typed
from palmette.engine.lint import load_actor
from palmette.errors import InputError, Mistake, RunError, UserError
from palmette.features.spec.run import FORMATS
from palmette.roots import Roots
from palmette.web.work import Job

MOST_UPLOAD = 2_000_000_000  # bytes of an uploaded file
MOST_LISTED = 500
_DATA = {".csv", ".tsv", ".parquet", ".json", ".jsonl", ".xlsx", ".zip", ".db", ".sqlite", ".gz"}


def uploads_folder() -> Path:
    return runs_folder() / "uploads"


def edit_artefact(folder: Path, name: str, path: str, text: str) -> None:
    """Writes a file of an artefact's working copy, if the artefact is still of its type; a resume takes it over.

    Raises:
        RunError: the run has no such artefact, or it has no such file.
        InputError: the artefact would not be of its type.
    """
    state = run_state(folder)
    if name not in state.artefacts:
        raise RunError(f"The run has no artefact {name!r}.", "Reload the page.", code="unknown-artefact")
    copy = ArtefactStore(folder).copies / name
    file = (copy / path).resolve()
    if not file.is_relative_to(copy.resolve()) or not file.is_file() or file.name.startswith("."):
        raise RunError(f"The artefact {name!r} has no file {path!r}.", "Reload the page.", code="unknown-artefact")
    before = file.read_bytes()
    write_text(file, text)
    try:
        _require_type(folder, name, ArtefactStore(folder).read_copy(name), copy / VALUE)
    except InputError:
        file.write_bytes(before)
        raise


def _require_type(folder: Path, name: str, value: JsonValue, file: Path) -> None:
    """Raises InputError where an edited artefact is not of its actor's type any more."""
    state = run_state(folder)
    assert state.header and state.opened
    topology = Topology.model_validate_json(state.header.topology)
    beside = Path(str(state.opened.arguments.get("topology", folder))).parent
    for actor, node in topology.actors.items():
        found = load_actor(topology.use(actor), beside)
        if found.produces == name:
            typed(value, found.Output, bool(node.fan_out), file)


def problems_of(kind: str, text: str, registry: Path | None) -> list[Mistake]:
    """The mistakes of a document while it is written: of form, and of a specification against its registry too."""
    from palmette.features.spec import FeatureSpec, Registry
    from palmette.features.spec.resolve import resolve_located

    try:
        parse_document(text, FORMATS[kind], f"{kind}.yaml")
        if kind == "fsc" and registry is not None:
            resolve_located(parse_located(text, FeatureSpec, "fsc.yaml"), read_located(registry, Registry))
    except InputError as error:
        return list(error.problems)
    return []


async def keep_upload(name: str, chunks: AsyncIterator[bytes]) -> Path:
    """An uploaded file, in a folder of its own."""
    clean = re.sub(r"[^\w.-]+", "-", Path(name).name)[-100:].strip(".-")
    if Path(clean).suffix.casefold() not in _DATA:
        message = f"{name!r} is not a file of data."
        raise UserError(message, f"Known are {', '.join(sorted(_DATA))}.", code="unknown-format")
    path = uploads_folder() / token_hex(6) / clean
    path.parent.mkdir(parents=True)
    size = 0
    try:
        with path.open("wb") as file:
            async for chunk in chunks:
                size += len(chunk)
                if size > MOST_UPLOAD:
                    raise UserError(f"The file has more than {MOST_UPLOAD} bytes.", "Name its path.", code="too-large")
                file.write(chunk)
    except BaseException:  # a page that disconnects too leaves no half of a file
        path.unlink(missing_ok=True)
        raise
    return path


def listing(roots: Roots, text: str) -> dict[str, Any]:
    """The folders and files of an allowed folder that a person may choose from."""
    folder = roots.path(text or ".")
    folder = folder if folder.is_dir() else folder.parent
    shown = [one for one in sorted(folder.iterdir()) if not one.name.startswith(".")][:MOST_LISTED]
    names = [{"name": one.name, "path": str(one), "folder": one.is_dir()} for one in shown]
    inside = any(folder.parent.is_relative_to(root) for root in roots.folders)
    return {"path": str(folder), "parent": str(folder.parent) if inside else None, "entries": names}


def job_of(roots: Roots, environment: str, given: dict[str, JsonValue]) -> tuple[Path, Job]:
    """The folder and the job of a new run.

    Raises:
        InputError: every mistake in what was given; questions that words leave open are among them.
        UserError: a path is not allowed.
    """
    job, name = _features(roots, given) if environment == "features" else _automl(roots, given)
    return new_run_folder(name), job


def _features(roots: Roots, given: dict[str, JsonValue]) -> tuple[Job, str]:
    from palmette.features.inputs import read_inputs

    path = roots.run_file(str(given.get("run_file", "")))
    answers = given.get("answers") or {}
    assert isinstance(answers, dict)
    if str(given.get("model") or "offline") == "offline":
        read_inputs(path, {name: str(text) for name, text in answers.items() if text})
    chosen = {name: given[name] for name in ("model", "planner", "seed") if given.get(name)}
    arguments: dict[str, JsonValue] = {"run_file": str(path), "answers": answers, "human": "web", **chosen}
    return Job(environment="features", arguments=arguments), path.stem


def _automl(roots: Roots, given: dict[str, JsonValue]) -> tuple[Job, str]:
    from palmette.automl.arguments import arguments_of, title_of
    from palmette.knowledge.datasets import is_named

    options: dict[str, Any] = dict(given)
    sentence, data = str(options.pop("sentence", "")), options.pop("data", None) or []
    places = [str(one) for one in (data if isinstance(data, list) else [data])]
    places = [one if is_named(one) else str(roots.path(one)) for one in places]
    if not places and not sentence.strip():
        raise UserError("There is neither a request nor data.", "Choose a file.", code="nothing-asked")
    if out := options.pop("out", None):
        options["out"] = str(roots.path(str(out)))
    for name in ("topology", "task"):
        if options.pop(name, None):
            message = f"A run that is started here takes no {name!r}: its file could name code to import."
            raise UserError(message, "Start it on the command line.", code="outside-roots")
    options["human"] = "web"
    arguments = json.loads(json.dumps(arguments_of(sentence, places, **options)))
    return Job(environment="automl", arguments=arguments), title_of(places) or "automl"


def save_yaml(path: Path, text: str) -> None:
    """Writes a specification, registry or run file that exists; mistakes in it may be fixed later."""
    if path.suffix not in {".yaml", ".yml"} or not path.is_file():
        raise UserError(f"{path.name!r} is not a YAML file that exists.", "Make it first.", code="no-such-file")
    write_text(path, text)


def named_by(run_file: Path) -> dict[str, str]:
    """The specification and the registry of a run file."""
    from palmette.features.spec.run import Run

    run = read_document(run_file, Run)
    beside = {name: str((run_file.parent / text).resolve()) for name, text in (("fsc", run.fsc), ("dfr", run.dfr))}
    return {"run": str(run_file), **beside}
