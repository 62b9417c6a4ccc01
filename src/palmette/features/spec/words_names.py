"""Resolves phrases to sources, columns, values, entities or features: exactly one match, or a question."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from palmette.errors import Mistake
from palmette.features.spec.dfr import RegisteredColumn, Table
from palmette.features.spec.expressions import listing
from palmette.features.spec.fsc import Entity
from palmette.features.spec.scope import ResolutionScope
from palmette.features.spec.sources import ResolvedSource, Sources
from palmette.features.spec.values import SparkType

_ARTICLES = ("the", "a", "an", "this", "that", "each", "every", "all", "any", "their", "his", "her", "its", "own")
IDENTIFIERS = frozenset(["id", "key", "code"])
"""Last words of column names that identify something and are not quantities."""
_AFFIXES = frozenset(["id", "name", "at", "on", "time", "date", "type", "code", "ts", "key", "value"])


class AskError(Exception):
    """Raised for a phrase that matches nothing, or several things."""

    def __init__(
        self, phrase: str, wanted: str, candidates: Sequence[str] = (), known: Sequence[str] = (), advice: str = ""
    ) -> None:
        super().__init__(phrase)
        self.phrase = without_marks(phrase)
        self.wanted = wanted
        self.candidates = tuple(map(without_marks, candidates))  # possible meanings, each in words that are understood
        self.known = tuple(known)  # the available names, if the phrase matches none of them
        self.advice = advice or ("Use its name" if known else "Say it in other words")

    def question(self, words: str) -> Mistake:
        """The question to ask about these words."""
        advice = "or write the computation as `aggregate`, `lookup` or `derive`."
        if self.candidates:
            head, *tail = re.split(rf"(?<!\w){re.escape(self.phrase)}(?!\w)", words, maxsplit=1)
            readings = [f"{head}{one}{tail[0]}" if tail and one != self.phrase else one for one in self.candidates]
            shown = [repr(one) if any(" or " in each for each in self.candidates) else one for one in self.candidates]
            question = f"In {words!r}, does {self.phrase!r} mean {' or '.join(shown)}?"
            remedy = f"Write it as {' or as '.join(map(repr, readings))}, {advice}"
            return Mistake("ambiguous-words", question, remedy)
        known = f" ({listing(self.known, self.phrase)})" if self.known else ""
        question = f"In {words!r}, which {self.wanted}{known} does {self.phrase!r} mean?"
        return Mistake("unknown-words", question, f"{self.advice}, {advice}")


_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"")
_MARK = 0xF0000
"""First of the characters for private use that stand for quoted ones."""


def with_marks(words: str) -> str:
    """The words with the characters of quoted values replaced, so that no pattern finds words or spaces there."""

    def marked(found: re.Match[str]) -> str:
        text = found[0]
        return text[0] + "".join(chr(_MARK + ord(one)) if ord(one) < 0xFFFE else one for one in text[1:-1]) + text[-1]

    return _QUOTED.sub(marked, words)


def without_marks(text: str) -> str:
    """Reverses `with_marks`."""
    return "".join(chr(ord(one) - _MARK) if _MARK <= ord(one) < _MARK + 0xFFFE else one for one in text)


def is_key(name: str) -> bool:
    """Whether the column's name marks it as an identifier rather than a quantity."""
    return len(tokens(name)) > 1 and tokens(name)[-1] in IDENTIFIERS


def tokens(phrase: str) -> tuple[str, ...]:
    """The words of a phrase or a name in normal form: lower case, singular, without articles.

    >>> tokens("the merchant_categories")
    ('merchant', 'category')
    """
    words = re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", phrase).lower())
    return tuple(singular(word) for word in words if word not in _ARTICLES) or tuple(words)


def singular(word: str) -> str:
    """An approximate singular of an English noun; other words are returned unchanged."""
    if len(word) < 3 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word.removesuffix("s")


def matches(phrase: str, names: Iterable[str], *, endings: bool = True) -> list[str]:
    """The names that match a phrase, by the strongest kind of match that has any, perhaps without their endings."""
    forms: list[Callable[[str], object]] = [str.strip, tokens]
    forms += [lambda name: _stem(tokens(name))] * endings
    names = list(dict.fromkeys(names))
    found = ([name for name in names if form(name) == form(phrase)] for form in forms)
    return next(filter(None, found), [])


def _stem(words: tuple[str, ...]) -> tuple[str, ...]:
    """Drops endings such as `id`, `on` and `date`; `registered on date`, `registered_on` and `registered` are equal."""
    for endings in (_AFFIXES, ("at", "on")):
        words = words[:-1] if len(words) > 1 and words[-1] in endings else words
    return words


@dataclass(frozen=True)
class ColumnOf:
    """A column of a source."""

    source: ResolvedSource
    name: str

    @property
    def type(self) -> SparkType:
        return self.source.columns.types[self.name]


