"""Papers by the search of arXiv. Off by default, with a short time limit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from xml.etree import ElementTree

from palmette._bounded import OversizedAnswerError, fetch
from palmette.engine.registry import register
from palmette.knowledge.source import KnowledgeFinding, LookupResult, Subject

SWITCH = "PALMETTE_LITERATURE"
"""The variable that turns the search on: `1` for arXiv, or the address of a server that answers like it."""
ARXIV = "https://export.arxiv.org/api/query"
SECONDS = 8.0
MOST_PAPERS = 5
LONGEST = 300
"""Characters of a sentence that are taken from a paper."""
ATOM = "{http://www.w3.org/2005/Atom}"


@register("knowledge", "literature")
class Literature:
    """Abstracts of papers; the first sentence that claims something, as it stands."""

    def find(self, subject: Subject) -> LookupResult:
        """Papers on the subject's words; nothing, with the reason, where they cannot be had."""
        switch = os.environ.get(SWITCH, "").strip()
        if switch in ("", "0"):
            return LookupResult(note=f"Literature was not searched: {SWITCH} is not set.")
        return _search(ARXIV if switch == "1" else switch, _query(subject))


def _query(subject: Subject) -> str:
    """The search in arXiv's terms: the kind of data and the task, and any of the words."""
    words = " OR ".join(f'all:"{word}"' for word in subject.words)
    return f'all:"{subject.modality} data" AND all:{subject.task}' + (f" AND ({words})" if words else "")


@lru_cache(maxsize=16)
def _search(address: str, query: str) -> LookupResult:
    """One request; asked again within this process, the same is given."""
    import httpx

    given = {"search_query": query, "max_results": str(MOST_PAPERS), "sortBy": "relevance"}
    host = address
    try:
        host = httpx.URL(address).host or address
        answer = fetch("GET", address, SECONDS, params=given, headers={"User-Agent": "palmette"})
        findings = tuple(_findings(answer.raise_for_status().content))
    except (
        *(OSError, ValueError, LookupError, ElementTree.ParseError),
        *(httpx.HTTPError, httpx.InvalidURL, OversizedAnswerError),
    ) as error:
        why = " ".join(str(error).split())[:LONGEST]
        return LookupResult(note=f"Literature could not be searched: {host} gave {type(error).__name__}: {why}.")
    return LookupResult(note=f"{len(findings)} papers of {host} for: {query}.", findings=findings)


def _findings(text: bytes) -> Iterator[KnowledgeFinding]:
    """The papers of an Atom feed.

    Raises:
        ValueError: it declares a document type, which no feed needs and which can be made to fill the memory.
    """
    if b"<!DOCTYPE" in text[:2000].upper() or b"<!ENTITY" in text.upper():
        raise ValueError("the answer declares a document type")
    for entry in ElementTree.fromstring(text).iterfind(f"{ATOM}entry"):
        title, summary, id, date = (_text(entry, name) for name in ("title", "summary", "id", "published"))
        authors = [name for one in entry.iterfind(f"{ATOM}author") if (name := _text(one, "name"))]
        if not (title and summary and authors):
            continue
        who = authors[0] if len(authors) == 1 else f"{authors[0]} and others"
        where = re.sub(r"^https?://arxiv\.org/abs/", "arXiv:", id)
        yield KnowledgeFinding(
            text=_claim(summary),
            source=f"{who} {date[:4]}, {title} ({where})"[:LONGEST],
            because="it was found by the words of the task",
        )


def _text(element: ElementTree.Element, name: str) -> str:
    return " ".join((element.findtext(f"{ATOM}{name}") or "").split())


def _claim(summary: str) -> str:
    """The first sentence of an abstract that states a result, else its first one."""
    sentences = re.split(r"(?<=[.!?])\s+", summary)
    claims = [one for one in sentences if re.search(r"\b(we (show|find|found|demonstrate)|outperforms?)\b", one, re.I)]
    return (claims or sentences)[0][:LONGEST]
