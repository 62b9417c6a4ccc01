"""The protocol of knowledge sources (search, fetch and cite), their subjects and their results."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from palmette.documents import Model
from palmette.engine.registry import create, names
from palmette.errors import PalmetteError
from palmette.knowledge.web import NONE, SWITCH, Params, WebResponse, get, is_on
from palmette.llm.text import visible

RecordKind = Literal["paper", "page", "document", "notebook", "model", "dataset"]
OFF = f"No online source was searched: {SWITCH} turns them on."
READ: tuple[RecordKind, ...] = ("paper", "page", "document", "notebook")  # kinds whose text may hold an insight
LONGEST = 4000  # characters of a text that are taken from a source
DATASET_FILES = (".csv", ".tsv", ".parquet", ".pq", ".jsonl", ".json", ".xlsx", ".zip", ".gz")
"""Files that can be read without running code in them."""


class Subject(Model):
    """The subject of a search."""

    task: str
    """E.g. `classification`."""
    figures: Mapping[str, float] = Field(default_factory=dict)
    """Meta-features of the data, by name."""
    signs: frozenset[str] = frozenset()
    """Properties of request and data, by code: e.g. `imbalanced`, `explainable`."""
    words: tuple[str, ...] = ()
    """Search terms for texts, the most specific first."""

    @property
    def query(self) -> str:
        files = [kind for kind in ("image", "audio", "text") if self.figures.get(f"{kind}_columns")]
        return " ".join((*(files or ["tabular"]), "data", self.task.replace("_", " "), *self.words))


class Record(Model):
    """An entry of a source. Its texts are untrusted data."""

    source: str
    """Name of the source."""
    kind: RecordKind
    id: str
    """Within the source."""
    title: str
    text: str = ""
    """Abstract, description or passage."""
    url: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    licence: str = ""
    """As the source names it; empty if it names none."""
    tasks: tuple[str, ...] = ()
    """In the source's terms, e.g. `text-classification`."""
    columns: tuple[str, ...] = ()
    target: str = ""
    """The column that the source names as the target."""
    rows: int | None = None
    features: int | None = None
    """Number of columns, if nothing else is known about them."""
    megabytes: float | None = None
    parameters: int | None = None
    architecture: str = ""
    """Of a model, e.g. `bert`."""
    downloads: int | None = None
    files: tuple[str, ...] = ()
    """Addresses of its files, or paths in it."""

    @property
    def place(self) -> str:
        """Its name for people and for `--data`, e.g. `openml:31`."""
        return f"{self.source}:{self.id}"


class Source:
    """A source of papers, pages, documents, models or data sets: it searches, fetches and cites."""

    name: ClassVar[str]
    kinds: ClassVar[tuple[RecordKind, ...]]
    online: ClassVar[bool] = True
    address: ClassVar[str] = ""  # without a slash at its end; `PALMETTE_<NAME>_URL` names a mirror

    @property
    def url(self) -> str:
        return os.environ.get(f"PALMETTE_{self.name.upper()}_URL", self.address).rstrip("/")

    @property
    def headers(self) -> dict[str, str]:
        """With the key, if the environment has one."""
        return {}

    def get(self, path: str, params: Params = NONE) -> WebResponse:
        return get(self.name, path if "://" in path else f"{self.url}/{path}", params, self.headers)

    def json(self, path: str, params: Params = NONE) -> Any:
        return self.get(path, params).json(self.name)

    def record(self, kind: RecordKind, id: object, title: object, **fields: Any) -> Record:
        """A record whose texts are bounded, on one line, and show every character."""
        for name in ("text", "licence", "target", "architecture"):
            fields[name] = plain(fields.get(name))
        for name in ("authors", "tasks", "columns"):
            fields[name] = tuple(plain(one, 120) for one in fields.get(name) or ())[:200]
        return Record(source=self.name, kind=kind, id=plain(id, 200), title=plain(title, 300), **fields)

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        """Entries of a kind that match words, the best first; further pages are requested when they are needed.

        Raises as `web.get`.
        """
        raise NotImplementedError

    def detail(self, id: str, kind: RecordKind) -> Record:
        """The entry with this id, with everything that the source states. Raises as `search`."""
        return self.record(kind, id, id)

    def fetch(self, record: Record, folder: Path) -> None:
        """Writes the files of an entry into a folder. Raises as `search`."""
        (folder / "text.md").write_text(f"# {record.title}\n\n{record.text}\n\n{self.cite(record)}\n", "utf-8")

    def cite(self, record: Record) -> str:
        """A reference by which the entry can be found again."""
        who = " and others".join((*record.authors[:1], "")) if len(record.authors) > 1 else "".join(record.authors)
        when = " ".join(filter(None, (who, str(record.year or ""))))
        return ", ".join(filter(None, (when, f"{record.title} ({record.place})")))


