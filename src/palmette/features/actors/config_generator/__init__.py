"""Writes a view's configuration in the team's own format."""
