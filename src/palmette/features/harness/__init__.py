"""Runs feature scripts on frames in the sandbox, and reads back their results."""
