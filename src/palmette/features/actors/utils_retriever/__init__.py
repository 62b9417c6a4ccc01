"""Finds the repository's functions that the view needs, and proves each by running it."""
