"""Rows and conditions in words.

Rows are named by a source, a kind of its rows (`online orders`, `orders returned`), or a verb for its events.
Conditions look like `channel is online and amount over 10`, `merchant is missing`, `were redeemed`.
"""

import re
from collections.abc import Iterator

from palmette.features.spec.literals import quoted, sql_literal
from palmette.features.spec.sources import ResolvedSource
from palmette.features.spec.words_names import AskError, WordsContext, column_of, flags_of, tokens, values_of

_BE = "(?:is |are |was |were )?"
_COMPARISONS = (
    (rf"{_BE}(?:at least|no less than|not less than|>=)", ">="),
    (rf"{_BE}(?:at most|no more than|not more than|up to|<=)", "<="),
    (rf"{_BE}(?:over|above|more than|greater than|larger than|higher than|exceeding|exceeds|>)", ">"),
    (rf"{_BE}(?:under|below|less than|smaller than|lower than|<)", "<"),
    (r"(?:is not|are not|was not|were not|isn't|does not equal|other than|!=|<>)", "!="),
    (r"(?:is equal to|equals|equal to|is|are|was|were|of|=|:)", "="),
)
_OR_EQUAL = tuple(
    (re.compile(rf"\b(?:{than} than or equal to|equal to or {than} than)\b", re.I), plain)
    for than, plain in (("(?:greater|higher|larger|more)", "at least"), ("(?:less|lower|smaller)", "at most"))
)
"""Comparisons that contain an `or`."""
_MISSING = re.compile(
    r"^(?P<column>.+?) (?:is|are|was) (?P<no>not )?(?:(?P<missing>missing|null|absent)|present|known)$", re.I
)
_BETWEEN = re.compile(r"^(?P<column>.+?) (?:is |are |lies )?between (?P<low>\S+) and (?P<high>\S+)$", re.I)
_ONE_OF = re.compile(
    r"^(?P<column>.+?) (?:is|are|was|were) (?P<no>not )?(?:(?P<named>one of|among|in|any of|either) )?"
    r"(?P<values>(?!(?:missing|null|absent|present|known|between|true|false)\b).+)$",
    re.I,
)
"""A list of values: introduced as a list, or joined by `or`."""
_BETWEEN_VALUES = re.compile(r",\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+", re.I)
_HAVING = re.compile(r"^(?:(?P<no>no)|an?|any|some) (?P<column>.+)$", re.I)
_VERBS = re.compile(r"^(?:have|has|had|having|are|is|was|were|come with|came with)\s+", re.I)
_NUMBER = re.compile(r"^-?\d+(?:\.\d+)?$")


def condition(phrase: str, source: ResolvedSource) -> str:
    """Translates a condition to Spark SQL over the source's columns."""
    for pattern, plain in _OR_EQUAL:
        phrase = pattern.sub(plain, phrase)
    pieces, joiners = _split(phrase)
    if len(set(joiners)) > 1:
        raise AskError(phrase, "grouping of `and` and `or`, of the two that there are,")
    if joiners:
        return f" {joiners[0].upper()} ".join(f"({_simple(piece, source)})" for piece in pieces)
    return _simple(phrase.strip(), source)


def _split(phrase: str) -> tuple[list[str], list[str]]:
    """Splits conditions at `and` and `or`, but not in `between a and b` or lists; returns parts and conjunctions."""
    outside = r"(?=(?:[^'\"]*['\"][^'\"]*['\"])*[^'\"]*$)"
    first, *rest = re.split(rf"(?:,\s+|\s+)(and|or)\s+{outside}", phrase.strip(), flags=re.I)
    pieces, joiners = [first], list[str]()
    for joiner, piece in zip(rest[::2], rest[1::2], strict=True):
        whole = f"{pieces[-1]} {joiner} {piece}"
        is_range = joiner.lower() == "and" and re.search(r"\bbetween \S+$", pieces[-1], re.I)
        if is_range or (_list_of(whole) and not _states(piece)):
            pieces[-1] = whole
        else:
            pieces.append(piece)
            joiners.append(joiner.lower())
    return pieces, joiners


