"""Writes a feature view as PySpark source: `script` turns a resolved view into a script that a team can merge."""
