"""Parses a model's reply into a typed answer, or describes precisely what is wrong with it.

Small data is a JSON object; each file is a fenced block of its own. Code is not put into JSON strings: models
escape long texts badly, one lost backslash breaks the whole object, and a person could not write it by hand.

Accepted: prose around the object and the blocks, byte order marks, typographic quotes around JSON keys.
Rejected: anything truncated, anything ambiguous, code that does not parse. No answer is used in part.
"""

import ast
import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, Self, TypeVar

import yaml
from pydantic import Field, ValidationError

from palmette.documents import MAX_DIGITS, Model, load_plain
from palmette.engine import TERMINATE
from palmette.llm.messages import Reply
from palmette.llm.text import SplitText, split_blocks


class CodeField(NamedTuple):
    """Marks a text field that is given as a fenced block of this language."""

    language: str


Python = Annotated[str, CodeField("python")]
Yaml = Annotated[str, CodeField("yaml")]
Sql = Annotated[str, CodeField("sql")]


class Answer(Model):
    """A language model's answer to a task; its fields are the contract shown to the model."""

    reason: str = Field(default="")
    """What the answer rests on, or why the last attempt failed; one sentence."""
    fix: str = Field(default="")
    """On a repeated attempt: what is changed, and why that helps."""
    terminate: str = Field(default="")
    """Alone, if the task cannot be done with what is given: what is wrong, and whose it is."""

    @property
    def hands_over(self) -> bool:
        return self.fix.strip() == TERMINATE

    @classmethod
    def handing_over(cls, data: dict[str, Any]) -> Self | None:
        """The bare answer that hands the task over, if `data` has `terminate` or a fix of TERMINATE."""
        why = data.get("terminate")
        if isinstance(why, str) and why.strip():
            return cls(reason=why.strip(), fix=TERMINATE)
        if str(data.get("fix", "")).strip() == TERMINATE:
            return cls(reason=str(data.get("reason", "")), fix=TERMINATE)
        return None


class BadAnswer(NamedTuple):
    """An unusable answer."""

    code: str
    message: str  # what is wrong and what is expected instead; sent to the model
    final: bool = False  # whether asking again would not help


A = TypeVar("A", bound=Answer)

_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060"))
_REORDERING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
"""Characters that make code look different from what it does."""
_BEGINNINGS = 1000  # maximum number of failed starts of a JSON object in a text; the rest is not read
_READ = 2_000_000  # maximum number of characters read at failed starts
_SPACES = {ord(char): " " for char in "\u00a0\u2007\u202f"}
_QUOTES = {ord(char): '"' for char in "“”„‟"} | {ord(char): "'" for char in "‘’‚‛"}


def code_fields(answer: type[Answer]) -> dict[str, str]:
    """The fields given as fenced blocks, with their languages."""
    marks = [(name, mark) for name, info in answer.model_fields.items() for mark in info.metadata]
    return {name: mark.language for name, mark in marks if isinstance(mark, CodeField)}


def read_answer(reply: Reply, answer: type[A]) -> A | Answer | BadAnswer:
    """The answer in a reply: the typed one, a bare `Answer` that hands the task over, or an error."""
    if reply.finish == "refused":
        given = " ".join(reply.text.split())[:200] or "it gave no reason."
        return BadAnswer("answer-refused", f"{reply.model} declined to answer: {given}", final=True)
    if reply.finish == "length":
        what = f"The answer was cut off after {reply.output_tokens} tokens and was not used. Answer more briefly."
        return BadAnswer("answer-truncated", what)
    if not reply.text.strip():
        return BadAnswer("answer-empty", "The answer was empty. Give the whole answer.")
    split = split_blocks(reply.text.replace("\r\n", "\n").removeprefix("\ufeff"))
    if split.blocks and not split.blocks[-1].closed:
        return BadAnswer("answer-truncated", "The last block has no closing fence. Give the whole answer again.")
    found = _object(split, answer)
    if isinstance(found, BadAnswer):
        return found
    if (bare := Answer.handing_over(found)) is not None:
        return bare
    code = _code(split, answer, found)
    return code if isinstance(code, BadAnswer) else _typed(answer, found | code)


