"""In palmette's own process no text or file of others becomes code: shown over the syntax trees of all its modules.

Where it must happen stands below with its reason, and whether it is in the sandbox; everything else is a mistake.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "palmette"

BUILT_IN = {"eval", "exec", "compile", "__import__", "breakpoint"}
LOADERS = {
    "pickle": {"load", "loads", "Unpickler"},
    "marshal": {"load", "loads"},
    "shelve": {"open"},
    "joblib": {"load"},
    "cloudpickle": {"load", "loads"},
    "torch": {"load", "compile"},
    "yaml": {"load", "load_all", "full_load", "full_load_all", "unsafe_load", "unsafe_load_all", "UnsafeLoader"},
    "pandas": {"read_pickle", "eval"},
    "numpy": {"load"},
    "runpy": {"run_path", "run_module"},
    "code": {"interact", "InteractiveInterpreter"},
    "importlib": {"import_module", "__import__", "reload"},
    "importlib.util": {"spec_from_file_location", "module_from_spec"},
    "os": {"system", "popen", "execv", "execve", "execvp", "execvpe", "spawnv", "posix_spawn"},
    "subprocess": {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "jinja2": {"Template"},
    "xml.etree.ElementTree": {"parse", "fromstring", "XML"},
    "pty": {"spawn"},
    "ctypes": {"CDLL", "PyDLL"},
}
"""By module: what makes code or objects of bytes, or starts programs."""

INSIDE = {
    "features/harness/palmette_driver": "the driver, in the sandbox",
    "features/actors/config_generator/team_program.py": "what loads the team's class, in the sandbox",
    "automl/estimator_contract.py": "what tries a model's classes, in the sandbox",
    "automl/search/driver.py": "the search, in the sandbox",
    "automl/search/worker.py": "its workers, in the sandbox",
}
"""Folders and files that no run imports in palmette's own process."""

ALLOWED = {
    "sandbox/supervisor/main.py": {
        "marshal.loads": "what palmette itself wrote to the pipe of its supervisor",
        "marshal.load": "the same, from a file; inside the container",
        "os.execvpe": "here a program begins, behind its walls",
    },
    "sandbox/isolation.py": {
        "subprocess.run": "docker or podman, asked for an image",
        "subprocess.Popen": "the same, to keep a network; it runs no text of others",
    },
    "sandbox/supervisor/gate.py": {"ctypes.CDLL": "the system's own library, for calls that Python does not have"},
    "sandbox/supervisor/walls.py": {"ctypes.CDLL": "the same"},
    "sandbox/process.py": {"subprocess.Popen": "the supervisor, which starts every program"},
    "sandbox/class_work.py": {"subprocess.Popen": "Spark's server, by our own command; inside the sandbox"},
    "sandbox/network.py": {"subprocess.Popen": "the keeper of a namespace; it runs no text of others"},
    "delivery/git.py": {"subprocess.Popen": "git, with arguments that are checked and hooks switched off"},
    "features/pyspark/code.py": {"jinja2.Template": "palmette's own templates"},
    "automl/calls.py": {"importlib.import_module": "classes of registered plug-ins; a model's own only in the sandbox"},
    "automl/delivered.py": {"importlib.import_module": "the user's own package, when `run.model` is asked for"},
    "automl/endpoint/onnx_program.py": {"importlib.import_module": "the package, in the sandbox; LightGBM and XGBoost"},
    "automl/live.py": {"importlib.import_module": "IPython, by a constant"},
    "automl/project/rendering.py": {"subprocess.run": "ruff on text; a formatter executes nothing"},
    "automl/encoders/image/pretrained.py": {"torch.load": "weights only, of a file whose digest is known"},
    "automl/samples/files.py": {"numpy.load": "arrays of the user: pickles are off", "allow_pickle": "False"},
    "automl/search/stored_features.py": {"numpy.load": "numbers only: pickles are off", "allow_pickle": "False"},
    "automl/search/results.py": {"numpy.load": "numbers only: pickles are off", "allow_pickle": "False"},
    "automl/search/runs.py": {"allow_pickle": "False"},
    "engine/registry.py": {"importlib.import_module": "plug-ins that a person installed, or names in a topology"},
    "tracking.py": {"subprocess.run": "this module as a program, which sends a finished run to MLflow"},
    "cli/__init__.py": {"importlib.import_module": "its own commands"},
    "knowledge/sources/papers.py": {"xml.etree.ElementTree.fromstring": "no DOCTYPE, so no entities"},
    "knowledge/sources/tables.py": {"numpy.load": "arrays of graphs: pickles are off", "allow_pickle": "False"},
    "automl/samples/formats.py": {"importlib.import_module": "openpyxl and networkx, by constants"},
    "web/work.py": {"subprocess.Popen": "palmette itself, for a run that the page starts"},
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if not name.startswith(tuple(INSIDE)):
            yield name, ast.parse(path.read_text("utf-8"))


def uses(tree: ast.Module) -> Iterator[str]:
    """What a module uses of the lists, by any name that it gives it."""
    stands_for: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bound = [(one.asname, one.name) if one.asname else (one.name.split(".")[0],) * 2 for one in node.names]
            stands_for |= dict(bound)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            stands_for |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    dangerous = {f"{module}.{name}" for module, names in LOADERS.items() for name in names}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in BUILT_IN:
                yield name
            case ast.Name() | ast.Attribute() if (full := _full_name(node, stands_for)) in dangerous:
                yield full
            case ast.keyword(arg="shell", value=ast.Constant(value=True)) | ast.keyword(arg="allow_pickle"):
                yield str(node.arg)


def _full_name(node: ast.expr, stands_for: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        head = _full_name(node.value, stands_for)
        return f"{head}.{node.attr}" if head else ""
    return stands_for.get(node.id, "") if isinstance(node, ast.Name) else ""


def found() -> dict[str, set[str]]:
    result: dict[str, set[str]] = defaultdict(set)
    for name, tree in modules():
        for use in uses(tree):
            result[name].add(use)
    return dict(result)


def test_nothing_of_others_becomes_code_in_our_own_process() -> None:
    assert found() == {name: set(reasons) for name, reasons in ALLOWED.items()}


@pytest.mark.parametrize("place", INSIDE)
def test_what_is_left_out_is_there(place: str) -> None:
    assert (SOURCES / place).exists()


@pytest.mark.parametrize(
    "text",
    [
        "eval('1')", "import pickle\npickle.loads(b'')", "import pickle as p\np.load(f)", "import torch\ntorch.load(f)",
        "from pickle import loads\nloads(b)", "import yaml\nyaml.load(t)", "from joblib import load as l\nl(p)",
        "import os\nos.system(c)", "import subprocess\nsubprocess.run(c, shell=True)", "import numpy as np\nnp.load(f)",
        "import importlib.util\nimportlib.util.spec_from_file_location('a', p)", "f(allow_pickle=True)",
        "from subprocess import run as go\nhandlers = [go]",
    ],
)  # fmt: skip
def test_the_ways_to_do_it_are_seen(text: str) -> None:
    assert set(uses(ast.parse(text)))
