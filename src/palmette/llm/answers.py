"""The one reader of models' answers: text into a typed answer, or a precise account of what is wrong with it.

Small data comes as a JSON object; each file as a fenced block of its own. Code is not put into JSON strings: models
escape long texts badly, one lost backslash spoils the whole object, and a person could not write it by hand.

What is accepted: prose around the object and the blocks, byte order marks, typographic quotes around JSON keys.
What is not: anything cut off, anything ambiguous, code that does not parse. Nothing is ever used in part.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, TypeVar

import yaml
from pydantic import Field, ValidationError

from palmette.documents import Model
from palmette.engine import TERMINATE
from palmette.llm.blocks import Split, split_blocks
from palmette.llm.messages import Reply


class Code(NamedTuple):
    """Marks a text field of an answer that comes as a fenced block of this language."""

    language: str


Python = Annotated[str, Code("python")]
Yaml = Annotated[str, Code("yaml")]
Sql = Annotated[str, Code("sql")]


class Answer(Model):
    """What a language model gives for a task; its fields are the contract that the model is shown."""

    reason: str = Field(default="")
    """Why the last attempt failed, or what the answer rests on; one or two sentences."""
    fix: str = Field(default="")
    """On a repeated attempt, what is changed and why that helps; TERMINATE to hand the task back."""

    @property
    def hands_over(self) -> bool:
        return self.fix.strip() == TERMINATE


class BadAnswer(NamedTuple):
    """An answer that cannot be used."""

    code: str
    message: str
    """What is wrong and what is asked for instead; the model is told so."""
    final: bool = False
    """Asking again would not help."""


A = TypeVar("A", bound=Answer)

_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060"))
_SPACES = {ord(char): " " for char in "\u00a0\u2007\u202f"}
_QUOTES = {ord(char): '"' for char in "“”„‟"} | {ord(char): "'" for char in "‘’‚‛"}


def code_fields(answer: type[Answer]) -> dict[str, str]:
    """The fields that come as fenced blocks, with their languages."""
    return {
        name: mark.language
        for name, info in answer.model_fields.items()
        for mark in info.metadata
        if isinstance(mark, Code)
    }


def read_answer(reply: Reply, answer: type[A]) -> A | Answer | BadAnswer:
    """The answer in a reply: the typed one, a bare `Answer` that hands the task over, or what is wrong."""
    if reply.finish == "refused":
        return BadAnswer("answer-refused", f"{reply.model} declined to answer: {_excerpt(reply.text)}", final=True)
    if reply.finish == "length":
        return BadAnswer(
            "answer-truncated",
            f"The answer was cut off after {reply.output_tokens} tokens and was not used. Answer more briefly.",
        )
    if not reply.text.strip():
        return BadAnswer("answer-empty", "The answer was empty. Give the whole answer.")
    split = split_blocks(reply.text.replace("\r\n", "\n").removeprefix("\ufeff"))
    if split.blocks and not split.blocks[-1].closed:
        return BadAnswer("answer-truncated", "The last block has no closing fence. Give the whole answer again.")
    found = _object(split, answer)
    if isinstance(found, BadAnswer):
        return found
    if str(found.get("fix", "")).strip() == TERMINATE:
        return Answer(reason=str(found.get("reason", "")), fix=TERMINATE)
    code = _code(split, answer, found)
    return code if isinstance(code, BadAnswer) else _typed(answer, found | code)


def describe(answer: type[Answer]) -> str:
    """How to answer, for the model: every field with its type and meaning, and the form of the whole."""
    code = code_fields(answer)
    schema = answer.model_json_schema()
    properties = {name: part for name, part in schema.pop("properties").items() if name not in code}
    needed = [name for name in schema.get("required", []) if name not in code]
    lines = ["Give one JSON object in a ```json block, with these fields:", ""]
    for name, part in properties.items():
        meaning = " ".join((answer.model_fields[name].description or "").split())
        lines.append(f'- "{name}" ({_type(part)}{"" if name in needed else ", may be left out"}): {meaning}')
    if definitions := schema.get("$defs"):
        lines += ["", "where", ""] + [f"- {name}: {_type(part, name)}" for name, part in definitions.items()]
    for name, language in code.items():
        meaning = " ".join((answer.model_fields[name].description or "").split())
        optional = "" if answer.model_fields[name].is_required() else " (may be left out)"
        lines += ["", f"Then one block that begins with the line ```{language} {name}{optional}: {meaning}"]
    if code:
        lines += ["", "Code goes into its block only, whole, never into the JSON object, and nothing is elided in it."]
    return "\n".join(lines)


def _object(split: Split, answer: type[Answer]) -> dict[str, Any] | BadAnswer:
    """The JSON object of the answer; an empty one where there is none and none is needed."""
    code = code_fields(answer)
    expected = set(answer.model_fields)
    blocks = [b for b in split.blocks if b.language == "json" or (not b.language and b.text.lstrip().startswith("{"))]
    broken = ""
    found: list[dict[str, Any]] = []
    for text in [b.text for b in blocks] or [split.prose]:
        values, error = _objects(text)
        found += [value for value in values if expected & value.keys()]
        broken = broken or (error if not values else "")
    unique = [value for index, value in enumerate(found) if value not in found[:index]]
    if len(unique) > 1:
        return BadAnswer("answer-ambiguous", f"There are {len(unique)} JSON objects. Give exactly one.")
    if unique:
        return {name: value for name, value in unique[0].items() if name in expected}
    needed = [n for n, info in answer.model_fields.items() if info.is_required() and n not in code]
    if blocks and broken:
        return BadAnswer("answer-not-json", f"The JSON block is not JSON: {broken}. Give the whole answer again.")
    if needed:
        hint = f" What looks like one is not JSON: {broken}." if broken else ""
        return BadAnswer("answer-not-json", f"There is no JSON object with {_listed(needed)}.{hint} Give one.")
    return {}


def _objects(text: str) -> tuple[list[dict[str, Any]], str]:
    """The outermost JSON objects in a text, and what is wrong where there seems to be one but is none."""
    error = ""
    for candidate in (text, text.translate(_INVISIBLE | _SPACES), text.translate(_INVISIBLE | _SPACES | _QUOTES)):
        values, wrong = _scan(candidate)
        if values:
            return values, ""
        error = error or wrong
    return [], error


def _scan(text: str) -> tuple[list[dict[str, Any]], str]:
    decoder, error, at = json.JSONDecoder(), "", 0
    values: list[dict[str, Any]] = []
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError as wrong:
            error, at = error or str(wrong), at + 1
        except RecursionError:
            return values, "it is nested too deeply"
        else:
            values.append(value)
    return values, error


def _code(split: Split, answer: type[Answer], data: dict[str, Any]) -> dict[str, str] | BadAnswer:
    """The text of every code field."""
    found: dict[str, str] = {}
    fields = code_fields(answer)
    for name, language in fields.items():
        text = _block_for(name, language, split, fields)
        if text is None and isinstance(data.get(name), str):
            text = str(data[name])
        if text is None:
            if answer.model_fields[name].is_required():
                return _missing(name, language, split)
            continue
        text = _mended(text, language) if isinstance(text, str) else text
        if isinstance(text, BadAnswer):
            return text
        found[name] = text
    return found


def _block_for(name: str, language: str, split: Split, fields: dict[str, str]) -> str | BadAnswer | None:
    """The text of the block for a field: the one labelled so, else the only one of its language."""
    labelled = [b for b in split.blocks if name in _words(b.label) or b.language == name]
    others = [b for b in split.blocks if b.language == language and not set(fields) & set(_words(b.label))]
    shared = [field for field, other in fields.items() if other == language]
    blocks = labelled or (others if len(shared) == 1 else [])
    unique = list(dict.fromkeys(block.text for block in blocks))
    if len(unique) > 1:
        return BadAnswer(
            "answer-ambiguous",
            f"There are {len(unique)} {language} blocks that could be {name!r}. Give exactly one, whole, that begins "
            f"with the line ```{language} {name}",
        )
    return unique[0] if unique else None


def _missing(name: str, language: str, split: Split) -> BadAnswer:
    given = sorted({block.language or "unnamed" for block in split.blocks if block.language != "json"})
    what = f"The blocks are of {_listed(given)}, not of {language}." if given else f"There is no {language} block."
    code = "answer-wrong-language" if given and language not in given else "answer-incomplete"
    return BadAnswer(code, f"{what} Give {name!r} as one block that begins with the line ```{language} {name}")


def _mended(text: str, language: str) -> str | BadAnswer:
    """The text as it is if it parses; else without invisible characters if that parses; else what is wrong."""
    parse = {"python": _python, "yaml": _yaml}.get(language)
    if parse is None:
        return text
    wrong = parse(text)
    if not wrong:
        return text
    cleaned = text.translate(_INVISIBLE | _SPACES)
    if cleaned != text and not parse(cleaned):
        return cleaned
    hint = " It contains typographic quotes; use plain ones." if text.translate(_QUOTES) != text else ""
    return BadAnswer("answer-broken-code", f"The {language} block does not parse: {wrong}.{hint} Give it again, whole.")


def _python(text: str) -> str:
    try:
        ast.parse(text)
    except SyntaxError as error:
        return f"{error.msg} (line {error.lineno}: {(error.text or '').strip()[:80]!r})"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""


def _yaml(text: str) -> str:
    try:
        yaml.safe_load(text)
    except yaml.YAMLError as error:
        return " ".join(str(error).split())
    except (ValueError, RecursionError) as error:
        return str(error) or type(error).__name__
    return ""


def _typed(answer: type[A], values: dict[str, Any]) -> A | BadAnswer:
    try:
        return answer.model_validate_json(json.dumps(values))
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, detail['loc']))}: {detail['msg']} (given: {str(detail['input'])[:80]!r})"
            for detail in error.errors()[:8]
        )
        return BadAnswer("answer-wrong-fields", f"The answer does not fit: {wrong}. Give the whole answer again.")


def _type(part: dict[str, Any], name: str = "") -> str:
    """A JSON Schema type in words."""
    if "enum" in part:
        return "one of " + ", ".join(json.dumps(value) for value in part["enum"])
    if "const" in part:
        return json.dumps(part["const"])
    if "$ref" in part:
        return str(part["$ref"]).rpartition("/")[2]
    for key in ("anyOf", "oneOf"):
        if key in part:
            return " or ".join(dict.fromkeys(_type(option) for option in part[key]))
    match part.get("type"):
        case "array":
            return f"list of {_type(part.get('items') or {})}"
        case "object" if "properties" in part and name:
            return "object with " + ", ".join(_fields(part))
        case "object":
            return "object"
        case "string":
            return "text"
        case "null":
            return "null"
        case other:
            return str(other or "anything")


def _fields(part: dict[str, Any]) -> Iterator[str]:
    for name, field in part["properties"].items():
        optional = "" if name in part.get("required", []) else ", may be left out"
        meaning = " ".join(str(field.get("description", "")).split())
        yield f'"{name}" ({_type(field)}{optional}){": " + meaning if meaning else ""}'


def _words(label: str) -> list[str]:
    return re.findall(r"[\w.]+", label)


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _excerpt(text: str) -> str:
    return " ".join(text.split())[:200] or "it gave no reason."
