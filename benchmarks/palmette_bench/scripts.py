"""Correct scripts and tests of FeatBench tasks, as the built-in rules write them for a team without conventions."""

from palmette.engine.actor import TextFile
from palmette.features.actors.code_template_generator.offline import write_template
from palmette.features.actors.testcase_coder.offline import PytestWriter
from palmette.features.actors.testcase_generator.offline import CaseSelector
from palmette.features.artefacts import Config, Conventions, FunctionShape, Parameter, Template, TestCases, Utilities
from palmette.features.pyspark.script import write_script
from palmette.features.spec.view import View


def _function(name: str, returns: str, **parameters: str) -> FunctionShape:
    given = tuple(Parameter(name=key, annotation=annotation) for key, annotation in parameters.items())
    return FunctionShape.model_validate({"name": name, "role": name, "returns": returns, "parameters": given})


ARGUMENTS = Parameter(name="argv", annotation="list[str] | None", default="None")
CONVENTIONS = Conventions(
    script_path="{view}.py",
    test_path="test_{view}.py",
    config_path="{view}.yaml",
    functions=(
        _function("load", "dict[str, DataFrame]", spark="SparkSession", config="dict[str, Any]"),
        _function("build", "DataFrame", tables="dict[str, DataFrame]", as_of="datetime"),
        _function("write", "None", features="DataFrame", config="dict[str, Any]"),
        FunctionShape(name="main", role="main", returns="None", parameters=(ARGUMENTS,)),
    ),
)
"""A team without a configuration class, utilities or formatter."""


def config_of(view: View) -> Config:
    accessors = {f"source:{name}": f'config["inputs"]["{name}"]' for name in view.tables}
    accessors |= {"output": 'config["output"]', "view": 'config["view"]', "partition": 'config["partition"]'}
    return Config(file=TextFile(path=f"{view.name}.yaml", text=""), class_name="", accessors=accessors)


def script_of(view: View) -> str:
    """The text of the script that the script writer makes for the view."""
    text = write_template(view, CONVENTIONS, config_of(view), None, ())
    template = Template(file=TextFile(path=f"{view.name}.py", text=text), conventions=CONVENTIONS)
    return write_script(view, template, config_of(view), Utilities())


CONFTEST = '''"""The fixture of the tests."""

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark():
    return SparkSession.builder.getOrCreate()
'''


def tests_of(view: View) -> str:
    """The text of the tests that the test writer makes for the view, without having seen a script."""
    cases = TestCases(cases=tuple(CaseSelector(view).cases([])))
    return PytestWriter(view, CONVENTIONS, cases).file(view.name)
