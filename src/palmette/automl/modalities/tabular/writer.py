"""From a blueprint to the files of a project."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

from palmette.automl.measure import METRICS
from palmette.automl.modalities.tabular import tables
from palmette.automl.modalities.tabular.algorithms import BOOSTING, CLASSICAL, LIBRARIES, NETWORKS, Track
from palmette.automl.modalities.tabular.blueprint import Blueprint
from palmette.automl.modalities.tabular.rendering import rendered, templates_of
from palmette.automl.modalities.tabular.scoring import ABSOLUTE, CLASSIFICATION, REGRESSION
from palmette.automl.modalities.tabular.starts import FOREST_LEAVES, LARGE, starts, work_of
from palmette.automl.modalities.tabular.tracks import TRACKS, wanted_in
from palmette.automl.wording import metric
from palmette.engine.actor import TextFile

PREPARATION = {"preprocess.py", "contract.py", "contract.json", "target.py", "tests/rows.json"}
"""Files about rows and features, whatever is learnt from them."""


@functools.lru_cache(maxsize=4)
def write_project(blueprint: Blueprint, tracks: tuple[Track, ...] = ("traditional",)) -> tuple[TextFile, ...]:
    """The project's files for these tracks, in order of their paths; formatted where ruff is installed."""
    contract = json.dumps(contract_of(blueprint), indent=2, ensure_ascii=False)
    texts = {"contract.json": f"{contract}\n", "tests/rows.json": tables.example_rows(blueprint)}
    return rendered(_templates(blueprint, tracks), _facts(blueprint, tracks), texts)


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
    return tuple(file for file in write_project(blueprint, tuple(tracks)) if file.path not in others)


def contract_of(blueprint: Blueprint) -> dict[str, Any]:
    """What `contract.json` says: input rows, features, predictions."""
    predictions: dict[str, Any] = {"shape": ["rows"]}
    if blueprint.classes:
        predictions = {"shape": ["rows", len(blueprint.classes)], "classes": list(blueprint.classes)}
        if (made := blueprint.source.threshold) is not None:
            facts = zip(("class", "else"), made.classes, strict=True)
            predictions["threshold"] = {"comparison": made.comparison, "value": made.value, **dict(facts)}
    elif blueprint.bounds:
        predictions |= {"minimum": blueprint.bounds[0], "maximum": blueprint.bounds[1]}
    return {
        "task": blueprint.task,
        "target": blueprint.target,
        **tables.contract_of(blueprint),
        "predictions": predictions,
    }


def _templates(blueprint: Blueprint, tracks: Sequence[Track]) -> dict[str, str]:
    of_tracks = {file for one in TRACKS.values() for file in one.files}
    kept = {file for track in tracks for file in _of_track(blueprint, track)}
    return {path: name for path, name in templates_of("tabular").items() if path not in of_tracks or path in kept}


def _of_track(blueprint: Blueprint, track: Track) -> list[str]:
    """Paths of the files of a track that its algorithms need."""
    wanted = set(wanted_in(track, blueprint.algorithms))
    return [file for file, algorithms in TRACKS[track].files.items() if wanted & set(algorithms)]


def _facts(blueprint: Blueprint, tracks: Sequence[Track]) -> dict[str, Any]:
    """What the templates know: the blueprint, and what follows from it."""
    facts, classification = tables.facts_of(blueprint), blueprint.task == "classification"
    formulas = CLASSIFICATION if classification else REGRESSION
    positive = blueprint.positive or (blueprint.classes[-1] if blueprint.classes else "")
    wanted = {track: wanted_in(track, blueprint.algorithms) for track in TRACKS}
    traditional = wanted["traditional"]
    libraries = {LIBRARIES[one] for track in tracks for one in wanted[track] if one in LIBRARIES}
    return facts | {
        "tracks": tuple(tracks),
        "classification": classification,
        "has_texts": facts["has_texts"] or (classification and not blueprint.source.threshold),
        "has_numbers": facts["has_numbers"] or not classification or blueprint.source.threshold is not None,
        "formula": formulas[blueprint.metric],
        "metric": metric(blueprint.metric),
        "greater": METRICS[blueprint.metric].greater_is_better,
        "absolute": blueprint.metric in ABSOLUTE,
        "positive": blueprint.classes.index(positive) if positive else None,
        "boosting": [one for one in traditional if one in BOOSTING],
        "classical": [one for one in traditional if one in CLASSICAL],
        "networks": {one: name for one, name in NETWORKS.items() if one in wanted["neural"]},
        "linear_range": classification and "linear" in traditional,
        "wanted": wanted,
        "starts": {track: starts(blueprint, wanted[track]) for track in TRACKS},
        "libraries": ["optuna", *sorted(libraries)],
        "large": work_of(blueprint) > LARGE,
        "forest_leaf": max(1, blueprint.rows // FOREST_LEAVES),
    }
