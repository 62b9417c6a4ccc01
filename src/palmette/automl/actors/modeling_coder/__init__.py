"""Candidates and own learners of a language model for each track; none by the rules."""
