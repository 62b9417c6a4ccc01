"""What a modality says to those who write its code: what must hold, and the shortest file that keeps to it."""

from __future__ import annotations

from pathlib import Path

from palmette.documents import Model, parse_document, read_text


class Words(Model):
    """Parts of the prompts of whoever writes a kind of file."""

    rules: str
    """How the file is run and judged, what makes its draft better, and what must hold."""
    example: str
    """A whole file, as short as can be."""


def words(module: str, name: str) -> Words:
    """The words in `<name>.yaml` beside a module of the modality, given by its `__file__`."""
    path = Path(module).with_name(f"{name}.yaml")
    found = parse_document(read_text(path), Words, str(path))
    return Words(rules=found.rules.strip(), example=found.example.strip())
