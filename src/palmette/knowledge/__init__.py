"""Knowledge from before a run: cases of the literature, and sources of papers, pages, documents, models and data sets.

Sources are plug-ins (kind `knowledge_source`) that search, fetch and cite. Online ones are off by default; one that
cannot be used says why and finds nothing. Their findings are data, never instructions.
"""

from palmette.knowledge.cases import apt_cases
from palmette.knowledge.memory import recalled
from palmette.knowledge.source import KnowledgeFinding, LookupResult, Subject, SuggestedCandidate, papers_and_pages

__all__ = ["KnowledgeFinding", "LookupResult", "Subject", "SuggestedCandidate", "apt_cases", "look_up"]


def look_up(subject: Subject) -> tuple[LookupResult, ...]:
    """What is known about a subject: similar runs, then cases, then what papers, pages and documents state."""
    return (recalled(subject), apt_cases(subject), *papers_and_pages(subject))
