"""Papers: arXiv and OpenAlex. Papers with Code was retired in July 2025; Hugging Face's papers succeed it (`hubs`)."""

import os
import re
import time
from collections.abc import Iterator
from itertools import count
from typing import Any
from xml.etree import ElementTree

from palmette.knowledge.source import Record, RecordKind, Source, dicts, number, paged
from palmette.knowledge.web import NONE, Params, WebResponse, get, unusable

ATOM = "{http://www.w3.org/2005/Atom}"
PARTS = ("id", "title", "summary", "published")  # of an entry
STOP = frozenset(("a an and are at by data find for from in is of on or predict set that the to which with").split())  # noqa: SIM905 - a list of words
"""Words that say nothing about what is looked for."""


class Arxiv(Source):
    """https://info.arxiv.org/help/api/user-manual.html: an Atom feed, at most one request in three seconds."""

    name = "arxiv"
    kinds = ("paper",)
    address = "https://export.arxiv.org/api"
    page = 10
    pause = 3.0

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        words = [word for word in re.findall(r"[\w-]+", text.lower()) if word not in STOP][:8]
        query = " AND ".join(f"all:{word}" for word in words[:2])
        if words[2:]:
            query = f"{query} AND ({' OR '.join(f'all:{word}' for word in words[2:])})"
        for start in count(0, self.page):
            if start:
                time.sleep(self.pause)
            params: Params = {"search_query": query, "start": start, "max_results": self.page, "sortBy": "relevance"}
            found = list(self._entries(self.get("query", params).body))
            yield from found
            if len(found) < self.page:
                return

    def _entries(self, text: bytes) -> Iterator[Record]:
        if b"<!DOCTYPE" in text[:2000].upper() or b"<!ENTITY" in text.upper():
            raise unusable(self.name, "the answer declares a document type")
        try:
            feed = ElementTree.fromstring(text)
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            raise unusable(self.name, "the answer is not an Atom feed") from error
        if feed.tag != f"{ATOM}feed":
            raise unusable(self.name, "the answer is not an Atom feed")
        for one in feed.iterfind(f"{ATOM}entry"):
            url, title, summary, date = (one.findtext(f"{ATOM}{name}") or "" for name in PARTS)
            if "/abs/" in url and title and summary:
                authors = [each.findtext(f"{ATOM}name") for each in one.iterfind(f"{ATOM}author")]
                id, year = url.partition("/abs/")[2], number(date[:4])
                yield self.record("paper", id, title, text=summary, url=url, authors=authors, year=year)


class OpenAlex(Source):
    """https://developers.openalex.org: works by page; cursors need a key, pages do not."""

    name = "openalex"
    kinds = ("paper",)
    address = "https://api.openalex.org"
    page = 25

    def get(self, path: str, params: Params = NONE) -> WebResponse:
        """With the key as a parameter: the protocol has no header for it."""
        key = os.environ.get("OPENALEX_API_KEY")
        return get(self.name, f"{self.url}/{path}", params, key={"api_key": key} if key else NONE)

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        def ask(page: int) -> list[dict[str, Any]]:
            return dicts(self.json("works", {"search": text, "per_page": self.page, "page": page + 1}), "results")

        yield from (self._work(one) for one in paged(ask, self.page) if one.get("display_name"))

    def _work(self, one: dict[str, Any]) -> Record:
        index = one.get("abstract_inverted_index")
        words = index.items() if isinstance(index, dict) else ()
        places = [(place, word) for word, all_places in words for place in all_places]
        authors = [each.get("author", {}).get("display_name") for each in dicts(one, "authorships")]
        id, text = str(one.get("id", "")).rpartition("/")[2], " ".join(word for _, word in sorted(places))
        facts = {"year": number(one.get("publication_year")), "downloads": number(one.get("cited_by_count"))}
        url = str(one.get("doi") or one.get("id") or "")
        return self.record("paper", id, one["display_name"], text=text, url=url, authors=authors, **facts)
