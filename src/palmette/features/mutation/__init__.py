"""Mutants: copies of the script with one small change each, which good tests detect."""

from palmette.features.mutation.history import MutantHistory
from palmette.features.mutation.mutants import Mutant, mutants, sample

__all__ = ["Mutant", "MutantHistory", "mutants", "sample"]
