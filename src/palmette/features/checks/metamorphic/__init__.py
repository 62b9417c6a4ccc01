"""Metamorphic relations: what must not change the features."""

from palmette.features.checks.metamorphic.check import MetamorphicCheck

__all__ = ["MetamorphicCheck"]
