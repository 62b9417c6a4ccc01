"""The runs that each table needs: a study varies some fields of a cell over some sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from palmette_bench.automl.prompts import PROMPTS
from palmette_bench.automl.records import Cell
from palmette_bench.automl.sets import BenchSet, bench_sets


class Study(NamedTuple):
    """One table."""

    sets: tuple[str, ...]
    varied: tuple[dict[str, Any], ...]
    """Fields of a cell, by row of the table."""
    row: Callable[[Cell], str]
    """Name of a cell's row."""


def _sets(wanted: Callable[[BenchSet], object]) -> tuple[str, ...]:
    return tuple(one.name for one in bench_sets().values() if wanted(one))


def _vary(field: str, *values: object) -> tuple[dict[str, Any], ...]:
    return tuple({field: value} for value in values)


FIVE = ("clothing_small", "ag_news_7600", "banana_quality", "beijing_pm25", "cora")
"""A set of each task type of AutoML-Agent's ablation."""
TWENTY = _sets(lambda one: one.problem != "clustering")[:20]
TABLES = _sets(lambda one: one.task.startswith("tabular") and one.problem != "clustering")
TEXTS = _sets(lambda one: one.task.startswith("text"))
STUDIES = {
    "agent": Study(
        _sets(lambda one: one.agent),
        tuple({"setting": setting, "wording": wording} for setting, wording in PROMPTS),
        lambda cell: cell.set,
    ),
    "agent-ablation": Study(
        FIVE, _vary("topology", "rap", "rap_decomposition", "automl_agent"), lambda cell: cell.topology
    ),
    "plans": Study(FIVE, _vary("plans", 1, 3, 5), lambda cell: f"{cell.plans} plans"),
    "iml": Study(TWENTY, _vary("wording", "full", "stripped"), lambda cell: f"{cell.wording} description"),
    "iml-ablation": Study(
        TWENTY, _vary("topology", "iml_reactive", "iml_mono", "iml_static", "iml"), lambda cell: cell.topology
    ),
    "tracks": Study(
        TWENTY, _vary("track", "traditional", "neural", "pretrained", ""), lambda cell: cell.track or "all"
    ),
    "budgets": Study(TWENTY, _vary("budget", 60.0, 120.0, 300.0, 600.0), lambda cell: f"{cell.budget:g} s"),
    "anytime": Study(TABLES, _vary("budget", 10.0, 30.0, 60.0, 120.0, 300.0), lambda cell: f"{cell.budget:g} s"),
    "peers": Study(TABLES + TEXTS, _vary("system", "palmette", "dummy", "lightgbm"), lambda cell: cell.system),
}
"""By name: AutoML-Agent's tables 6 to 8, 9 and 10; iML's descriptions, ablations and tracks; budgets; other systems."""


def cells(name: str, seeds: Sequence[int], systems: Sequence[str] = ()) -> Iterator[Cell]:
    """The runs of a study, seed by seed; `systems` joins the peers."""
    study = STUDIES[name]
    varied = (*study.varied, *_vary("system", *systems)) if name == "peers" else study.varied
    for seed in seeds:
        for one in study.sets:
            yield from (Cell(study=name, set=one, seed=seed, **fields) for fields in varied)
