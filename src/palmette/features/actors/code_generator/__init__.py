"""Writes the feature script and verifies it."""
