"""Texts: a web search by one of three providers, and a folder of the team's own documents."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from palmette.errors import UserError
from palmette.knowledge.source import Record, RecordKind, Source, dicts
from palmette.knowledge.web import cache_folder, get, post

TAG = re.compile(r"<[^>]{1,80}>")


class _Provider(NamedTuple):
    variable: str
    """Of the environment: the address of a SearXNG server, or the key of the others."""
    address: str
    results: tuple[str, ...]
    """Keys that lead to the list of results."""
    text: str
    """Key of the passage."""


PROVIDERS = {
    "searxng": _Provider("SEARXNG_URL", "", ("results",), "content"),
    "brave": _Provider("BRAVE_API_KEY", "https://api.search.brave.com", ("web", "results"), "description"),
    "tavily": _Provider("TAVILY_API_KEY", "https://api.tavily.com", ("results",), "content"),
}
"""The first one whose variable is set is used."""


class WebSearch(Source):
    """Pages by SearXNG (JSON), Brave or Tavily."""

    name = "web"
    kinds = ("page",)
    page = 10

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        chosen = next((name for name, one in PROVIDERS.items() if os.environ.get(one.variable)), "")
        if not chosen:
            variables = ", ".join(one.variable for one in PROVIDERS.values())
            raise UserError("No web search is configured.", f"Set one of {variables}.", code="source-key")
        provider = PROVIDERS[chosen]
        for page in count():
            found = dicts(self._answer(chosen, text, page), *provider.results)
            for one in found:
                if one.get("url") and one.get("title"):
                    passage = TAG.sub("", str(one.get(provider.text) or ""))
                    yield self.record("page", one["url"], one["title"], text=passage, url=str(one["url"]))
            if len(found) < self.page or chosen == "tavily":
                return

    def _answer(self, chosen: str, text: str, page: int) -> Any:
        provider = PROVIDERS[chosen]
        value = os.environ[provider.variable]
        address = (value if chosen == "searxng" else self.url or provider.address).rstrip("/")
        if chosen == "searxng":
            params: dict[str, str | int] = {"q": text, "format": "json", "pageno": page + 1}
            return get(self.name, f"{address}/search", params).json(self.name)
        if chosen == "brave":
            params = {"q": text, "count": self.page, "offset": page}
            key = {"x-subscription-token": value}
            return get(self.name, f"{address}/res/v1/web/search", params, key).json(self.name)
        body = {"query": text, "max_results": self.page}
        return post(self.name, f"{address}/search", body, {"authorization": f"Bearer {value}"}).json(self.name)

    def cite(self, record: Record) -> str:
        return f"{record.title} ({record.url})"


FOLDER = "PALMETTE_DOCUMENTS"
"""The variable that names the folder of the team's documents."""
READABLE = (".md", ".txt", ".rst", ".ipynb", ".pdf")
MOST_FILES, MOST_BYTES = 5000, 20 * 2**20
PASSAGE = 1500
"""Characters of a passage, about."""


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
            raise UserError(f"{FOLDER} names {named!r}, which is no folder.", "Name a folder.", code="no-documents")
        index = cache_folder("documents") / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:24]}.sqlite"
        with closing(sqlite3.connect(index)) as base:
            _update(base, folder)
            query = " OR ".join(f'"{word}"' for word in words)
            rows = base.execute("SELECT path, title, text FROM passages WHERE passages MATCH ? ORDER BY rank", (query,))
            for number, (path, title, passage) in enumerate(rows.fetchall(), start=1):
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
    """The text of a document; empty where it cannot be read."""
    if path.stat().st_size > MOST_BYTES:
        return ""
    try:
        if path.suffix.lower() == ".pdf":
            from pypdf import PdfReader

            return "\n\n".join(page.extract_text() for page in PdfReader(path).pages[:500])
        text = path.read_text("utf-8", errors="replace")
        if path.suffix.lower() == ".ipynb":
            return "\n\n".join("".join(cell.get("source", "")) for cell in dicts(json.loads(text), "cells"))
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
