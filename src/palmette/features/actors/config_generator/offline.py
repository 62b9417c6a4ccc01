"""Writes a view's configuration by rules, as a pure function of facts and what is known of the team's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from palmette.engine.actor import TextFile
from palmette.features.actors.config_generator.facts import Record
from palmette.features.actors.config_generator.filling import Missing, fill
from palmette.features.actors.config_generator.layout import write_document
from palmette.features.actors.config_generator.observed import Observed
from palmette.features.actors.config_generator.schema import TeamSchema
from palmette.features.artefacts import Config
from palmette.features.spec.view import View


@dataclass(frozen=True)
class Written:
    """A configuration, and what it still lacks."""

    config: Config
    missing: tuple[Missing, ...] = ()
    learnt: tuple[str, ...] = ()
    """Dotted paths of values taken over from neighbouring configurations."""


@dataclass(frozen=True)
class Known:
    """What is known beside the facts: the team's other configurations, and what came of earlier attempts."""

    files: Sequence[TextFile] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)
    """What a person said about fields that nothing else fits, by dotted path."""
    refused: frozenset[str] = frozenset()
    """Dotted paths whose value by rules the class refused."""


def write_config(view: View, facts: Record, schema: TeamSchema, known: Known, path: str, width: int = 100) -> Written:
    """The view's configuration at `path` (with `{view}`), in the order and layout of its neighbours."""
    filled = fill(schema, facts, Observed.read(known.files), known.answers, known.refused)
    text = write_document(filled.value, path, known.files, width)
    config = Config(
        file=TextFile(path=path.replace("{view}", view.name), text=text),
        class_name=schema.class_name,
        construction=schema.construction,
        accessors={key: spot.code for key, spot in sorted(filled.placed.items())},
        places={key: spot.keys for key, spot in sorted(filled.placed.items())},
    )
    return Written(config, filled.missing, filled.learnt)
