"""The feature views that the benchmark of the checks is run on, and the script that is correct for each."""

from __future__ import annotations

from pathlib import Path

from palmette.engine.actor import TextFile
from palmette.features.actors.testcase_coder.offline import file_of_tests
from palmette.features.actors.testcase_generator.offline import Suite
from palmette.features.artefacts import Config, Conventions, FunctionShape, Parameter, Template, TestCases, Utilities
from palmette.features.pyspark import write_script
from palmette.features.spec.resolve import load_view
from palmette.features.spec.view import View

DATA = Path(__file__).parent / "data"
REGISTRY = DATA / "registry.yaml"

CONVENTIONS = Conventions(
    script_path="{view}.py",
    test_path="test_{view}.py",
    config_path="{view}.yaml",
    functions=(
        FunctionShape(
            name="load",
            role="load",
            returns="dict[str, DataFrame]",
            parameters=(
                Parameter(name="spark", annotation="SparkSession"),
                Parameter(name="config", annotation="dict[str, Any]"),
            ),
        ),
        FunctionShape(
            name="build",
            role="build",
            returns="DataFrame",
            parameters=(
                Parameter(name="tables", annotation="dict[str, DataFrame]"),
                Parameter(name="as_of", annotation="datetime"),
            ),
        ),
        FunctionShape(
            name="write",
            role="write",
            returns="None",
            parameters=(
                Parameter(name="features", annotation="DataFrame"),
                Parameter(name="config", annotation="dict[str, Any]"),
            ),
        ),
        FunctionShape(
            name="main",
            role="main",
            returns="None",
            parameters=(Parameter(name="argv", annotation="list[str] | None", default="None"),),
        ),
    ),
)
"""A team without a configuration class, utilities or formatter."""


def names() -> list[str]:
    """The views, by name."""
    return sorted(path.stem for path in DATA.glob("*.yaml") if path != REGISTRY)


def view_of(name: str) -> View:
    return load_view(DATA / f"{name}.yaml", REGISTRY)


def config_of(view: View) -> Config:
    accessors = {f"source:{name}": f'config["inputs"]["{name}"]' for name in view.tables}
    accessors |= {"output": 'config["output"]', "view": 'config["view"]', "partition": 'config["partition"]'}
    return Config(file=TextFile(path=f"{view.name}.yaml", text=""), class_name="", accessors=accessors)


def script_of(view: View) -> str:
    """The text of the script that the script writer makes for the view."""
    template = Template(file=TextFile(path=f"{view.name}.py", text=""), conventions=CONVENTIONS)
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
    cases = TestCases(cases=tuple(Suite(view).cases([])))
    return file_of_tests(view, cases, CONVENTIONS, view.name)
