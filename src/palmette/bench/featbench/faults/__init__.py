"""Actors that make mistakes: real ones, of documented kinds, found by nothing but the real checks."""

from palmette.bench.featbench.faults import cases, configuration, script, template, tests, utilities
from palmette.bench.featbench.faults.faulty import Draw, Faulty, Plan
from palmette.bench.featbench.faults.kind import Kind, Site, Struck

CATALOGUE: tuple[Kind, ...] = (
    *configuration.KINDS,
    *utilities.KINDS,
    *template.KINDS,
    *cases.KINDS,
    *tests.KINDS,
    *script.KINDS,
)
"""Every kind of fault."""

__all__ = ["CATALOGUE", "Draw", "Faulty", "Kind", "Plan", "Site", "Struck"]
