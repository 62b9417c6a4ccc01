"""Finds functions in the repository that the view needs, and tests each by running it."""
