"""Writes the test file of a view, and runs it against a stand-in for the script."""
