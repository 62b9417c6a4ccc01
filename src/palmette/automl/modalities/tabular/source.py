"""Values and words as source text that means them, whatever they contain."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable

WIDTH = 100
"""Characters in a line of a project."""


def literal(value: object) -> str:
    """A Python literal; text in double quotes.

    >>> literal('say "a"'), literal(("b", 1)), literal({"c": None})
    ('"say \\\\"a\\\\""', '("b", 1)', '{"c": None}')
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if value.isprintable() else repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


def line(text: str) -> str:
    """Words that stay on one line and cannot end a docstring.

    >>> line("two\\nlines end\\\\ here")
    'two lines end/ here'
    """
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(plain.replace("\\", "/").replace('"""', "'''").split())


def comment(text: str, indent: int = 0) -> str:
    """Words as a comment, wrapped; nothing for no words. The first line has no indent: the template gives it."""
    start = " " * indent
    lines = textwrap.wrap(line(text), WIDTH - indent - 2, break_long_words=True)
    return f"\n{start}".join(f"# {one}" for one in lines)


def sentence(text: str) -> str:
    """Words with a full stop.

    >>> sentence("  because\\nof this "), sentence("Why?")
    ('because of this.', 'Why?')
    """
    plain = line(text)
    return plain if plain.endswith((".", "!", "?")) or not plain else f"{plain}."


def listed(names: Iterable[str]) -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    found = [line(name) for name in names]
    return " and ".join([", ".join(found[:-1]), found[-1]]) if len(found) > 1 else "".join(found)
