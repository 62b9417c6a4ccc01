"""From a blueprint to the files of a project: templates that look like the Python they become, then ruff."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palmette.automl.modalities.tabular import source
from palmette.automl.modalities.tabular.algorithms import BOOSTING, CLASSICAL, LIBRARIES, Track, pinned
from palmette.automl.modalities.tabular.blueprint import Blueprint, ColumnPlan, Example
from palmette.automl.modalities.tabular.names import distinct, identifier, plain
from palmette.automl.modalities.tabular.reading import reading_facts
from palmette.automl.modalities.tabular.scoring import ABSOLUTE, CLASSIFICATION, REGRESSION
from palmette.automl.modalities.tabular.starts import FOREST_LEAVES, LARGE, starts
from palmette.automl.modalities.tabular.tracks import TRACKS, wanted_in
from palmette.engine.actor import TextFile

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")
ROW_TYPES = {"numeric": "number", "categorical": "text", "boolean": "boolean", "datetime": "datetime", "text": "text"}
DATE_PARTS = ("year", "month", "day", "weekday", "hour", "days")
EXAMPLE_ROWS = 4
PREPARATION = {"preprocess.py", "contract.py", "contract.json", "target.py", "tests/rows.json"}
"""Files about rows and features, whatever is learnt from them."""


def write_project(blueprint: Blueprint, tracks: Sequence[Track] = ("traditional",)) -> tuple[TextFile, ...]:
    """The project's files for these tracks, in order of their paths; formatted where ruff is installed."""
    facts = _facts(blueprint, tracks)
    environment = _environment()
    texts = {name: environment.get_template(f"{name}.j2").render(facts) for name in _templates(blueprint, tracks)}
    contract = json.dumps(contract_of(blueprint), indent=2, ensure_ascii=False)
    texts |= {"contract.json": f"{contract}\n", "tests/rows.json": _example_rows(blueprint)}
    return tuple(TextFile(path=path, text=text) for path, text in sorted(_formatted(texts).items()))


def preparation_files(blueprint: Blueprint) -> tuple[TextFile, ...]:
    """The project's files about rows and features."""
    return tuple(file for file in write_project(blueprint) if file.path in PREPARATION)


def track_files(blueprint: Blueprint, track: Track) -> tuple[TextFile, ...]:
    """The project's files of one track: `models/<track>.py`, and the models that only this track has."""
    own = set(_of_track(blueprint, track))
    return tuple(file for file in write_project(blueprint, (track,)) if file.path in own)


def shared_files(blueprint: Blueprint, tracks: Sequence[Track] = ("traditional",)) -> tuple[TextFile, ...]:
    """All other files: with those of preparation and of the tracks, they are the project."""
    others = PREPARATION.union(*(_of_track(blueprint, track) for track in tracks))
    return tuple(file for file in write_project(blueprint, tracks) if file.path not in others)


def contract_of(blueprint: Blueprint) -> dict[str, Any]:
    """What `contract.json` says: input rows, features, predictions."""
    rows = [
        {
            "name": column.name,
            "type": ROW_TYPES[column.kind],
            "nullable": column.nullable,
            **({} if column.minimum is None else {"minimum": column.minimum}),
            **({} if column.maximum is None else {"maximum": column.maximum}),
            **({"seen": list(column.categories)} if column.categories else {}),
        }
        for column in blueprint.columns
    ]
    features = [
        {"name": name, "kind": kind, "dtype": "float64" if kind == "number" else "object"}
        for name, kind in features_of(blueprint)
    ]
    predictions: dict[str, Any] = {"shape": ["rows"]}
    if blueprint.classes:
        predictions = {"shape": ["rows", len(blueprint.classes)], "classes": list(blueprint.classes)}
    elif blueprint.bounds:
        predictions |= {"minimum": blueprint.bounds[0], "maximum": blueprint.bounds[1]}
    return {
        "task": blueprint.task,
        "target": blueprint.target,
        "rows": rows,
        "features": features,
        "predictions": predictions,
    }


def features_of(blueprint: Blueprint) -> list[tuple[str, str]]:
    """Names and kinds of the features (number, category, text), in order."""
    names = distinct((column.name for column in blueprint.columns), plain)
    made: list[tuple[str, str]] = []
    for kind in ("numeric", "boolean", "datetime", "categorical", "text"):
        for column in blueprint.columns:
            if column.kind == kind:
                made += _features_of(column, names[column.name])
    return made