def _list_of(phrase: str) -> re.Match[str] | None:
    """Matches a column followed by a list of its values."""
    found = _ONE_OF.match(phrase)
    if found is None or any(re.match(rf"{pattern}\s", found["values"], re.I) for pattern, _ in _COMPARISONS[:4]):
        return None
    return found if found["named"] or re.search(r",| or ", found["values"], re.I) else None


def _simple(phrase: str, source: ResolvedSource) -> str:
    if found := _MISSING.match(phrase):
        name = quoted(column_of(_noun(found["column"]), source).name)
        return f"{name} IS {'NULL' if bool(found['missing']) != bool(found['no']) else 'NOT NULL'}"
    if found := _BETWEEN.match(phrase):
        column = _ordered_column_name(found["column"], source)
        low, high = (_value(found[side], column, source) for side in ("low", "high"))
        return f"{quoted(column)} BETWEEN {low} AND {high}"
    if found := _list_of(phrase):
        column = column_of(_noun(found["column"]), source).name
        items = [item for item in _BETWEEN_VALUES.split(found["values"]) if item.strip()]
        values = [_value(item, column, source) for item in items]
        return f"{quoted(column)} {'NOT ' if found['no'] else ''}IN ({', '.join(values)})"
    return _comparison(phrase, source) or _bare(phrase, source)


def _comparison(phrase: str, source: ResolvedSource) -> str | None:
    for pattern, operator in _COMPARISONS:
        found = re.match(rf"^(?P<column>.+?)\s+{pattern}\s+(?P<value>.+)$", phrase, re.I)
        if found:
            named, is_ordered = found["column"], operator[0] in "<>"
            column = _ordered_column_name(named, source) if is_ordered else column_of(_noun(named), source).name
            return f"{quoted(column)} {operator} {_value(found['value'], column, source)}"
    return None


def _bare(phrase: str, source: ResolvedSource) -> str:
    """`are online`, `were redeemed`, `channel online`: a value, a flag, or a column next to its value."""
    rest = _VERBS.sub("", phrase)
    negated = bool(re.match(r"not\s+", rest, re.I))
    rest = re.sub(r"^not\s+", "", rest, flags=re.I)
    words = rest.split()
    beside, equals = list[str](), "!=" if negated else "="
    for cut in range(len(words) - 1, 0, -1):
        try:
            column = column_of(" ".join(words[:cut]), source).name
        except AskError:
            continue
        value = " ".join(words[cut:])
        if source.columns.values.get(column) or _NUMBER.match(value) or re.match(r"^(['\"]).*\1$", value):
            return f"{quoted(column)} {equals} {_value(value, column, source)}"
        if source.columns.types[column].name == "string":
            beside.append(f"{column} is {'not ' if negated else ''}{value}")
    options = [f"{quoted(name)} {equals} {sql_literal(value)}" for name, value in values_of(rest, source)]
    options += [f"NOT {quoted(name)}" if negated else quoted(name) for name in flags_of(rest, source)]
    if len(options) == 1:
        return options[0]
    names = [*source.columns.types]
    if not options and not beside and (had := _presence(rest, source)):
        return had
    if options:
        raise AskError(rest, "column", [option.replace(" = ", " is ").replace("'", "") for option in options], names)
    raise AskError(phrase, f"condition on {source.view.name}", beside, names)


def _presence(phrase: str, source: ResolvedSource) -> str | None:
    """`orders with a note`, `orders with no note`. Numbers are ambiguous, because 0 is not missing."""
    if not (found := _HAVING.match(phrase)):
        return None
    column = column_of(found["column"], source)
    if column.type.is_numeric or column.type.name == "boolean":
        return None
    return f"{quoted(column.name)} IS {'NULL' if found['no'] else 'NOT NULL'}"


def _ordered_column_name(phrase: str, source: ResolvedSource) -> str:
    """The column that a phrase names; its type must be ordered, and not text, where `9` is more than `10`."""
    column = column_of(_noun(phrase), source)
    if column.type.name in ("string", "boolean", "binary"):
        raise AskError(_noun(phrase), f"number or time of {source.view.name} ({column.name} is {column.type})")
    return column.name


