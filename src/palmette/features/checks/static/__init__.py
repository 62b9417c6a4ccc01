"""Static rules: forbidden constructs are found in the syntax tree before anything runs."""

from palmette.features.checks.static.check import StaticCheck

__all__ = ["StaticCheck"]
