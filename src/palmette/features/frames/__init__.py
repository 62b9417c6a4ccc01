"""Adversarial tables for a view: small, valid for the registry, and built to expose typical errors."""

from palmette.features.frames.scenarios import Scenario, scenarios

__all__ = ["Scenario", "scenarios"]