def _features_of(column: ColumnPlan, name: str) -> list[tuple[str, str]]:
    if column.kind == "datetime":
        return [(f"{name}__{part}", "number") for part in DATE_PARTS]
    if column.kind == "text":
        return [(name, "text"), (f"{name}__words", "number")]
    return [(name, "category" if column.kind == "categorical" else "number")]


def _templates(blueprint: Blueprint, tracks: Sequence[Track]) -> Iterator[str]:
    of_tracks = {file for one in TRACKS.values() for file in one.files}
    kept = {file for track in tracks for file in _of_track(blueprint, track)}
    for path in sorted(TEMPLATES.rglob("*.j2")):
        name = path.relative_to(TEMPLATES).as_posix().removesuffix(".j2")
        if name not in of_tracks or name in kept:
            yield name


def _of_track(blueprint: Blueprint, track: Track) -> list[str]:
    """Paths of the files of a track that its algorithms need."""
    wanted = set(wanted_in(track, blueprint.algorithms))
    return [file for file, algorithms in TRACKS[track].files.items() if wanted & set(algorithms)]


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {
        "py": source.literal,
        "line": source.line,
        "comment": source.comment,
        "sentence": source.sentence,
        "listed": source.listed,
    }
    return environment


def _facts(blueprint: Blueprint, tracks: Sequence[Track]) -> dict[str, Any]:
    """What the templates know: the blueprint, and what follows from it."""
    from palmette.automl.data.kinds import FALSE, TRUE

    formulas = CLASSIFICATION if blueprint.task == "classification" else REGRESSION
    positive = blueprint.positive or (blueprint.classes[-1] if blueprint.classes else "")
    by_kind = {kind: [one for one in blueprint.columns if one.kind == kind] for kind in ROW_TYPES}
    names = [column.name for column in blueprint.columns]
    wanted = {track: wanted_in(track, blueprint.algorithms) for track in TRACKS}
    traditional = wanted["traditional"]
    return {
        "blueprint": blueprint,
        "tracks": tuple(tracks),
        "classification": blueprint.task == "classification",
        "formula": formulas[blueprint.metric],
        "absolute": blueprint.metric in ABSOLUTE,
        "positive": blueprint.classes.index(positive) if positive else None,
        "renamed": {name: made for name, made in distinct(names, plain).items() if made != name},
        "fields": distinct(names, identifier),
        "kinds": by_kind,
        "reading": reading_facts(blueprint),
        "yes": sorted(TRUE | {"1.0"}),
        "no": sorted(FALSE | {"0.0"}),
        "has_words": bool(by_kind["text"]),
        "has_categories": bool(by_kind["categorical"]),
        "boosting": [one for one in traditional if one in BOOSTING],
        "classical": [one for one in traditional if one in CLASSICAL],
        "linear_range": blueprint.task == "classification" and "linear" in traditional,
        "wanted": wanted,
        "starts": {track: starts(blueprint, wanted[track]) for track in TRACKS},
        "libraries": sorted({LIBRARIES[one] for track in tracks for one in wanted[track] if one in LIBRARIES}),
        "large": blueprint.rows * len(blueprint.columns) > LARGE,
        "forest_leaf": max(1, blueprint.rows // FOREST_LEAVES),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "pinned": pinned,
    }


def _example_rows(blueprint: Blueprint) -> str:
    """Rows for the project's tests, made of the columns' examples: row by row, never a row of the data."""
    rows: list[dict[str, Example]] = [
        {one.name: one.examples[index % len(one.examples)] if one.examples else None for one in blueprint.columns}
        for index in range(EXAMPLE_ROWS)
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def _formatted(texts: dict[str, str]) -> dict[str, str]:
    """The same files laid out by ruff, if it is installed."""
    with tempfile.TemporaryDirectory(prefix="palmette-project-") as name:
        folder = Path(name)
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        if _ruff(["check", "--fix-only", "--quiet", "--select", "I,F401"], folder):
            _ruff(["format", "--quiet"], folder)
        return {path: (folder / path).read_text(encoding="utf-8") for path in texts}


def _ruff(arguments: Sequence[str], folder: Path) -> bool:
    """Whether it ran and found nothing to refuse."""
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
