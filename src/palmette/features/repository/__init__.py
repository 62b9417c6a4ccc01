"""Reads a team's repository as data. It is never imported, and its text is never treated as instructions."""

from palmette.features.repository.checkout import Checkout, Function, Module
from palmette.features.repository.conventions import read_conventions
from palmette.features.repository.neighbours import Neighbour, find_neighbours
from palmette.features.repository.tooling import oldest_spark

__all__ = ["Checkout", "Function", "Module", "Neighbour", "find_neighbours", "oldest_spark", "read_conventions"]
