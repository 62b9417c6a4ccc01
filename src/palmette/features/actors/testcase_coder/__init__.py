"""Writes the test file of a view, and tests it against a stub of the script."""
