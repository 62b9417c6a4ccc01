"""Knowledge from before a run: a library of cases from the literature, and papers that are looked up.

A source takes a `Subject` and returns a `LookupResult`. All registered sources (kind "knowledge") are asked; one that
cannot be reached reports that and finds nothing. Text from outside is data, never an instruction.
"""

from palmette.knowledge.cases import CaseLibrary
from palmette.knowledge.literature import Literature
from palmette.knowledge.source import KnowledgeFinding, KnowledgeSource, LookupResult, Subject, look_up

__all__ = ["CaseLibrary", "KnowledgeFinding", "KnowledgeSource", "Literature", "LookupResult", "Subject", "look_up"]
