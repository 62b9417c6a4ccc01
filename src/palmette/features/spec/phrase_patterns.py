"""The supported phrasings: a pattern for each, and the computation it stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from palmette.features.spec.fsc import Aggregate, AggregateFunction, Expression, Feature, Lookup, SourceSpec
from palmette.features.spec.literals import quoted
from palmette.features.spec.sources import ResolvedSource
from palmette.features.spec.values import Window
from palmette.features.spec.words_names import AskError, ColumnOf, WordsContext, matches, tokens
from palmette.features.spec.words_rows import PAST, condition, happened, rows_of

NUMBERS = {
    word: number
    for number, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
} | {"fourteen": 14, "twenty": 20, "thirty": 30, "sixty": 60, "ninety": 90}
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
_MEASURES = frozenset(["avg", "sum", "max", "min", "percentile", "stddev"])
"""Functions of numeric quantities."""
_RANKING = "|".join(word for word, function in _FUNCTIONS.items() if function in ("sum", "avg", "max", "min"))
_IDENTIFIERS = frozenset(["id", "key", "code"])
"""Last words of column names that identify something and are not quantities."""
_OF_VECTORS: dict[AggregateFunction, AggregateFunction] = {"avg": "vector_mean", "sum": "vector_sum"}
_FUNCTION = "|".join(sorted(_FUNCTIONS, key=len, reverse=True))
_BIRTH_WORDS = "created creation signup registration registered opened opening joined start since birth born dob first"
_BIRTHS = frozenset([*_BIRTH_WORDS.split(), "birthday"])
"""Words that mark a column as the date at which an entity began."""


@dataclass(frozen=True)
class WordsReading:
    """The interpretation of a feature's words."""

    computation: Mapping[str, Any]
    """One of the feature fields `aggregate`, `expression`, `lookup`, `derive`, with its value."""
    helpers: tuple[Feature, ...] = ()
    """Internal features that the computation uses."""
    sources: tuple[SourceSpec, ...] = ()
    """Further sources that the computation needs."""


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
        stated = condition(self.condition, source, self.context) if self.condition is not None else None
        conditions = [item for item in (*further, stated) if item]
        return " AND ".join(f"({item})" if len(conditions) > 1 else item for item in conditions) or None

    def aggregate(
        self, function: AggregateFunction, source: ResolvedSource, where: str | None = None, **more: Any
    ) -> WordsReading:
        """An aggregate over the rows that the words select."""
        shared = {"source": source.view.name, "window": self.window, "by": self.by, **more}
        return WordsReading({"aggregate": Aggregate(function=function, where=self.where(source, where), **shared)})


def _column(rest: PhraseParts, phrase: str, rows: str | None) -> tuple[ColumnOf, str | None]:
    """Resolves a column, within the named rows if any."""
    if rows is None:
        return rest.context.column_anywhere(phrase), None
    source, where = rows_of(rest.context, rows)
    return rest.context.column(phrase, source), where


