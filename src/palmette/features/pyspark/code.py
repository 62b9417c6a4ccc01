"""Fragments of Python source that know their operator precedence."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, Self

OR, AND, SUM, PRODUCT, UNARY, ATOM = 2, 3, 4, 5, 6, 7
COMPARISON = 1
"""Precedence of Python's operators, lowest first: `|` and `&` bind tighter than comparisons."""


class CodeFragment(NamedTuple):
    """Source of a Column expression, of a bare column, or of a plain Python literal."""

    text: str
    strength: int = ATOM
    column: str | None = None  # the column's name, if the fragment is just a column
    literal: bool = False  # true for a Python value that is not a Column

    def within(self, strength: int) -> str:
        """The text, in parentheses if an operator of this precedence would otherwise split it."""
        return self.text if self.strength >= strength else f"({self.text})"

    @property
    def as_column(self) -> Self:
        """The same value as a Column, so that the methods and operators of Column apply."""
        return type(self)(f"F.lit({self.text})") if self.literal else self

    @property
    def argument(self) -> str:
        """The text as an argument of a function that accepts a column or its name."""
        return quoted(self.column) if self.column is not None else self.as_column.text


def quoted(text: str) -> str:
    """A Python string literal in double quotes."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


def renamed(line: str, name: str, new: str, *, calls: bool = False) -> str:
    """Renames a variable in a line of code, but not attributes or text in strings, and functions only with `calls`.

    >>> renamed('day = as_of - F.expr("as_of")  # as_of', "as_of", "moment")
    'day = moment - F.expr("as_of")  # as_of'
    """
    text = r"""\"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\#.*"""
    variable = rf"(?<![\w.]){name}(?![\w{'' if calls else '('}])"
    return re.sub(f"{text}|{variable}", lambda found: new if found[0] == name else found[0], line)


def column(name: str) -> CodeFragment:
    """A column by name."""
    reference = name if re.fullmatch(r"\w+", name) else f"`{name}`"
    return CodeFragment(f"F.col({quoted(reference)})", column=reference)


def call(function: str, *arguments: str) -> CodeFragment:
    return CodeFragment(f"{function}({', '.join(arguments)})")


def method(code: CodeFragment, name: str, *arguments: str) -> CodeFragment:
    return CodeFragment(f"{code.as_column.within(ATOM)}.{name}({', '.join(arguments)})")


def conjunction(conditions: Iterable[CodeFragment]) -> CodeFragment | None:
    """All conditions joined by `&`; None if there are none."""
    parts = list(conditions)
    if len(parts) < 2:
        return parts[0] if parts else None
    return CodeFragment(" & ".join(part.as_column.within(AND) for part in parts), AND)


def literal(value: object) -> CodeFragment:
    """A Python value as source; booleans and null become Columns, so that linters do not report `== True`."""
    if value is None or isinstance(value, bool):
        return CodeFragment(f"F.lit({value})")
    if isinstance(value, Decimal):
        # As text, which a cast to decimal reads exactly; whole numbers do not need it.
        value = int(value) if value == int(value) else str(value)
    return CodeFragment(quoted(value) if isinstance(value, str) else repr(value), literal=True)


def names(columns: Sequence[str]) -> str:
    """Column names as a list display."""
    return f"[{', '.join(quoted(name) for name in columns)}]"


def name_arguments(columns: Iterable[str]) -> str:
    return ", ".join(quoted(name) for name in columns)


def with_columns(columns: Mapping[str, str]) -> list[str]:
    """The call that adds columns by name; empty for no columns."""
    if len(columns) == 1:
        ((name, text),) = columns.items()
        return [f"withColumn({quoted(name)}, {text})"]
    items = ", ".join(f"{quoted(name)}: {text}" for name, text in columns.items())
    return [f"withColumns({{{items}}})"] if columns else []


def indent(lines: Iterable[str], by: int = 1) -> list[str]:
    return [("    " * by + line) if line else line for line in lines]


def chain(start: str, calls: Sequence[str]) -> str:
    """A chain of method calls as one parenthesized expression, or just `start`."""
    if not calls:
        return start
    return "(\n    " + "\n    ".join([start, *(f".{item}" for item in calls)]) + "\n)"


def function(name: str, parameters: Iterable[str], returns: str, doc: str, body: Iterable[str]) -> str:
    """A function definition with a one-line docstring."""
    lines = [line for part in body for line in part.split("\n")]
    head = f"def {name}({', '.join(parameters)}) -> {returns}:"
    return "\n".join([head, *indent([f'"""{docstring(doc)}"""', *lines])])


def rendered(template: Path, **values: Any) -> str:
    """Source code from a template."""
    from jinja2 import StrictUndefined, Template

    return str(Template(template.read_text(encoding="utf-8"), undefined=StrictUndefined).render(values))


def docstring(text: str) -> str:
    """Escapes text for use between triple quotes."""
    escaped = text.replace("\\", "\\\\").replace('"""', "'''")
    return escaped + " " if escaped.endswith('"') else escaped