def file_name(record: Record, ending: str) -> str:
    """The name of a data file, by the title of its set."""
    return (re.sub(r"[^\w-]+", "_", record.title).strip("_")[:60] or "data") + ending


def plain(value: object, longest: int = LONGEST) -> str:
    """An untrusted text on one line; empty for None.

    >>> plain(" Rare\\n classes "), plain(None)
    ('Rare classes', '')
    """
    return visible(" ".join(("" if value is None else str(value)).split()))[:longest]


def number(value: object) -> int | None:
    """An untrusted count; None if it is not a number.

    >>> number("150.0"), number("many"), number(None)
    (150, None, None)
    """
    try:
        return int(float(str(value)))
    except (ValueError, OverflowError):
        return None


def dicts(value: object, *path: str) -> list[dict[str, Any]]:
    """The objects of a list in an answer, by the keys that lead to it; empty if the answer has another shape."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def paged(ask: Callable[[int], list[dict[str, Any]]], size: int) -> Iterator[dict[str, Any]]:
    """The objects of pages, numbered from 0, up to the first one that is not full; asked for when they are needed."""
    for page in count():
        found = ask(page)
        yield from found
        if len(found) < size:
            return


def sources(kind: RecordKind | None = None, named: Iterable[str] = ()) -> list[Source]:
    """The registered sources of a kind that are on, or those that are named.

    Raises:
        UserError: there is no source of a name.
    """
    made: list[Source] = [create("knowledge_source", name) for name in named or names("knowledge_source")]
    if named:
        return made
    return [one for one in made if kind in (None, *one.kinds) and (not one.online or is_on(one.name))]


class SearchResult(Model):
    """What a source gave."""

    note: str
    """Where was looked, and what came of it, in one sentence."""
    records: tuple[Record, ...] = ()


def search(text: str, kind: RecordKind, most: int = 5, named: Iterable[str] = ()) -> tuple[SearchResult, ...]:
    """What each source finds, side by side; a source that cannot be used says why and finds nothing."""
    asked = sources(kind, named)
    with ThreadPoolExecutor(max(len(asked), 1)) as pool:
        return tuple(pool.map(lambda one: _searched(one, text, kind, most), asked))


def _searched(source: Source, text: str, kind: RecordKind, most: int) -> SearchResult:
    if kind not in source.kinds:
        return SearchResult(note=f"{source.name} has no entries of the kind {kind}, but {', '.join(source.kinds)}.")
    try:
        found = tuple(islice(source.search(text, kind), most))
    except PalmetteError as error:
        return SearchResult(note=" ".join(filter(None, (error.message, error.remedy))))
    entries = "entry" if len(found) == 1 else "entries"
    return SearchResult(note=f"{source.name}: {len(found)} {entries} ({kind}) for {text!r}.", records=found)


Setting = str | bool | int | float | None


class SuggestedCandidate(Model):
    """A model that did well elsewhere. A proposal only: its users check that it can be trained."""

    learner: str
    encoders: Mapping[str, str] = Field(default_factory=dict)
    """By kind of column."""
    settings: Mapping[str, Setting] = Field(default_factory=dict)
    strategy: Mapping[str, str] = Field(default_factory=dict)


class KnowledgeFinding(Model):
    """Something that is known to help."""

    text: str
    """One sentence."""
    source: str
    """Where it is from, so that it can be found again; unique among the findings of a lookup."""
    because: str
    """What in the subject makes it apply."""
    algorithms: tuple[str, ...] = ()
    """What it speaks for."""
    candidates: tuple[SuggestedCandidate, ...] = ()
    """What it proposes to train, the best first."""


class LookupResult(Model):
    """What a lookup gave."""

    note: str
    """Where was looked, and what came of it, in one sentence."""
    findings: tuple[KnowledgeFinding, ...] = ()
    """The most telling first."""


def papers_and_pages(subject: Subject) -> tuple[LookupResult, ...]:
    """Insights in papers, pages and documents; each is a sentence of the text as it stands."""
    found = tuple(_findings(one) for kind in READ for one in search(subject.query, kind))
    return found if any(one.online for one in sources()) else (LookupResult(note=OFF), *found)


def _findings(result: SearchResult) -> LookupResult:
    because, findings = "it was found by the words of the task", {}
    for one in result.records:
        cited = create("knowledge_source", one.source).cite(one)
        findings[cited] = KnowledgeFinding(text=claim(one.text or one.title), source=cited, because=because)
    return LookupResult(note=result.note, findings=tuple(findings.values()))


def claim(text: str) -> str:
    """The first sentence of a text that states a result, else its first one.

    >>> claim("Tables are common. We show that thresholds are enough. More follows.")
    'We show that thresholds are enough.'
    """
    sentences = re.split(r"(?<=[.!?])\s+", text)
    claims = [one for one in sentences if re.search(r"\b(we (show|find|found|demonstrate)|outperforms?)\b", one, re.I)]
    return (claims or sentences)[0][:300]