def column_of(phrase: str, source: ResolvedSource) -> ColumnOf:
    """The column of a source that a phrase names."""
    found = matches(phrase, source.columns.types) or flags_of(phrase, source)
    if len(found) != 1:
        raise AskError(phrase, f"column of {source.view.name}", found, list(source.columns.types))
    return ColumnOf(source, found[0])


def values_of(phrase: str, source: ResolvedSource) -> list[tuple[str, str | int | bool]]:
    """Columns with a closed set of values that contains `online` or `on web`, each with the matching value."""
    known = source.columns
    wanted = (tokens(phrase), tokens(re.sub(r"^(?:on|in|from|via) ", "", phrase, flags=re.I)))
    closed = [(name, value) for name, values in known.values.items() for value in values if name in known]
    return [(name, value) for name, value in closed if tokens(str(value)) in wanted]


def flags_of(phrase: str, source: ResolvedSource) -> list[str]:
    """Boolean columns that match a phrase: `returned`, `is_returned`."""
    wanted = tokens(phrase)
    flags = [name for name, kind in source.columns.types.items() if kind.name == "boolean"]
    plain = {name: name.removeprefix("is_").removeprefix("was_") for name in flags}
    return [name for name in flags if wanted in (tokens(name), tokens(plain[name]))]


@dataclass(frozen=True)
class WordsContext:
    """The names that words can refer to."""

    scope: ResolutionScope
    sources: Sources

    def all_sources(self) -> list[ResolvedSource]:
        """Declared sources first, then the tables of the registry without steps."""
        return [source for name in self.sources.names if (source := self.sources.get(name))]

    def source(self, phrase: str) -> ResolvedSource:
        """The source that a phrase names."""
        tables = {one.view.name: one.view.table.name for one in self.all_sources()}
        found = matches(phrase, tables, endings=False) or [
            name for name in tables if tokens(tables[name]) == tokens(phrase)
        ]
        if len(found) != 1:
            raise AskError(phrase, "source", found, list(tables))
        source = self.sources.get(found[0])
        assert source is not None
        return source

    def source_or_none(self, phrase: str) -> ResolvedSource | None:
        try:
            return self.source(phrase)
        except AskError as ask:
            if ask.candidates:
                raise
            return None

    def is_about(self, source: ResolvedSource, by: Iterable[str] | None = None) -> bool:
        """Whether a source's rows belong to an entity of the view, or to the one with these keys."""
        keys = [by] if by else [entity.keys for entity in self.scope.spec.entities]
        return any(set(each) <= set(source.columns.types) for each in keys)

    def column_anywhere(self, phrase: str) -> ColumnOf:
        """The column that `redemption amount` names, or the only column with that name in any source."""
        words = phrase.split()
        named = {spec.name for spec in self.scope.spec.sources}
        declared = [one for one in self.all_sources() if one.view.name in named]
        hits = [ColumnOf(one, name) for one in declared for name in one.columns.types if tokens(name) == tokens(phrase)]
        for cut in range(1, len(words)):
            source = self.source_or_none(" ".join(words[:cut]))
            hits += self._try(" ".join(words[cut:]), [source] if source and self.is_about(source) else [])
        for group in (declared, [one for one in self.all_sources() if one.view.is_event]):
            hits = hits or self._try(phrase, group)
        names = list(dict.fromkeys(f"{hit.name} of {hit.source.view.name}" for hit in hits))
        if len(names) != 1:
            known = [f"{name} of {one.view.name}" for one in self.all_sources() for name in one.columns.types]
            raise AskError(phrase, "column", names, known)
        return hits[0]

    def _try(self, phrase: str, sources: Iterable[ResolvedSource]) -> list[ColumnOf]:
        found = []
        for source in sources:
            try:
                found.append(column_of(phrase, source))
            except AskError as ask:
                found += [ColumnOf(source, name) for name in ask.candidates]
        return found

    def entity(self, phrase: str) -> Entity | None:
        """The entity that a singular phrase names."""
        folded = phrase.lower().replace("_", " ").strip()
        for one in self.scope.spec.entities:
            if folded in (one.name.lower().replace("_", " "), *(key.lower() for key in one.keys)):
                return one
        return None

    def feature(self, phrase: str, but: str) -> str:
        """The feature, other than `but`, that a phrase names."""
        names = [one.name for one in self.scope.spec.features if one.name != but]
        found = matches(phrase, names)
        if len(found) != 1:
            raise AskError(phrase, "feature", found, names)
        return found[0]

    def looked_up(self) -> Iterator[tuple[Table, RegisteredColumn]]:
        """Columns of tables that can be looked up by keys of the grain."""
        for table in self.scope.registry.tables:
            if table.kind != "event" and set(table.keys) <= set(self.scope.grain) and table.keys_enforced:
                yield from ((table, column) for column in table.columns if column.name not in table.keys)
