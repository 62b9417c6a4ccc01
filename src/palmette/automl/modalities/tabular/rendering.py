"""From templates that look like the Python they become to the files of a project, laid out by ruff."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palmette.automl.modalities.tabular import source
from palmette.engine.actor import TextFile
from palmette.sandbox.temporary import temporary_folder

if TYPE_CHECKING:
    from jinja2 import Environment

MODALITIES = Path(__file__).parents[1]


def templates_of(modality: str) -> dict[str, str]:
    """Every template of a modality, by the path that its file has in a project; named as `rendered` takes them."""
    folder = MODALITIES / modality / "templates"
    paths = {path.relative_to(folder).as_posix().removesuffix(".j2"): path for path in sorted(folder.rglob("*.j2"))}
    return {name: path.relative_to(MODALITIES).as_posix() for name, path in paths.items()}


def rendered(
    templates: Mapping[str, str], facts: Mapping[str, Any], texts: Mapping[str, str]
) -> tuple[TextFile, ...]:
    """The files of templates, by path, and those of `texts`, in order of their paths."""
    environment = _environment()
    made = {path: environment.get_template(name).render(facts) for path, name in templates.items()}
    return tuple(TextFile(path=path, text=text) for path, text in sorted(_formatted(made | dict(texts)).items()))


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(MODALITIES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {
        "py": source.literal,
        "line": source.line,
        "comment": source.comment,
        "sentence": source.sentence,
        "listed": source.listed,
    }
    return environment


def _formatted(texts: Mapping[str, str]) -> dict[str, str]:
    """The same files laid out by ruff, if it is installed."""
    with temporary_folder() as folder:
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        if _ruff(["check", "--fix-only", "--quiet", "--select", "I,F401"], folder):
            _ruff(["format", "--quiet"], folder)
        return {path: (folder / path).read_text(encoding="utf-8") for path in texts}


def _ruff(arguments: Sequence[str], folder: Path) -> bool:
    """Whether it ran and found nothing to refuse."""
    command = [sys.executable, "-P", "-m", "ruff", *arguments, "--no-cache", "."]  # not the folder's own ruff
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
