"""Mutants: the script with one small change each, which good tests notice."""

from palmette.features.mutation.mutants import Mutant, mutants, sample

__all__ = ["Mutant", "mutants", "sample"]
