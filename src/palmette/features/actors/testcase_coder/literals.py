"""Writes values as source text, as a programmer would in a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from keyword import iskeyword
from typing import Any

from palmette.features.frame_json import decode_row
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import Schema


def schema_text(schema: Schema) -> str:
    """A DDL string, as `createDataFrame` takes it."""
    return ", ".join(f"{name} {kind}" for name, kind in schema.items())


WIDTH = 80
"""Maximum length of a row on one line, without indentation."""
_NULL = "None"


def rows_text(schema: Schema, rows: Sequence[Mapping[str, Any]]) -> str:
    """Writes rows of JSON values, without columns that are null in every row.

    Uses the form with the fewest lines: a call of `rows`, whose first argument names the columns; a call of `alike`,
    whose first argument holds the most common values; or a list.
    """
    texts = [_values(schema, row) for row in rows]
    forms = [form for form in (_listed(texts), _alike(texts), _plain(texts)) if form is not None]
    return min(forms, key=_height)


def _height(text: str) -> int:
    """The number of lines after formatting, with one line per row that fits."""
    return sum(1 if len(line) <= WIDTH else line.count(", ") + 3 for line in text.split("\n"))


def _listed(texts: Sequence[Mapping[str, str]]) -> str | None:
    there = [name for name in (texts[0] if texts else ()) if any(row[name] != _NULL for row in texts)]
    usual = [name for name in there if len(texts) > 1 and _is_usual(name, texts)]
    listed = [name for name in there if name not in usual]
    if not listed or not all(map(str.isidentifier, there)):
        return None
    tuples = [f"({', '.join(row[name] for name in listed)}{',' * (len(listed) == 1)})" for row in texts]
    constant = [f"{name}={texts[0][name]}" for name in usual]
    return "rows(\n" + ",\n".join([repr(" ".join(listed)), *tuples, *constant]) + "\n)"


def _is_usual(name: str, rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether all rows have the same value, and the name can be used as a parameter."""
    return len({row[name] for row in rows}) == 1 and not iskeyword(name) and name != "columns"


def _alike(texts: Sequence[Mapping[str, str]]) -> str | None:
    found = {name: Counter(row[name] for row in texts).most_common(1)[0] for name in (texts[0] if texts else ())}
    usual = {name: text for name, (text, count) in found.items() if 2 * count >= len(texts) and text != _NULL}
    if not usual or len(texts) < 2:
        return None
    own = [_dict({name: text for name, text in row.items() if text != usual.get(name, _NULL)}) for row in texts]
    return f"alike(\n{_lines([_dict(usual), *own])})"


def _plain(texts: Sequence[Mapping[str, str]]) -> str:
    own = [_dict({name: text for name, text in row.items() if text != _NULL}) for row in texts]
    return f"[\n{_lines(own)}]" if len(own) > 1 else f"[{''.join(own)}]"


def _lines(rows: Sequence[str]) -> str:
    return "".join(f"{row},\n" for row in rows)


def _values(schema: Schema, row: Mapping[str, Any]) -> dict[str, str]:
    values = decode_row(schema, row)
    return {name: value_text(kind, values[name]) for name, kind in schema.items()}


def _dict(items: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name!r}: {text}" for name, text in items.items()) + "}"


def instant_text(value: datetime) -> str:
    """Writes a timestamp with the helper `at`; a timestamp without a zone is written without it."""
    whole = value.second == value.microsecond == 0
    text = value.replace(tzinfo=None).isoformat(sep=" ", timespec="minutes" if whole else "auto")
    if value.tzinfo is None:
        return f"datetime.fromisoformat({text!r})"
    offset = value.strftime("%z")
    return f"at({text!r})" if value.utcoffset() == timedelta(0) else f"at({text + offset[:3] + ':' + offset[3:]!r})"


def value_text(kind: SparkType, value: Any) -> str:
    """A value as source text."""
    match value:
        case datetime():
            return instant_text(value)
        case date():
            return f"date({value.year}, {value.month}, {value.day})"
        case Decimal():
            return f"Decimal({format(value, 'f')!r})"
        case float() if value != value or value in (float("inf"), float("-inf")):
            return f"float({str(value)!r})"
        case list() if kind.element is not None:
            element = kind.element
            return "[" + ", ".join("None" if item is None else value_text(element, item) for item in value) + "]"
        case dict() if kind.element is not None:
            element = kind.element
            return "{" + ", ".join(f"{name!r}: {value_text(element, item)}" for name, item in value.items()) + "}"
        case _:
            return repr(value)
