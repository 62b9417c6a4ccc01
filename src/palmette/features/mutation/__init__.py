"""Mutants: copies of the script with one small change each, which good tests detect."""

from palmette.features.mutation.mutants import Mutant, MutantHistory, mutants, sample

__all__ = ["Mutant", "MutantHistory", "mutants", "sample"]
