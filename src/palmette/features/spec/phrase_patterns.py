"""The supported phrasings: a pattern for each, and the computation it stands for."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from palmette.features.spec.fsc import Aggregate, AggregateFunction, Expression, Feature, Lookup, SourceSpec
from palmette.features.spec.literals import quoted
from palmette.features.spec.sources import ResolvedSource
from palmette.features.spec.values import Window
from palmette.features.spec.words_names import (
    IDENTIFIERS,
    AskError,
    ColumnOf,
    WordsContext,
    column_of,
    is_key,
    matches,
    tokens,
)
from palmette.features.spec.words_rows import condition, happened, rows_of

_COUNTED = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBERS = {word: number for number, word in enumerate(_COUNTED.split())}
NUMBERS |= {"fourteen": 14, "twenty": 20, "thirty": 30, "sixty": 60, "ninety": 90}
N = rf"(?:\d+|{'|'.join(NUMBERS)})"
_WORDS_OF: dict[AggregateFunction, str] = {
    "avg": "average, mean, avg",
    "sum": "total, sum",
    "max": "maximum, max, largest, highest, biggest",
    "min": "minimum, min, smallest, lowest",
    "last": "latest, last, most recent, newest",
    "first": "first, earliest, oldest",
    "percentile": "median",
    "stddev": "standard deviation, stddev",
    "mode": "most frequent, most common, most popular, favourite, favorite, usual",
}
_FUNCTIONS = {word: function for function, words in _WORDS_OF.items() for word in words.split(", ")}
_MEASURES = frozenset(["avg", "sum", "max", "min", "percentile", "stddev"])  # functions of numeric quantities
_RANKING = "|".join(word for word, function in _FUNCTIONS.items() if function in ("sum", "avg", "max", "min"))
_OF_VECTORS: dict[AggregateFunction, AggregateFunction] = {"avg": "vector_mean", "sum": "vector_sum"}
_FUNCTION = "|".join(sorted(_FUNCTIONS, key=len, reverse=True))


@dataclass(frozen=True)
class WordsReading:
    """The interpretation of a feature's words."""

    computation: Mapping[str, Any]
    """One of the feature fields `aggregate`, `expression`, `lookup`, `derive`, with its value."""
    helpers: tuple[Feature, ...] = ()  # internal features that the computation uses
    sources: tuple[SourceSpec, ...] = ()  # further sources that the computation needs
    doubt: str = ""  # why the reviewer should look at it closely


@dataclass(frozen=True)
class PhraseParts:
    """Words that are partly parsed: the remaining text, and what was already extracted."""

    feature: Feature
    text: str
    context: WordsContext
    window: Window = Window.ALL
    by: tuple[str, ...] | None = None
    condition: str | None = None

    def where(self, source: ResolvedSource, *further: str | None) -> str | None:
        """The condition stated in the words, combined with `further` ones."""
        stated = condition(self.condition, source) if self.condition is not None else None
        conditions = [item for item in (*further, stated) if item]
        return " AND ".join(f"({item})" if len(conditions) > 1 else item for item in conditions) or None

    def aggregate(
        self, function: AggregateFunction, source: ResolvedSource, where: str | None = None, **more: Any
    ) -> WordsReading:
        """An aggregate over the rows that the words select."""
        shared = {**self._shared(source, where), **more}
        return WordsReading({"aggregate": Aggregate(function=function, **shared)})

    def expression(self, sql: str, source: ResolvedSource, *where: str | None) -> WordsReading:
        """An SQL aggregate over the rows that the words select."""
        return WordsReading({"expression": Expression(sql=sql, **self._shared(source, *where))})

    def _shared(self, source: ResolvedSource, *where: str | None) -> dict[str, Any]:
        stated = self.where(source, *where)
        return {"source": source.view.name, "where": stated, "window": self.window, "by": self.by}


Reader = Callable[[PhraseParts, re.Match[str]], WordsReading | None]
"""Reads a phrase that matched a pattern; None if it is not meant."""


def _column(rest: PhraseParts, phrase: str, rows: str | None) -> tuple[ColumnOf, str | None]:
    """Resolves a column, within the named rows if any."""
    if rows is None:
        return rest.context.column_anywhere(phrase), None
    source, where = rows_of(rest.context, rows)
    return column_of(phrase, source), where