def _noun(phrase: str) -> str:
    return re.sub(r"^(?:the|its|their|an?|have|has|had)\s+", "", phrase.strip(), flags=re.I)


def _states(text: str) -> bool:
    """Whether an unquoted text could be a separate condition and therefore not a value."""
    return any(re.search(rf"\s{pattern}\s", f" {text} ", re.I) for pattern, _ in _COMPARISONS)


def _value(text: str, column: str, source: ResolvedSource) -> str:
    """A value as a literal; it must be in the column's closed set, if any, and a number for numeric columns."""
    text = text.strip()
    kind = source.columns.types[column]
    values = source.columns.values.get(column)
    plain = text[1:-1] if re.match(r"^(['\"]).*\1$", text) else text
    if values:
        hits = [value for value in values if str(value) == plain] or [
            value for value in values if tokens(str(value)) == tokens(plain)
        ]
        if len(hits) != 1:
            raise AskError(text, f"value of {column}", [str(hit) for hit in hits], [str(value) for value in values])
        return sql_literal(hits[0])
    if kind.is_numeric:
        if _NUMBER.match(plain):
            return plain
        other = column_of(plain, source)
        if not other.type.is_numeric:
            raise AskError(text, f"number to compare {column} with", (), ())
        return quoted(other.name)
    if kind.name == "boolean":
        folded = plain.lower()
        if folded not in ("true", "false", "yes", "no"):
            raise AskError(text, f"value of {column}", (), ("true", "false"))
        return "true" if folded in ("true", "yes") else "false"
    if kind.is_temporal and not re.match(r"^\d{4}-\d{2}-\d{2}", plain):
        raise AskError(text, f"time to compare {column} with", (), ("2025-03-31",))
    if kind.name != "string" and not kind.is_temporal:
        raise AskError(text, f"value of {column}", (), ())
    if plain == text and (len(text.split()) > 3 or _states(text)):
        raise AskError(text, f"value of {column}; put it in quotes", (), ())
    return sql_literal(plain)


def rows_of(context: WordsContext, phrase: str) -> tuple[ResolvedSource, str | None]:
    """The source that a phrase names; `online redemptions` or `orders returned` add a condition."""
    source = context.source_or_none(phrase)
    if source is not None:
        return source, None
    options = list(_kinds(context, phrase))
    if len(options) != 1:
        candidates = [f"{one.view.name} where {stated}" for one, _, stated in options]
        raise AskError(phrase, "source", candidates, [one.view.name for one in context.all_sources()])
    return options[0][:2]


def _kinds(context: WordsContext, phrase: str) -> Iterator[tuple[ResolvedSource, str, str]]:
    """Yields source, condition and phrase for each value or flag of a source, placed before or after its name."""
    words = phrase.split()
    for cut in range(1, len(words)):
        before, after = " ".join(words[:cut]), " ".join(words[cut:])
        for noun, adjective in ((after, before), (before, after)):
            source = context.source_or_none(noun)
            if source is None:
                continue
            for column, value in values_of(adjective, source):
                yield source, f"{quoted(column)} = {sql_literal(value)}", f"{column} is {value}"
            for column in flags_of(adjective, source):
                yield source, quoted(column), f"{column} is true"


def happened(context: WordsContext, verb: str) -> ResolvedSource:
    """The event source that a verb in the past tense names: `clicked` for `clicks` or a time `clicked_at`."""
    events = [one for one in context.all_sources() if one.view.is_event and context.is_about(one)]
    found = [one for one in events if verb.lower() in _past_tense(one)]
    declared = {one.name for one in context.scope.spec.sources}
    found = [one for one in found if one.view.name in declared] or found
    if len(found) != 1:
        names = [one.view.name for one in found or events]
        raise AskError(verb, "one of the events" if found else "event", (), names)
    return found[0]


def _past_tense(source: ResolvedSource) -> set[str]:
    table = source.view.table
    nouns = [tokens(name)[-1] for name in (source.view.name, table.name)]
    time = tokens(table.event_time or "")
    return {noun + ending for noun in nouns for ending in ("d", "ed")} | ({time[0]} if len(time) == 2 else set())
