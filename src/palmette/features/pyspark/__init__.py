"""Writes a feature view as PySpark source.

`write_script` turns a resolved view into a script that a team can merge; `format_source` formats it with ruff.
`function_source` and `module_docstring` are shared with the script's template.
"""

from palmette.features.pyspark.code import format_source
from palmette.features.pyspark.io import function_source, module_docstring
from palmette.features.pyspark.script import write_script

__all__ = ["format_source", "function_source", "module_docstring", "write_script"]
