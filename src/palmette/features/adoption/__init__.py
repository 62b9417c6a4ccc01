"""Reads feature scripts and queries symbolically, without running them, and writes a script as a query."""