def _count(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    """Counts rows; if no source has that name, counts the distinct values of a key (`baskets`: `basket_id`)."""
    try:
        source, where = rows_of(rest.context, found["rows"])
    except AskError as error:
        ask = error
    else:
        if rest.context.is_about(source, rest.by):
            return rest.aggregate("count", source, where)
        ask = AskError(found["rows"], "source of rows")
    named = re.fullmatch(rf"(?P<column>.+?){_IN}", found["rows"], re.I)
    if ask.candidates or named is None:
        raise ask
    try:
        column, where = _column(rest, named["column"], named["rows"])
    except AskError as error:
        raise (error if error.candidates else ask) from None
    if not is_key(column.name):
        name, of = column.name, column.source.view.name
        if column.type.is_numeric:
            advice = f"Ask for 'total {name} of {of}' or for 'number of distinct {name} of {of}'"
            raise AskError(found["rows"], "rows", advice=advice)
        flag = column.type.name == "boolean"
        raise AskError(found["rows"], "rows", [f"{of} where {name} is true" if flag else f"distinct {name} of {of}"])
    return rest.aggregate("count_distinct", column.source, where, of=quoted(column.name))


def _of_column(function: AggregateFunction | None = None) -> Reader:
    """Aggregates a column, by `function` or by the function that the words name."""

    def read(rest: PhraseParts, found: re.Match[str]) -> WordsReading | None:
        parts = {name: part for name, part in found.groupdict().items() if part}
        chosen = function or _FUNCTIONS[" ".join(parts["function"].lower().split())]
        of = _measured if chosen in _MEASURES else _column
        column, where = of(rest, parts["column"], parts.get("rows"))
        if "weight" in parts and not column.type.is_vector:
            return None
        more: dict[str, object] = {"p": int(parts.get("p", 50)) / 100} if chosen == "percentile" else {}
        more |= {"k": number(parts["k"])} if "k" in parts else {}
        more |= {"distinct": True} if "distinct" in parts else {}
        if name := parts.get("weight") or parts.get("measure"):
            by = quoted(column_of(name, column.source).name)
            more |= {"weight": by} if "weight" in parts else {"rank_by": f"{_FUNCTIONS[parts['rank'].lower()]}({by})"}
        chosen = _OF_VECTORS.get(chosen, chosen) if column.type.is_vector else chosen
        return rest.aggregate(chosen, column.source, where, of=quoted(column.name), **more)

    return read


def _measured(rest: PhraseParts, phrase: str, rows: str | None) -> tuple[ColumnOf, str | None]:
    """As `_column`, but rejects identifiers: `average orders` does not mean the average of `order_id`."""
    if tokens(phrase)[:1] == ("number",):
        advice = "An aggregate of counts needs two features: count in one, and divide it in a `derive`"
        raise AskError(phrase, "column", advice=advice)
    try:
        column, where = _column(rest, phrase, rows)
    except AskError as ask:
        if ask.candidates and all(is_key(each.split(" of ")[0]) for each in ask.candidates):
            raise AskError(phrase, "quantity") from None
        raise
    named = tokens(column.name)[-1]
    if (named in IDENTIFIERS and named not in tokens(phrase)) or column.type.name == "string":
        raise AskError(phrase, f"quantity ({column.name} is none)", (), list(column.source.columns.types))
    return column, where


def _per(rest: PhraseParts, found: re.Match[str]) -> WordsReading | None:
    """`average amount per order` averages over rows; `average amount per basket` groups by the basket key."""
    function, unit = found["function"], found["unit"]
    is_total = _FUNCTIONS[function.lower()] == "sum"
    if rest.context.source_or_none(unit) is not None and found["rows"] is None and not is_total:
        of_rows = _OF_COLUMN.fullmatch(f"{function} {found['column']} of {unit}")
        return _of_column()(rest, of_rows) if of_rows is not None else None
    if _FUNCTIONS[function.lower()] != "avg":
        raise AskError(f"per {unit}", "computation")
    column, where = _measured(rest, found["column"], found["rows"])
    source, key = column.source, column_of(unit, column.source).name
    if not is_key(key):
        raise AskError(unit, f"key of {source.view.name}", (), list(source.columns.types))
    sql = f"sum({quoted(column.name)}) / count(DISTINCT {quoted(key)})"
    return rest.expression(sql, source, where, f"{quoted(key)} IS NOT NULL")


def _since(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    """`days since signup date`: calendar days from a date of the entity; asks about `days since redemption`."""
    dates = [(table, column) for table, column in rest.context.looked_up() if column.type.parsed.is_temporal]
    named = [column.name for _, column in dates]
    subject = re.match(r"(\w+) (?=\w)", found["what"])
    what = found["what"][subject.end() :] if subject and rest.context.entity(subject[1]) else found["what"]
    hits = matches(what, named)
    if len(hits) == 1:
        table, column = dates[named.index(hits[0])]
        lookup = Lookup(table=table.name, column=column.name)
        helper = Feature(name=f"{rest.feature.name}_{column.name}", dtype=column.type, internal=True, lookup=lookup)
        return WordsReading({"derive": f"datediff(as_of, {helper.name})"}, (helper,))
    is_event = not hits and rest.context.source_or_none(what) is not None
    raise AskError(found["what"], "date", hits or ((f"last {what}",) if is_event else ()), named)


def _age(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    """`age of the account in days` does not say since which date."""
    columns = [column for table, column in rest.context.looked_up() if table.kind == "dimension"]
    dates = dict.fromkeys(f"days since {column.name}" for column in columns if column.type.parsed.is_temporal)
    raise AskError(found[0], "date", [*dates])


def _share(rest: PhraseParts, found: re.Match[str]) -> WordsReading | None:
    source, where = rows_of(rest.context, found["rows"])
    if rest.condition is None:
        return None
    stated = condition(rest.condition, source)
    rest = replace(rest, condition=None)
    if found["part"].lower() in ("percentage", "percent"):
        sql = f"100 * avg(CASE WHEN {stated} THEN 1D WHEN NOT ({stated}) THEN 0D END)"
        return rest.expression(sql, source, where)
    return rest.aggregate("share", source, where, of=stated)


def _subject(rest: PhraseParts, phrase: str) -> PhraseParts:
    """Adds the subject (`whether the user has ...`) to the entities that the aggregation groups by."""
    entity = rest.context.entity(phrase)
    if entity is None:
        raise AskError(phrase, "entity", (), [one.name for one in rest.context.scope.spec.entities])
    grain = tuple(rest.context.scope.grain)
    by = tuple(key for key in grain if key in (*(rest.by or ()), *entity.keys))
    return replace(rest, by=by if len(by) < len(grain) else None)


def _of_rows(function: AggregateFunction) -> Reader:
    """Aggregates rows, of the entity that the words name if any."""

    def read(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
        source, where = rows_of(rest.context, found["rows"])
        entity = found.groupdict().get("entity")
        return (_subject(rest, entity) if entity is not None else rest).aggregate(function, source, where)

    return read


def _verb_phrase(function: AggregateFunction) -> Reader:
    """`how often the user clicked`, `whether the user has ordered`, `days since the user last clicked`."""
    return lambda rest, found: _subject(rest, found["entity"]).aggregate(
        function, happened(rest.context, found["verb"])
    )


def _looked_up(rest: PhraseParts, found: re.Match[str]) -> WordsReading | None:
    """`the user's segment`, `category of the offer`: a column of a table that can be looked up by keys of the grain."""
    if rest.condition is not None or rest.window != Window.ALL:
        return None
    by = set(rest.by or rest.context.scope.grain)
    options = [(table, column) for table, column in rest.context.looked_up() if set(table.keys) <= by]
    hits = matches(found["what"], [column.name for _, column in options])
    chosen = [(table, column) for table, column in options if column.name in hits]
    if not chosen:
        return None
    if len(chosen) > 1:
        raise AskError(found["what"], "column", [f"{column.name} of {table.name}" for table, column in chosen])
    table, column = chosen[0]
    return WordsReading({"lookup": Lookup(table=table.name, column=column.name)})


def number(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS[text.lower()]


_THE = "(?:the )?"
_ANY = "(?:any |an? |at least one |ever )*"
_ALL = "(?:the |all )*"
_SUBJECT = r"(?:the |an? )?(?P<entity>(?!the\b|an?\b)\w+) (?:has |have |had |was |were )?"
_DISTINCT = "(?:distinct|unique|different)"
_LAST = "(?:last|latest|most recent|newest)"
_DAYS_SINCE = rf"{_THE}(?:number of )?days since"
_BESIDE = r"\s+(?:of|in|from|among|across|on)\b"
_IN = rf"(?:{_BESIDE}(?!{_BESIDE})\s+(?:the\s+|all\s+)*(?P<rows>.+))?"
"""Before two such words in a row, the first is the end of a column name: `visited on of visits`."""
_COLUMN = rf"(?P<column>.+?){_IN}"
_K = rf"(?P<k>{N})"
_AGGREGATED = rf"{_THE}(?P<function>{_FUNCTION})(?: of)? {_THE}{_COLUMN}"
_OF_COLUMN = re.compile(_AGGREGATED, re.I)
_weighted_mean = _of_column("vector_weighted_mean")
_PHRASINGS: tuple[tuple[str, Reader], ...] = (
    (rf"{_THE}(?:number|count|how many)(?: of)? {_THE}{_DISTINCT} {_COLUMN}", _of_column("count_distinct")),
    (rf"{_DISTINCT} (?P<column>.+?) count{_IN}", _of_column("count_distinct")),
    (rf"(?:how often|how many times|{_THE}number of times) {_SUBJECT}(?P<verb>\w+)", _verb_phrase("count")),
    (rf"(?:whether|if) {_SUBJECT}(?:ever )?(?P<verb>\w+ed)", _verb_phrase("exists")),
    (rf"{_DAYS_SINCE} {_SUBJECT}last (?P<verb>\w+)", _verb_phrase("days_since_last")),
    (rf"{_THE}(?:total )?(?:number|count) of {_ALL}(?P<rows>.+)", _count),
    (r"how many (?P<rows>.+)", _count),
    (rf"{_DAYS_SINCE} (?:the |an? )?{_LAST} (?P<rows>.+)", _of_rows("days_since_last")),
    (rf"{_DAYS_SINCE} (?:the |an? )?(?P<what>.+)", _since),
    (rf"{_THE}age(?: of .+)? in days", _age),
    (rf"{_THE}(?P<part>share|fraction|percentage|percent|proportion) of {_ALL}(?P<rows>.+)", _share),
    (rf"(?:whether|if) {_THE}(?P<entity>\w+) (?:has had|has made|has|had|made) {_ANY}(?P<rows>.+)", _of_rows("exists")),
    (rf"(?:whether|if) there (?:is|are|was|were) {_ANY}(?P<rows>.+)", _of_rows("exists")),
    (rf"{_THE}{_LAST} {_K} (?P<distinct>{_DISTINCT} )?{_COLUMN}", _of_column("last_k")),
    (rf"{_THE}top {_K} (?P<column>.+?) by (?P<rank>{_RANKING})(?: of)? (?P<measure>.+?){_IN}", _of_column("top_k")),
    (rf"{_THE}(?:top )?{_K} most (?:frequent|common) {_COLUMN}", _of_column("top_k")),
    (rf"{_THE}top {_K} {_COLUMN}", _of_column("top_k")),
    (rf"{_THE}(?:average|mean) {_COLUMN} weighted by (?:the |their )?(?P<weight>.+)", _weighted_mean),
    (rf"{_THE}(?P<p>[1-9]\d?)(?:st|nd|rd|th) percentile(?: of)? {_THE}{_COLUMN}", _of_column("percentile")),
    (rf"{_AGGREGATED} per {_THE}(?P<unit>.+)", _per),
    (_AGGREGATED, _of_column()),
    (rf"{_THE}(?:current )?(?P<what>.+)", _looked_up),
)
PHRASE_PATTERNS = tuple((re.compile(pattern, re.I), read) for pattern, read in _PHRASINGS)
