"""Actors that make mistakes: real ones, of documented kinds, found by nothing but the real checks."""

from palmette_bench.featbench.faults import cases, configuration, script, template, tests, utilities
from palmette_bench.featbench.faults.faulty import FaultPlan, Faulty
from palmette_bench.featbench.faults.kind import Faulted, FaultKind, FaultSite

CATALOGUE: tuple[FaultKind, ...] = (
    *configuration.KINDS,
    *utilities.KINDS,
    *template.KINDS,
    *cases.KINDS,
    *tests.KINDS,
    *script.KINDS,
)
"""Every kind of fault."""

__all__ = ["CATALOGUE", "FaultKind", "FaultPlan", "FaultSite", "Faulted", "Faulty"]
