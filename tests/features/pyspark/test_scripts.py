"""Whole scripts: as readable files, by the authors' own examples on Spark, and against ruff."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark_scripts import CONVENTIONS, script

from palmette.features.artefacts import Parameter
from palmette.features.frame import Frame
from palmette.features.frame_json import expected_of_unit_test, frame_of_unit_test, instant_of
from palmette.features.harness.connect import ConnectHarness
from palmette.features.harness.harness import Case
from palmette.features.oracle import differences
from palmette.features.spec.resolve import load_view
from palmette.features.spec.view import View

HERE = Path(__file__).parent
NAMES = ("spending", "decisions", "daily")


def view(name: str) -> View:
    return load_view(HERE / "documents" / f"{name}.yaml", HERE / "documents" / "lake.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_snapshot(name: str) -> None:
    """To accept a change on purpose, write the new text into the file and read the diff."""
    snapshot = HERE / "snapshots" / f"{view(name).name}.py"
    assert script(view(name)) == snapshot.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_ruff_is_content(name: str) -> None:
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--select",
        "E,F,I,B,UP,SIM",
        "--target-version",
        "py310",
        "--line-length",
        "100",
        "-",
    ]
    done = subprocess.run(command, input=script(view(name)), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_authors_examples(name: str, harness: ConnectHarness, tmp_path: Path) -> None:
    resolved = view(name)
    path = tmp_path / "script.py"
    path.write_text(script(resolved), encoding="utf-8")
    cases = [
        Case(
            test.name,
            frame_of_unit_test(resolved, test.given),
            instant_of(test.as_of) if test.as_of else None,
            session_zone="Asia/Tokyo",
        )
        for test in resolved.tests
    ]
    results = harness.execute(path, "build", cases, root=tmp_path, plans=True)
    for test, result in zip(resolved.tests, results, strict=True):
        assert result.frame is not None, result.trace or result.error
        assert "Cartesian" not in result.plan and "Join Cross" not in result.plan
        wanted = expected_of_unit_test(resolved, test)
        got = Frame.of({name: result.frame.schema[name] for name in wanted.schema}, result.frame.rows)
        assert differences(wanted, got, resolved) == ()


def test_tables_may_be_parameters_of_build() -> None:
    functions = tuple(
        shape
        if shape.role != "build"
        else shape.model_copy(
            update={"parameters": (Parameter(name="transactions", annotation="DataFrame"), *shape.parameters[1:])}
        )
        for shape in CONVENTIONS.functions
    )
    text = script(view("spending"), CONVENTIONS.model_copy(update={"functions": functions, "tables_as": "each"}))
    build = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == "build")
    assert [argument.arg for argument in build.args.args] == ["merchants", "transactions", "as_of"]
    assert 'build(tables["merchants"], tables["transactions"], as_of)' in text


def test_writing_is_deterministic() -> None:
    assert script(view("spending")) == script(view("spending"))
