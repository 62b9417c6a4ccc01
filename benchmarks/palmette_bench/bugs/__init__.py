"""Seeded bugs: documented changes that turn a correct feature script into one with a known mistake.

Each finds its place in the syntax tree by what the code means (a comparison of the event time with the
cut-off, a left join, a default), so that it works on any PySpark script, and gives None where there is none.
"""

from palmette_bench.bugs.catalogue import KINDS, Bug

__all__ = ["KINDS", "Bug"]
