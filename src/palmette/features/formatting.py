"""Formats generated files with the team's formatter and settings, in the sandbox."""

import ast
import itertools
import re
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from palmette.engine.actor import TextFile
from palmette.features.artefacts import Conventions
from palmette.sandbox import Limits, Sandbox, python_command
from palmette.sandbox.temporary import temporary_folder

SETTINGS = ("pyproject.toml", "ruff.toml", ".ruff.toml", "setup.cfg", ".editorconfig")


def format_file(file: TextFile, conventions: Conventions, sandbox: Sandbox, repository: Path) -> TextFile:
    """Sorts imports and formats a Python file; returns it unchanged if a tool is missing or rejects it."""
    if not file.path.endswith(".py"):
        return file
    with temporary_folder() as root:
        for name in SETTINGS:
            if (repository / name).is_file():
                (root / name).write_bytes((repository / name).read_bytes())
        for module in _own_modules(file.text, repository):
            # Ruff groups the team's own imports last only if it can find their modules.
            (root / module).parent.mkdir(parents=True, exist_ok=True)
            (root / module).touch()
        target = root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.text, encoding="utf-8")
        for command in _commands(conventions):
            sandbox.run([*command, file.path], cwd=root, limits=Limits(seconds=30))
        text = target.read_text(encoding="utf-8")
        return TextFile(path=file.path, text=_LONE_TEXT.sub(partial(_broken, conventions.line_length), text))


_LONE_TEXT = re.compile(r"""^(?P<indent>[ ]+)"(?P<text>[^"\\\n]+)"(?P<comma>,?)$""", re.MULTILINE)


def _broken(length: int, line: re.Match[str]) -> str:
    """Splits the string of a line that is too long into implicitly concatenated pieces."""
    indent, text = line["indent"], line["text"]
    if len(line[0]) <= length:
        return line[0]
    pieces = re.findall(rf".{{1,{max(length - len(indent) - 3, 20)}}}(?:(?<=\s)|$)|\S+\s?", text)
    return "\n".join(f'{indent}"{piece}"' for piece in pieces) + line["comma"]


def _own_modules(source: str, repository: Path) -> Iterator[Path]:
    """Paths of the imported modules that belong to the repository, whether or not they exist yet."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for name, base in itertools.product(names, (Path(), Path("src"))):
            if holds_module(repository / base, name.split(".")[0]):
                yield base.joinpath(*name.split(".")).with_suffix(".py")


def _commands(conventions: Conventions) -> list[list[str]]:
    """The commands: ruff sorts imports and applies the team's own fixes, then the team's formatter or ruff formats.

    `timezone.utc` becomes `UTC`, unless scripts import `timezone` or the settings allow a Python without `UTC`.
    """
    rules = "I,F401" if "datetime.timezone" in conventions.style.imports else "I,F401,UP017"
    length = ["--line-length", str(conventions.line_length)]
    own = [[*python_command("-m", "ruff"), "check", "--quiet", "--fix"]]
    own *= ("ruff", "check") in conventions.linters
    tidy = [*python_command("-m", "ruff"), "check", "--quiet", "--fix", "--select", rules, *length]
    team = conventions.formatter[0] if conventions.formatter else "ruff"
    # If the team's formatter is not installed, ruff is the closest substitute: it formats like black.
    if team not in ("ruff", sys.executable) and find_spec(team) is not None:
        return [tidy, *own, [*python_command("-m", *conventions.formatter)]]
    return [tidy, *own, [*python_command("-m", "ruff"), "format", "--quiet", *length]]


def holds_module(folder: Path, name: str) -> bool:
    """Whether a module or package with this dotted name can be imported from the folder."""
    place = folder.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()
