"""Writes the skeleton of a feature script."""
