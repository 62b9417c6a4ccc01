"""Texts: a web search by one of three providers, and a folder of the team's own documents."""

import asyncio
import hashlib
import json
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from palmette.errors import UserError, missing_extra
from palmette.knowledge.source import Record, RecordKind, Source, dicts, paged
from palmette.knowledge.web import cache_folder, get, post, unusable

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
EMBEDDINGS = "PALMETTE_EMBEDDINGS"
"""The variable that names a model of embeddings for the documents, e.g. `ollama:nomic-embed-text`."""
LOCKED = 60.0  # seconds to wait for another process that brings the index up to date
BATCH, NEAREST, SECONDS = 64, 50, 60.0  # passages in a call of that model, passages that it finds, and its time limit


class Documents(Source):
    """Passages of Markdown, text, notebooks, and PDF where `pypdf` is installed, by an index in SQLite (FTS5).

    With a model of embeddings, ranks by words and by meaning are fused.
    """

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
        try:
            with closing(sqlite3.connect(index, timeout=LOCKED)) as base:
                yield from self._found(base, folder, text, words)
        except sqlite3.Error as error:
            raise unusable("documents", f"its index {str(index)!r} gave: {error}", "Remove it, or wait.") from error

    def _found(self, base: sqlite3.Connection, folder: Path, text: str, words: Sequence[str]) -> Iterator[Record]:
        _update(base, folder)
        query = " OR ".join(f'"{word}"' for word in words)
        rows = base.execute("SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rank", (query,)).fetchall()
        ranked = [row for (row,) in rows]
        if model := os.environ.get(EMBEDDINGS):
            ranked = _fused(ranked, _by_meaning(base, model, text))
        for number, row in enumerate(ranked, start=1):
            found = base.execute("SELECT path, title, text FROM passages WHERE rowid = ?", (row,))
            path, title, passage = found.fetchone()
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


def _fused(*rankings: list[int]) -> list[int]:
    """One ranking of several, by the sum of reciprocal ranks.

    >>> _fused([1, 2], [3, 2])
    [2, 1, 3]
    """
    scores: Counter[int] = Counter()
    for ranking in rankings:
        scores.update({row: 1 / (60 + rank) for rank, row in enumerate(ranking)})
    return [row for row, _ in scores.most_common()]


def _by_meaning(base: sqlite3.Connection, model: str, text: str) -> list[int]:
    """The passages whose embeddings are nearest to that of a text; each passage is embedded once."""
    import numpy as np

    base.execute("CREATE TABLE IF NOT EXISTS vectors(text TEXT, model TEXT, vector BLOB, PRIMARY KEY(text, model))")
    if not (passages := base.execute("SELECT rowid, text FROM passages").fetchall()):
        return []
    known = dict(base.execute("SELECT text, vector FROM vectors WHERE model = ?", (model,)))
    new = [passage for passage in dict.fromkeys(passage for _, passage in passages) if passage not in known]
    for start in range(0, len(new), BATCH):
        batch = new[start : start + BATCH]
        made = [np.asarray(one, np.float32).tobytes() for one in _embedded(model, batch, "document")]
        base.executemany("INSERT INTO vectors VALUES (?, ?, ?)", zip(batch, [model] * len(batch), made, strict=True))
        known |= zip(batch, made, strict=True)
        base.commit()  # what is paid for is kept, and others may write while the next batch is embedded
    matrix = np.array([np.frombuffer(known[passage], np.float32) for _, passage in passages])
    (wanted,) = np.asarray(_embedded(model, [text], "query"), np.float32)
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(wanted)
    order = np.argsort(-(matrix @ wanted) / np.maximum(lengths, 1e-12), kind="stable")[:NEAREST]
    return [passages[at][0] for at in order]


def _embedded(model: str, texts: Sequence[str], kind: Literal["query", "document"]) -> Sequence[Sequence[float]]:
    """The embeddings of texts by a model of pydantic-ai; MachineError if it cannot be used."""
    try:
        import httpx
        from pydantic_ai import Embedder
        from pydantic_ai.exceptions import AgentRunError
        from pydantic_ai.exceptions import UserError as MisuseError
    except ImportError as error:
        raise missing_extra(error, "llm") or error from error
    try:
        asked = Embedder(model).embed(list(texts), input_type=kind)
        return asyncio.run(asyncio.wait_for(asked, SECONDS)).embeddings
    except (AgentRunError, MisuseError, httpx.HTTPError, ImportError, OSError, TimeoutError, ValueError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        raise unusable("documents", f"{model} gave no embeddings: {reason}", f"Unset {EMBEDDINGS}.") from error
