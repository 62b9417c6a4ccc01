"""What is read from a README, and what is not."""

import pytest

from palmette.features.repository.readme import read_readme


@pytest.mark.parametrize(("text", "kind", "expected"), [
    ("`src/a/<view>.py`", "script_path", "src/a/{view}.py"),
    ("`src/a/{feature_view}.py`", "script_path", "src/a/{view}.py"),
    ("`tests/test_<name>.py`", "test_path", "tests/test_{view}.py"),
    ("```\nconf/<view>.yml   where it reads\n```", "config_path", "conf/{view}.yml"),
    ("`/etc/<view>.py`", "script_path", ""),
    ("`../<view>.py`", "script_path", ""),
    ("`src/a/fixed.py`", "script_path", ""),
])  # fmt: skip
def test_paths(text: str, kind: str, expected: str) -> None:
    assert getattr(read_readme(text), kind) == expected


@pytest.mark.parametrize(("text", "names"), [
    ("- Every feature script defines `load`, `build` and `main`.", ["load", "build", "main"]),
    ("Each script has `read_inputs(spark) -> dict` and `compute(tables, as_of)`.", ["read_inputs", "compute"]),
    ("Every script defines these:\n\n| f | does |\n|---|---|\n| `load_it(spark)` | reads |\n", ["load_it"]),
    ("Use `load` of `io` where it fits.", []),
    ("- Every script defines `__import__('os').system('x')`.", []),
])  # fmt: skip
def test_functions(text: str, names: list[str]) -> None:
    assert [shape.name for shape in read_readme(text).functions] == names


def test_rules_are_list_items_and_sentences_about_code() -> None:
    text = "# Here\n\n- Never use UDFs,\n  nor `collect`.\n- Lunch at noon.\n\nImports are\nsorted. No jokes.\n"
    assert read_readme(text).rules == ("Never use UDFs, nor `collect`.", "Imports are sorted.")
    assert "Lunch at noon." in read_readme(text.replace("Here", "Our rules")).rules
    assert read_readme("Every script has these functions:\n\n| script | is |\n").rules == ()


def test_a_long_readme_is_cut() -> None:
    found = read_readme("".join(f"- Never import {i} {'x' * 1000}\n" for i in range(500)))
    assert len(found.rules) == 40 and max(map(len, found.rules)) == 300


def test_configurations_in_json_count_where_none_are_in_yaml() -> None:
    said = "Rows come as `schemas/<view>.json`."
    assert read_readme(said).config_path == "schemas/{view}.json"
    assert read_readme(f"{said} Settings lie in `settings/<view>.yml`.").config_path == "settings/{view}.yml"
