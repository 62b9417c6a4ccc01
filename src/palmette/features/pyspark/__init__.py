"""Writing a feature view as PySpark source.

`write_script` turns a resolved view into the script a team can merge; `format_source` lays it out with ruff.
`function_source` and `module_docstring` are what the script shares with its template.
"""

from palmette.features.pyspark.code import format_source
from palmette.features.pyspark.io import function_source, module_docstring
from palmette.features.pyspark.script import write_script

__all__ = ["format_source", "function_source", "module_docstring", "write_script"]
