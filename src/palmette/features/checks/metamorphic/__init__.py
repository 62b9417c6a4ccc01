"""Metamorphic relations: changes of the input that must not change the features."""

from palmette.features.checks.metamorphic.check import MetamorphicCheck

__all__ = ["MetamorphicCheck"]
