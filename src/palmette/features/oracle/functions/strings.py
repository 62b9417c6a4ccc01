"""String functions. Positions count characters from 1."""

import operator
from functools import partial, reduce
from typing import Any

from palmette.features.oracle.errors import WouldFail
from palmette.features.oracle.patterns import java_regex, java_replacement
from palmette.features.oracle.typed import EvaluationScope, TypedExpression, builder, function, lift, to
from palmette.features.spec.type_rules import STRING, array_of

function("lower|lcase(string) -> string")(str.lower)
function("upper|ucase(string) -> string")(str.upper)
function("length|len|char_length|character_length(string) -> int")(len)
function("octet_length(string) -> int")(lambda text: len(text.encode()))
function("bit_length(string) -> int")(lambda text: 8 * len(text.encode()))
function("startswith(string, string) -> boolean")(str.startswith)
function("endswith(string, string) -> boolean")(str.endswith)
function("contains(string, string) -> boolean")(lambda text, part: part in text)
function("instr(string, string) -> int")(lambda text, part: text.find(part) + 1)
function("repeat(string, int) -> string")(lambda text, times: text * max(times, 0))
function("space(int) -> string")(lambda times: " " * max(times, 0))
function("initcap(string) -> string")(lambda text: " ".join(map(str.capitalize, text.split(" "))))
function("left(string, int) -> string")(lambda text, length: text[: max(length, 0)])
function("right(string, int) -> string")(lambda text, length: text[-length:] if length > 0 else "")
function("ascii(string) -> int")(lambda text: ord(text[0]) if text else 0)
function("replace(string, string, string?) -> string")(
    lambda text, old, new="": text.replace(old, new) if old else text
)
function("locate|position(string, string, int?) -> int")(
    lambda part, text, start=1: text.find(part, start - 1) + 1 if start > 0 else 0
)


@function("substring|substr(string, int, int?) -> string")
def substring(text: str, start: int, length: int = 1 << 31) -> str:
    """A start of 0 counts as 1. A negative start counts from the end and may lie before the text."""
    begin = start - 1 if start > 0 else start + len(text) if start < 0 else 0
    end = begin + length
    return text[max(begin, 0) : max(end, 0)] if length > 0 else ""


@function("substring_index(string, string, int) -> string")
def substring_index(text: str, separator: str, count: int) -> str:
    if not separator or count == 0:
        return ""
    parts = text.split(separator)
    return separator.join(parts[:count] if count > 0 else parts[count:]) if abs(count) < len(parts) else text


@function("split_part(string, string, int) -> string")
def split_part(text: str, separator: str, part: int) -> str:
    if part == 0:
        raise WouldFail("split_part counts from 1")
    parts = text.split(separator) if separator else [text]
    index = part - 1 if part > 0 else len(parts) + part
    return parts[index] if 0 <= index < len(parts) else ""


@function("translate(string, string, string) -> string")
def translate(text: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for index, char in enumerate(old):
        table.setdefault(ord(char), new[index] if index < len(new) else None)
    return text.translate(table)


def _pad(before: bool, text: str, length: int, fill: str = " ") -> str:
    if length <= len(text) or not fill:
        return text[: max(length, 0)]
    padding = (fill * length)[: length - len(text)]
    return padding + text if before else text + padding


function("lpad(string, int, string?) -> string")(partial(_pad, True))
function("rpad(string, int, string?) -> string")(partial(_pad, False))


def _trimmer(method: Any) -> Any:
    """Trims only spaces, as Spark does, or the characters given as the first argument."""
    return lambda first, second=None: method(first, " ") if second is None else method(second, first)


function("trim(string, string?) -> string")(_trimmer(str.strip))
function("ltrim(string, string?) -> string")(_trimmer(str.lstrip))
function("rtrim(string, string?) -> string")(_trimmer(str.rstrip))
function("btrim(string, string?) -> string")(lambda text, characters=" ": text.strip(characters))


@builder("concat")
def concat(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind = next((item.kind for item in arguments if item.kind.name == "array"), STRING)
    items = [to(item, kind, scope.zone) for item in arguments]
    return lift(kind, items, lambda *parts: reduce(operator.add, parts))


@builder("concat_ws")
def concat_ws(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Skips nulls; null only if the separator is null."""
    separator = to(arguments[0], STRING, scope.zone).run
    kinds = [array_of(STRING) if item.kind.name == "array" else STRING for item in arguments[1:]]
    items = [to(item, kind, scope.zone) for item, kind in zip(arguments[1:], kinds, strict=True)]

    def run(row: Any) -> str | None:
        between = separator(row)
        parts: list[str] = []
        for item in items:
            value = item.run(row)
            parts += [each for each in (value if isinstance(value, list) else [value]) if each is not None]
        return None if between is None else between.join(parts)

    return TypedExpression(STRING, run)


function("rlike|regexp|regexp_like(string, string) -> boolean")(
    lambda text, pattern: java_regex(pattern).search(text) is not None
)
function("regexp_replace(string, string, string) -> string")(
    lambda text, pattern, new: java_regex(pattern).sub(lambda match: java_replacement(new, match), text)
)


@function("regexp_extract_all(string, string, int?) -> [string]")
def regexp_extract_all(text: str, pattern: str, group: int = 1) -> list[str]:
    regex = java_regex(pattern)
    if not 0 <= group <= regex.groups:
        raise WouldFail(f"{pattern!r} has no group {group}")
    return [match[group] or "" for match in regex.finditer(text)]


function("regexp_extract(string, string, int?) -> string")(
    lambda text, pattern, group=1: next(iter(regexp_extract_all(text, pattern, group)), "")
)


@function("split(string, string, int?) -> [string]")
def split(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Splits like Java's `Pattern.split`: the separator is a regular expression, and trailing empty parts are kept."""
    if not text:
        return [text]
    if not pattern:
        return list(text) if limit <= 0 else [*text[: limit - 1], text[limit - 1 :]]
    parts: list[str] = []
    begin = 0
    for match in java_regex(pattern).finditer(text):
        if match.end() == 0 or (limit > 0 and len(parts) == limit - 1):
            continue
        parts.append(text[begin : match.start()])
        begin = match.end()
    return [*parts, text[begin:]]


@function("elt(int, string...) -> string", nulls=True)
def elt(place: int | None, *texts: str | None) -> str | None:
    if place is not None and not 1 <= place <= len(texts):
        raise WouldFail(f"there is no text {place} among {len(texts)}")
    return None if place is None else texts[place - 1]


@function("levenshtein(string, string) -> int")
def levenshtein(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        previous, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1]
