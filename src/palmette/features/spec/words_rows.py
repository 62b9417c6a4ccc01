"""Rows and conditions in words.

Rows are named by a source, a kind of its rows (`online orders`, `orders returned`), or a verb for its events.
Conditions look like `channel is online and amount over 10`, `merchant is missing`, `were redeemed`.
"""

import re
from collections.abc import Iterator

from palmette.features.spec.literals import quoted, sql_literal
from palmette.features.spec.sources import ResolvedSource
from palmette.features.spec.words_names import (
    AskError,
    WordsContext,
    column_of,
    flags_of,
    is_key,
    matches,
    tokens,
    values_of,
    without_marks,
)

_BE = "(?:is |are |was |were )?(?P<no>not |no )?"
_ORDERED = (
    (rf"{_BE}(?:at least|>=)", ">="),
    (rf"{_BE}(?:at most|up to|<=)", "<="),
    (rf"{_BE}(?:over|above|more than|greater than|larger than|higher than|exceeding|exceeds|>)", ">"),
    (rf"{_BE}(?:under|below|less than|smaller than|lower than|<)", "<"),
)
_COMPARISONS = (
    *_ORDERED,
    (r"(?:is not|are not|was not|were not|does not equal|other than|!=|<>)", "!="),
    (r"(?:is equal to|equals|equal to|is|are|was|were|of|=|:)", "="),
)
_OPPOSITE = {">=": "<", "<=": ">", ">": "<=", "<": ">="}
_PLAIN = tuple(
    (re.compile(rf"\b{form}\b", re.I), plain)
    for form, plain in (
        (r"(is|are|was|were|does|do)n['’]t", r"\1 not"),
        (
            "(?:(?:greater|higher|larger|more) than or equal to|equal to or (?:greater|higher|larger|more) than)",
            "at least",
        ),
        ("(?:(?:less|lower|smaller) than or equal to|equal to or (?:less|lower|smaller) than)", "at most"),
    )
)
"""Contractions, and comparisons that contain an `or`, with plain equivalents."""
_MISSING = re.compile(
    r"^(?P<column>.+?) (?:is|are|was) (?P<no>not )?(?:(?P<missing>missing|null|absent)|present|known)$", re.I
)
_RANGE = r"(?:is |are |lies )?(?P<no>not (?=between)|(?=outside))?(?:between|outside(?: of)?)"
_BETWEEN = re.compile(rf"^(?P<column>.+?) {_RANGE} (?P<low>\S+) (?:and|to) (?P<high>\S+)$", re.I)
_PART_VERB = r"(?P<no>(?:do|does) not )?(?P<part>contain|include|(?:start|begin|end)(?=s? with))s?(?: with)?"
_PART = re.compile(rf"^(?P<column>.+?) {_PART_VERB} (?P<value>.+)$", re.I)
_PART_FUNCTIONS = {"contain": "contains", "include": "contains", "start": "startswith", "begin": "startswith"}
_ONE_OF = re.compile(
    r"^(?P<column>.+?) (?:is|are|was|were) (?P<no>not )?(?:(?P<named>one of|among|in|any of|either) )?"
    r"(?P<values>(?!(?:missing|null|absent|present|known|between|outside|true|false)\b).+)$",
    re.I,
)
"""A list of values: introduced as a list, or joined by `or`."""
_BETWEEN_VALUES = re.compile(r",(?!\d)\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+", re.I)
_HAVING = re.compile(r"^(?:(?P<no>no|without(?: an?| any)?)|an?|any|some) (?P<column>.+)$", re.I)
_VERBS = re.compile(r"^(?:have|has|had|having|are|is|was|were|come with|came with)\s+", re.I)
_NEGATED = re.compile(r"\bnot\b|^(?:no|without)\b|\bother than\b|!=|<>", re.I)
_NUMBER = re.compile(r"^-?\d+(?:\.\d+)?$")
_IN_QUOTES = re.compile(r"^(['\"]).*\1$")
_NO_PLAIN_VALUE = re.compile(
    r"^(?:missing|null|absent|present|known|unknown|empty|blank|true|false)$|^(?:not|no|never|like|neither|only)\s"
    r"|\s(?:in|on|at|by|for|from|to|of|with|within|without|during|before|after|since|per|than|but|nor|among)\s",
    re.I,
)
"""Texts that may be more than the value of a text column, unless they are in quotes."""


def condition(phrase: str, source: ResolvedSource) -> str:
    """Translates a condition to Spark SQL over the source's columns."""
    for pattern, plain in _PLAIN:
        phrase = pattern.sub(plain, phrase)
    pieces, joiners = _split(phrase.strip())
    if len(set(joiners)) > 1:
        raise AskError(phrase, "grouping of `and` and `or`, of the two that there are,")
    for index, joiner in enumerate(joiners, 1):
        pieces[index] = _complete(pieces[index - 1], joiner, pieces[index])
    if joiners:
        return f" {joiners[0].upper()} ".join(f"({_simple(piece, source)})" for piece in pieces)
    return _simple(pieces[0], source)


def _complete(before: str, joiner: str, piece: str) -> str:
    """Adds the column that a comparison shares with the one before it; asks how far a `not` before it reaches."""
    ordered, patterns = ([_RANGE, _PART_VERB, *(pattern for pattern, _ in each)] for each in (_ORDERED, _COMPARISONS))
    if any(re.match(rf"{pattern}\s", piece, re.I) for pattern in ordered):
        shared = (re.match(rf"(.+?)\s+{pattern}\s", before, re.I) for pattern in patterns)
        return next((f"{found[1]} {piece}" for found in shared if found), piece)
    if _NEGATED.search(before) and not (_states(piece) or _NEGATED.search(piece) or _VERBS.match(piece)):
        readings = []
        if found := re.match(r"(?P<subject>.*\b(?:is|are|was|were)) not ", before, re.I):
            subject = found["subject"]
            readings = [f"{before} {joiner} {subject} {piece}", f"{before} and {subject} not {piece}"]
        raise AskError(f"{before} {joiner} {piece}", "scope of the negation", readings)
    return piece


