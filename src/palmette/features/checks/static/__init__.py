"""Rules on the syntax tree: what a script must not do is seen before anything runs."""

from palmette.features.checks.static.check import StaticCheck

__all__ = ["StaticCheck"]
