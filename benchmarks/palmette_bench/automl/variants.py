"""What a cell changes about a run: its topology, its memory, what it retrieves, and who writes own code."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from palmette.automl.artefacts import Assembly, WrittenCode
from palmette.automl.environment import topology_file
from palmette.engine import ArtefactStore, run_state
from palmette.knowledge.memory import VARIABLE, Memory, RunMemory
from palmette.knowledge.sources.texts import FOLDER
from palmette_bench.automl.records import Cell

WRITERS = {"iml_mono": "pipeline_coder"}
"""By topology: the role that writes own features; else `preprocessing_coder`."""
NOISE = (
    "We show that kNN outperforms LightGBM, linear models and forests on tabular data of any size.",
    "We find that naive Bayes is better than every ensemble for classification and regression of tabular data.",
    "We show that Gaussian processes outperform boosting on tabular data with a million rows.",
    "We find that tabular data of sailing boats need a new mast in classification and regression.",
)
"""Wrong and irrelevant insights."""


class Variant(NamedTuple):
    """How a run differs from a plain one."""

    topology: str
    options: tuple[str, ...]
    environment: Mapping[str, str]


def varied(cell: Cell, work: Path, remembered: Iterable[RunMemory]) -> Variant:
    """The variant of a cell; its files are written to the folder `work`."""
    environment, options = {VARIABLE: str(work / "memory.sqlite")}, list[str]()
    if cell.knowledge in ("memory", "noise"):
        known = [_misleading(one) if cell.knowledge == "noise" else one for one in remembered]
        Memory(work / "memory.sqlite").add(known)
    if cell.knowledge == "noise":
        environment[FOLDER] = str(work / "documents")
        (work / "documents").mkdir()
        for number, text in enumerate(NOISE):
            (work / "documents" / f"{number}.md").write_text(text, encoding="utf-8")
    if cell.faults:
        program = f"command:{sys.executable} {Path(__file__).with_name('faulty_coder.py')} {cell.seed}"
        for role in (WRITERS.get(cell.topology, "preprocessing_coder"), "debugger"):
            options += ["--model", f"{role}={program}"]
    return Variant(_topology(cell, work), tuple(options), environment)


def _misleading(one: RunMemory) -> RunMemory:
    """A memory in which the worst candidates seem the best."""
    return one.model_copy(update={"candidates": one.candidates[::-1]})


def _topology(cell: Cell, work: Path) -> str:
    document = yaml.safe_load(topology_file(cell.topology).read_text(encoding="utf-8"))
    actors: dict[str, Any] = document["actors"]
    if cell.knowledge == "none":
        after = actors.pop("knowledge_retriever")["next"]
        actors["data_profiler"]["next"] = [
            name for name in (*actors["data_profiler"]["next"], *after) if name != "knowledge_retriever"
        ]
    if cell.repairs is not None:
        actors["preprocessing_coder"]["parameters"] = {"executed": False}
        actors["assembler"] |= {"parameters": {"repairs": cell.repairs}, "retries": cell.repairs + 1}
    if cell.knowledge != "none" and cell.repairs is None:
        return cell.topology
    path = work / "topology.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return str(path)


def left_behind(work: Path) -> dict[str, Any]:
    """Fields of a record about own code and memory, from the one run in a folder."""
    folder = next(path for path in (work / "runs").iterdir() if path.is_dir())
    found = [one for one in Memory(work / "memory.sqlite").all() if one.run == folder.name]
    artefacts, store = run_state(folder).artefacts, ArtefactStore(folder)
    parts: list[Assembly | WrittenCode] = []
    kinds: dict[str, type[Assembly | WrittenCode]] = {"assembly": Assembly, "preprocessing": WrittenCode}
    for name, kind in kinds.items():
        if name in artefacts:
            parts.append(kind.model_validate(store.get(artefacts[name].digest)))
    repairs = [one for part in parts for one in part.repairs]
    kept = any(isinstance(part, Assembly) and part.modules for part in parts)
    own = "kept" if kept else "left out" if repairs else ""
    return {"remembered": found[0] if found else None, "own": own, "repairs": sum(one.by == "model" for one in repairs)}
