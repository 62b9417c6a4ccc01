"""`make quick` selects the tests that a change affects, the nearest first."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

grimp = pytest.importorskip("grimp", reason="import-linter is not installed")

IMPORTS = {"top": ["middle"], "middle": ["low.part"], "aside": [], "low": [], "low.part": [], "low.plug": []}
TESTS = {
    "conftest.py": "from palmette import top\ndef summit(): ...\n",
    "helper.py": "from palmette.low import part\n",
    "test_top.py": "from palmette.top import name\n",
    "test_middle.py": "def test(): import palmette.middle\n",
    "test_part.py": "from palmette.low import part\nOPENED = 'examples/list.csv'\n",
    "test_spark.py": "from palmette.low import part\ndef test(warm_spark): ...\n",
    "test_aside.py": "import palmette.aside\n",
    "test_fixture.py": "def test(summit): ...\n",
    "deep/test_helped.py": "import helper\n",
    "deep/test_plugged.py": "NAME = 'plugged'\n",
}


@pytest.fixture(scope="module")
def quick() -> ModuleType:
    spec = importlib.util.spec_from_file_location("quick", Path(__file__).parents[1] / "scripts/quick.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in TESTS.items():
        file = tmp_path / "tests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "due"),
    [
        ("src/palmette/top.py", "fixture top"),
        ("src/palmette/middle.py", "middle fixture top"),
        ("src/palmette/low/part.py", "helped part middle fixture top spark"),
        ("src/palmette/low/words.yaml", "helped part middle plugged fixture top spark"),
        ("src/palmette/low/deleted.py", "helped part middle plugged fixture top spark"),
        ("src/palmette/low/plug.py", "plugged"),
        ("src/palmette/aside.py", "aside"),
        ("tests/helper.py", "helped"),
        ("tests/conftest.py", "fixture"),
        ("tests/test_aside.py", "aside"),
        ("tests/deep/cases/one.yaml", "helped plugged"),
        ("examples/list.csv", "part"),
        ("README.md", ""),
    ],
)
def test_the_nearest_tests_come_first_and_spark_last(quick: ModuleType, root: Path, changed: str, due: str) -> None:
    graph = grimp.ImportGraph()
    graph.add_module("palmette")
    for name, imported in IMPORTS.items():
        graph.add_module(f"palmette.{name}")
        for other in imported:
            graph.add_import(importer=f"palmette.{name}", imported=f"palmette.{other}")
    found = quick.affected(root, {changed}, graph, {"plugged": {"palmette.low.plug"}})
    assert [test.stem.removeprefix("test_") for test in found] == due.split()


def test_the_files_that_the_limit_leaves_out_are_known(quick: ModuleType) -> None:
    limit = quick.Limit()
    limit.pytest_xdist_node_collection_finished(None, ["a.py::one", "a.py::two", "b.py::one"])
    for name in ("a.py::one", "b.py::one"):
        for when in ("setup", "call", "teardown"):
            limit.pytest_runtest_logreport(pytest.TestReport(name, ("", 0, ""), {}, "passed", None, when))
    assert [*limit.left_out(["a.py", "b.py", "c.py"])] == ["a.py", "c.py"] and not limit.failed