def describe(answer: type[Answer], example: str = "") -> str:
    """The answer format for the model: overall form, every field, an example, and the types of fields."""
    code = code_fields(answer)
    schema = answer.model_json_schema()
    properties = {name: part for name, part in schema.pop("properties").items() if name not in code}
    own = [name for name in properties if name not in Answer.model_fields]
    needed = [name for name in schema.get("required", []) if name not in code]
    lines = []
    for name in [*own, *(name for name in properties if name not in own)]:
        meaning = " ".join((answer.model_fields[name].description or "").split())
        lines.append(f"- {name}{'' if name in needed else '?'} ({_type(properties[name])}): {meaning}")
    first = "Give one JSON object in a ```json block"
    first = first if needed or not code else "A JSON object in a ```json block may come first"
    parts = [f"{first}. A ? marks what may be left out:", "\n".join(lines)]
    for name, language in code.items():
        meaning = " ".join((answer.model_fields[name].description or "").split())
        optional = "" if answer.model_fields[name].is_required() else " (may be left out)"
        parts.append(f"Give one block that begins with the line ```{language} {name}{optional}: {meaning}")
    if code:
        parts.append("Code stands in its block only, whole, with nothing elided.")
    parts += [f"For example:\n\n{example}"] if example else []
    if definitions := schema.get("$defs"):
        known, names = dict[str, str](), _in_order(properties, definitions)
        named = [f"- {name}: {'; '.join(_fields(definitions[name], known))}" for name in names]
        parts += ["Types (a field without a type is as above):\n\n" + "\n".join(named)] if named else []
    return "\n\n".join(parts)


def _in_order(properties: dict[str, Any], definitions: dict[str, Any]) -> list[str]:
    """The types shown by name, outer types before inner ones."""
    found: list[str] = []
    level: Any = list(properties.values())
    while level:
        names = [name for name in dict.fromkeys(_references(level)) if name not in found]
        found += names
        level = [definitions[name] for name in names]
    return [name for name in found if "enum" not in definitions[name]]


