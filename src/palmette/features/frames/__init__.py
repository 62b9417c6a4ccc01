"""Adversarial tables for a view: few, rich, legal for the registry, made to provoke every known mistake."""

from palmette.features.frames.scenarios import Scenario, scenarios

__all__ = ["Scenario", "scenarios"]
