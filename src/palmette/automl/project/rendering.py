"""Renders the templates of a package and formats them with ruff where it is installed."""

import functools
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from palmette.automl import calls
from palmette.automl.candidates import ColumnUse
from palmette.engine.actor import TextFile
from palmette.sandbox.temporary import temporary_folder

TEMPLATES = Path(__file__).parent / "templates"
WIDTH = 120  # characters in a line of a package
JINJA: Mapping[str, Any] = {
    "undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True,
}  # fmt: skip
"""Options of all templates: lines of blocks leave no trace, and an unknown variable is an error."""


def rendered(
    facts: Mapping[str, Any], package: str, texts: Mapping[str, str], own: Path | None = None
) -> tuple[TextFile, ...]:
    """The rendered templates and `texts` (by path), sorted by path.

    The template folder `package` gets the name of the package. Templates in the folder `own` override those of the
    same name.
    """
    folders = (own, TEMPLATES) if own else (TEMPLATES,)
    environment, made = _environment(folders), dict(texts)
    names = {path.relative_to(folder).as_posix() for folder in folders for path in folder.rglob("*.j2")}
    for name in sorted(names):
        if text := environment.get_template(name).render(facts):
            made[_named(name, package)] = text
    return tuple(TextFile(path=path, text=text) for path, text in sorted(_formatted(made).items()))


def one_line(text: str) -> str:
    """The text on one line, unable to end a docstring.

    >>> one_line("two\\nlines end\\\\ here")
    'two lines end/ here'
    """
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(plain.replace("\\", "/").replace('"""', "'''").split())


def sentence(text: str) -> str:
    """The text on one line with a full stop.

    >>> sentence("  because\\nof this "), sentence("Why?")
    ('because of this.', 'Why?')
    """
    plain = one_line(text)
    return plain if plain.endswith((".", "!", "?")) or not plain else f"{plain}."


def wrapped(text: str, indent: int = 0, begin: str = "") -> str:
    """The text wrapped in lines that start with `begin`; the template indents the first line."""
    width = WIDTH - indent - len(begin) - len('"' * 6)  # it may stand between quotes
    lines = textwrap.wrap(one_line(text), width, break_long_words=True, break_on_hyphens=False)
    start = " " * indent
    return f"\n{start}".join(f"{begin}{one}" for one in lines)


def listed(columns: Sequence[ColumnUse], name: str) -> str:
    """The assignment of a list of column names, with several names in a line."""
    names = [calls.source(one.name) for one in columns]
    line = f"{name} = [{', '.join(names)}]"
    if len(line) <= WIDTH:
        return line
    if short := calls.numbered([one.name for one in columns]):
        return f"{name} = {short}"
    lines = [""]
    for one in names:
        if len(lines[-1]) + len(one) > WIDTH - len("    , ") and lines[-1]:
            lines.append("")
        lines[-1] += f" {one},"
    return "\n".join([f"{name} = [", *(f"   {one}" for one in lines), "]  # fmt: skip"])


@functools.cache
def _environment(folders: tuple[Path, ...]) -> Environment:
    environment = Environment(loader=FileSystemLoader(folders), autoescape=False, **JINJA)
    environment.filters |= {
        "py": calls.source,
        "line": one_line,
        "sentence": sentence,
        "wrapped": wrapped,
        "listed": listed,
        "comment": functools.partial(wrapped, begin="# "),
    }
    return environment


def _named(template: str, package: str) -> str:
    path = template.removesuffix(".j2")
    return f"{package}/{path.removeprefix('package/')}" if path.startswith("package/") else path


def _formatted(texts: Mapping[str, str]) -> dict[str, str]:
    with temporary_folder() as folder:
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        if _ruff(["check", "--fix-only", "--quiet", "--select", "I,F401"], folder):
            _ruff(["format", "--quiet"], folder)
            _ruff(["check", "--add-noqa", "--quiet", "--select", "E501"], folder)  # names that are longer than a line
        return {path: (folder / path).read_text(encoding="utf-8") for path in texts}


def _ruff(arguments: Sequence[str], folder: Path) -> bool:
    """Whether ruff ran and refused nothing."""
    command = [sys.executable, "-P", "-m", "ruff", *arguments, "--no-cache", "."]  # not the folder's own ruff
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
