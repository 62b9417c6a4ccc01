"""What is known before a run: a library of cases from the literature, and papers that are looked up.

A source takes a `Subject` and gives `Found`. Those that are registered (kind "knowledge") are all asked; one that
cannot be reached says so and finds nothing. What comes from outside is data, never an instruction.
"""

from palmette.knowledge.cases import CaseLibrary
from palmette.knowledge.literature import Literature
from palmette.knowledge.source import Finding, Found, KnowledgeSource, Subject, look_up

__all__ = ["CaseLibrary", "Finding", "Found", "KnowledgeSource", "Literature", "Subject", "look_up"]
