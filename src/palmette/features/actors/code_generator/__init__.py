"""Writes the feature script, and holds it to the checks."""
