"""Texts: a web search by one of three providers, and a folder of the team's own documents."""

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from palmette.errors import UserError, missing_extra
from palmette.knowledge.source import Record, RecordKind, Source, dicts, paged
from palmette.knowledge.web import cache_folder, get, post

TAG = re.compile(r"<[^>]{1,80}>")


class WebSearch(Source):
    """Pages by SearXNG (JSON), Brave or Tavily: the first one whose variable is set."""

    name = "web"
    kinds = ("page",)
    page = 10

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        for one in paged(lambda page: self._page(text, page), self.page):
            if one.get("url") and one.get("title"):
                passage = TAG.sub("", str(one.get("content") or one.get("description") or ""))
                yield self.record("page", one["url"], one["title"], text=passage, url=str(one["url"]))

    def _page(self, text: str, page: int) -> list[dict[str, Any]]:
        params: dict[str, str | int]
        if server := os.environ.get("SEARXNG_URL"):
            params = {"q": text, "format": "json", "pageno": page + 1}
            return dicts(get(self.name, f"{server.rstrip('/')}/search", params).json(self.name), "results")
        if key := os.environ.get("BRAVE_API_KEY"):
            address = self.url or "https://api.search.brave.com"
            params = {"q": text, "count": self.page, "offset": page}
            found = get(self.name, f"{address}/res/v1/web/search", params, {"x-subscription-token": key})
            return dicts(found.json(self.name), "web", "results")
        if key := os.environ.get("TAVILY_API_KEY"):
            address, body = self.url or "https://api.tavily.com", {"query": text, "max_results": self.page}
            if page:
                return []  # there is one only
            found = post(self.name, f"{address}/search", body, {"authorization": f"Bearer {key}"})
            return dicts(found.json(self.name), "results")
        remedy = "Set SEARXNG_URL, BRAVE_API_KEY or TAVILY_API_KEY."
        raise UserError("No web search is configured.", remedy, code="source-key")

    def cite(self, record: Record) -> str:
        return f"{record.title} ({record.url})"


FOLDER = "PALMETTE_DOCUMENTS"  # the variable that names the folder of the team's documents
READABLE = (".md", ".txt", ".rst", ".ipynb", ".pdf")
MOST_FILES, MOST_BYTES = 5000, 20 * 2**20
PASSAGE = 1500  # characters of a passage, about


class Documents(Source):
    """Passages of Markdown, text, notebooks, and PDF where `pypdf` is installed, by an index in SQLite (FTS5)."""

    name = "documents"
    kinds = ("document",)
    online = False

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        named = os.environ.get(FOLDER)
        words = re.findall(r"\w+", text)[:20]
        if not named or not words:
            return
        folder = Path(named).absolute()
        if not folder.is_dir():
            raise UserError(f"{FOLDER} names {named!r}, which is not a folder.", "Name a folder.", code="no-documents")
        index = cache_folder("documents") / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:24]}.sqlite"
        with closing(sqlite3.connect(index)) as base:
            _update(base, folder)
            query = " OR ".join(f'"{word}"' for word in words)
            ranked = base.execute("SELECT * FROM passages WHERE passages MATCH ? ORDER BY rank", (query,))
            for number, (path, title, passage) in enumerate(ranked, start=1):
                yield self.record("document", f"{path}#{number}", title or path, text=passage, url=str(folder / path))

    def cite(self, record: Record) -> str:
        return f"{record.title} ({record.id})"


def _update(base: sqlite3.Connection, folder: Path) -> None:
    """Brings the index up to the files that are there."""
    base.execute("CREATE VIRTUAL TABLE IF NOT EXISTS passages USING fts5(path UNINDEXED, title, text)")
    base.execute("CREATE TABLE IF NOT EXISTS files(path TEXT PRIMARY KEY, stamp TEXT)")
    known = dict(base.execute("SELECT path, stamp FROM files"))
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in READABLE and path.is_file())
    inside = [path for path in found if path.resolve().is_relative_to(folder.resolve())][:MOST_FILES]
    stamps = {str(path.relative_to(folder)): f"{path.stat().st_size} {path.stat().st_mtime_ns}" for path in inside}
    for path in known.keys() | stamps.keys():
        if known.get(path) == stamps.get(path):
            continue
        base.execute("DELETE FROM passages WHERE path = ?", (path,))
        base.execute("DELETE FROM files WHERE path = ?", (path,))
        if path in stamps:
            made = [(path, title, text) for title, text in _passages(_text(folder / path))]
            base.executemany("INSERT INTO passages VALUES (?, ?, ?)", made)
            base.execute("INSERT INTO files VALUES (?, ?)", (path, stamps[path]))
    base.commit()


def _text(path: Path) -> str:
    """The text of a document; empty where it is damaged or too large."""
    if path.stat().st_size > MOST_BYTES:
        return ""
    try:
        if path.suffix.lower() == ".pdf":
            from pypdf import PdfReader

            return "\n\n".join(page.extract_text() for page in PdfReader(path).pages[:500])
        text = path.read_text("utf-8", errors="replace")
        if path.suffix.lower() == ".ipynb":
            return "\n\n".join("".join(cell.get("source", "")) for cell in dicts(json.loads(text), "cells"))
    except ImportError as error:
        raise missing_extra(error, "documents") or error from error
    except Exception:  # noqa: BLE001 - a library for PDF raises whatever it likes on damaged files
        return ""
    return text


def _passages(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs put together up to the length of a passage, each with the heading above it."""
    title, held = "", ""
    for paragraph in re.split(r"\n\s*\n", text):
        heading = re.match(r"#{1,6}\s+(.+)", paragraph.strip())
        if held and (heading or len(held) + len(paragraph) > PASSAGE):
            yield title, held
            held = ""
        title = heading[1] if heading else title
        held += f"{paragraph.strip()[: 4 * PASSAGE]}\n"
    if held.strip():
        yield title, held