def _references(value: Any) -> Iterator[str]:
    """Names of the types in a part of a JSON Schema, in order."""
    if isinstance(value, dict):
        if "$ref" in value:
            yield str(value["$ref"]).rpartition("/")[2]
        yield from _references(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _object(split: SplitText, answer: type[Answer]) -> dict[str, Any] | BadAnswer:
    """The JSON object of the answer; empty if there is none and none is needed."""
    code = code_fields(answer)
    expected = set(answer.model_fields)
    own = {name for name, info in answer.model_fields.items() if info.is_required()}
    blocks = [b for b in split.blocks if b.language == "json" or (not b.language and b.text.lstrip().startswith("{"))]
    broken = ""
    found: list[dict[str, Any]] = []
    for text in [b.text for b in blocks] or [split.prose]:
        values, error = _objects(text)
        found += [value for value in values if expected & value.keys()]
        broken = broken or (error if not values else "")
    unique = list({json.dumps(value, sort_keys=True): value for value in found}.values())
    if len(unique) > 1:
        return BadAnswer("answer-ambiguous", f"There are {len(unique)} JSON objects. Give exactly one.")
    if unique:
        # Optional fields may also be null.
        return {name: value for name, value in unique[0].items() if name in (expected if value is not None else own)}
    needed = [n for n, info in answer.model_fields.items() if info.is_required() and n not in code]
    if blocks and broken:
        return BadAnswer("answer-not-json", f"The JSON block is not JSON: {broken}. Give the whole answer again.")
    if needed:
        hint = f" What looks like one is not JSON: {broken}." if broken else ""
        return BadAnswer("answer-not-json", f"There is no JSON object with {_listed(needed)}.{hint} Give one.")
    return {}


def _objects(text: str) -> tuple[list[dict[str, Any]], str]:
    """The outermost JSON objects in a text, and the error where an apparent one is invalid."""
    error = ""
    for candidate in (text, text.translate(_INVISIBLE | _SPACES), text.translate(_INVISIBLE | _SPACES | _QUOTES)):
        values, wrong = _scan(candidate)
        if values:
            return values, ""
        error = error or wrong
    return [], error


def _scan(text: str) -> tuple[list[dict[str, Any]], str]:
    decoder, error, at, broken = json.JSONDecoder(parse_int=_whole, object_pairs_hook=_once), "", 0, 0
    read = 0
    values: list[dict[str, Any]] = []
    while (at := text.find("{", at)) >= 0 and broken < _BEGINNINGS and read < _READ:
        try:
            value, end = decoder.raw_decode(text, at)
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # must be storable
        except _TwiceError as wrong:
            return [], str(wrong)
        except ValueError as wrong:
            read += getattr(wrong, "pos", len(text)) - at
            error, at, broken = error or str(wrong), at + 1, broken + 1
        except RecursionError:
            return values, "it is nested too deeply"
        else:
            values.append(value)
            at = end
    return values, error


class _TwiceError(ValueError):
    """A JSON object repeats a name, so its value is ambiguous."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise _TwiceError(f"{name!r} is there twice, with different values")
    return found


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _code(split: SplitText, answer: type[Answer], data: dict[str, Any]) -> dict[str, str] | BadAnswer:
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


def _block_for(name: str, language: str, split: SplitText, fields: dict[str, str]) -> str | BadAnswer | None:
    """The block labelled with a field's name, otherwise the only one of its language."""
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


def _missing(name: str, language: str, split: SplitText) -> BadAnswer:
    given = sorted({block.language or "unnamed" for block in split.blocks if block.language != "json"})
    what = f"The blocks are of {_listed(given)}, not of {language}." if given else f"There is no {language} block."
    code = "answer-wrong-language" if given and language not in given else "answer-incomplete"
    return BadAnswer(code, f"{what} Give {name!r} as one block that begins with the line ```{language} {name}")


def _mended(text: str, language: str) -> str | BadAnswer:
    """The text as it is if it parses; else without invisible characters if that parses; else what is wrong."""
    hidden = _REORDERING.search(text)
    if hidden:
        what = f"The {language} block contains U+{ord(hidden[0]):04X}, by which it is seen otherwise than it runs."
        return BadAnswer("answer-hidden-text", f"{what} Leave it out, or write its escape. Give it again, whole.")
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
        load_plain(text)
    except yaml.YAMLError as error:
        return " ".join(str(error).split())
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


def _type(part: dict[str, Any]) -> str:
    """A JSON Schema type in words; null is not named, because what may be null may be left out."""
    if "enum" in part:
        return "one of " + ", ".join(json.dumps(value) for value in part["enum"])
    if "const" in part:
        return json.dumps(part["const"])
    if "$ref" in part:
        return str(part["$ref"]).rpartition("/")[2]
    for key in ("anyOf", "oneOf"):
        if key in part:
            found = [one for one in dict.fromkeys(_type(option) for option in part[key]) if one != "null"]
            return "text, number or boolean" if {"text", "integer", "boolean"} <= set(found) else " or ".join(found)
    match part.get("type"):
        case "array":
            return f"list of {_type(part.get('items') or {})}"
        case "object":
            return "object"
        case "string":
            return "text"
        case other:
            return str(other or "anything")


def _fields(part: dict[str, Any], known: dict[str, str]) -> Iterator[str]:
    """The fields of a type; one that equals the last of its name, in `known`, is only named."""
    for name, field in part["properties"].items():
        default = field.get("default")
        otherwise = f", else {json.dumps(default)}" if default and isinstance(default, str | int) else ""
        meaning = " ".join(str(field.get("description", "")).split()).rstrip(".")
        optional = "" if name in part.get("required", []) else "?"
        text = f"{name}{optional} ({_type(field)}{otherwise}){': ' + meaning if meaning else ''}"
        yield f"{name}{optional}" if known.get(name) == text else text
        known[name] = text


def _words(label: str) -> list[str]:
    return re.findall(r"[\w.]+", label)


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
