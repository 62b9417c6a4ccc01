"""What is repaired. The rules repair no text: they leave the module out."""

from __future__ import annotations

from palmette.automl.actors.error_analyser.offline import Analysis
from palmette.automl.candidates import OwnCode
from palmette.documents import Model
from palmette.engine import Violation


class DebuggerInput(Model):
    failure: Violation
    analysis: Analysis
    module: OwnCode
    """That is to be changed."""


class Corrected(Model):
    """A module as it is to be."""

    module: OwnCode