def _count(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    """Counts rows; if no source has that name, counts the distinct values of a key (`baskets`: `basket_id`)."""
    try:
        source, where = rows_of(rest.context, found["rows"])
    except AskError as error:
        ask = error
    else:
        if rest.context.is_about(source):
            return rest.aggregate("count", source, where)
        ask = AskError(found["rows"], "source of rows")
    named = re.fullmatch(rf"(?P<column>.+?){_IN}", found["rows"], re.I)
    if ask.candidates or named is None:
        raise ask
    try:
        column, where = _column(rest, named["column"], named["rows"])
    except AskError as error:
        raise (error if error.candidates else ask) from None
    if not _is_key(column.name):
        raise AskError(found["rows"], "rows", [f"distinct {column.name} of {column.source.view.name}"])
    return rest.aggregate("count_distinct", column.source, where, of=quoted(column.name))


def _is_key(name: str) -> bool:
    """Whether the column's name marks it as an identifier rather than a quantity."""
    return len(tokens(name)) > 1 and tokens(name)[-1] in _IDENTIFIERS


def _distinct(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    column, where = _column(rest, found["column"], found["rows"])
    return rest.aggregate("count_distinct", column.source, where, of=quoted(column.name))


def _of_column(rest: PhraseParts, found: re.Match[str]) -> WordsReading | None:
    function = _FUNCTIONS[" ".join(found["function"].lower().split())]
    if tokens(found["column"])[:1] == ("number",):
        raise AskError(f"{found['function']} {found['column']}", "computation; an average of counts needs two features")
    column, where = _measured(rest, found) if function in _MEASURES else _valued(rest, found)
    more = {"p": 0.5} if function == "percentile" else {}
    function = _OF_VECTORS.get(function, function) if column.type.is_vector else function
    return rest.aggregate(function, column.source, where, of=quoted(column.name), **more)


def _per(rest: PhraseParts, found: re.Match[str]) -> WordsReading | None:
    """`average amount per order` averages over rows; `average amount per basket` groups by the basket key."""
    function, unit = found["function"], found["unit"]
    if rest.context.source_or_none(unit) is not None and found["rows"] is None:
        of_rows = _OF_COLUMN.fullmatch(f"{function} {found['column']} of {unit}")
        return _of_column(rest, of_rows) if of_rows is not None else None
    if _FUNCTIONS[function.lower()] != "avg":
        raise AskError(f"per {unit}", "computation")
    column, where = _measured(rest, found)
    source, key = column.source, rest.context.column(unit, column.source).name
    if not _is_key(key):
        raise AskError(unit, f"key of {source.view.name}", (), list(source.columns.types))
    where = rest.where(source, where, f"{quoted(key)} IS NOT NULL")
    sql = f"sum({quoted(column.name)}) / count(DISTINCT {quoted(key)})"
    expression = Expression(sql=sql, source=source.view.name, where=where, window=rest.window, by=rest.by)
    return WordsReading({"expression": expression})


def _percentile(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    """`90th percentile of amount of orders`."""
    column, where = _measured(rest, found)
    return rest.aggregate("percentile", column.source, where, of=quoted(column.name), p=int(found["p"]) / 100)


def _valued(rest: PhraseParts, found: re.Match[str]) -> tuple[ColumnOf, str | None]:
    """Resolves the named column; `value of amount` means `amount` unless the rows have a column `value`."""
    column, rows = found["column"], found["rows"]
    if tokens(column) == ("value",) and rows and rest.context.source_or_none(rows) is None:
        inner = re.fullmatch(rf"(?P<column>.+?){_IN}", rows, re.I)
        if inner is not None and (inner["rows"] or not _has_value(rest, rows)):
            column, rows = inner["column"], inner["rows"]
    return _column(rest, column, rows)


def _has_value(rest: PhraseParts, rows: str) -> bool:
    """Whether a phrase names rows (`online orders`) that have a column `value`."""
    try:
        source, _ = rows_of(rest.context, rows)
    except AskError:
        return False
    return any(tokens(name) == ("value",) for name in source.columns.types)


def _measured(rest: PhraseParts, found: re.Match[str]) -> tuple[ColumnOf, str | None]:
    """As `_valued`, but rejects identifiers: `average orders` does not mean the average of `order_id`."""
    column, where = _valued(rest, found)
    named = tokens(column.name)[-1]
    if named in _IDENTIFIERS and named not in tokens(found["column"]):
        raise AskError(found["column"], f"quantity ({column.name} is none)", (), list(column.source.columns.types))
    return column, where


def _weighted(rest: PhraseParts, found: re.Match[str]) -> WordsReading | None:
    """`average embedding of orders weighted by amount`; only for vectors."""
    column, where = _column(rest, found["column"], found["rows"])
    if not column.type.is_vector:
        return None
    weight = quoted(rest.context.column(found["weight"], column.source).name)
    return rest.aggregate("vector_weighted_mean", column.source, where, of=quoted(column.name), weight=weight)


def _since_last(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    source, where = rows_of(rest.context, found["rows"])
    return rest.aggregate("days_since_last", source, where)


def _since(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    """`days since signup date`, for a date of the entity; asks about `days since redemption` without `last`."""
    named = [column.name for _, column in rest.context.looked_up() if column.type.parsed.is_temporal]
    subject = re.match(r"(\w+) (?=\w)", found["what"])
    what = found["what"][subject.end() :] if subject and rest.context.entity(subject[1]) else found["what"]
    hits = matches(what, named)
    if len(hits) == 1:
        return _age_of(rest, hits[0])
    is_event = not hits and rest.context.source_or_none(what) is not None
    raise AskError(found["what"], "date", hits or ((f"last {what}",) if is_event else ()), named)


def _age(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    """`age of the account in days`, if exactly one date marks the beginning of the entity."""
    what = tokens(found["what"] or "")
    dates = [(table, column) for table, column in rest.context.looked_up() if column.type.parsed.is_temporal]
    fixed = [
        column
        for table, column in dates
        if table.kind == "dimension" and (rest.by is None or set(table.keys) <= set(rest.by))
    ]
    own = [column.name for column in fixed if set(tokens(column.name)) & (_BIRTHS | set(what))]
    if len(fixed) != 1 or len(own) != 1:
        candidates = [f"days since {name}" for name in dict.fromkeys([*own, *(column.name for column in fixed)])]
        raise AskError(rest.text, "date", candidates, [column.name for _, column in dates])
    return _age_of(rest, own[0])


def _age_of(rest: PhraseParts, name: str) -> WordsReading:
    """Calendar days from a looked-up date to the cut-off."""
    table, column = next(entry for entry in rest.context.looked_up() if entry[1].name == name)
    helper = Feature(
        name=f"{rest.feature.name}_{name}",
        dtype=column.type,
        internal=True,
        lookup=Lookup(table=table.name, column=name),
    )
    return WordsReading({"derive": f"datediff(as_of, {helper.name})"}, (helper,))


def _share(rest: PhraseParts, found: re.Match[str]) -> WordsReading | None:
    source, where = rows_of(rest.context, found["rows"])
    if rest.condition is None:
        return None
    stated = condition(rest.condition, source, rest.context)
    scoped = PhraseParts(rest.feature, rest.text, rest.context, rest.window, rest.by)
    if found["part"].lower() in ("percentage", "percent"):
        sql = f"100 * avg(CASE WHEN {stated} THEN 1D WHEN NOT ({stated}) THEN 0D END)"
        return WordsReading(
            {"expression": Expression(sql=sql, source=source.view.name, where=where, window=rest.window, by=rest.by)}
        )
    return scoped.aggregate("share", source, where, of=stated)


def _subject(rest: PhraseParts, phrase: str) -> PhraseParts:
    """Adds the subject (`whether the user has ...`) to the entities that the aggregation groups by."""
    entity = rest.context.entity(phrase)
    if entity is None:
        raise AskError(phrase, "entity", (), [one.name for one in rest.context.scope.spec.entities])
    grain = tuple(rest.context.scope.grain)
    by = tuple(key for key in grain if key in (*(rest.by or ()), *entity.keys))
    return replace(rest, by=by if len(by) < len(grain) else None)


def _exists(rest: PhraseParts, found: re.Match[str]) -> WordsReading | None:
    source, where = rows_of(rest.context, found["rows"])
    entity = found.groupdict().get("entity")
    return (_subject(rest, entity) if entity is not None else rest).aggregate("exists", source, where)


def _verb_phrase(function: AggregateFunction) -> Callable[[PhraseParts, re.Match[str]], WordsReading]:
    """`how often the user clicked`, `whether the user has ordered`, `days since the user last clicked`."""

    def read(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
        rest = _subject(rest, found["entity"])
        return rest.aggregate(function, happened(rest.context, found["verb"]))

    return read


def _last_k(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    column, where = _column(rest, found["column"], found["rows"])
    return rest.aggregate(
        "last_k",
        column.source,
        where,
        of=quoted(column.name),
        k=number(found["k"]),
        distinct=found["distinct"] is not None,
    )


def _top_k(rest: PhraseParts, found: re.Match[str]) -> WordsReading:
    """`top 3 channels`, `top 3 channels by total amount`."""
    column, where = _column(rest, found["column"], found["rows"])
    parts, more = found.groupdict(), {}
    if "function" in parts:
        measure = rest.context.column(parts["measure"], column.source)
        more["rank_by"] = f"{_FUNCTIONS[parts['function'].lower()]}({quoted(measure.name)})"
    return rest.aggregate("top_k", column.source, where, of=quoted(column.name), k=number(found["k"]), **more)


def _looked_up(rest: PhraseParts, found: re.Match[str]) -> WordsReading | None:
    """`the user's segment`, `category of the offer`: a column of a table that can be looked up by keys of the grain."""
    if rest.condition is not None or rest.window != Window.ALL:
        return None
    options = [
        (table, column)
        for table, column in rest.context.looked_up()
        if rest.by is None or set(table.keys) <= set(rest.by)
    ]
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


_SUBJECT = r"(?:the |an? )?(?P<entity>(?!the\b|an?\b)\w+) (?:has |have |had |was |were )?"
_DISTINCT = "(?:distinct|unique|different)"
_LAST = "(?:last|latest|most recent|newest)"
_BESIDE = r"\s+(?:of|in|from|among|across|on)\b"
_IN = rf"(?:{_BESIDE}(?!{_BESIDE})\s+(?:the\s+|all\s+)*(?P<rows>.+))?"
"""Before two such words in a row, the first is the end of a column name: `visited on of visits`."""
_AGGREGATED = rf"(?:the )?(?P<function>{_FUNCTION})(?: of)? (?:the )?(?P<column>.+?){_IN}"
_OF_COLUMN = re.compile(_AGGREGATED, re.I)
PHRASE_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[PhraseParts, re.Match[str]], WordsReading | None]], ...] = (
    tuple(
        (re.compile(pattern, re.I), read)
        for pattern, read in (
            (rf"(?:the )?(?:number|count|how many)(?: of)? (?:the )?{_DISTINCT} (?P<column>.+?){_IN}", _distinct),
            (rf"(?:distinct|unique) (?P<column>.+?) count{_IN}", _distinct),
            (rf"(?:how often|how many times|(?:the )?number of times) {_SUBJECT}(?P<verb>\w+)", _verb_phrase("count")),
            (rf"(?:whether|if) {_SUBJECT}(?:ever )?(?P<verb>{PAST})", _verb_phrase("exists")),
            (rf"(?:the )?(?:number of )?days since {_SUBJECT}last (?P<verb>\w+)", _verb_phrase("days_since_last")),
            (r"(?:the )?(?:total )?(?:number|count) of (?:the |all )*(?P<rows>.+)", _count),
            (r"how many (?P<rows>.+)", _count),
            (rf"(?:the )?(?:number of )?days since (?:the |an? )?{_LAST} (?P<rows>.+)", _since_last),
            (r"(?:the )?(?:number of )?days since (?:the |an? )?(?P<what>.+)", _since),
            (r"(?:the )?age(?: of (?:the )?(?P<what>.+?))? in days", _age),
            (r"(?:the )?(?P<part>share|fraction|percentage|percent|proportion) of (?:the |all )*(?P<rows>.+)", _share),
            (
                r"(?:whether|if) (?:the )?(?P<entity>\w+) (?:has had|has made|has done|has|had|made|did) "
                r"(?:any |an? |at least one |ever )*(?P<rows>.+)",
                _exists,
            ),
            (
                r"(?:whether|if) there (?:is|are|was|were|has been|have been) (?:any |an? |at least one )*"
                r"(?P<rows>.+)",
                _exists,
            ),
            (rf"(?:the )?{_LAST} (?P<k>{N}) (?P<distinct>{_DISTINCT} )?(?P<column>.+?){_IN}", _last_k),
            (
                rf"(?:the )?top (?P<k>{N}) (?P<column>.+?) by (?P<function>{_RANKING})(?: of)? "
                rf"(?P<measure>.+?){_IN}",
                _top_k,
            ),
            (rf"(?:the )?(?:top (?P<k>{N})(?: most (?:frequent|common))?) (?P<column>.+?){_IN}", _top_k),
            (rf"(?:the )?(?P<k>{N}) most (?:frequent|common) (?P<column>.+?){_IN}", _top_k),
            (rf"(?:the )?(?:average|mean) (?P<column>.+?){_IN} weighted by (?:the |their )?(?P<weight>.+)", _weighted),
            (rf"(?:the )?(?P<p>[1-9]\d?)(?:st|nd|rd|th) percentile(?: of)? (?:the )?(?P<column>.+?){_IN}", _percentile),
            (rf"{_AGGREGATED} per (?:the )?(?P<unit>.+)", _per),
            (_AGGREGATED, _of_column),
            (r"(?:the )?(?:current )?(?P<what>.+)", _looked_up),
        )
    )
)
