"""What is mended; the rules mend no text: where one fails, its writer is asked again."""

from __future__ import annotations

from palmette.automl.actors.error_analyser.offline import Analysis
from palmette.documents import Model
from palmette.engine import TextFile, Violation


class DebuggerInput(Model):
    failure: Violation
    analysis: Analysis
    contract: str
    """JSON."""
    file: TextFile
    """That is to be changed."""
    beside: tuple[TextFile, ...] = ()
    """Those that it works with, the nearest first."""


class Corrected(Model):
    """A file as it is to be."""

    file: TextFile
