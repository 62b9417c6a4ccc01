"""Mutants: copies of the script with one small change each, which good tests detect."""
