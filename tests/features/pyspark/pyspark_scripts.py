"""A team's conventions, and scripts written by them."""

import subprocess
import sys

from palmette.engine.actor import TextFile
from palmette.features.actors.code_template_generator.offline import write_template
from palmette.features.artefacts import Config, Conventions, FunctionShape, Parameter, Template, Utilities
from palmette.features.pyspark.script import write_script
from palmette.features.spec.view import View

SPARK = Parameter(name="spark", annotation="SparkSession")
CONFIG = Parameter(name="config", annotation="dict[str, Any]")
FEATURES = Parameter(name="features", annotation="DataFrame")
AS_OF = Parameter(name="as_of", annotation="datetime")
TABLES = Parameter(name="tables", annotation="dict[str, DataFrame]")
ARGV = Parameter(name="argv", annotation="Sequence[str] | None", default="None")

CONVENTIONS = Conventions(
    script_path="{view}.py",
    test_path="test_{view}.py",
    config_path="{view}.yaml",
    functions=(
        FunctionShape(name="load", role="load", parameters=(SPARK, CONFIG), returns="dict[str, DataFrame]"),
        FunctionShape(name="build", role="build", parameters=(TABLES, AS_OF), returns="DataFrame"),
        FunctionShape(name="write", role="write", parameters=(FEATURES, CONFIG), returns="None"),
        FunctionShape(name="main", role="main", parameters=(ARGV,), returns="None"),
    ),
)


def template(view: View, config: Config, conventions: Conventions = CONVENTIONS) -> Template:
    text = write_template(view, conventions, config, None, ())
    return Template(file=TextFile(path=f"{view.name}.py", text=text), conventions=conventions)


def script(
    view: View, conventions: Conventions = CONVENTIONS, config: Config | None = None, utilities: Utilities | None = None
) -> str:
    """The formatted script; without a team configuration unless one is given."""
    config = config or Config(file=TextFile(path="view.yaml", text=""), class_name="", accessors={})
    source = write_script(view, template(view, config, conventions), config, utilities or Utilities())
    width = ["--line-length", str(conventions.line_length), "--isolated", "-"]
    tidied = _ruff("check", "--fix-only", "--quiet", "--select", "I,F401", *width, text=source)
    return _ruff("format", "--quiet", *width, text=tidied)


def _ruff(*arguments: str, text: str) -> str:
    command = [sys.executable, "-P", "-m", "ruff", *arguments]  # -P: not a `ruff` in the current folder
    return subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=True).stdout
