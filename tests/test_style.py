"""Sizes and names. `python tests/test_style.py` lists what is larger than preferred, though still allowed."""

import ast
import re
import subprocess
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "benchmarks", "tests", "examples", "scripts")


class Bound(NamedTuple):
    preferred: int
    most: int


FILE_LINES = Bound(400, 600)
FUNCTION_LINES = Bound(40, 80)
PARAMETERS = Bound(7, 7)


class Size(NamedTuple):
    """A measured file or function."""

    place: str
    what: str
    value: int
    bound: Bound

    def __str__(self) -> str:
        bounds = f"preferred {self.bound.preferred}, most {self.bound.most}"
        return f"{self.place}: {self.value} {self.what} ({bounds})"


def python_files() -> list[Path]:
    return sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))


def sizes(file: Path) -> Iterator[Size]:
    text = file.read_text(encoding="utf-8")
    place = str(file.relative_to(ROOT))
    yield Size(place, "lines", text.count("\n"), FILE_LINES)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{place}:{node.lineno} {node.name}"
            yield Size(name, "lines", (node.end_lineno or 0) - node.lineno + 1, FUNCTION_LINES)
            if not _is_command(node):
                yield Size(name, "parameters", _parameters(node), PARAMETERS)


def _is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is a command of click, which has a parameter per option."""
    return any(ast.unparse(decorator).startswith("click.command") for decorator in function.decorator_list)


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = function.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def test_sizes() -> None:
    too_large = [str(size) for file in python_files() for size in sizes(file) if size.value > size.bound.most]
    assert not too_large, "\n".join(too_large)


EXEMPTION = re.compile(r"#\s*(?:ruff: )?(?:noqa|type: ignore)\b")
REASONED = re.compile(r"# (?:ruff: )?noqa: [A-Z]+[0-9]+(?:, [A-Z]+[0-9]+)* - \S|# type: ignore\[[a-z, -]+\]  # \S")


def exemptions(file: Path) -> Iterator[str]:
    """The comments that exempt from a rule, with their places."""
    with tokenize.open(file) as lines:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT and EXEMPTION.search(token.string):
                yield f"{file.relative_to(ROOT)}:{token.start[0]} {token.string}"


def test_an_exemption_from_the_rules_names_the_rule_and_the_reason() -> None:
    """`# noqa: RULE - reason`, `# type: ignore[rule]  # reason`; ruff and mypy report those that nothing needs."""
    candidates = [file for file in python_files() if EXEMPTION.search(file.read_text(encoding="utf-8"))]
    bare = [line for file in candidates for line in exemptions(file) if not REASONED.search(line)]
    assert not bare, "\n".join(bare)


def test_modules_beside_tests_have_names_of_their_own() -> None:
    """They are imported by their bare names, from any of the folders in `pythonpath`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    files = [file for folder in settings["pythonpath"] for file in (ROOT / folder).glob("*.py")]
    names = Counter(file.name for file in files if not file.name.startswith(("test_", "conftest")))
    assert names and not [name for name, count in names.items() if count > 1]


def tracked_texts() -> Iterator[tuple[str, str]]:
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    for name in filter(None, listed.decode().split("\0")):
        try:
            yield name, (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue


def test_no_file_names_a_machine() -> None:
    """Neither the folders of one machine nor the hosts that packages came from."""
    folders = "|".join(("work/main", "work/shared", "root/", "opt/pypi", "opt/wheels", r"home/\w+/"))
    hosts = "|".join((r"pypi\.org", "pythonhosted", "--index-url", "--extra-index", "find-links"))
    named = re.compile(rf"(?<![\w.*]){'/'}({folders})|{hosts}")
    allowed = str(Path(__file__).relative_to(ROOT))
    found = [f"{name}: {hit[0]}" for name, text in tracked_texts() if name != allowed for hit in named.finditer(text)]
    assert not found, "\n".join(found)


def test_constraints_are_exact_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    wrong = [line for line in lines if not re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line)]
    assert not wrong


if __name__ == "__main__":
    for measured in python_files():
        for one in sizes(measured):
            if one.value > one.bound.preferred:
                print(one)
