"""Parses YAML text into plain values with the line of every field, and reports the mistakes found.

The dialect is small on purpose: only `true` and `false` are booleans, dates stay text, keys are text as
written, there are no tags and no merge keys. Aliases work within a limit on their expansion.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from palmette.errors import Mistake
from palmette.problems import fault

MAX_DEPTH = 40
MAX_VALUES = 200_000
PLAIN_DEPTH = 100  # maximum depth of documents in other dialects
MAX_DIGITS = 39  # longest integer in digits; longer ones are text

Path = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"^[A-Za-z_][A-Za-z0-9_-]*$")
_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPED = re.compile("[\0\ud800-\udfff]")
"""Characters that only escapes can produce and that neither files nor paths can hold."""
_NULL, _BOOL = re.compile(r"^(?:~|null|Null|NULL|)$"), re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
_INT = re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$")


def spell(path: Path) -> str:
    """A field path as users write it.

    >>> spell(("features", 2, "aggregate", "of"))
    'features[2].aggregate.of'
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.match(part):
            text += f".{part}" if text else part
        else:
            text += f"[{part!r}]"
    return text


@dataclass
class Parsed:
    """Plain values, their lines, and the mistakes in the text."""

    value: Any = None
    lines: dict[str, int] = field(default_factory=dict)  # 1-based lines by field path
    problems: list[Mistake] = field(default_factory=list)


class _Loader(yaml.BaseLoader):
    """Composes nodes and converts them to values; records lines and problems in `into`."""

    def __init__(self, text: str, into: Parsed) -> None:
        super().__init__(text)
        self.into = into
        self.composed, self.built = 0, 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it untyped
        if (tag := getattr(event, "tag", None)) is not None:
            self.into.problems.append(replace(fault("yaml-tag", tag), line=event.start_mark.line + 1))
        self.composed += 1
        if self.composed > MAX_VALUES:
            raise _RefusedError(fault("too-large", most=MAX_VALUES))
        return super().compose_node(parent, index)

    def build(self, node: yaml.Node, path: Path) -> Any:
        self.built += 1
        line = node.start_mark.line + 1
        if len(path) > MAX_DEPTH:
            raise _RefusedError(replace(fault("too-deep/alias", most=MAX_DEPTH), line=line))
        if self.built > MAX_VALUES:
            raise _RefusedError(fault("too-large", most=MAX_VALUES))
        self.into.lines.setdefault(spell(path), line)
        if isinstance(node, yaml.MappingNode):
            return {key: self.build(value, (*path, key)) for key, value in self._pairs(node, path)}
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        return _scalar(node, self._text(node, path))

    def _text(self, node: yaml.Node, path: Path) -> str:
        """The text of a scalar; escapes can produce NUL and surrogates, two of which form one character."""
        text: str = node.value
        if not _ESCAPED.search(text):
            return text
        with suppress(UnicodeDecodeError):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16")
        if found := _ESCAPED.search(text):
            line, where = node.start_mark.line + 1, spell(path)
            self.into.problems.append(replace(_control_problem(found), line=line, field=where))
            return _ESCAPED.sub("\ufffd", text)
        return text

    def _pairs(self, node: yaml.MappingNode, path: Path) -> Iterator[tuple[str, yaml.Node]]:
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.into.problems.append(replace(fault("yaml-key"), line=line, field=spell(path)))
                continue
            key = self._text(key_node, path)
            field_path = spell((*path, key))
            if key in seen:
                twice = fault("duplicate-key", key, first=seen[key])
                self.into.problems.append(replace(twice, line=line, field=field_path))
                continue
            seen[key] = line
            self.into.lines[field_path] = line
            yield key, value_node


def parse_yaml(text: str) -> Parsed:
    """Parses one YAML document; never raises for invalid text."""
    if control := _CONTROL.search(text):
        return Parsed(problems=[_control_problem(control)])
    result = Parsed()
    loader = _Loader(text, result)
    try:
        if (node := loader.get_single_node()) is None:
            return Parsed(problems=[fault("empty-file")])
        result.value = loader.build(node, ())
        return result
    except yaml.MarkedYAMLError as error:
        problem = _syntax_problem(error, text)
    except RecursionError:
        problem = replace(fault("too-deep", most=MAX_DEPTH), line=loader.line + 1)
    except _RefusedError as error:
        (problem,) = error.args
    except (ValueError, OverflowError):  # invalid numbers in `%YAML` and `\U........`
        problem = replace(fault("bad-yaml/number"), line=loader.line + 1)
    return Parsed(problems=[problem])


def load_plain(text: str) -> Any:
    """The value of a foreign YAML document, as PyYAML's `safe_load` reads it; `yaml.YAMLError` if invalid.

    For other programs' files, with dates, merge keys and so on. Palmette's own are read by `parse_yaml`.
    """
    try:
        value = yaml.safe_load(text)
        _count(value)
        return value
    except (ValueError, LookupError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        # Raised by its constructors for unfitting tags, impossible dates and numbers without digits.
        raise yaml.YAMLError(str(error) or type(error).__name__) from error


def _count(value: Any, depth: int = 0, counted: int = 0) -> int:
    """Number of values, counting expanded aliases; ValueError if there are too many."""
    if counted > MAX_VALUES or depth > PLAIN_DEPTH:
        raise ValueError("it is nested too deeply, or its aliases expand too far")
    inside = value.items() if isinstance(value, dict) else value if isinstance(value, list | set | tuple) else ()
    for part in inside:
        counted = _count(part, depth + 1, counted)
    return counted + 1


class _RefusedError(Exception):
    """The document is nested too deeply or expands too far; the argument is the problem."""


def _scalar(node: yaml.Node, text: str) -> Any:
    """The value of a scalar: quoted and block text is text; plain text may be null, a boolean or a number."""
    if getattr(node, "style", None) is not None:
        return text
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text.lower() == "true"
    if _INT.match(text) and len(text) <= MAX_DIGITS:
        return int(text)
    if _FLOAT.match(text) and not _INT.match(text) and not re.match(r"^[-+]?0[0-9]+$", text):
        number = float(text)
        return number if abs(number) != float("inf") else text
    return text


def _control_problem(found: re.Match[str]) -> Mistake:
    line = found.string.count("\n", 0, found.start()) + 1
    return replace(fault("control-character", repr(found[0]), code=ord(found[0])), line=line)


_SYNTAX = {"'\\t'": "yaml-tab", "single document": "several-documents", "undefined alias": "yaml-alias"}
"""Code by a part of the parser's message."""


def _syntax_problem(error: yaml.MarkedYAMLError, text: str) -> Mistake:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    what = error.problem or error.context or "cannot be read"
    if code := next((code for sign, code in _SYNTAX.items() if sign in f"{error.context} {what}"), ""):
        return replace(fault(code, what=what), line=line)
    lines = text.splitlines()
    value = lines[line - 1].strip()[:120] if line and line <= len(lines) else None
    what = f"{error.context or ''} {what}".strip()
    return replace(fault("bad-yaml", value, what=what), line=line)
