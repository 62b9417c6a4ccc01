"""The chosen model on rows that no training saw, against the requirements."""
