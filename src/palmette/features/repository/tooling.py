"""Reads the team's formatter, line length, linters and test fixture from its settings files."""

import ast
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from palmette.features.repository.checkout import Checkout, called_names, dotted_name

_DEFAULT_LENGTH = 88
"""The default of both ruff and black."""


class Formatting(NamedTuple):
    """The command that formats files, and its line length (None: not configured)."""

    command: tuple[str, ...]
    line_length: int | None


def formatting(checkout: Checkout) -> Formatting:
    """The formatter that the repository is configured for.

    A pre-commit hook takes precedence, then `[tool.black]`, then ruff's settings.
    """
    hooks = checkout.text(".pre-commit-config.yaml") + checkout.text(".pre-commit-config.yml")
    ruff, black = checkout.ruff(), checkout.tool("black")
    if re.search(r"\bid:\s*ruff-format\b", hooks):
        return Formatting(("ruff", "format"), _length(ruff) or _DEFAULT_LENGTH)
    if re.search(r"\bid:\s*black\b", hooks) or black is not None:
        return Formatting(("black",), _length(black) or _DEFAULT_LENGTH)
    if ruff is not None:
        return Formatting(("ruff", "format"), _length(ruff) or _DEFAULT_LENGTH)
    return Formatting((), _lint_length(checkout))


def _length(settings: Mapping[str, Any] | None) -> int | None:
    value = (settings or {}).get("line-length")
    return value if isinstance(value, int) and 40 <= value <= 320 else None


def _lint_length(checkout: Checkout) -> int | None:
    places = (("setup.cfg", "flake8"), (".flake8", "flake8"), ("tox.ini", "flake8"), ("setup.cfg", "pycodestyle"))
    options = [(*place, option) for place in places for option in ("max-line-length", "max_line_length")]
    found = (checkout.ini(path).get(section, option, fallback="") for path, section, option in options)
    return next((int(value) for value in found if value.isdigit()), None)


def linters(checkout: Checkout) -> tuple[tuple[str, ...], ...]:
    """Commands of the linters that the repository is configured for."""
    hooks = checkout.text(".pre-commit-config.yaml") + checkout.text(".pre-commit-config.yml")
    ini = {*checkout.ini("setup.cfg"), *checkout.ini("tox.ini")}
    here = {name for name in (".flake8", ".pylintrc", "pylintrc", ".isort.cfg") if (checkout.root / name).is_file()}
    known = {
        ("ruff", "check"): checkout.ruff() is not None,
        ("flake8", "--jobs=1"): "flake8" in ini or ".flake8" in here,
        ("pylint", "--score=n"): checkout.tool("pylint") is not None or bool(here & {".pylintrc", "pylintrc"}),
        ("isort", "--check-only"): checkout.tool("isort") is not None or "isort" in ini or ".isort.cfg" in here,
        ("black", "--check", "--quiet"): formatting(checkout).command == ("black",),
    }
    return tuple(
        command
        for command, configured in known.items()
        if configured or re.search(rf"\bid:\s*{command[0]}\b(?!-)", hooks) is not None
    )


_REQUIRED = re.compile(
    r"""\bpyspark(?:\[[\w,-]*\])?["']?\s*(?:=\s*(?:\{\s*version\s*=\s*)?["'])?\s*"""
    r"""(?:[<!]=?\s*[\d.*]+\s*,\s*)*[>=~^]{1,2}\s*(\d+)(?:\.(\d+))?"""
)


def oldest_spark(checkout: Checkout) -> tuple[int, int] | None:
    """The oldest PySpark version that the repository's requirements allow; None if they do not restrict it."""
    files = ("pyproject.toml", "setup.cfg", "requirements.txt", "requirements/base.txt")
    found = [match for path in files for match in _REQUIRED.finditer(checkout.text(path))]
    return min(((int(match[1]), int(match[2] or 0)) for match in found), default=None)


def session_fixture(checkout: Checkout, test_path: str) -> str:
    """Name of the fixture that provides a SparkSession to tests at `test_path`; empty if no conftest defines one."""
    reachable = {str(folder / "conftest.py") for folder in PurePosixPath(test_path).parents}
    for module in sorted(checkout.modules, key=lambda module: module.path.count("/")):
        if module.path not in reachable or "fixture" not in module.text:
            continue
        for function in module.functions:
            decorators = [dotted_name(node).split(".")[-1] for node in function.node.decorator_list]
            if "fixture" in decorators and _gives_session(function.node, function.returns):
                return _fixture_name(function.node) or function.name
    return ""


def _gives_session(node: ast.FunctionDef, returns: str) -> bool:
    builds = re.search("SparkSession|build_session|get_spark", " ".join(called_names(node))) is not None
    named = re.fullmatch(r"spark(_session)?", node.name) is not None
    return "SparkSession" in returns or ((builds or named) and "DataFrame" not in returns)


def _fixture_name(node: ast.FunctionDef) -> str | None:
    """The name in `@pytest.fixture(name="...")`."""
    keywords = [one for made in node.decorator_list if isinstance(made, ast.Call) for one in made.keywords]
    values = (one.value for one in keywords if one.arg == "name")
    return next((str(one.value) for one in values if isinstance(one, ast.Constant)), None)
