"""Writes a feature view as PySpark source.

`write_script` turns a resolved view into a script that a team can merge.
"""

from palmette.features.pyspark.script import BuildFunction, build_function, write_script

__all__ = ["BuildFunction", "build_function", "write_script"]
