"""The runs that each table needs: a study varies some fields of a cell over some sets."""

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
    quick: tuple[str, ...]
    """Sets of the quick size."""


def _sets(wanted: Callable[[BenchSet], object]) -> tuple[str, ...]:
    return tuple(one.name for one in bench_sets().values() if wanted(one))


def _vary(field: str, *values: object) -> tuple[dict[str, Any], ...]:
    return tuple({field: value} for value in values)


REMEMBERING = ("memory", "noise")
FIVE = ("clothing_small", "ag_news_7600", "banana_quality", "beijing_pm25", "cora")
"""A set of each task type of AutoML-Agent's ablation."""
TWENTY = _sets(lambda one: one.problem != "clustering")[:20]
ALL_TABLES = _sets(lambda one: one.task.startswith("tabular") and one.problem != "clustering")
TABLES = ALL_TABLES[:8]
QUICK_TABLES = ("auto_mpg", "concrete_strength", "insurance_charges")
"""Small and alike, so that they recall one another."""
TEXTS = _sets(lambda one: one.task.startswith("text"))
STUDIES = {
    "agent": Study(
        _sets(lambda one: one.agent),
        tuple({"setting": setting, "wording": wording} for setting, wording in PROMPTS),
        lambda cell: cell.set,
        FIVE[:3],
    ),
    "agent-ablation": Study(
        FIVE, _vary("topology", "rap", "rap_decomposition", "automl_agent"), lambda cell: cell.topology, FIVE
    ),
    "plans": Study(FIVE, _vary("plans", 1, 3, 5), lambda cell: f"{cell.plans} plans", FIVE),
    "iml": Study(TWENTY, _vary("wording", "full", "stripped"), lambda cell: f"{cell.wording} description", FIVE),
    "iml-ablation": Study(
        ALL_TABLES,
        tuple({"topology": name, "faults": True} for name in ("iml", "iml_reactive", "iml_mono", "iml_static")),
        lambda cell: cell.topology,
        QUICK_TABLES,
    ),
    "repairs": Study(
        ALL_TABLES,
        tuple({"topology": "iml", "faults": True, "repairs": most} for most in (10, 5, 3, 1, 0)),
        lambda cell: f"K = {cell.repairs}",
        QUICK_TABLES,
    ),
    "knowledge": Study(
        ALL_TABLES,
        (
            {"knowledge": "library", "budget": 60.0},
            *({"knowledge": name, "budget": budget} for name in ("none", "memory") for budget in (15.0, 30.0, 60.0)),
            {"knowledge": "noise", "budget": 30.0},
        ),
        lambda cell: f"{cell.knowledge}, {cell.budget:g} s",
        QUICK_TABLES,
    ),
    "tracks": Study(
        TWENTY, _vary("track", "traditional", "neural", "pretrained", ""), lambda cell: cell.track or "all", FIVE
    ),
    "budgets": Study(TWENTY, _vary("budget", 60.0, 120.0, 300.0, 600.0), lambda cell: f"{cell.budget:g} s", FIVE[1:3]),
    "anytime": Study(
        TABLES, _vary("budget", 10.0, 30.0, 60.0, 120.0, 300.0), lambda cell: f"{cell.budget:g} s", QUICK_TABLES[1:2]
    ),
    "peers": Study(
        TABLES + TEXTS,
        _vary("system", "palmette", "dummy", "lightgbm"),
        lambda cell: cell.system,
        TABLES[:3] + TEXTS[:2],
    ),
}
"""By name: AutoML-Agent's tables 6 to 8, 9 and 10; iML's descriptions, ablations, repairs and tracks; retrieval and
memory; budgets; other systems."""


def cells(name: str, seeds: Sequence[int], systems: Sequence[str] = ()) -> Iterator[Cell]:
    """The runs of a study, seed by seed, first those that fill a memory, then set by set; `systems` joins the peers."""
    study = STUDIES[name]
    varied = (*study.varied, *_vary("system", *systems)) if name == "peers" else study.varied
    for seed in seeds:
        found = [Cell(study=name, set=one, seed=seed, **fields) for one in study.sets for fields in varied]
        yield from sorted(found, key=lambda cell: cell.knowledge != "library")