def _split(phrase: str) -> tuple[list[str], list[str]]:
    """Splits conditions at `and` and `or`, but not in `between a and b` or lists; returns parts and conjunctions."""
    first, *rest = re.split(r"(?:,\s+|\s+)(and|or)\s+", phrase, flags=re.I)
    pieces, joiners = [first], list[str]()
    for joiner, piece in zip(rest[::2], rest[1::2], strict=True):
        whole = f"{pieces[-1]} {joiner} {piece}"
        is_range = joiner.lower() == "and" and re.search(rf"\b{_RANGE} \S+$", pieces[-1], re.I)
        if is_range or (_list_of(whole) and not _states(piece)):
            pieces[-1] = whole
        else:
            pieces.append(piece)
            joiners.append(joiner.lower())
    return pieces, joiners


def _list_of(phrase: str) -> re.Match[str] | None:
    """Matches a column followed by a list of its values."""
    found = _ONE_OF.match(phrase)
    if found is None or any(re.match(rf"{pattern}\s", found["values"], re.I) for pattern, _ in _ORDERED):
        return None
    return found if found["named"] or re.search(r",(?!\d)| or ", found["values"], re.I) else None


def _simple(phrase: str, source: ResolvedSource) -> str:
    if found := _MISSING.match(phrase):
        name = quoted(column_of(_noun(found["column"]), source).name)
        return f"{name} IS {'NULL' if bool(found['missing']) != bool(found['no']) else 'NOT NULL'}"
    if found := _BETWEEN.match(phrase):
        column = _ordered_column_name(found["column"], source)
        low, high = (_value(found[side], column, source) for side in ("low", "high"))
        return f"{quoted(column)} {'' if found['no'] is None else 'NOT '}BETWEEN {low} AND {high}"
    if found := _PART.match(phrase):
        of = column_of(_noun(found["column"]), source)
        if of.type.name != "string":
            raise AskError(_noun(found["column"]), f"text of {source.view.name} ({of.name} is {of.type})")
        function = _PART_FUNCTIONS.get(found["part"].lower(), "endswith")
        return f"{'NOT ' if found['no'] else ''}{function}({quoted(of.name)}, {_text(found['value'], of.name, source)})"
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
            named, is_ordered = found["column"], operator in _OPPOSITE
            column = _ordered_column_name(named, source) if is_ordered else column_of(_noun(named), source).name
            operator = _OPPOSITE[operator] if found.groupdict().get("no") else operator
            return f"{quoted(column)} {operator} {_value(found['value'], column, source, operator)}"
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
        if source.columns.values.get(column) or _NUMBER.match(value) or _IN_QUOTES.match(value):
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
    """`orders with a note`, `orders with no note`. Quantities are ambiguous, because 0 is not missing."""
    if not (found := _HAVING.match(phrase)):
        return None
    column = column_of(found["column"], source)
    if (column.type.is_numeric and not is_key(column.name)) or column.type.name == "boolean":
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


def _value(text: str, column: str, source: ResolvedSource, operator: str = "=") -> str:
    """A value as a literal: in the column's closed set, if any, a number for numbers, a time for times.

    A day stands for its midnight only after `>=` and `<`.
    """
    text = text.strip()
    kind = source.columns.types[column]
    values = source.columns.values.get(column)
    plain = without_marks(text[1:-1] if _IN_QUOTES.match(text) else text)
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
        found = [name for name in matches(plain, source.columns.types) if source.columns.types[name].is_numeric]
        if len(found) != 1:
            numbers = [name for name, each in source.columns.types.items() if each.is_numeric]
            advice = "Write digits only, or a column's name"
            raise AskError(text, f"number to compare {column} with", found, numbers, advice)
        return quoted(found[0])
    if kind.name == "boolean":
        folded = plain.lower()
        if folded not in ("true", "false", "yes", "no"):
            raise AskError(text, f"value of {column}", (), ("true", "false"))
        return "true" if folded in ("true", "yes") else "false"
    is_day = kind.name == "date" or operator in (">=", "<")
    if kind.is_temporal and not re.match(r"^\d{4}-\d{2}-\d{2}" + ("" if is_day else r"[ T]\d"), plain):
        example = "2025-03-31" if is_day else "'2025-03-31 00:00:00'"
        raise AskError(text, f"time to compare {column} with", advice=f"Write it as {example}")
    if kind.name != "string" and not kind.is_temporal:
        raise AskError(text, f"value of {column}", (), ())
    return sql_literal(plain) if kind.is_temporal else _text(text, column, source)


def _text(text: str, column: str, source: ResolvedSource) -> str:
    """A text as a literal; without quotes it must be short, and can be nothing else."""
    if _IN_QUOTES.match(text):
        return sql_literal(without_marks(text[1:-1]))
    other = matches(text, source.columns.types) or values_of(text, source) or flags_of(text, source)
    if other or len(text.split()) > 3 or _states(text) or _NO_PLAIN_VALUE.search(text):
        raise AskError(text, f"value of {column}", advice="Put it in quotes if it is one")
    return sql_literal(text)


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


def _kinds(context: WordsContext, phrase: str) -> Iterator[tuple[ResolvedSource, str | None, str]]:
    """Yields source, condition and phrase for each value or flag of a source, placed before or after its name.

    The verb of the source's time adds no condition: `tickets opened`.
    """
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
            if source.view.is_event and adjective.lower() in _past_tense(source):
                yield source, None, f"it {adjective}"


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
